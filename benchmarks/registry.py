"""Look-up by name and removal among 100 000 live runs: as fast as among 1 000."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

from benchmarks._harness import Row, Series, Size, alternate, faster, gathered, lead
from benchmarks.spawn import idle
from retinue.actors import agent


def round_of(count: int, sample: int) -> tuple[float, float]:
    """Return microseconds per look-up and per removal among *count* runs."""

    @agent
    def parent(turn: Any) -> Generator[Any, Any, list[float]]:
        runs: list[Any] = []
        for start in range(0, count, 1_000):
            replies = [
                turn.open(idle, name=f"run {number}")
                for number in range(start, min(start + 1_000, count))
            ]
            runs += yield from gathered(replies)
        step = max(count // sample, 1)
        names = [f"run {number}" for number in range(0, count, step)]
        started = time.perf_counter()
        yield from gathered([turn.peer(name) for name in names])
        found = time.perf_counter() - started
        started = time.perf_counter()
        yield from gathered([run.dispose() for run in runs[::step]])
        removed = time.perf_counter() - started
        return [found / len(names) * 1e6, removed / len(names) * 1e6]

    found, removed = lead(parent)
    return found, removed


def measure(size: Size) -> Iterator[Row]:
    """Measure many against few."""
    few, many = size.pick((20, 100), (1_000, 20_000), (1_000, 100_000))
    removals: dict[int, list[float]] = {few: [], many: []}

    def found(count: int) -> float:
        lookup, removal = round_of(count, few)
        removals[count].append(removal)
        return lookup

    series = alternate({"few": lambda: found(few), "many": lambda: found(many)}, size)
    unit = f"µs among {many}, beside {few}"
    # Flat: a third more is what larger caches to miss cost any look-up.
    yield faster("registry/look-up", "run", series["many"], series["few"], 0.75, unit)
    gone = {count: Series(tuple(values)) for count, values in removals.items()}
    yield faster("registry/removal", "run", gone[many], gone[few], 0.75, unit)

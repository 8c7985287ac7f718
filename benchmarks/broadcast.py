"""One message to 1 000 and to 10 000 residents, until each has taken it: linear."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

from benchmarks._harness import PATIENCE_SECONDS, Latch, Row, Size, alternate, faster
from retinue.actors import Runtime, agent


def run_round(count: int) -> float:
    """Return microseconds per resident."""
    latch = Latch(count)

    @agent
    def listener(turn: Any) -> Generator[Any, Any, None]:
        latch.hit()
        yield from turn.step()

    with Runtime() as runtime:
        runs = [reply.get() for reply in [runtime.open(listener) for _ in range(count)]]
        started = time.perf_counter()
        for run in runs:
            run.tell("to everybody")
        latch.wait()
        taken = time.perf_counter() - started
        runtime.close(PATIENCE_SECONDS)
        return taken / count * 1e6


def measure(size: Size) -> Iterator[Row]:
    """Measure many against few."""
    few, many = size.pick((10, 100), (1_000, 10_000), (1_000, 10_000))
    series = alternate({"few": lambda: run_round(few), "many": lambda: run_round(many)}, size)
    # Ten times as many may take 15 times as long, so each may take 1.5 times as long.
    unit = f"µs each of {many}, beside {few}"
    yield faster("broadcast", "run", series["many"], series["few"], 1 / 1.5, unit)

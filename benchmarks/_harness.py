"""
What all benchmarks share: sizes, rounds, medians and rows.

Rule 1: contenders are alternated round by round, and medians are compared: on a busy
machine a ratio of neighbours means something, a time does not.
Rule 2: the collector of garbage runs as it always does; before a round it is run once,
so that nobody pays for another's garbage.
Rule 3: a ratio is turned so that more is better for us.
"""

from __future__ import annotations

import enum
import gc
import json
import os
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeVar

import attrs

from retinue.actors import Runtime, ThreadDispatcher
from retinue.protocol.result import COMPLETED

T = TypeVar("T")

ROUNDS: Final = 5

# No new round is begun after so many seconds: a row is to be had within a minute.
BUDGET_SECONDS: Final = 30.0

# Longer than any round takes; a round that waits longer has lost a message.
PATIENCE_SECONDS: Final = 300.0


class Size(enum.Enum):
    """How much work a benchmark does."""

    QUICK = "quick"
    DEFAULT = "default"
    FULL = "full"

    def pick(self, quick: T, default: T, full: T) -> T:
        """Return what belongs to this size."""
        return {Size.QUICK: quick, Size.DEFAULT: default, Size.FULL: full}[self]

    @property
    def rounds(self) -> int:
        """How often each contender runs."""
        return 1 if self is Size.QUICK else ROUNDS


@attrs.frozen
class Row:
    """
    One measured row.

    Args:
        name: the benchmark, and after a slash whom or what it compares with.
        layer: ``bare`` for our actor layer, ``run`` for whole runs through the public API.
        ours: what we took, in *unit*.
        rival: what the other took, or what is allowed, in the same unit.
        ratio: how much better we are.
        goal: the ratio to reach, or None where none was set.
        rounds: how many rounds the slower of the two had.
    """

    name: str
    layer: str
    ours: float
    rival: float | None
    ratio: float
    goal: float | None
    unit: str
    rounds: int

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached."""
        return self.goal is None or self.ratio >= self.goal

    def as_json(self) -> str:
        """Return the row as one line of JSON."""
        return json.dumps(attrs.asdict(self))


@attrs.frozen
class Series:
    """What the rounds of one contender took."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median."""
        return statistics.median(self.values)


def alternate(
    contenders: Mapping[str, Callable[[], float]], size: Size, rounds: int | None = None
) -> dict[str, Series]:
    """
    Run the contenders in turns, and return what each took.

    A contender is one round: it prepares, times its work, clears up and returns the time.
    When the time is up the round under way is finished and no other begun.
    """
    taken: dict[str, list[float]] = {name: [] for name in contenders}
    until = time.perf_counter() + BUDGET_SECONDS
    for number in range(rounds or size.rounds):
        if number and size is not Size.FULL and time.perf_counter() > until:
            break
        for name, contender in contenders.items():
            if size is not Size.QUICK:
                gc.collect()
            taken[name].append(contender())
    return {name: Series(tuple(values)) for name, values in taken.items()}


def faster(
    name: str, layer: str, ours: Series, rival: Series, goal: float | None, unit: str
) -> Row:
    """Compare two series of which less is better."""
    return Row(
        name,
        layer,
        ours.median,
        rival.median,
        rival.median / ours.median,
        goal,
        unit,
        min(len(ours.values), len(rival.values)),
    )


def compared(
    name: str,
    series: Mapping[str, Series],
    goals: Mapping[tuple[str, str], float | None],
    unit: str,
) -> Iterator[Row]:
    """Compare layers with rivals; *goals* says which with which, and what is to be reached."""
    for (layer, rival), goal in goals.items():
        yield faster(f"{name}/{rival}", layer, series[layer], series[rival], goal, unit)


def sized(what: str, count: int, fewer: int) -> str:
    """Return a unit that says when pykka had less to do."""
    return f"{what} of {count}" if fewer == count else f"{what} of {count} (P: of {fewer})"


def within(name: str, layer: str, ours: Series, allowed: float, unit: str) -> Row:
    """Compare a series with what is allowed; the goal is to need no more."""
    median = max(ours.median, 1e-9)
    return Row(name, layer, median, allowed, allowed / median, 1.0, unit, len(ours.values))


class Latch:
    """Opens when it was hit *count* times, from any thread."""

    def __init__(self, count: int) -> None:
        # An iterator gives each number once, whoever asks: the cheapest counter there is.
        self._left = iter(range(count - 1, -1, -1))
        self._open = threading.Event()
        if count == 0:
            self._open.set()

    @property
    def is_open(self) -> bool:
        """Whether it was hit often enough."""
        return self._open.is_set()

    def hit(self) -> None:
        """Count one hit."""
        if next(self._left) == 0:
            self._open.set()

    def wait(self) -> None:
        """Wait until it opens; raises TimeoutError when something was lost."""
        if not self._open.wait(PATIENCE_SECONDS):
            raise TimeoutError("the latch was hit too seldom: something was lost")


@contextmanager
def bare() -> Iterator[ThreadDispatcher]:
    """Give a dispatcher for bare actors, and close it."""
    dispatcher = ThreadDispatcher()
    try:
        yield dispatcher
    finally:
        dispatcher.close(PATIENCE_SECONDS)


def lead(behaviour: Any, prompt: str = "go") -> Any:
    """Run *behaviour*, a generator, as the root of a new runtime; return what it returns."""
    with Runtime() as runtime:
        run = runtime.start("spawn", prompt, agent=behaviour).get()
        result = run.result.get(timeout=PATIENCE_SECONDS)
        runtime.close(PATIENCE_SECONDS)
        if result.stop_reason != COMPLETED:
            raise RuntimeError(f"the benchmark itself failed: {result.diagnostic}")
        return result.structured


def gathered(replies: list[Any]) -> Generator[Any, Any, list[Any]]:
    """Wait, in a generator behaviour, until all have come."""
    values: list[Any] = []
    for reply in replies:
        value = yield from reply
        values.append(value)
    return values


def let_go(refs: list[Any]) -> None:
    """Stop pykka's actors in the way that is fastest for it, and wait until they are gone."""
    for ref in refs:  # oldest first: its registry is a list
        ref.stop(block=False)
    names = {ref.actor_class.__name__ for ref in refs}
    for thread in threading.enumerate():
        if thread.name.rpartition("-")[0] in names:  # pykka calls a thread after its class
            thread.join(PATIENCE_SECONDS)


def resident_bytes() -> int:
    """Return how much memory of this process is in RAM."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def in_fresh_process(function: Callable[[int], float], argument: int) -> float:
    """Call a function of a module in a new interpreter, and return what it returned."""
    code = (
        f"from {function.__module__} import {function.__name__} as measured\n"
        f"print(repr(float(measured({argument}))))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(done.stdout.split()[-1])

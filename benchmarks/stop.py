"""
Stop everything: 10 000 actors or runs, until each stop hook has run.

pykka's time grows with the square of the number, so both sides stop the same number.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pykka

from benchmarks._harness import PATIENCE_SECONDS, Latch, Row, Size, alternate, bare, compared
from benchmarks.spawn import idle
from retinue.actors import Runtime
from retinue.actors._actor import LightActor


class LightOne(LightActor):
    """One actor of our layer."""

    __slots__ = ("latch",)

    def __init__(self, dispatcher: Any, number: int, latch: Latch) -> None:
        super().__init__(dispatcher, number)
        self.latch = latch

    def on_stop(self) -> None:
        """Say that it has stopped."""
        self.latch.hit()


class PykkaOne(pykka.ThreadingActor):
    """One actor on pykka."""

    def __init__(self, latch: Latch) -> None:
        super().__init__()
        self.latch = latch

    def on_stop(self) -> None:
        """Say that it has stopped."""
        self.latch.hit()


def bare_round(count: int) -> float:
    """Return milliseconds to stop all actors of our layer."""
    with bare() as dispatcher:
        latch = Latch(count)
        refs = [LightOne.start(dispatcher, number, latch) for number in range(count)]
        LightOne.start(dispatcher, count, Latch(1)).stop()  # all have started
        started = time.perf_counter()
        for ref in reversed(refs):
            ref.stop(block=False)
        latch.wait()
        return (time.perf_counter() - started) * 1e3


def pykka_round(count: int) -> float:
    """Return milliseconds to stop all actors of pykka."""
    latch = Latch(count)
    for _ in range(count):
        PykkaOne.start(latch)
    started = time.perf_counter()
    pykka.ActorRegistry.stop_all()
    latch.wait()
    return (time.perf_counter() - started) * 1e3


def run_round(count: int) -> float:
    """Return milliseconds to close a runtime with so many residents."""
    with Runtime() as runtime:
        for _ in range(count):
            reply = runtime.open(idle)
        reply.get()
        started = time.perf_counter()
        runtime.close(PATIENCE_SECONDS)
        return (time.perf_counter() - started) * 1e3


def measure(size: Size) -> Iterator[Row]:
    """Measure both layers against pykka."""
    count = size.pick(20, 3_000, 10_000)
    series = alternate(
        {
            "bare": lambda: bare_round(count),
            "run": lambda: run_round(count),
            "P": lambda: pykka_round(count),
        },
        size,
    )
    goals = {("bare", "P"): 300, ("run", "P"): 50}
    yield from compared("stop", series, goals, f"ms for {count}")

"""Throughput: 100 000 messages from one outside thread to one actor, until all are handled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pykka

from benchmarks._harness import Latch, Row, Size, alternate, bare, compared
from retinue.actors._actor import LightActor


class LightCounter(LightActor):
    """Counts messages."""

    def __init__(self, dispatcher: Any, number: int, latch: Latch) -> None:
        super().__init__(dispatcher, number)
        self.latch = latch

    def on_receive(self, message: Any) -> None:
        """Count."""
        self.latch.hit()


class PykkaCounter(pykka.ThreadingActor):
    """The same on pykka."""

    def __init__(self, latch: Latch) -> None:
        super().__init__()
        self.latch = latch

    def on_receive(self, message: Any) -> None:
        """Count."""
        self.latch.hit()


def _told(ref: Any, latch: Latch, count: int) -> float:
    started = time.perf_counter()
    for number in range(count):
        ref.tell(number)
    latch.wait()
    return (time.perf_counter() - started) / count * 1e6


def bare_round(count: int) -> float:
    """Return microseconds per message on our actor layer."""
    with bare() as dispatcher:
        latch = Latch(count)
        return _told(LightCounter.start(dispatcher, 0, latch), latch, count)


def pykka_round(count: int) -> float:
    """Return microseconds per message on pykka."""
    latch = Latch(count)
    ref = PykkaCounter.start(latch)
    taken = _told(ref, latch, count)
    ref.stop()
    return taken


def task_round(count: int) -> float:
    """Return microseconds per message to a task."""

    async def counter(inbox: asyncio.Queue[int], latch: Latch) -> None:
        while not latch.is_open:
            await inbox.get()
            latch.hit()

    async def host() -> float:
        inbox: asyncio.Queue[int] = asyncio.Queue()
        task = asyncio.create_task(counter(inbox, Latch(count)))
        started = time.perf_counter()
        for number in range(count):
            inbox.put_nowait(number)
        await task
        return (time.perf_counter() - started) / count * 1e6

    return asyncio.run(host())


def measure(size: Size) -> Iterator[Row]:
    """Measure our actor layer against both rivals."""
    count = size.pick(200, 100_000, 1_000_000)
    series = alternate(
        {
            "bare": lambda: bare_round(count),
            "Y": lambda: task_round(count),
            "P": lambda: pykka_round(count),
        },
        size,
        size.pick(1, 7, 9),
    )
    goals = {("bare", "P"): 3, ("bare", "Y"): None}
    yield from compared("tell", series, goals, f"µs per message of {count}")

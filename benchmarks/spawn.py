"""
10 000 children of one parent, until each has run its start hook or is published.

A run is admitted, checked, entered in the registry and linked to its parent.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterator
from typing import Any

import pykka

from benchmarks._harness import (
    Latch,
    Row,
    Size,
    alternate,
    bare,
    compared,
    gathered,
    lead,
    let_go,
    sized,
)
from retinue.actors import agent
from retinue.actors._actor import LightActor


class LightChild(LightActor):
    """An idle child of our actor layer."""

    __slots__ = ("latch",)

    def __init__(self, dispatcher: Any, number: int, latch: Latch) -> None:
        super().__init__(dispatcher, number)
        self.latch = latch

    def on_start(self) -> None:
        """Say that it is there."""
        self.latch.hit()


class LightParent(LightActor):
    """A parent of our actor layer."""

    children: list[Any]

    def on_receive(self, message: Any) -> None:
        """Start the children and keep their refs."""
        count, latch = message
        dispatcher = self.ref.dispatcher
        number = dispatcher.next_number
        self.children = [LightChild.start(dispatcher, number(), latch) for _ in range(count)]


class PykkaChild(pykka.ThreadingActor):
    """An idle child on pykka."""

    def __init__(self, latch: Latch) -> None:
        super().__init__()
        self.latch = latch

    def on_start(self) -> None:
        """Say that it is there."""
        self.latch.hit()


class PykkaParent(pykka.ThreadingActor):
    """A parent on pykka."""

    children: list[Any]

    def on_receive(self, message: Any) -> list[Any]:
        """Start the children and keep their refs."""
        count, latch = message
        self.children = [PykkaChild.start(latch) for _ in range(count)]
        return self.children


def bare_round(count: int) -> float:
    """Return microseconds per child on our actor layer."""
    with bare() as dispatcher:
        latch = Latch(count)
        parent = LightParent.start(dispatcher, 0)
        started = time.perf_counter()
        parent.tell((count, latch))
        latch.wait()
        return (time.perf_counter() - started) / count * 1e6


def pykka_round(count: int) -> float:
    """Return microseconds per child on pykka."""
    latch = Latch(count)
    parent = PykkaParent.start()
    started = time.perf_counter()
    children = parent.ask((count, latch))
    latch.wait()
    taken = time.perf_counter() - started
    let_go([parent, *children])
    return taken / count * 1e6


def task_round(count: int) -> float:
    """Return microseconds per child with a task and a queue each."""

    async def child(inbox: asyncio.Queue[object], there: asyncio.Event, left: list[int]) -> None:
        left[0] -= 1
        if not left[0]:
            there.set()
        while True:
            await inbox.get()

    async def parent() -> float:
        there, left = asyncio.Event(), [count]
        started = time.perf_counter()
        children = []
        for _ in range(count):
            inbox: asyncio.Queue[object] = asyncio.Queue()
            children.append((inbox, asyncio.create_task(child(inbox, there, left))))
        await there.wait()
        taken = time.perf_counter() - started
        for _, task in children:
            task.cancel()
        return taken / count * 1e6

    return asyncio.run(parent())


@agent
def idle(turn: Any) -> Generator[Any, Any, None]:
    """Do nothing until it is prompted, which never comes."""
    yield from turn.step()


def run_round(count: int) -> float:
    """Return microseconds per child run."""

    @agent
    def parent(turn: Any) -> Generator[Any, Any, float]:
        started = time.perf_counter()
        yield from gathered([turn.open(idle) for _ in range(count)])
        return (time.perf_counter() - started) / count * 1e6

    return float(lead(parent))


def measure(size: Size) -> Iterator[Row]:
    """Measure both layers against both rivals."""
    count = size.pick(50, 10_000, 10_000)
    fewer = size.pick(10, 2_000, 10_000)
    series = alternate(
        {
            "bare": lambda: bare_round(count),
            "run": lambda: run_round(count),
            "Y": lambda: task_round(count),
            "P": lambda: pykka_round(fewer),
        },
        size,
    )
    goals = {("bare", "P"): 100, ("run", "P"): 15, ("bare", "Y"): 3, ("run", "Y"): 0.7}
    yield from compared("spawn", series, goals, sized("µs per child", count, fewer))

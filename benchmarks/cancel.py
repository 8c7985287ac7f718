"""
Cancel a tree of 11 111 that wait for a model: all clean-ups run, and the root is told.

Each has ten children, four levels deep. A second row says how cancelling grows with
the tree.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterator
from typing import Any

import pykka

from benchmarks._harness import (
    PATIENCE_SECONDS,
    Latch,
    Row,
    Size,
    alternate,
    bare,
    compared,
    faster,
    let_go,
    sized,
)
from retinue.actors import Reply, Runtime, agent
from retinue.actors._actor import LightActor

FANOUT = 10


def total(levels: int) -> int:
    """Return how many there are in a tree of so many levels below its root."""
    return sum(FANOUT**level for level in range(levels + 1))


def work(cleaned: Latch) -> Generator[None, None, None]:
    """Wait for an answer, and clean up when it is not wanted any more."""
    try:
        yield
    finally:
        cleaned.hit()


class LightNode(LightActor):
    """A node on our actor layer: the root stops the tree in one walk, leaves first."""

    __slots__ = ("children", "work")

    def __init__(self, dispatcher: Any, number: int, cleaned: Latch) -> None:
        super().__init__(dispatcher, number)
        self.children: list[Any] = []
        self.work = work(cleaned)

    def on_receive(self, message: Any) -> None:
        """Grow, and begin to wait."""
        levels, cleaned, there = message
        dispatcher = self.ref.dispatcher
        if levels:
            for _ in range(FANOUT):
                child = LightNode.start(dispatcher, dispatcher.next_number(), cleaned)
                self.children.append(child)
                child.tell((levels - 1, cleaned, there))
        next(self.work)
        there.hit()

    def on_stop_asked(self) -> bool:
        """Stop everything below, then this actor; the answer tells the root."""
        found = [self.ref]
        for ref in found:
            found.extend(ref.actor.children)
        for ref in reversed(found):
            ref.dispatcher.seal(ref)
        return True

    def on_stop(self) -> None:
        """Clean up."""
        self.work.close()


class PykkaNode(pykka.ThreadingActor):
    """A node on pykka."""

    def __init__(self, cleaned: Latch) -> None:
        super().__init__()
        self.children: list[Any] = []
        self.work = work(cleaned)

    def on_receive(self, message: Any) -> None:
        """Grow, and begin to wait."""
        levels, cleaned, there = message
        if levels:
            for _ in range(FANOUT):
                child = PykkaNode.start(cleaned)
                self.children.append(child)
                child.tell((levels - 1, cleaned, there))
        next(self.work)
        there.hit()

    def on_stop(self) -> None:
        """Stop the children, and clean up."""
        for child in self.children:
            child.stop(block=False)
        self.work.close()


def bare_round(levels: int) -> float:
    """Return microseconds per actor of our layer."""
    count = total(levels)
    with bare() as dispatcher:
        cleaned, there = Latch(count), Latch(count)
        root = LightNode.start(dispatcher, 0, cleaned)
        root.tell((levels, cleaned, there))
        there.wait()
        started = time.perf_counter()
        root.stop()
        cleaned.wait()
        return (time.perf_counter() - started) / count * 1e6


def pykka_round(levels: int) -> float:
    """Return microseconds per actor on pykka."""
    count = total(levels)
    cleaned, there = Latch(count), Latch(count)
    root = PykkaNode.start(cleaned)
    root.tell((levels, cleaned, there))
    there.wait()
    refs = pykka.ActorRegistry.get_all()
    started = time.perf_counter()
    root.stop()
    cleaned.wait()
    taken = time.perf_counter() - started
    let_go(refs)
    return taken / count * 1e6


def task_round(levels: int) -> float:
    """Return microseconds per task."""
    count = total(levels)

    async def node(levels: int, cleaned: Latch, there: Latch) -> None:
        inbox: asyncio.Queue[object] = asyncio.Queue()
        children = [
            asyncio.create_task(node(levels - 1, cleaned, there))
            for _ in range(FANOUT if levels else 0)
        ]
        there.hit()
        try:
            await inbox.get()
        finally:
            for child in children:
                child.cancel()
            await asyncio.gather(*children, return_exceptions=True)
            cleaned.hit()

    async def host() -> float:
        cleaned, there = Latch(count), Latch(count)
        root = asyncio.create_task(node(levels, cleaned, there))
        for _ in range(levels + 2):  # each pass starts one level
            await asyncio.sleep(0)
        there.wait()
        started = time.perf_counter()
        root.cancel()
        await asyncio.wait([root])
        return (time.perf_counter() - started) / count * 1e6

    return asyncio.run(host())


def run_round(levels: int) -> float:
    """Return microseconds per run."""
    count = total(levels)
    cleaned, there = Latch(count), Latch(count)

    @agent
    def node(turn: Any) -> Generator[Any, Any, None]:
        below = int(turn.text)
        for _ in range(FANOUT if below else 0):
            turn.start("spawn", str(below - 1), agent=node)
        answer: Reply[Any] = Reply()
        there.hit()
        try:
            yield answer
        finally:
            cleaned.hit()

    with Runtime() as runtime:
        root = runtime.start("spawn", str(levels), agent=node).get()
        there.wait()
        started = time.perf_counter()
        root.dispose(PATIENCE_SECONDS).get()
        cleaned.wait()
        return (time.perf_counter() - started) / count * 1e6


def measure(size: Size) -> Iterator[Row]:
    """Measure both layers against both rivals, and a tree against one ten times smaller."""
    levels = size.pick(1, 4, 4)
    fewer = size.pick(1, 3, 4)
    series = alternate(
        {
            "bare": lambda: bare_round(levels),
            "run": lambda: run_round(levels),
            "run, small": lambda: run_round(levels - 1),
            "Y": lambda: task_round(levels),
            "P": lambda: pykka_round(fewer),
        },
        size,
    )
    goals = {("bare", "P"): 150, ("run", "P"): 15, ("bare", "Y"): 2, ("run", "Y"): 0.3}
    unit = sized("µs each", total(levels), total(fewer))
    yield from compared("cancel", series, goals, unit)
    large, small = series["run"], series["run, small"]
    if size is Size.FULL:
        levels += 1
        small = large
        large = alternate({"large": lambda: run_round(levels)}, size, 3)["large"]
    # Ten times as many may take 16 times as long, so each may take 1.6 times as long.
    unit = f"µs each of {total(levels)}, beside {total(levels - 1)}"
    yield faster("cancel/size", "run", large, small, 1 / 1.6, unit)

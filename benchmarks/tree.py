"""A tree of 5 461: spawn four children each, six levels deep, and add up on the way back."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterator
from typing import Any

import pykka

from benchmarks._harness import Row, Size, alternate, bare, compared, lead, let_go, sized
from retinue.actors import Reply, agent
from retinue.actors._actor import LightActor

FANOUT = 4


def total(levels: int) -> int:
    """Return how many there are in a tree of so many levels below its root."""
    return sum(FANOUT**level for level in range(levels + 1))


class LightNode(LightActor):
    """A node on our actor layer: an int makes it grow, a sum of a child's comes back."""

    __slots__ = ("left", "sum", "up")

    def __init__(self, dispatcher: Any, number: int, up: Any) -> None:
        super().__init__(dispatcher, number)
        self.up = up
        self.left = 0
        self.sum = 1

    def on_receive(self, message: Any) -> None:
        """Grow, or add."""
        kind, number = message
        if kind == "grow":
            if number:
                self.left = FANOUT
                dispatcher = self.ref.dispatcher
                for _ in range(FANOUT):
                    child = LightNode.start(dispatcher, dispatcher.next_number(), self.ref.tell)
                    child.tell(("grow", number - 1))
        else:
            self.sum += number
            self.left -= 1
        if not self.left:
            self.up(("sum", self.sum))


class PykkaNode(pykka.ThreadingActor):
    """The same on pykka."""

    def __init__(self, up: Any) -> None:
        super().__init__()
        self.up = up
        self.left = 0
        self.sum = 1

    def on_receive(self, message: Any) -> None:
        """Grow, or add."""
        kind, number = message
        if kind == "grow":
            if number:
                self.left = FANOUT
                for _ in range(FANOUT):
                    child = PykkaNode.start(self.actor_ref.tell)
                    child.tell(("grow", number - 1))
        else:
            self.sum += number
            self.left -= 1
        if not self.left:
            self.up(("sum", self.sum))


def _checked(answer: Any, levels: int) -> None:
    if answer != ("sum", total(levels)):
        raise RuntimeError(f"a tree of {total(levels)} gave {answer}")


def bare_round(levels: int) -> float:
    """Return microseconds per actor of our layer."""
    with bare() as dispatcher:
        answer: Reply[Any] = Reply()
        started = time.perf_counter()
        LightNode.start(dispatcher, 0, answer.resolve).tell(("grow", levels))
        _checked(answer.get(), levels)
        return (time.perf_counter() - started) / total(levels) * 1e6


def pykka_round(levels: int) -> float:
    """Return microseconds per actor on pykka."""
    answer: Reply[Any] = Reply()
    started = time.perf_counter()
    PykkaNode.start(answer.resolve).tell(("grow", levels))
    _checked(answer.get(), levels)
    taken = time.perf_counter() - started
    let_go(pykka.ActorRegistry.get_all())
    return taken / total(levels) * 1e6


def task_round(levels: int) -> float:
    """Return microseconds per task."""

    async def node(levels: int, up: asyncio.Queue[int]) -> None:
        inbox: asyncio.Queue[int] = asyncio.Queue()
        children = [
            asyncio.create_task(node(levels - 1, inbox)) for _ in range(FANOUT if levels else 0)
        ]
        up.put_nowait(1 + sum([await inbox.get() for _ in children]))

    async def host() -> float:
        inbox: asyncio.Queue[int] = asyncio.Queue()
        started = time.perf_counter()
        root = asyncio.create_task(node(levels, inbox))
        _checked(("sum", await inbox.get()), levels)
        taken = time.perf_counter() - started
        await root
        return taken / total(levels) * 1e6

    return asyncio.run(host())


@agent
def node(turn: Any) -> Generator[Any, Any, int]:
    """Delegate to four, and add up what they returned."""
    levels = int(turn.text)
    if not levels:
        return 1
    below = str(levels - 1)
    runs = [turn.start("spawn", below, agent=node) for _ in range(FANOUT)]
    results = yield from turn.wait(runs)
    return 1 + sum(int(result.structured) for result in results)


def run_round(levels: int) -> float:
    """Return microseconds per run."""

    @agent
    def root(turn: Any) -> Generator[Any, Any, float]:
        started = time.perf_counter()
        run = yield from turn.start("spawn", str(levels), agent=node)
        result = yield from run.result
        _checked(("sum", result.structured), levels)
        return (time.perf_counter() - started) / total(levels) * 1e6

    return float(lead(root))


def measure(size: Size) -> Iterator[Row]:
    """Measure both layers against both rivals."""
    levels = size.pick(1, 6, 6)
    fewer = size.pick(1, 5, 6)
    series = alternate(
        {
            "bare": lambda: bare_round(levels),
            "run": lambda: run_round(levels),
            "Y": lambda: task_round(levels),
            "P": lambda: pykka_round(fewer),
        },
        size,
    )
    goals = {("bare", "P"): 100, ("run", "P"): 15, ("bare", "Y"): 2, ("run", "Y"): 0.25}
    unit = sized("µs each", total(levels), total(fewer))
    yield from compared("tree", series, goals, unit)

"""A message goes round a ring of 100 actors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import pykka

from benchmarks._harness import Row, Size, alternate, bare, compared, let_go
from retinue.actors import Reply
from retinue.actors._actor import LightActor

MEMBERS = 100


class LightMember(LightActor):
    """Passes a count on, one less, to its neighbour."""

    neighbour: Any
    done: Any

    def on_receive(self, message: Any) -> None:
        """Take the neighbour, or pass on."""
        if isinstance(message, int):
            if message:
                self.neighbour.tell(message - 1)
            else:
                self.done.resolve()
        else:
            self.neighbour, self.done = message


class PykkaMember(pykka.ThreadingActor):
    """The same on pykka."""

    neighbour: Any
    done: Any

    def on_receive(self, message: Any) -> None:
        """Take the neighbour, or pass on."""
        if isinstance(message, int):
            if message:
                self.neighbour.tell(message - 1)
            else:
                self.done.resolve()
        else:
            self.neighbour, self.done = message


def _round(members: list[Any], hops: int) -> float:
    done: Reply[Any] = Reply()
    for member, neighbour in zip(members, [*members[1:], members[0]], strict=True):
        member.tell((neighbour, done))
    started = time.perf_counter()
    members[0].tell(hops)
    done.get()
    return (time.perf_counter() - started) / hops * 1e6


def bare_round(hops: int) -> float:
    """Return microseconds per hop on our actor layer."""
    with bare() as dispatcher:
        return _round([LightMember.start(dispatcher, n) for n in range(MEMBERS)], hops)


def pykka_round(hops: int) -> float:
    """Return microseconds per hop on pykka."""
    members = [PykkaMember.start() for _ in range(MEMBERS)]
    taken = _round(members, hops)
    let_go(members)
    return taken


def task_round(hops: int) -> float:
    """Return microseconds per hop between tasks."""

    async def member(inbox: asyncio.Queue[int], out: asyncio.Queue[int], done: Any) -> None:
        while True:
            left = await inbox.get()
            if not left:
                done.set()
                return
            out.put_nowait(left - 1)

    async def host() -> float:
        done = asyncio.Event()
        queues: list[asyncio.Queue[int]] = [asyncio.Queue() for _ in range(MEMBERS)]
        pairs = zip(queues, [*queues[1:], queues[0]], strict=True)
        tasks = [asyncio.create_task(member(inbox, out, done)) for inbox, out in pairs]
        await asyncio.sleep(0)
        started = time.perf_counter()
        queues[0].put_nowait(hops)
        await done.wait()
        taken = time.perf_counter() - started
        for task in tasks:
            task.cancel()
        return taken / hops * 1e6

    return asyncio.run(host())


def measure(size: Size) -> Iterator[Row]:
    """Measure our actor layer against both rivals."""
    hops = size.pick(200, 20_000, 100_000)
    series = alternate(
        {
            "bare": lambda: bare_round(hops),
            "Y": lambda: task_round(hops),
            "P": lambda: pykka_round(hops),
        },
        size,
        size.pick(1, 7, 15),
    )
    goals = {("bare", "P"): 15, ("bare", "Y"): None}
    yield from compared("ring", series, goals, f"µs per hop, {MEMBERS} actors")

"""
Fork a parent with 10 000 messages behind it, until the child's model has the whole request.

Time and memory per child that waits in its model call, beside the same child without a
history and beside one deep copy of the conversation as plain dicts.
"""

from __future__ import annotations

import asyncio
import copy
import gc
import time
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

from benchmarks._harness import (
    Latch,
    Row,
    Series,
    Size,
    alternate,
    faster,
    in_fresh_process,
    resident_bytes,
)
from benchmarks.fork import TEXT, after, conversation
from retinue.actors import Agent
from retinue.protocol.model import Answer, ModelRequest


class Waiting:
    """A model that takes requests, reads their newest message, and never answers."""

    name = "waiting"

    def __init__(self, messages: int) -> None:
        self.messages = messages
        self.there = Latch(0)

    async def stream(self, request: ModelRequest) -> AsyncIterator[Answer]:
        """Wait for ever."""
        if len(request.messages) < self.messages or request.messages[-1].text != TEXT:
            raise RuntimeError(f"a request of {len(request.messages)} messages")
        self.there.hit()
        await asyncio.Event().wait()
        yield Answer(())


def _forked(provider: str, turns: int, work: Any) -> float:
    """Run *work* in the turn after so many turns, and return what it returned."""
    model = Waiting(turns * 2 if provider == "fork" else 1)
    child = Agent(model=model, name="child")
    return float(after(turns, lambda turn: work(turn, model, child)))


def _started(turn: Any, provider: str, model: Waiting, child: Agent, count: int) -> Any:
    model.there = Latch(count)
    starts = [turn.start(provider, TEXT, agent=child) for _ in range(count)]
    for start in starts:
        yield from start
    yield from turn.call(model.there.wait)


def start_round(provider: str, turns: int, count: int) -> float:
    """Return microseconds per child until its model has the request."""

    def work(turn: Any, model: Waiting, child: Agent) -> Generator[Any, Any, float]:
        yield from _started(turn, provider, model, child, 1)  # derives the conversation, once
        started = time.perf_counter()
        yield from _started(turn, provider, model, child, count)
        return (time.perf_counter() - started) / count * 1e6

    return _forked(provider, turns, work)


def held_bytes(turns: int) -> float:
    """Return the bytes of a child in its model call; without turns one without history."""
    provider, count = ("fork" if turns else "spawn"), 1_000

    def work(turn: Any, model: Waiting, child: Agent) -> Generator[Any, Any, float]:
        yield from _started(turn, provider, model, child, count // 10)
        gc.collect()
        before = resident_bytes()
        yield from _started(turn, provider, model, child, count)
        gc.collect()
        return (resident_bytes() - before) / count

    return max(_forked(provider, turns, work), 1.0)


def copy_bytes(turns: int) -> float:
    """Return the bytes of a deep copy."""
    history = conversation(turns)
    gc.collect()
    before = resident_bytes()
    copies = [copy.deepcopy(history) for _ in range(20)]
    gc.collect()
    return (resident_bytes() - before) / len(copies)


def copy_round(turns: int) -> float:
    """Return microseconds per deep copy."""
    history = conversation(turns)
    started = time.perf_counter()
    copied = copy.deepcopy(history)
    taken = time.perf_counter() - started
    del copied
    return taken * 1e6


def measure(size: Size) -> Iterator[Row]:
    """Measure time and memory per child."""
    turns = size.pick(20, 5_000, 5_000)
    count = size.pick(5, 300, 1_000)
    series = alternate(
        {
            "fork": lambda: start_round("fork", turns, count),
            "spawn": lambda: start_round("spawn", 1, count),
            "copy": lambda: copy_round(turns),
        },
        size,
    )
    unit = f"µs per child of {turns * 2} messages until its model is asked"
    yield faster("history/spawn", "run", series["fork"], series["spawn"], 1 / 1.2, unit)
    yield faster("history/deepcopy", "run", series["fork"], series["copy"], 100, unit)
    if size is Size.QUICK:
        return
    rounds = 3
    forks, spawns, copies = (
        Series(tuple(in_fresh_process(function, number) for _ in range(rounds)))
        for function, number in ((held_bytes, turns), (held_bytes, 0), (copy_bytes, turns))
    )
    unit = f"B per child of {turns * 2} messages in its model call"
    yield faster("history/bytes/spawn", "run", forks, spawns, 1 / 1.2, unit)
    yield faster("history/bytes/deepcopy", "run", forks, copies, 50, unit)

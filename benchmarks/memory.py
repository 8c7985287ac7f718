"""
What one idle or suspended run costs in memory, and one event of a log.

RSS growth in a fresh process per variant, the mean of many; the goal is an amount.
Suspended is one that waits for a model's answer, with a frame to go on in.
"""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pykka

from benchmarks._harness import (
    Row,
    Series,
    Size,
    bare,
    compared,
    in_fresh_process,
    lead,
    let_go,
    resident_bytes,
    within,
)
from benchmarks.spawn import idle
from retinue.actors import Reply, Runtime, agent
from retinue.actors._actor import LightActor

# Made before the first reading, so that what is made once is not counted.
WARM_UP = 500


def _growth(make: Callable[[int], Any], count: int) -> float:
    kept = [make(min(WARM_UP, count))]
    gc.collect()
    before = resident_bytes()
    kept.append(make(count))
    gc.collect()
    grown = (resident_bytes() - before) / count
    del kept
    return max(grown, 1.0)  # few may fit into what the warm-up left


class IdleLight(LightActor):
    """An idle actor of our layer."""

    __slots__ = ()


class SuspendedLight(LightActor):
    """An actor of our layer that holds a frame waiting for an answer."""

    __slots__ = ("work",)

    def on_start(self) -> None:
        """Begin, up to the wait."""
        self.work = self._work()
        next(self.work)

    def _work(self) -> Generator[Reply[Any], Any, None]:
        answer: Reply[Any] = Reply()
        yield answer


class IdlePykka(pykka.ThreadingActor):
    """An idle actor of pykka."""


def _light(kind: type[LightActor], count: int) -> float:
    with bare() as dispatcher:

        def make(number: int) -> list[Any]:
            refs = [kind.start(dispatcher, dispatcher.next_number()) for _ in range(number)]
            refs[-1].stop()  # answered when all have started
            return refs

        return _growth(make, count)


def idle_bare(count: int) -> float:
    """Return the bytes of an idle actor."""
    return _light(IdleLight, count)


def suspended_bare(count: int) -> float:
    """Return the bytes of an actor with a suspended frame."""
    return _light(SuspendedLight, count)


def idle_pykka(count: int) -> float:
    """Return the bytes of an idle pykka actor; kernel memory of its thread not counted."""
    made: list[Any] = []

    def make(number: int) -> None:
        made.extend(IdlePykka.start() for _ in range(number))

    grown = _growth(make, count)
    let_go(made)
    return grown


def idle_task(count: int) -> float:
    """Return the bytes of a task that waits at a queue of its own."""

    async def child(inbox: asyncio.Queue[object]) -> None:
        await inbox.get()

    async def parent() -> float:
        before, kept = 0, []
        for number in (min(WARM_UP, count), count):
            gc.collect()
            before = resident_bytes()
            kept += [asyncio.create_task(child(asyncio.Queue())) for _ in range(number)]
            await asyncio.sleep(0)
        gc.collect()
        return max((resident_bytes() - before) / count, 1.0)

    return asyncio.run(parent())


def idle_run(count: int) -> float:
    """Return the bytes of an idle resident whose handle nobody kept."""
    with Runtime() as runtime:

        def make(number: int) -> None:
            for _ in range(number):
                reply = runtime.open(idle)
            reply.get()

        return _growth(make, count)


@agent
def suspended(_: Any) -> Generator[Any, Any, None]:
    """Wait for an answer that does not come."""
    answer: Reply[Any] = Reply()
    yield answer


@agent
async def awaiting(_: Any) -> None:
    """Await an answer that does not come."""
    answer: Reply[Any] = Reply()
    await answer


def _suspended(behaviour: Any, count: int) -> float:
    with Runtime() as runtime:

        def make(number: int) -> None:
            for _ in range(number):
                reply = runtime.start("spawn", "go", agent=behaviour)
            reply.get()
            runtime.start("spawn", "go", agent=_settled).get().result.get()

        return _growth(make, count)


@agent
async def _settled(_: Any) -> None:
    """Return when what was put on the loop before has begun."""
    await asyncio.sleep(0.01)


def suspended_generator(count: int) -> float:
    """Return the bytes of a generator's run in mid-turn."""
    return _suspended(suspended, count)


def suspended_coroutine(count: int) -> float:
    """Return the bytes of a coroutine's run in mid-turn."""
    return _suspended(awaiting, count)


def event(count: int) -> float:
    """Return the bytes of one logged message, its text not counted."""
    size = sys.getsizeof(_text(0))

    @agent
    def talker(turn: Any) -> Generator[Any, Any, float]:
        def make(number: int) -> None:
            for spoken in range(number):
                turn.say(_text(spoken))

        make(WARM_UP)
        yield from turn.step()
        gc.collect()
        before = resident_bytes()
        make(count)
        yield from turn.step()
        gc.collect()
        return max((resident_bytes() - before) / count - size, 1.0)

    return float(lead(talker))


def _text(number: int) -> str:
    return f"{number:>40}"


def measure(size: Size) -> Iterator[Row]:
    """Measure each variant in a process of its own."""
    count = size.pick(100, 20_000, 100_000)
    few = size.pick(10, 1_000, 10_000)
    rounds = size.pick(1, 3, 3)

    def series(function: Callable[[int], float], number: int = count) -> Series:
        if size is Size.QUICK:  # a fresh process takes longer to start than all the rest
            return Series((function(number),))
        return Series(tuple(in_fresh_process(function, number) for _ in range(rounds)))

    unit = f"B each of {count}"
    idles = {
        "bare": series(idle_bare),
        "run": series(idle_run),
        "P": series(idle_pykka, few),
        "Y": series(idle_task),
    }
    yield within("memory/idle", "bare", idles["bare"], 640, unit)
    yield within("memory/idle", "run", idles["run"], 800, unit)
    goals = {(layer, rival): None for rival in ("P", "Y") for layer in ("bare", "run")}
    yield from compared("memory/idle", idles, goals, f"{unit} (P: of {few})")
    yield within("memory/suspended", "bare", series(suspended_bare), 1_500, unit)
    yield within("memory/generator", "run", series(suspended_generator), 1_500, unit)
    yield within("memory/coroutine", "run", series(suspended_coroutine), 2_500, unit)
    yield within("memory/event", "run", series(event), 200, unit)

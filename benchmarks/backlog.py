"""Cancel one that has 5 000 messages of 100 µs waiting; it must not matter how many wait."""

from __future__ import annotations

import time
from collections.abc import Generator, Iterator
from typing import Any

import pykka

from benchmarks._harness import Latch, Row, Size, alternate, bare, compared, faster
from retinue.actors import Runtime, agent
from retinue.actors._actor import LightActor

MESSAGE_SECONDS = 100e-6


def busy() -> None:
    """Work for 100 µs."""
    until = time.perf_counter() + MESSAGE_SECONDS
    while time.perf_counter() < until:
        pass


class LightOne(LightActor):
    """Works for 100 µs on each message, after it was let go."""

    def on_receive(self, message: Any) -> None:
        """Work."""
        if message is not None:
            message.wait()
        busy()


class PykkaOne(pykka.ThreadingActor):
    """The same on pykka."""

    def on_receive(self, message: Any) -> None:
        """Work."""
        if message is not None:
            message.wait()
        busy()


def _stopped_after(ref: Any, count: int) -> float:
    gate = Latch(1)
    ref.tell(gate)
    for _ in range(count):
        ref.tell(None)
    gate.hit()
    started = time.perf_counter()
    ref.stop()
    return (time.perf_counter() - started) * 1e3


def bare_round(count: int) -> float:
    """Return milliseconds until an actor of our layer has stopped."""
    with bare() as dispatcher:
        return _stopped_after(LightOne.start(dispatcher, 0), count)


def pykka_round(count: int) -> float:
    """Return milliseconds until an actor of pykka has stopped."""
    return _stopped_after(PykkaOne.start(), count)


def run_round(count: int) -> float:
    """Return milliseconds until a resident has its result."""
    gate = Latch(1)

    @agent
    def worker(turn: Any) -> Generator[Any, Any, None]:
        gate.wait()
        busy()
        yield from turn.step()

    with Runtime() as runtime:
        run = runtime.open(worker).get()
        for _ in range(count):
            run.tell("work")
        gate.hit()
        started = time.perf_counter()
        run.cancel()
        run.result.get()
        return (time.perf_counter() - started) * 1e3


def measure(size: Size) -> Iterator[Row]:
    """Measure both layers against pykka, and a long queue against a short one."""
    count = size.pick(20, 5_000, 5_000)
    fewer = count // 10
    series = alternate(
        {
            "bare": lambda: bare_round(count),
            "run": lambda: run_round(count),
            "bare, short": lambda: bare_round(fewer),
            "run, short": lambda: run_round(fewer),
            "P": lambda: pykka_round(count),
        },
        size,
        size.pick(1, 9, 15),
    )
    goals = {("bare", "P"): 200, ("run", "P"): 200}
    yield from compared("backlog", series, goals, f"ms behind {count} messages")
    unit = f"ms behind {count} messages, beside {fewer}"
    for layer in ("bare", "run"):
        # Times below a millisecond scatter: half as fast still counts as equal.
        yield faster("backlog/length", layer, series[layer], series[f"{layer}, short"], 0.5, unit)

"""
Ask one whose answer takes a thread of its own: never slower than pykka.

Of the actor layer an actor that is not direct; of runs a resident with a plain function.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from benchmarks._harness import Row, Size, alternate, bare, compared
from benchmarks.ask import PykkaEcho
from retinue.actors import Runtime, agent
from retinue.actors._actor import LightActor


class LightEcho(LightActor):
    """Answers with what it was asked, always on the dispatcher's thread."""

    def on_receive(self, message: Any) -> Any:
        """Answer."""
        return message


@agent
def echo(turn: Any) -> str:
    """Answer with what it was asked, on a worker's thread."""
    text: str = turn.text
    return text


def _asked(ref: Any, count: int) -> float:
    started = time.perf_counter()
    for _ in range(count):
        ref.ask("a question")
    return (time.perf_counter() - started) / count * 1e6


def bare_round(count: int) -> float:
    """Return microseconds per ask of an actor of our layer."""
    with bare() as dispatcher:
        return _asked(LightEcho.start(dispatcher, 0), count)


def pykka_round(count: int) -> float:
    """Return microseconds per ask of an actor of pykka."""
    ref = PykkaEcho.start()
    taken = _asked(ref, count)
    ref.stop()
    return taken


def run_round(count: int) -> float:
    """Return microseconds per ask of a resident."""
    with Runtime() as runtime:
        run = runtime.open(echo).get()
        started = time.perf_counter()
        for _ in range(count):
            run.ask("a question").get()
        return (time.perf_counter() - started) / count * 1e6


def measure(size: Size) -> Iterator[Row]:
    """Measure both layers against pykka."""
    count = size.pick(10, 1_000, 10_000)
    series = alternate(
        {
            "bare": lambda: bare_round(count),
            "run": lambda: run_round(count),
            "P": lambda: pykka_round(count),
        },
        size,
        size.pick(1, 9, 15),
    )
    goals = {("bare", "P"): 1, ("run", "P"): 1}
    yield from compared("blocking", series, goals, f"µs per ask, {count} in turn")

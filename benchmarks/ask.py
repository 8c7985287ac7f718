"""Ask from a pykka host: an actor that is declared direct answers on the asker's thread."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any, ClassVar

import pykka

from benchmarks._harness import Row, Size, alternate, bare, compared
from retinue.actors._actor import LightActor


class LightEcho(LightActor):
    """Answers with what it was asked."""

    direct: ClassVar[bool] = True

    def on_receive(self, message: Any) -> Any:
        """Answer."""
        return message


class PykkaEcho(pykka.ThreadingActor):
    """The same on pykka."""

    def on_receive(self, message: Any) -> Any:
        """Answer."""
        return message


class Host(pykka.ThreadingActor):
    """A host's actor that asks another many times."""

    def on_receive(self, message: Any) -> float:
        """Ask, and return microseconds per ask."""
        ref, count = message
        started = time.perf_counter()
        for number in range(count):
            ref.ask(number)
        return float((time.perf_counter() - started) / count * 1e6)


def asked_by_host(ref: Any, count: int) -> float:
    """Have a new pykka actor ask *ref*."""
    host = Host.start()
    taken: Any = host.ask((ref, count))
    host.stop()
    return float(taken)


def bare_round(count: int) -> float:
    """Return microseconds per ask of an actor of our layer."""
    with bare() as dispatcher:
        return asked_by_host(LightEcho.start(dispatcher, 0), count)


def pykka_round(count: int) -> float:
    """Return microseconds per ask of an actor of pykka."""
    ref = PykkaEcho.start()
    taken = asked_by_host(ref, count)
    ref.stop()
    return taken


def measure(size: Size) -> Iterator[Row]:
    """Measure our actor layer against pykka."""
    count = size.pick(20, 5_000, 50_000)
    series = alternate(
        {"bare": lambda: bare_round(count), "P": lambda: pykka_round(count)},
        size,
        size.pick(1, 7, 15),
    )
    yield from compared("ask", series, {("bare", "P"): 8}, f"µs per ask, {count} in turn")

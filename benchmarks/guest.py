"""
The host's own pykka actors, beside 100 000 idle ones of ours: they must not pay for them.

CPU time of tells and asks, in processes that stand side by side and work in turns.
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import attrs

from benchmarks._harness import Latch, Row, Series, Size, alternate, bare, faster
from benchmarks.ask import PykkaEcho, asked_by_host
from benchmarks.memory import IdleLight
from benchmarks.spawn import idle
from benchmarks.tell import PykkaCounter
from retinue.actors import Runtime

ASKS_PER_TELL = 10


def host_work(count: int) -> float:
    """Return the CPU seconds of so many tells, and a tenth as many asks."""
    started = time.process_time()
    latch = Latch(count)
    counter = PykkaCounter.start(latch)
    for number in range(count):
        counter.tell(number)
    latch.wait()
    counter.stop()
    echo = PykkaEcho.start()
    asked_by_host(echo, count // ASKS_PER_TELL)
    echo.stop()
    return time.process_time() - started


@contextlib.contextmanager
def idle_runs(count: int) -> Iterator[None]:
    """Keep so many idle runs."""
    with Runtime() as runtime:
        for _ in range(count):
            reply = runtime.open(idle)
        reply.get()
        yield


@contextlib.contextmanager
def idle_actors(count: int) -> Iterator[None]:
    """Keep so many idle actors of our layer."""
    with bare() as dispatcher:
        kept = [IdleLight.start(dispatcher, number) for number in range(count)]
        kept.pop().stop()
        yield


def serve(guests: str, count: int) -> None:
    """Do a round of host's work for each number that is read, and print what it took."""
    hosts: dict[str, Callable[[int], Any]] = {
        "run": idle_runs,
        "bare": idle_actors,
        "none": lambda _: contextlib.nullcontext(),
    }
    with hosts[guests](count):
        print("ready", flush=True)
        for line in sys.stdin:
            print(host_work(int(line)), flush=True)


class Child:
    """A process that serves."""

    def __init__(self, guests: str, count: int) -> None:
        code = f"from benchmarks.guest import serve; serve({guests!r}, {count})"
        self._process = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()

    def work(self, count: int) -> float:
        """Return the CPU seconds of one round."""
        assert self._process.stdin is not None
        print(count, file=self._process.stdin, flush=True)
        return float(self._read())

    def close(self) -> None:
        """End the process."""
        with self._process:
            assert self._process.stdin is not None
            self._process.stdin.close()


def measure(size: Size) -> Iterator[Row]:
    """Measure a host with guests against one without."""
    guests = size.pick(50, 20_000, 100_000)
    count = size.pick(50, 20_000, 50_000)
    children = {name: Child(name, guests) for name in ("none", "bare", "run")}
    try:
        contenders = {
            name: lambda child=child: child.work(count) for name, child in children.items()
        }
        series = alternate(contenders, size, size.pick(1, 9, 25))
    finally:
        for child in children.values():
            child.close()
    # CPU time is only ever too long, never too short: the best round is the truest.
    alone = Series((min(series["none"].values),))
    unit = f"CPU s for {count} tells and {count // ASKS_PER_TELL} asks beside {guests}"
    for layer in ("bare", "run"):
        best = Series((min(series[layer].values),))
        row = faster("guest", layer, best, alone, 1 / 1.05, f"{unit}, best round")
        yield attrs.evolve(row, rounds=len(series[layer].values))

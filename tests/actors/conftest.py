"""Runtimes for the tests of runs: closed at the end, and watched on the way."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retinue.actors import ManualClock, Runtime
from retinue.protocol.events import LifecycleMonitor


def watched(runtime: Runtime) -> Iterator[Runtime]:
    """Yield a runtime, close it, and insist that every start had one end (REG-20)."""
    monitor = LifecycleMonitor()
    with runtime:
        runtime.subscribe(monitor)
        yield runtime
    assert [] == monitor.violations
    assert {} == monitor.open


@pytest.fixture(name="runtime")
def make_runtime() -> Iterator[Runtime]:
    """Give a runtime on threads, with the machine's clock."""
    yield from watched(Runtime())


@pytest.fixture(name="clock")
def make_clock() -> ManualClock:
    """Give a clock that the test moves."""
    return ManualClock()


@pytest.fixture(name="timed")
def make_timed(clock: ManualClock) -> Iterator[Runtime]:
    """Give a runtime on threads, with the test's clock."""
    yield from watched(Runtime(clock=clock))

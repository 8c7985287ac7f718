"""What every test of a provider gets: a case of the contract, and a runtime that has it."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, repeat
from typing import Any

import pytest

from retinue.actors import ManualClock, Reply, Run, Runtime
from retinue.backends.scripted import Item, NeverOpen, Return, Scripted
from retinue.protocol.events import LifecycleMonitor, RunEnded, RunStarted
from retinue.protocol.invariants import violations
from tests.backends.contract import CASES, Case, only
from tests.doubles import PATIENCE, Probe


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """One provider of the contract."""
    given: Case = request.param
    return given


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock()


class Noting(Runtime):
    """A runtime that notes every run that a test starts or opens."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.replies: list[Reply[Run]] = []
        super().__init__(*args, **options)

    def start(self, *args: Any, **options: Any) -> Reply[Run]:
        """Start a run, and note it."""
        self.replies.append(super().start(*args, **options))
        return self.replies[-1]

    def open(self, *args: Any, **options: Any) -> Reply[Run]:
        """Open a resident, and note it."""
        self.replies.append(super().open(*args, **options))
        return self.replies[-1]

    def runs(self) -> list[Run]:
        """Return the runs that came to be."""
        return [reply.get() for reply in self.replies if reply.is_done and reply.error is None]


@pytest.fixture
def runtime(clock: ManualClock) -> Iterator[Runtime]:
    """A runtime with every provider of the contract, whose lifecycle and logs break no rule."""
    monitor = LifecycleMonitor()
    providers = {case.provider.name: case.provider for case in CASES}
    with Noting(providers.values(), clock=clock) as opened:
        opened.subscribe(monitor)
        yield opened

    assert [] == monitor.violations
    assert {} == monitor.open
    for run in opened.runs():
        assert () == violations(run.transcript())
        assert run.log.open_turn is None


@pytest.fixture
def edges(runtime: Runtime) -> Probe:
    """What is told of runs that start and end."""
    probe = Probe()
    runtime.subscribe(only(probe, RunStarted, RunEnded))
    return probe


@pytest.fixture
def slow(runtime: Runtime) -> Iterator[tuple[Case, NeverOpen]]:
    """A provider that opens runs on a thread, the first of which it does not open."""
    never = NeverOpen()
    scripts: Iterator[list[Item]] = chain([[never, Return("first")]], repeat([Return("second")]))
    provider = Scripted(lambda _: next(scripts), name="slow", is_immediate=False)
    runtime.register(provider).get(timeout=PATIENCE)
    yield Case("slow", provider), never
    never.release()

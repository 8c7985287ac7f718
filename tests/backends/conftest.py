"""What every test of a provider gets: a case of the contract, and a runtime that has it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retinue.actors import ManualClock, Runtime
from retinue.protocol.events import LifecycleMonitor
from tests.backends.contract import CASES, Case


@pytest.fixture(params=CASES, ids=str)
def case(request: pytest.FixtureRequest) -> Case:
    """One provider of the contract."""
    given: Case = request.param
    return given


@pytest.fixture
def clock() -> ManualClock:
    """A clock that the test moves."""
    return ManualClock()


@pytest.fixture
def runtime(clock: ManualClock) -> Iterator[Runtime]:
    """A runtime with every provider of the contract, watched for broken rules (REG-20)."""
    monitor = LifecycleMonitor()
    providers = {case.provider.name: case.provider for case in CASES}
    with Runtime(providers.values(), clock=clock) as opened:
        opened.subscribe(monitor)
        yield opened

    assert [] == monitor.violations
    assert {} == monitor.open

"""Runtimes for tests of tools: in virtual time, and, for what is a process, on threads."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from retinue.actors import DeterministicDispatcher, Runtime
from tests.actors.conftest import watched


@pytest.fixture(name="dispatcher")
def make_dispatcher() -> DeterministicDispatcher:
    """Give a dispatcher that the test drives."""
    return DeterministicDispatcher(0)


@pytest.fixture(name="runtime")
def make_runtime(dispatcher: DeterministicDispatcher) -> Iterator[Runtime]:
    """Give a runtime on it, watched and closed."""
    yield from watched(Runtime(dispatcher=dispatcher))


@pytest.fixture(name="threaded")
def make_threaded() -> Iterator[Runtime]:
    """Give a runtime on threads."""
    yield from watched(Runtime())

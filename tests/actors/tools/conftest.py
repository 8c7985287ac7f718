"""A runtime in virtual time, and a chief to order about."""

from __future__ import annotations

import pytest

from retinue.actors import DeterministicDispatcher, Runtime
from tests.actors.tools.chiefs import Chief
from tests.backends.loop.conftest import make_dispatcher, make_runtime

__all__ = ["make_dispatcher", "make_runtime"]


@pytest.fixture(name="chief")
def make_chief(runtime: Runtime, dispatcher: DeterministicDispatcher) -> Chief:
    """Give what runs agents whose model delegates as a script says."""
    return Chief(runtime, dispatcher)

"""Runtimes and a server for the tests of models."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.actors.conftest import make_clock, make_runtime, make_timed
from tests.backends.models.loopback import Loopback, serving

__all__ = ["make_clock", "make_runtime", "make_timed"]


@pytest.fixture(name="server")
def make_server() -> Iterator[Loopback]:
    """Give a server of models on this machine."""
    with serving() as loopback:
        yield loopback


@pytest.fixture(name="tape")
def make_tape(tmp_path: Path) -> Path:
    """Name a tape that is not there yet."""
    return tmp_path / "tape.jsonl"

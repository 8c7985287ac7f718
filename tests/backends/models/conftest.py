"""Runtimes for the tests of models."""

from __future__ import annotations

from tests.actors.conftest import make_clock, make_runtime, make_timed

__all__ = ["make_clock", "make_runtime", "make_timed"]

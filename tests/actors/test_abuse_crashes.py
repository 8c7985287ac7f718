"""Runs whose very crash fails, and starts that the registry cannot even refuse in peace."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Runtime
from retinue.protocol.errors import DuplicateProvider, NotQuiescent
from retinue.protocol.provider import TurnOrder
from retinue.protocol.result import ERROR
from tests.actors.behaviours import echo, ended, started
from tests.actors.odd import Odd, Sound
from tests.doubles import PATIENCE


class Nameless(Odd):
    """A provider that forgets its name once it was asked to begin."""

    is_broken = False

    @property
    def name(self) -> str:
        """Return the name, or raise."""
        if self.is_broken:
            raise ValueError("what was it?")
        return "odd"

    @name.setter
    def name(self, name: str) -> None:
        del name


def test_a_run_whose_crash_fails_has_an_end() -> None:
    """
    Its result is there, its parent and a dispose are answered, and a close names it: its
    driver is lost.
    """

    class Driver(Sound):
        def begin(self, order: TurnOrder) -> None:
            provider.is_broken = True
            raise ValueError("first")

    provider = Nameless(Driver)
    runtime = Runtime([provider], grace=0.1)
    run = runtime.start("odd", "go").get(timeout=PATIENCE)

    assert ERROR == ended(run).stop_reason
    assert "first" in str(ended(run).diagnostic)
    with pytest.raises(NotQuiescent, match=run.id):
        run.dispose().get(timeout=PATIENCE)
    assert "still here" == ended(started(runtime, echo, "still here")).text
    with pytest.raises(NotQuiescent, match=run.id):
        runtime.close()


def test_capabilities_that_raise_cost_the_asker_the_answer() -> None:
    """
    At the registration, and at a start when they did not before.
    """

    class Moody(Odd):
        asked = 0

        def __getattribute__(self, name: str) -> Any:
            if name == "capabilities":
                self.asked += 1
                if self.asked > 1:
                    raise SystemExit
            return super().__getattribute__(name)

    with Runtime([Moody(Sound)]) as runtime:
        with pytest.raises(RuntimeError, match="SystemExit"):
            runtime.start("odd", "go", max_depth=3).get(timeout=PATIENCE)

        assert "still here" == ended(started(runtime, echo, "still here")).text


def test_the_same_provider_twice_is_refused_with_nothing_left() -> None:
    """
    The runtime that could not be made is closed.
    """
    provider = Odd(Sound)

    with pytest.raises(DuplicateProvider):
        Runtime([provider, provider])

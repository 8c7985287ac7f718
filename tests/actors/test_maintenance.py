"""Maintenance of a run: between its turns, and in nobody's way."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Runtime, agent
from retinue.protocol.errors import DeadRun, Refused
from tests.actors.behaviours import opened
from tests.doubles import PATIENCE, Gate


@agent
def echo(turn: Any) -> str:
    """Answer with the prompt."""
    return str(turn.text)


def test_what_wakes_waits_until_it_is_over(runtime: Runtime) -> None:
    """
    INB-18: the run is idle by all appearances, a prompt is accepted and waits, and the turn
    starts when the maintenance has ended.
    """
    run, gate = opened(runtime, echo), Gate()

    def compact() -> int:
        """Hold, and say how long the log is."""
        gate.wait()
        return len(run.transcript())

    done = run.maintain(compact)
    assert gate.reached.wait(PATIENCE)
    answer = run.ask("hello")
    states = [line for line in str(runtime.tree()).splitlines() if "[idle]" in line]
    assert 1 == len(states)
    with pytest.raises(Refused, match="is at work"):
        run.maintain(compact).get(timeout=PATIENCE)
    gate.open()

    events = done.get(timeout=PATIENCE)

    assert "hello" == answer.get(timeout=PATIENCE).text
    assert 1 == events, "the prompt was accepted, and no turn had begun"


def test_it_begins_only_while_the_run_is_idle(runtime: Runtime) -> None:
    """
    INB-18: starting it while a turn is open raises, and the turn notices nothing.
    """
    gate = Gate()

    def held(turn: Any) -> str:
        """Work until the gate is open."""
        gate.wait()
        return str(turn.text)

    run = opened(runtime, held)
    answer = run.ask("work")
    assert gate.reached.wait(PATIENCE)

    with pytest.raises(Refused, match="only while a run is idle"):
        run.maintain(list).get(timeout=PATIENCE)
    gate.open()

    assert "work" == answer.get(timeout=PATIENCE).text
    assert [] == run.maintain(list).get(timeout=PATIENCE)


def test_an_error_in_it_is_the_askers_alone(runtime: Runtime) -> None:
    """
    The run goes on with what waits.
    """
    run = opened(runtime, echo)

    def fail() -> None:
        """Raise."""
        raise ValueError("odd")

    with pytest.raises(ValueError, match="odd"):
        run.maintain(fail).get(timeout=PATIENCE)

    assert "on" == run.ask("on").get(timeout=PATIENCE).text


def test_a_run_that_ends_waits_for_it_and_its_asker_hears(runtime: Runtime) -> None:
    """
    Whoever asked for it is told at once; dispose is over when the function is.
    """
    run, gate = opened(runtime, echo), Gate()
    done = run.maintain(gate.wait)
    assert gate.reached.wait(PATIENCE)

    gone = run.dispose()

    with pytest.raises(DeadRun, match="before its maintenance"):
        done.get(timeout=PATIENCE)
    assert not gone.is_done
    gate.open()
    assert gone.get(timeout=PATIENCE)

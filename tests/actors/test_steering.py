"""Steering a run: words for its next step, a wish to wrap up, and going on from its end."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from retinue.actors import Run, Runtime, StepTaken
from retinue.protocol.content import Form, Kind, Text
from retinue.protocol.errors import NotDelivered
from retinue.protocol.log import TurnStarted
from tests.actors.behaviours import Steps, ended, opened, started
from tests.doubles import PATIENCE, Gate


def stepping(gate: Gate) -> Any:
    """Return a function that stands at a gate, then at a step edge, and tells what it heard."""

    def behaviour(turn: Any) -> list[str]:
        gate.wait()
        heard = [note.text for note in turn.step()]
        return [turn.text, *heard]

    return behaviour


def test_a_steer_is_a_message_with_a_source(runtime: Runtime) -> None:
    """
    A parent's steering says that it is a parent's, and the receipt goes to the parent.
    """
    gate, sources = Gate(), list[Any]()

    def child(turn: Any) -> None:
        gate.wait()
        sources.extend(note.source for note in turn.step())

    def parent(turn: Any) -> Any:
        run = turn.start("spawn", "go", agent=child)
        assert gate.reached.wait(PATIENCE)
        receipt = run.steer("faster")
        gate.open()
        return [receipt.get(timeout=PATIENCE) == StepTaken(run.id, 1, 2), ended(run).is_success]

    run = started(runtime, parent)

    assert [True, True] == ended(run).unwrap()
    assert [(Kind.PARENT, Form.STEER, run.id)] == [
        (one.kind, one.form, one.sender) for one in sources
    ]


def test_a_blocking_turn_steers_and_has_its_receipt_at_once(runtime: Runtime) -> None:
    """
    `turn.steer` returns when a step took the words; what no step takes raises there.
    """
    begun = threading.Event()

    def child(turn: Any) -> Steps:
        begun.set()
        while not (yield from turn.step()):
            pass

    def parent(turn: Any) -> Any:
        run = turn.start("spawn", "go", agent=child)
        assert begun.wait(PATIENCE)
        receipt = turn.steer(run, "enough")
        assert ended(run).is_success
        with pytest.raises(Exception, match="has ended"):
            turn.steer(run, "too late")
        return [receipt.turn, receipt.step]

    assert [1, 2] == ended(started(runtime, parent)).unwrap()


def test_a_wrap_up_is_seen_and_its_return_is_completed(runtime: Runtime) -> None:
    """
    Softer than a cancel: the turn returns what it has, and that is a success.
    """
    gate = Gate()

    def behaviour(turn: Any) -> list[bool]:
        before = turn.wrapping_up
        gate.wait()
        return [before, turn.wrapping_up]

    run = started(runtime, behaviour)
    assert gate.reached.wait(PATIENCE)

    assert run.wrap_up().get(timeout=PATIENCE)
    gate.open()

    assert [False, True] == ended(run).unwrap()
    assert run.wrap_up().get(timeout=PATIENCE) is False


def test_a_wrap_up_ends_with_its_turn(runtime: Runtime) -> None:
    """
    A resident's next turn is not wrapping up, and an idle one has nothing to wrap up.
    """
    gate = Gate()

    def behaviour(turn: Any) -> bool:
        if turn.number == 1:
            gate.wait()
        return bool(turn.wrapping_up)

    run = opened(runtime, behaviour)
    assert run.wrap_up().get(timeout=PATIENCE) is False
    first = run.ask("first")
    assert gate.reached.wait(PATIENCE)
    assert run.wrap_up().get(timeout=PATIENCE)
    gate.open()

    assert first.get(timeout=PATIENCE).unwrap() is True
    assert run.ask("second").get(timeout=PATIENCE).unwrap() is False


def test_injected_words_wait_for_a_turn_that_somebody_else_wakes(runtime: Runtime) -> None:
    """
    INB-2: they wake nobody, and come before the prompt that does.
    """
    run = opened(runtime, lambda turn: [message.text for message in turn.messages])

    assert run.inject("by the way").get(timeout=PATIENCE)
    assert [] == [event for event in run.transcript() if isinstance(event, TurnStarted)]

    assert ["by the way", "go"] == run.ask("go").get(timeout=PATIENCE).unwrap()


def test_a_steer_to_a_turn_that_just_ended_is_not_delivered(runtime: Runtime) -> None:
    """
    H25: never silence, and never a surprising turn of a resident: it lapses with its turn.
    """
    gate = Gate()

    def behaviour(turn: Any) -> str:
        gate.wait()
        return str(turn.text)

    run = opened(runtime, behaviour)
    assert isinstance(run, Run)
    answer = run.ask("go")
    assert gate.reached.wait(PATIENCE)
    receipt = run.steer("too late")  # type: ignore[attr-defined]
    runtime.tree()
    gate.open()

    assert "go" == answer.get(timeout=PATIENCE).text
    with pytest.raises(NotDelivered):
        receipt.get(timeout=PATIENCE)
    assert 1 == len([event for event in run.transcript() if isinstance(event, TurnStarted)])


def test_a_resumed_run_has_the_whole_balanced_log(runtime: Runtime) -> None:
    """
    All turns of the one before, aborted ones included, and its own prompt after them.
    """
    gate = Gate()

    def behaviour(turn: Any) -> Any:
        if turn.text == "slow":
            gate.wait()
        return [message.text for message in turn.history] or "first answer"

    run = opened(runtime, behaviour)
    run.ask("first").get(timeout=PATIENCE)
    run.tell("slow").get(timeout=PATIENCE)
    assert gate.reached.wait(PATIENCE)
    run.cancel("enough").get(timeout=PATIENCE)
    ended(run)
    gate.open()

    resumed = run.resume("go on").get(timeout=PATIENCE)  # type: ignore[attr-defined]
    result = ended(resumed)

    assert ["first", "first answer", "slow"] == result.unwrap()
    assert (2, 2) == (resumed.seed_turns, result.seed_turns)
    assert list(run.transcript()) == list(resumed.transcript())[: len(run.transcript())]
    assert ((Text("go on"),), 3) == _last_prompt(resumed)


def _last_prompt(run: Run) -> tuple[Any, int]:
    turn = [event for event in run.transcript() if isinstance(event, TurnStarted)][-1].turn
    return run.log.own_messages()[0].content, turn

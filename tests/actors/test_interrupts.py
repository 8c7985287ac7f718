"""Stopping a turn, and stopping a run: what is kept, and whose reason stays."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from retinue.actors import Cancellation, ManualClock, Run, Runtime
from retinue.protocol.errors import Cancelled
from retinue.protocol.log import Cause, Ending, TurnFinished
from retinue.protocol.result import ABORTED, COMPLETED, TIMEOUT
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate


def stopped_turns(run: Run) -> list[tuple[Ending, Cause | None]]:
    """Return how the run's turns ended, and who stopped them."""
    return [(e.ending, e.cause) for e in run.transcript() if isinstance(e, TurnFinished)]


def test_an_interrupt_stops_one_turn_and_keeps_the_queue(runtime: Runtime) -> None:
    """
    INB-11: the turn ends aborted by the user, and what waited is worked on next.
    """
    gate = Gate()

    def behaviour(turn: Any) -> str:
        if turn.text == "slow":
            gate.wait()
        return str(turn.text)

    run = opened(runtime, behaviour)
    replies = [run.ask(text) for text in ("slow", "next", "last")]
    assert gate.reached.wait(PATIENCE)
    assert run.interrupt().get(timeout=PATIENCE)
    results = [reply.get(timeout=PATIENCE) for reply in replies]
    gate.open()

    assert [ABORTED, COMPLETED, COMPLETED] == [result.stop_reason for result in results]
    assert ["", "next", "last"] == [result.text for result in results]
    assert (Ending.ABORTED, Cause.USER) == stopped_turns(run)[0]


def test_an_interrupt_without_a_turn_arms_nothing(runtime: Runtime) -> None:
    """
    CON-92: interrupting an idle resident, any number of times, leaves the next turn alone.
    """
    run = opened(runtime, echo)

    assert [False] * 3 == [run.interrupt().get(timeout=PATIENCE) for _ in range(3)]
    assert "fine" == run.ask("fine").get(timeout=PATIENCE).text


def test_two_interrupts_stop_one_turn(runtime: Runtime) -> None:
    """
    The second finds the same turn stopping, or none, and never the next one.
    """
    begun = threading.Event()

    async def behaviour(turn: Any) -> str:
        if turn.text == "slow":
            begun.set()
            await asyncio.Event().wait()
        return str(turn.text)

    run = opened(runtime, behaviour)
    slow, fine = run.ask("slow"), run.ask("fine")
    assert begun.wait(PATIENCE)
    for reply in [run.interrupt() for _ in range(5)]:
        reply.get(timeout=PATIENCE)

    assert ABORTED == slow.get(timeout=PATIENCE).stop_reason
    assert "fine" == fine.get(timeout=PATIENCE).text


def test_a_turn_that_catches_its_interrupt_can_still_say_nothing_more(runtime: Runtime) -> None:
    """
    The stop is seen as Cancelled; swallowing it does not turn the stop into a success.
    """
    gate, caught = Gate(), threading.Event()

    def behaviour(turn: Any) -> str:
        try:
            turn.call(gate.wait)
            turn.sleep(3600)
        except Cancelled:
            caught.set()
            with pytest.raises(Cancelled):
                turn.say("one more thing")
        return "swallowed"

    run = started(runtime, behaviour)
    assert gate.reached.wait(PATIENCE)
    run.interrupt().get(timeout=PATIENCE)
    gate.open()

    assert (ABORTED, "") == (ended(run).stop_reason, ended(run).text)
    assert caught.wait(PATIENCE)


def test_the_first_reason_of_a_cancel_stays(runtime: Runtime) -> None:
    """
    INB-10: later ones change nothing, and a cancel of what is over is no error.
    """
    seen, begun = list[str](), threading.Event()

    def behaviour(turn: Any) -> None:
        begun.set()
        try:
            turn.sleep(3600)
        except Cancelled as error:
            seen.append(str(error))
            raise

    run = started(runtime, behaviour)
    assert begun.wait(PATIENCE)
    first, second = run.cancel("the first"), run.cancel("the second")

    assert ABORTED == ended(run).stop_reason
    assert first.get(timeout=PATIENCE)
    assert second.get(timeout=PATIENCE) in {True, False}
    run.dispose().get(timeout=PATIENCE)
    assert run.cancel("late").get(timeout=PATIENCE) is False
    assert [f"{run.id}: the first"] == seen


def test_a_token_cancels_many_runs_and_is_left_by_those_that_ended(runtime: Runtime) -> None:
    """
    RUN-11: a token that lives long collects nothing.
    """
    token, begun = Cancellation(), threading.Barrier(4)

    def behaviour(turn: Any) -> None:
        begun.wait(PATIENCE)
        turn.sleep(3600)

    for _ in range(100):
        assert ended(started(runtime, echo, cancel=token)).is_success
    assert "<Cancellation open [0 listening]>" == repr(token)

    runs = [started(runtime, behaviour, cancel=token) for _ in range(3)]
    begun.wait(PATIENCE)
    assert "<Cancellation open [3 listening]>" == repr(token)
    assert token.cancel("all of them")

    assert [ABORTED] * 3 == [ended(run).stop_reason for run in runs]
    assert ("all of them", False) == (token.reason, token.cancel("again"))


def test_an_interrupt_is_the_cause_of_one_turn_alone(timed: Runtime, clock: ManualClock) -> None:
    """
    LOG-11: what stops the next turn has a cause of its own, and the run's reason is that one.
    """
    begun = Gate()

    def behaviour(turn: Any) -> Steps:
        begun.reached.set()
        yield turn.sleep(1e9)

    run = opened(timed, behaviour, deadline=10.0)
    first = run.ask("first")
    assert begun.reached.wait(PATIENCE)
    begun.reached.clear()
    run.interrupt().get(timeout=PATIENCE)
    assert ABORTED == first.get(timeout=PATIENCE).stop_reason
    run.tell("second").get(timeout=PATIENCE)
    assert begun.reached.wait(PATIENCE)
    clock.advance(10.0)

    assert TIMEOUT == ended(run).stop_reason
    assert [Cause.USER, Cause.DEADLINE] == [cause for _, cause in stopped_turns(run)]

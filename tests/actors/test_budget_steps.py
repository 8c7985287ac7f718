"""Turns and steps are counted, whatever works in them."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, Limits, Runtime
from retinue.backends.models.scripted import Reply, ScriptedModel
from retinue.backends.scripted import Hold, Item, Return, Scripted, StepEdge
from retinue.protocol import messages
from retinue.protocol.content import Text
from retinue.protocol.errors import BudgetSpent, NotDelivered
from retinue.protocol.log import Cause, Ending
from retinue.protocol.provider import OpenOrder, TurnOrder, Workplace
from retinue.protocol.result import COMPLETED, MAX_TURNS
from tests.actors.behaviours import WAYS, Steps, echo, ended, opened, started
from tests.actors.budgets import virtual
from tests.doubles import PATIENCE


@pytest.mark.parametrize("make", WAYS)
def test_a_behaviour_hears_at_a_step_edge_that_no_step_is_left(make: Any) -> None:
    """
    H37: cap 3, five needed: the third step is the last, and what was said is kept.
    """
    edges = {
        "plain": _stepping_plainly,
        "coroutine": _stepping_async,
        "generator": _stepping,
    }
    with virtual() as runtime:
        run = started(runtime, edges[make.__name__], limits=Limits(steps=3))
        result = run.result.get()

        assert (MAX_TURNS, "step 3") == (result.stop_reason, result.text)
        assert str(result.diagnostic).startswith(f"{run.id}: the limit of 3 steps is reached")


def _stepping_plainly(turn: Any) -> str:
    for number in range(1, 6):
        turn.say(f"step {number}")
        turn.step()
    return "whole"


async def _stepping_async(turn: Any) -> str:
    for number in range(1, 6):
        turn.say(f"step {number}")
        await turn.step()
    return "whole"


def _stepping(turn: Any) -> Steps:
    for number in range(1, 6):
        turn.say(f"step {number}")
        yield from turn.step()
    return "whole"


def test_a_behaviour_may_return_what_it_has_when_no_step_is_left(runtime: Runtime) -> None:
    """
    It was told and handed over: that is an answer within the limit.
    """

    def careful(turn: Any) -> str:
        done = 0
        try:
            while True:
                done += 1
                turn.step()
        except BudgetSpent:
            return f"{done} done"

    result = ended(started(runtime, careful, limits=Limits(steps=2)))

    assert (COMPLETED, "2 done") == (result.stop_reason, result.text)


def test_a_resident_answers_as_many_prompts_as_it_has_turns(runtime: Runtime) -> None:
    """
    H37: the prompt after the last is answered max-turns, and the run is none the worse.
    """
    run = opened(runtime, echo, limits=Limits(turns=2))
    answers = [run.ask(text).get(timeout=PATIENCE) for text in "abc"]

    assert [COMPLETED, COMPLETED, MAX_TURNS] == [answer.stop_reason for answer in answers]
    assert ["a", "b", ""] == [answer.text for answer in answers]
    assert "limit of 2 turns is reached" in str(answers[2].diagnostic)
    run.dispose().get(timeout=PATIENCE)
    result = ended(run)
    assert (MAX_TURNS, "b") == (result.stop_reason, result.text)


def test_a_script_at_its_last_step_ends_with_the_reason() -> None:
    """
    H37: what leaves a driver as it came is read as what it is.
    """
    script: list[Item] = [StepEdge(), StepEdge(), Return("whole")]
    with virtual(providers=[Scripted(script)]) as runtime:
        result = runtime.start("scripted", "go", limits=Limits(steps=2)).get().result.get()

        assert MAX_TURNS == result.stop_reason


def test_a_step_that_a_steering_asks_for_is_not_taken_when_none_is_left(
    runtime: Runtime,
) -> None:
    """
    A turn that would end anyway keeps its answer; whoever steered is told (promise 5).
    """
    hold = Hold()
    agent = Agent(model=ScriptedModel([Reply("whole", hold=hold)]))
    run: Any = started(runtime, agent, limits=Limits(steps=1))
    assert hold.reached.wait(PATIENCE)
    receipt = run.steer("and more")
    hold.release()

    assert (COMPLETED, "whole") == (ended(run).stop_reason, ended(run).text)
    with pytest.raises(NotDelivered):
        receipt.get(timeout=PATIENCE)


class Telling(Scripted):
    """A provider whose runs tell of their step edges, and wait for no answer."""

    def open(self, order: OpenOrder, workplace: Workplace) -> Any:
        """Open such a run."""
        return TellingDriver(workplace)


class TellingDriver:
    """Tells of five steps, and then works on until it is stopped."""

    def __init__(self, workplace: Workplace) -> None:
        self._workplace = workplace
        self._turn = 0

    def begin(self, order: TurnOrder) -> None:
        """Tell."""
        self._turn = order.turn
        for number in range(1, 6):
            self._workplace.report(messages.Said(order.turn, (Text(f"step {number}"),)))
            self._workplace.report(messages.StepEdge(order.turn))

    def stop(self, cause: Cause) -> None:
        """Stop."""
        assert cause is Cause.TURNS
        self._workplace.report(messages.TurnEnded(self._turn, Ending.ABORTED))

    def close(self) -> None:
        """Hold nothing."""
        self._workplace.report(messages.Closed())


def test_a_driver_that_waits_for_no_answer_is_stopped_when_no_step_is_left() -> None:
    """
    Promise 1: a limit holds for a provider that only tells of its steps, too.
    """
    with virtual(providers=[Telling(name="telling")]) as runtime:
        result = runtime.start("telling", "go", limits=Limits(steps=3)).get().result.get()

    assert MAX_TURNS == result.stop_reason

"""A run hears that little is left in time to hand over, once, and nothing else comes of it."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, Limits, ManualClock, Run, Runtime
from retinue.backends.models.scripted import Reply, ScriptedModel
from retinue.backends.scripted import Hold
from retinue.protocol.content import Form, Kind
from retinue.protocol.events import Undelivered
from retinue.protocol.log import Log, Spliced
from retinue.protocol.model import ModelRequest
from retinue.protocol.result import COMPLETED, Usage
from tests.actors.behaviours import Steps, ended, opened, started
from tests.actors.budgets import boss, look, looking, virtual, warnings, working
from tests.doubles import PATIENCE

NEAR = [
    (Limits(steps=5), "Near a limit: 1 of 5 steps left", 4),
    (Limits(requests=5), "Near a limit: 1 of 5 requests left", 5),
    (Limits(tokens=25), "Near a limit: 5 of 25 tokens left", 5),
    (Limits(cost=1.25), "Near a limit: 0.25 of 1.25 cost left", 5),
]


@pytest.mark.parametrize(("limits", "text", "step"), NEAR)
def test_a_model_is_told_before_its_last_request(limits: Limits, text: str, step: int) -> None:
    """
    In the request in which it can still act on it, and in no other; it is in the log.
    """
    seen: list[int] = []

    def reply(request: ModelRequest) -> Any:
        if any(text in message.text for message in request.messages[-1:]):
            seen.append(request.step)
            return {"text": "handed over", "usage": Usage(3, 2, 1, 0.25)}
        return looking(9)(request)

    with virtual() as runtime:
        run = started(runtime, Agent(model=ScriptedModel(reply), tools=[look]), limits=limits)
        result = run.result.get()

        assert (COMPLETED, "handed over", [step]) == (result.stop_reason, result.text, seen)
        assert [text] == [told[: len(text)] for told in warnings(run)]


def edging(turn: Any) -> Steps:
    """Stand at step edges, and say what was told there."""
    for _ in range(turn.limits.steps - 1):
        for note in (yield from turn.step()):
            turn.say(f"{note.source.kind.value} {note.source.form.value}: {note.text[:36]}")
    return None


def test_a_behaviour_is_told_at_a_step_edge() -> None:
    """
    As by a message of the runtime, that stands in the notes of the step.
    """
    with virtual() as runtime:
        result = started(runtime, edging, limits=Limits(steps=10)).result.get()

        assert "runtime warning: Near a limit: 2 of 10 steps left, fo" == result.text


def test_a_resident_is_told_with_the_prompt_of_its_last_turn(runtime: Runtime) -> None:
    """
    The prompt stays the prompt; what was told stands before it, and a gate does not see it.
    """
    gated: list[str] = []
    notes: list[tuple[Kind, Form]] = []

    def behaviour(turn: Any) -> str:
        notes.extend((one.source.kind, one.source.form) for one in turn.messages)
        return str(turn.text)

    agent = Agent(behaviour, gate=lambda message: gated.append(message.text))
    run = opened(runtime, agent, limits=Limits(turns=3))

    assert ["a", "b", "c"] == [run.ask(text).get(timeout=PATIENCE).text for text in "abc"]
    user = (Kind.USER, Form.PROMPT)
    assert [user, (Kind.RUNTIME, Form.WARNING), user, user] == notes
    assert ["a", "b", "c"] == gated


def test_a_warning_keeps_no_turn_from_its_end_and_is_nobodys_loss() -> None:
    """
    One that comes during the last answer lapses: no further step, no Undelivered.
    """
    events: list[Any] = []
    with virtual() as runtime:
        runtime.subscribe(events.append)
        run = started(runtime, working(4), limits=Limits(requests=5))
        result = run.result.get()

        assert (COMPLETED, 4) == (result.stop_reason, result.usage.requests)
        assert [] == warnings(run)
        assert [True] == [event.cancelled for event in _spliced(run)[-1:]]
    assert [] == [event for event in events if isinstance(event, Undelivered)]


def _spliced(run: Run) -> list[Spliced]:
    return [event for event in run.transcript() if isinstance(event, Spliced)]


def test_a_warning_that_came_too_late_for_a_turn_is_heard_in_the_next() -> None:
    """
    Once per limit means heard once, and not lost once.
    """
    with virtual() as runtime:
        run = opened(runtime, working(4), limits=Limits(requests=5))
        run.ask("go").get()
        assert [] == warnings(run)
        run.ask("go on").get()

        assert 1 == len(warnings(run))


def test_a_run_is_told_when_a_fifth_of_its_time_is_left(timed: Runtime, clock: ManualClock) -> None:
    """
    Also of a start's deadline, in the middle of an answer; not before, and once.
    """
    hold = Hold()

    def reply(request: ModelRequest) -> Any:
        if request.step == 1:
            return Reply("", calls=[{"name": "look", "arguments": {}}], hold=hold)
        return request.messages[-1].text

    agent = Agent(model=ScriptedModel(reply), tools=[look])
    run = started(timed, agent, deadline=10.0)
    assert hold.reached.wait(PATIENCE)
    clock.advance(7.9)
    timed.tree()
    assert [] == _spliced(run)[2:], "so far there was only its prompt"
    clock.advance(0.1)
    timed.tree()
    hold.release()

    assert ended(run).text.startswith("Near a limit: 2 of 10 seconds left")
    assert 1 == len(warnings(run))


def test_an_idle_run_is_told_of_its_time_with_its_next_prompt(
    timed: Runtime, clock: ManualClock
) -> None:
    """
    It is not woken for it; a run that gets no other prompt has lost nothing by it.
    """
    notes: list[str] = []
    events: list[Any] = []
    timed.subscribe(events.append)

    def behaviour(turn: Any) -> str:
        notes.extend(message.text for message in turn.messages[:-1])
        return str(turn.text)

    runs = [opened(timed, behaviour, limits=Limits(run=10.0), prompt="a") for _ in range(2)]
    for run in runs:
        assert "first" == run.ask("first").get(timeout=PATIENCE).text
    clock.advance(8.0)
    assert [2, 2] == [_turns(run) for run in runs]
    assert "b" == runs[0].ask("b").get(timeout=PATIENCE).text
    clock.advance(2.0)

    assert [COMPLETED, COMPLETED] == [ended(run).stop_reason for run in runs]
    timed.tree()
    assert [] == [event for event in events if isinstance(event, Undelivered)]
    assert ["Near a limit: 2 of 10 seconds left"] == [note.partition(",")[0] for note in notes]


def _turns(run: Run) -> int:
    log: Log = run.log
    return log.last_turn


def test_who_works_under_a_limit_hears_of_it_whoever_used_it_up() -> None:
    """
    A parent that did nothing hears at its next step what its children have left of it.
    """
    with virtual() as runtime:

        def delegate(turn: Any) -> list[str]:
            ended(turn.start("spawn", "go", agent=working(4)))
            return [note.text for note in turn.step()]

        run = started(runtime, boss(delegate), limits=Limits(requests=5, steps=100))
        told = run.result.get().unwrap()

        assert ["Near a limit: 1 of 5 requests left"] == [text.partition(",")[0] for text in told]

"""Forks: what a child that inherits its parent's history begins with, and what it does not."""

from __future__ import annotations

from typing import Any, Final

import pytest

from retinue.actors import Run, Runtime
from retinue.backends.inprocess import InProcess
from retinue.backends.scripted import Echo, Hold, Return, Say, Scripted, Use
from retinue.protocol.agent import Agent
from retinue.protocol.content import Kind, ToolCall
from retinue.protocol.log import PolicySet, SeedEnded, ToolCalled, TurnStarted
from tests.backends.contract import (
    Case,
    barrier,
    playing_coroutine,
    playing_function,
    playing_generator,
    result_of,
    script_of_options,
    started,
)
from tests.doubles import PATIENCE

FORKS: Final = (
    *(
        Case(f"forked {agent.kind.value}", InProcess("fork", inherits_context=True), agent)
        for agent in map(Agent, (playing_function, playing_coroutine, playing_generator))
    ),
    Case("scripted", Scripted(script_of_options, name="inheriting", inherits_context=True)),
)


@pytest.fixture(params=FORKS, ids=str)
def fork(request: pytest.FixtureRequest, runtime: Runtime) -> Case:
    """A provider whose children inherit, registered."""
    case: Case = request.param
    if case.provider.name not in runtime.providers():
        runtime.register(case.provider).get(timeout=PATIENCE)
    return case


def parent_with(runtime: Runtime, case: Case, turns: int, *more: Any) -> Run:
    """Open a resident that has had *turns* turns and then plays *more*."""
    run = case.open(runtime, [*(Return(f"answer {n}") for n in range(turns)), *more]).get(
        timeout=PATIENCE
    )
    for number in range(turns):
        run.ask(f"question {number}").get(timeout=PATIENCE)
    return run


def texts(run: Run) -> list[str]:
    """Return what a run's conversation says, oldest first, but for what the runtime adds."""
    return [
        message.text for message in run.log.messages() if message.source.kind is not Kind.RUNTIME
    ]


def test_a_fork_begins_with_its_parents_completed_turns(runtime: Runtime, fork: Case) -> None:
    """
    FRK-1, FRK-3: all of them in order, the end of the seed marked, and its turns go on.
    """
    parent = parent_with(runtime, fork, 2)

    child = started(runtime, fork, Return("mine"), prompt="task", parent=parent)
    result = result_of(child)
    turns = [event.turn for event in child.own_transcript() if isinstance(event, TurnStarted)]

    assert ["question 0", "answer 0", "question 1", "answer 1", "task", "mine"] == texts(child)
    assert (2, "mine", [3]) == (result.seed_turns, result.text, turns)
    assert isinstance(child.own_transcript()[0], SeedEnded)


def test_a_fork_is_told_what_it_is_between_seed_and_task(runtime: Runtime, fork: Case) -> None:
    """
    H45: whose child it is, and that the prompt is its only task; a fresh run is told nothing.
    """
    parent = parent_with(runtime, fork, 1)
    child = started(runtime, fork, Echo(), prompt="task", parent=parent)
    result_of(child)

    sources = [message.source.kind for message in child.log.own_messages()]
    told = child.log.own_messages()[0].text

    assert [Kind.RUNTIME, Kind.USER] == sources[:2]
    assert parent.id in told
    assert Kind.RUNTIME not in [message.source.kind for message in parent.log.messages()]


def test_a_turn_that_is_open_is_not_inherited(runtime: Runtime, fork: Case) -> None:
    """
    FRK-1, H44: the turn that forks holds an unanswered call, and stays out of the seed.
    """
    hold = Hold()
    parent = parent_with(runtime, fork, 1, Say("thinking"), hold)
    parent.tell("and now?").get(timeout=PATIENCE)
    assert hold.reached.wait(PATIENCE)
    barrier(parent)

    child = started(runtime, fork, Echo(), prompt="task", parent=parent)
    result_of(child)

    assert ["question 0", "answer 0", "task", "task"] == texts(child)


def test_a_call_under_way_is_not_inherited(runtime: Runtime) -> None:
    """
    H44: in the seed every call has its result.
    """
    hold = Hold()
    provider = Scripted(script_of_options, name="calling", inherits_context=True)
    runtime.register(provider).get(timeout=PATIENCE)
    case = Case("calling", provider)
    parent = parent_with(runtime, case, 1, Use(ToolCall("1", "delegate", {})), hold)
    parent.tell("go on").get(timeout=PATIENCE)
    assert hold.reached.wait(PATIENCE)

    child = started(runtime, case, Echo(), parent=parent)
    result_of(child)

    assert [] == [event for event in child.transcript() if isinstance(event, ToolCalled)]


def test_a_fork_in_the_first_turn_is_an_ordinary_child(runtime: Runtime, fork: Case) -> None:
    """
    FRK-2: no completed turn, no seed, and the run says so.
    """
    hold = Hold()
    parent = started(runtime, fork, hold)
    assert hold.reached.wait(PATIENCE)

    child = started(runtime, fork, Echo(), prompt="task", parent=parent)
    result = result_of(child)

    assert (0, ["task", "task"]) == (result.seed_turns, texts(child))
    assert not [event for event in child.transcript() if isinstance(event, SeedEnded)]


def test_forking_changes_nothing_in_the_parent(runtime: Runtime, fork: Case) -> None:
    """
    FRK-4: the parent's log is what it was.
    """
    parent = parent_with(runtime, fork, 2)
    before = parent.transcript()

    result_of(started(runtime, fork, Echo(), parent=parent))

    assert before == parent.transcript()


def test_what_the_parent_does_later_is_its_own(runtime: Runtime, fork: Case) -> None:
    """
    FRK-5: the seed is taken once, when the child is made.
    """
    parent = parent_with(runtime, fork, 1, Return("later answer"))
    hold = Hold()
    child = started(runtime, fork, hold, Echo(), prompt="task", parent=parent)
    assert hold.reached.wait(PATIENCE)

    parent.ask("later question").get(timeout=PATIENCE)
    hold.release()
    result_of(child)

    assert ["question 0", "answer 0", "task", "task"] == texts(child)


def test_a_fork_that_says_nothing_has_no_output(runtime: Runtime, fork: Case) -> None:
    """
    FRK-6, RES-12: an inherited answer is not the child's own.
    """
    parent = parent_with(runtime, fork, 1)

    result = result_of(started(runtime, fork, Return(None), parent=parent))

    assert ((), "completed") == (result.output, result.stop_reason)


def test_what_waits_between_turns_is_not_inherited(runtime: Runtime, fork: Case) -> None:
    """
    FRK-6, FRK-8: cut at the last turn's end, so that what came after it stays behind.
    """
    parent = parent_with(runtime, fork, 1)
    parent.inject("for the parent alone").get(timeout=PATIENCE)

    child = started(runtime, fork, Echo(), prompt="task", parent=parent)
    result_of(child)

    assert ["question 0", "answer 0", "task", "task"] == texts(child)
    assert parent.log.seed().length == child.log.seed_length


def test_forks_of_one_turn_do_not_see_each_other(runtime: Runtime, fork: Case) -> None:
    """
    H40: two with different tasks, and neither transcript has the other's marker.
    """
    parent, hold = parent_with(runtime, fork, 1), Hold()
    children = [
        started(runtime, fork, hold, Echo(), prompt=f"marker {name}", parent=parent)
        for name in "ab"
    ]
    hold.release()
    for child in children:
        result_of(child)

    assert ["marker a"] * 2 == texts(children[0])[2:]
    assert ["marker b"] * 2 == texts(children[1])[2:]


def test_a_fork_of_a_fork_inherits_both(runtime: Runtime, fork: Case) -> None:
    """
    FRK-3: one history, of three runs, numbered through.
    """
    parent = parent_with(runtime, fork, 1)
    child = fork.open(runtime, [Return("child's answer"), Hold()], parent=parent)
    middle = child.get(timeout=PATIENCE)
    middle.ask("child's question").get(timeout=PATIENCE)

    last = started(runtime, fork, Return("mine"), prompt="task", parent=middle)
    result = result_of(last)

    assert ["question 0", "answer 0", "child's question", "child's answer", "task", "mine"] == (
        texts(last)
    )
    assert 2 == result.seed_turns


def test_a_fork_gets_its_parents_policy_after_the_seed(runtime: Runtime, fork: Case) -> None:
    """
    FRK-7, POL-1, POL-2: captured at the delegation; approval is pinned, and fresh beats stale.
    """

    def careful(turn: Any) -> str:
        turn.set_policy("sandbox", turn.text)
        turn.set_policy("approval", "ask")
        return "set"

    parent = runtime.open(careful).get(timeout=PATIENCE)
    parent.ask("loose").get(timeout=PATIENCE)
    parent.ask("strict").get(timeout=PATIENCE)

    child = started(runtime, fork, Echo(), parent=parent)
    result_of(child)
    own = [event for event in child.own_transcript() if isinstance(event, PolicySet)]

    assert [("sandbox", "strict", "delegation"), ("approval", "never", "delegation")] == [
        (event.name, event.value, event.source) for event in own
    ]


def test_a_switch_after_the_delegation_is_the_parents_own(runtime: Runtime, fork: Case) -> None:
    """
    POL-1, POL-3, VAL-10: what the parent allows itself later does not reach the child.
    """

    def switching(turn: Any) -> str:
        turn.set_policy("sandbox", turn.text)
        return "set"

    parent = runtime.open(switching).get(timeout=PATIENCE)
    parent.ask("before").get(timeout=PATIENCE)
    hold = Hold()
    child = started(runtime, fork, hold, parent=parent)
    assert hold.reached.wait(PATIENCE)

    parent.ask("after").get(timeout=PATIENCE)
    own = [event for event in child.own_transcript() if isinstance(event, PolicySet)]

    assert ["before"] == [event.value for event in own]


def test_a_fork_into_a_provider_that_inherits_nothing_is_fresh(runtime: Runtime) -> None:
    """
    REG-13: the flag describes the child's history, and gates nothing.
    """
    fresh = Scripted(script_of_options, name="fresh", inherits_context=False)
    runtime.register(fresh).get(timeout=PATIENCE)
    parent = parent_with(runtime, FORKS[0], 1)

    child = started(runtime, Case("fresh", fresh), Echo(), prompt="task", parent=parent)
    result_of(child)

    assert ["task", "task"] == texts(child)

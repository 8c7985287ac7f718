"""Delegation in the background: the id at once, the end by a notice, and what looks after it."""

from __future__ import annotations

from typing import Any

from retinue.actors import Agent
from retinue.actors.tools import subagent
from retinue.backends.models.scripted import Hold, Reply
from retinue.protocol.events import RunEnded, RunStarted
from retinue.protocol.log import ToolCalled
from tests.actors.tools.chiefs import (
    Chief,
    call,
    calls,
    child_of,
    delegate,
    heard,
    later,
    names,
    returned,
    worker,
)
from tests.doubles import Probe


def test_a_start_in_the_background_returns_the_id_at_once(chief: Chief) -> None:
    """TOOL-5, TOOL-14, H71: no job and no other name than the run's own."""
    run = chief.open([calls(later("60 x")), "going on"], prompt="go")
    chief.dispatcher.advance(1.0)

    (result,) = returned(run)
    assert not result.is_error
    assert f"run {child_of(run)}" in result.text
    assert "idle" == next(iter(chief.runtime.tree())).state


def test_what_is_disabled_is_refused_although_it_is_not_offered(chief: Chief) -> None:
    """TOOL-3: leaving it out of the schema is no enforcement; no child is started."""
    probe = Probe()
    chief.runtime.subscribe(probe.tell)
    tool = subagent(agent=worker, background=False)

    run = chief.start([calls(later("1 x")), "a pity"], tool)

    assert "a pity" == run.result.get().unwrap()
    (result,) = returned(run)
    assert result.is_error
    assert "runs nothing in the background, and nothing was started" in result.text
    assert 1 == sum(isinstance(letter, RunStarted) for letter in probe.unread())
    assert ["subagent"] == names(chief.requests[0])
    assert "run_in_background" not in chief.requests[0].tools[0].parameters["properties"]


def test_other_arguments_are_not_ignored(chief: Chief) -> None:
    """TOOL-2: there is no argument for a provider or a type, and a made-up one is told."""
    run = chief.start([calls(delegate("1 x", provider="fork")), "a pity"])
    run.result.get()

    (result,) = returned(run)
    assert result.is_error
    assert "INVALID_ARGS: subagent takes no provider" == result.text


def test_a_turn_does_not_end_before_its_background_runs(chief: Chief) -> None:
    """H29: a one-shot caller that has nothing more to say waits, and reads how they ended."""
    script = [calls(later("5 deep"), call("look")), "waiting", "I know"]
    run = chief.start(script, subagent(agent=worker), look)
    chief.dispatcher.advance(1.0)

    assert (child_of(run),) == next(iter(chief.runtime.tree())).waits_for
    result = run.result.get()
    assert ("I know", ()) == (result.unwrap(), result.abandoned)
    assert "\ndeep\n" in chief.requests[-1].messages[-1].text
    assert ["seen"] == [result.text for result in returned(run)[1:]]


def look() -> str:
    """Look."""
    return "seen"


def test_a_wrap_up_waits_for_nobody(chief: Chief) -> None:
    """A soft stop is no wait for children: what is left behind is named, and no success."""
    run = chief.start([calls(later("60 late")), "waiting"])
    chief.dispatcher.advance(1.0)

    run.wrap_up()

    result = run.result.get()
    assert ("completed", "waiting", (child_of(run),)) == (
        result.stop_reason,
        result.text,
        result.abandoned,
    )


def test_a_cancel_ends_the_wait_and_what_it_waited_for(chief: Chief) -> None:
    """H04: the whole tree."""
    probe = Probe()
    run = chief.start([calls(later("60 late")), "waiting"])
    chief.dispatcher.advance(1.0)
    chief.runtime.subscribe(probe.tell)

    run.cancel("enough")

    assert "aborted" == run.result.get().stop_reason
    chief.dispatcher.run_until_idle()
    ended = [letter.run_id for letter in probe.unread() if isinstance(letter, RunEnded)]
    assert [child_of(run), run.id] == ended


def test_steering_ends_the_wait(chief: Chief) -> None:
    """INB-9: what wakes goes before the wait, which is taken up again."""
    run: Any = chief.start([calls(later("60 late")), "waiting", "noted", "I know"])
    chief.dispatcher.advance(1.0)

    receipt = run.steer("hurry")
    chief.dispatcher.advance(1.0)

    assert 3 == receipt.get().step
    assert "hurry" == chief.requests[2].messages[-1].text
    assert "I know" == run.result.get().unwrap()


def test_at_most_so_many_run_at_once(chief: Chief) -> None:
    """JOB-1: the next is refused before it exists, and there is room when one has ended."""
    many = [later(f"{n} x") for n in (2, 9, 9)]

    def wait(request: Any) -> Any:
        ids = [b.text.split("run ")[1].split(".")[0] for b in request.messages[-1].content[:2]]
        return calls(call("subagent_wait", run_ids=ids, mode="any"))

    script: dict[int, Any] = {1: calls(*many), 3: calls(later("1 y")), 4: "done"}
    run = chief.start(
        lambda request: wait(request) if request.step == 2 else script.get(request.step, "so"),
        subagent(agent=worker, most=2),
    )
    run.result.get()

    results = returned(run)
    assert [False, False, True, False, False] == [result.is_error for result in results]
    assert "2 background runs of yours are under way, as many as may be" in results[2].text
    assert "subagent_wait" in results[2].text


def test_calls_that_were_not_made_are_balanced(chief: Chief) -> None:
    """TOOL-8: with the turn stopped before it, a call is accounted for and starts nothing."""

    async def stops(turn: Any) -> str:
        turn.run.interrupt()
        return "stopped"

    run = chief.open([calls(call("stops"), delegate("1 x"))], subagent(agent=worker), stops)

    assert "aborted" == run.ask("go").get().stop_reason
    assert "ABORTED_BEFORE_DISPATCH" in returned(run)[1].text
    called = [event for event in run.own_transcript() if isinstance(event, ToolCalled)]
    assert ["stops", "subagent"] == [event.call.name for event in called]
    assert not heard(run)
    assert 1 == len(chief.runtime.tree())


def test_agents_need_no_tools_to_be_children(chief: Chief) -> None:
    """A child that is an agent with a model of its own works like any other."""
    child = Agent(model=chief.agent(["the child's"]).model, name="reader")

    run = chief.start([calls(delegate("read")), "thanks"], subagent(agent=child))
    run.result.get()

    assert "\nthe child's\n" in returned(run)[0].text
    assert "a child agent, reader, and get its result" in chief.requests[0].tools[0].description


def test_a_tree_says_what_each_run_is_at(chief: Chief) -> None:
    """H22: the tool that a run waits for and the child behind it, or the model."""

    def script(request: Any) -> Any:
        if request.path[1:]:
            return Reply("thinking", hold=hold)
        return calls(delegate("x"), later("y")) if request.step == 1 else "waiting"

    hold = Hold()
    run = chief.start(script, subagent())
    chief.dispatcher.run_until_idle()

    top, *below = chief.runtime.tree()
    assert ("tool subagent", child_of(run)) == top.waits_for
    assert [("the model",)] * 2 == [row.waits_for for row in below]
    hold.release()
    run.result.get()

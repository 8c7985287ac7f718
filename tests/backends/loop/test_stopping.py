"""Whatever interrupts a model's turn: the history stays balanced, and nothing is dispatched."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from retinue.actors import Agent, DeterministicDispatcher, Runtime, Tool
from retinue.protocol.log import Cause
from retinue.protocol.model import ModelRequest
from retinue.protocol.result import ABORTED, Usage
from tests.backends.loop.models import HOUR, ONE, Talker, calls, says, told


async def wait(seconds: float = HOUR) -> str:
    """Wait."""
    await asyncio.sleep(seconds)
    return "waited"


def quick() -> str:
    """Do nothing."""
    return "quick"


TOOLS = [Tool("wait", wait, is_concurrent=True), Tool("quick", quick), Tool("wait_alone", wait)]


def test_a_cancelled_stream_keeps_what_was_visible(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    LOG-22, RES-17, H39: the visible prefix is the answer, marked as cut off, and the result.
    """
    run = runtime.start("spawn", "go", agent=Agent(model=Talker("as far as"))).get()
    dispatcher.run_until_idle()

    run.cancel("enough")

    result = run.result.get()
    assert (ABORTED, "as far as") == (result.stop_reason, result.text)
    assert ["step 1", "user: go", "says: as far as (cut off)", "ended aborted"] == told(run)
    assert 1 == result.usage.requests, "it was sent, and so it counts"


class Lingering(Talker):
    """A model whose connection takes long to close."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        """Give the next reply, and then take an hour."""
        yield self.replies.pop(0)
        await asyncio.sleep(HOUR)


def test_an_answer_that_had_come_before_the_cancel_is_paid_for(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    H80, LOG-22: what it cost is known, and counts; its words are kept, and no call is made.
    """
    model = Lingering(calls(("a", "quick", {}), text="so far"))
    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=TOOLS)).get()
    dispatcher.run_until_idle()

    run.cancel()

    assert (ABORTED, "so far", ONE) == (
        run.result.get().stop_reason,
        run.result.get().text,
        run.result.get().usage,
    )
    assert "says: so far (cut off)" in told(run)


def test_a_cut_off_answer_is_part_of_the_conversation(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    LOG-22: the next turn of a resident, and whoever forks it, sees what was said.
    """
    model = Talker("half a", says("whole"))
    resident = runtime.open(Agent(model=model)).get()
    first = resident.ask("go")
    dispatcher.run_until_idle()
    resident.interrupt()

    assert "half a" == first.get().text
    resident.ask("and?").get()

    assert ["go", "half a", "and?"] == [message.text for message in model.requests[1].messages]


def test_calls_under_way_settle_and_the_rest_is_accounted_for(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    LOG-14, H46: started calls settle and are logged; what was not started gets a pair of
    call and answer that says so, and the next request is balanced.
    """
    asked: list[tuple[str, str, dict[str, Any]]] = [
        ("a", "quick", {}),
        ("b", "wait_alone", {}),
        ("c", "quick", {}),
        ("d", "wait", {}),
    ]
    model = Talker(calls(*asked), says("back"))
    resident = runtime.open(Agent(model=model, tools=TOOLS)).get()
    first = resident.ask("go")
    dispatcher.run_until_idle()
    resident.interrupt()

    assert ABORTED == first.get().stop_reason
    assert [
        "calls a",
        "a: quick",
        "calls b",
        "b: cancelled before it was done",
        "calls c",
        "synthetic c: ABORTED_BEFORE_DISPATCH: the turn ended before the call was made",
        "calls d",
        "synthetic d: ABORTED_BEFORE_DISPATCH: the turn ended before the call was made",
        "ended aborted",
    ] == told(resident)[3:]
    assert "back" == resident.ask("again").get().text
    _, results = model.requests[1].messages[1:3]
    assert ["a", "b", "c", "d"] == [getattr(block, "call_id", "") for block in results.content]


def test_calls_that_overlap_settle_in_their_order(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    LOG-14: of two that overlap the second was done before the cancel, and its answer is kept.
    """
    model = Talker(calls(("a", "wait", {}), ("b", "wait", {"seconds": 1.0})))
    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=TOOLS)).get()
    dispatcher.advance(2.0)

    run.cancel()
    run.result.get()

    assert ["calls a", "calls b", "a: cancelled before it was done", "b: waited"] == told(run)[3:-1]


@pytest.mark.parametrize("moment", range(40))
def test_a_cancel_at_any_moment_leaves_a_balanced_log(moment: int) -> None:
    """
    LOG-23: wherever the cancel strikes, the log is balanced, the reason is aborted unless
    the turn was through, and neither request nor tool follows it.
    """
    dispatcher = DeterministicDispatcher(1)
    asked = [("a", "quick", {}), ("b", "wait", {"seconds": 1.0}), ("c", "quick", {})]
    model = Talker(calls(*asked, text="see"), says("done"))
    struck: list[int] = []
    with Runtime(dispatcher=dispatcher) as runtime:
        agent = Agent(model=model, tools=TOOLS)
        run = runtime.start("spawn", "go", agent=agent).get()

        def strike() -> None:
            run.cancel("now")
            struck.append(len(model.requests))

        dispatcher.inject(dispatcher.steps + moment, strike)
        result = run.result.get()

        lines = told(run)
        if result.stop_reason == ABORTED:
            assert len(model.requests) <= struck[0] + 1, "at most the one that was on its way"
            assert [] == lines or "ended aborted" == lines[-1]
        else:
            assert "done" == result.text
        assert (run.result.get(), 0) == (result, len([x for x in lines if "None" in x]))


def test_the_cause_of_a_stop_is_in_the_log(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    RUN-4: a child's turn that its parent's end stops is aborted by the parent.
    """
    model = Talker("on and on")
    resident = runtime.open(lambda turn: turn.text).get()
    child = runtime.start("spawn", "go", agent=Agent(model=model), parent=resident).get()
    dispatcher.run_until_idle()

    resident.cancel("over")
    result = child.result.get()

    assert ABORTED == result.stop_reason
    ends = [event for event in child.own_transcript() if hasattr(event, "cause")]
    assert [Cause.PARENT] == [getattr(event, "cause", None) for event in ends]
    assert Usage(requests=1) == result.usage


def test_a_turn_that_wraps_up_gets_one_last_request_and_no_tools(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    A soft stop: calls that come after it are not run, the model is told to finish, without
    tools, and the turn is completed.
    """
    model = Talker(calls(("a", "wait", {"seconds": 5.0})), says("what I have"))
    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=TOOLS)).get()
    dispatcher.advance(1.0)

    run.wrap_up()
    result = run.result.get()

    assert ("completed", "what I have") == (result.stop_reason, result.text)
    assert () == model.requests[1].tools
    assert "Finish now" in model.requests[1].messages[-1].text


def test_steering_is_taken_at_the_edge_of_a_step(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    INB-9, RUN-20: what is steered in a step is in the next request, also when the step would
    have been the last; the receipt says which step took it.
    """
    model = Talker(calls(("a", "wait", {"seconds": 5.0})), says("so"), says("so, then"))
    run: Any = runtime.start("spawn", "go", agent=Agent(model=model, tools=TOOLS)).get()
    dispatcher.advance(1.0)
    first = run.steer("left")
    dispatcher.run_until_idle()
    assert not first.is_done
    model.replies[0] = lambda _: (run.steer("right"), says("so"))[1]

    result = run.result.get()

    assert (1, 2) == (first.get().turn, first.get().step)
    assert "so, then" == result.text
    left, right = [request.messages[-1].text for request in model.requests[1:]]
    assert "left" == left
    assert "\nright\n" in right  # what another run says is framed


def test_what_is_only_injected_does_not_hold_up_the_end(runtime: Runtime) -> None:
    """
    INB-2: an injected message waits for a next step, and makes none.
    """
    model = Talker(lambda _: (resident.inject("by the way"), says("done"))[1], says("again"))
    resident = runtime.open(Agent(model=model)).get()

    assert "done" == resident.ask("go").get().text
    assert 1 == len(model.requests)
    resident.ask("more").get()

    injected, more = [m.text for m in model.requests[1].messages[-2:]]
    assert "\nby the way\n" in injected  # what another run says is framed
    assert "more" == more

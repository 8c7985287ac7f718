"""Requests, answers and tool calls: the steps of a turn, and how it comes to its end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors import Agent, Runtime, Tool
from retinue.protocol.content import Text, ToolCall
from retinue.protocol.errors import ContextOverflow, ModelRefused
from retinue.protocol.events import OutputDelta
from retinue.protocol.model import Answer, Finish
from retinue.protocol.result import COMPLETED, ERROR, MAX_TOKENS, REFUSAL, Usage
from tests.backends.loop.models import ONE, Talker, calls, says, told

CUT_OFF = calls(("a", "add", {}), ("b", "add", {"n": 1}), text="so", finish=Finish.LENGTH)


def add(n: int = 0, *, m: int = 0) -> int:
    """Add two numbers."""
    return n + m


def test_a_turn_goes_from_request_to_call_to_request(runtime: Runtime) -> None:
    """
    Request, stream, answer, tool calls, results, next step; every request is the whole
    conversation, and usage adds up.
    """
    model = Talker(calls(("c", "add", {"n": 40, "m": 2}), text="let me see"), says("it is 42"))
    agent = Agent(model=model, tools=[add], instructions="Be exact.")

    run = runtime.start("spawn", "40 + 2?", agent=agent).get()
    result = run.result.get()

    assert ("it is 42", COMPLETED, Usage(20, 10, 2)) == (
        result.text,
        result.stop_reason,
        result.usage,
    )
    assert [
        "step 1",
        "user: 40 + 2?",
        "says: let me see add()",
        "calls c",
        "c: 42",
        "step 2",
        "says: it is 42",
        "ended completed",
    ] == told(run)
    first, second = model.requests
    assert "Be exact." == first.instructions == second.instructions
    assert ["add"] == [tool.name for tool in first.tools]
    assert first.messages == second.messages[:1]
    assert (1, 1, 1, 2) == (first.turn, first.step, second.turn, second.step)
    assert (run.id, run.id) == (first.run_id, second.run_id)


def test_deltas_reach_who_subscribes_as_they_come(runtime: Runtime) -> None:
    """
    Text is told while the answer is under way, and the log has it too.
    """
    heard: list[Any] = []
    runtime.subscribe(heard.append)

    run = runtime.start("spawn", "go", agent=Agent(model=Talker(says("all of it")))).get()
    run.result.get()

    assert [OutputDelta(run.id, "all of it")] == [e for e in heard if isinstance(e, OutputDelta)]


def test_calls_overlap_where_they_may_and_are_logged_in_their_order(runtime: Runtime) -> None:
    """
    LOG-13: ordered start, ordered commit, overlapping bodies; what may not overlap is a
    barrier.
    """
    order: list[str] = []

    async def slow(name: str, seconds: float) -> str:
        """Take a while."""
        order.append(f"{name}+")
        await asyncio.sleep(seconds)
        order.append(f"{name}-")
        return name

    tools = [Tool("slow", slow, is_concurrent=True), Tool("alone", slow)]
    named = [("a", "slow", 3.0), ("b", "slow", 1.0), ("c", "alone", 1.0), ("d", "slow", 1.0)]
    model = Talker(
        calls(*[(i, tool, {"name": i, "seconds": time}) for i, tool, time in named]), says("done")
    )

    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=tools)).get()
    assert run.result.get().is_success

    assert ["a+", "b+", "b-", "a-", "c+", "c-", "d+", "d-"] == order
    logged = [line for line in told(run) if line.startswith(("calls", "a:", "b:", "c:", "d:"))]
    assert ["calls a", "calls b", "a: a", "b: b", "calls c", "c: c", "calls d", "d: d"] == logged


def test_no_more_than_ten_calls_of_a_step_run_at_once(runtime: Runtime) -> None:
    """
    LOG-13: ten at a time; one that is slow holds up nobody but itself.
    """
    now, most = 0, 0

    async def work(seconds: float) -> str:
        """Work."""
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(seconds)
        now -= 1
        return f"{now}"

    named = [(str(n), "work", {"seconds": 100.0 if n == 0 else 1.0}) for n in range(25)]
    model = Talker(calls(*named), says("done"))
    agent = Agent(model=model, tools=[Tool("work", work, is_concurrent=True)])

    run = runtime.start("spawn", "go", agent=agent).get()
    run.result.get()

    assert (10, 0) == (most, now)
    results = model.requests[1].messages[-1].content
    assert [str(n) for n in range(25)] == [getattr(block, "call_id", "") for block in results]
    assert "0" == getattr(results[0], "text", ""), "the slow one was last"


@pytest.mark.parametrize(
    ("reply", "reason", "diagnostic"),
    [
        (says("no", Finish.REFUSAL), REFUSAL, "no"),
        (ModelRefused("against the rules"), REFUSAL, "against the rules"),
        (ContextOverflow("too long"), ERROR, "too long"),
        (ValueError("odd"), ERROR, "ValueError('odd')"),
        (Answer(()), COMPLETED, None),
    ],
    ids=["finish refusal", "refused", "overflow", "bug", "empty"],
)
def test_each_way_to_end_has_its_reason(
    runtime: Runtime, reply: Any, reason: str, diagnostic: str | None
) -> None:
    """
    LOG-10, RES-2: what a model raises or says ends the turn, with the reason in words.
    """
    run = runtime.start("spawn", "go", agent=Agent(model=Talker(reply))).get()

    result = run.result.get()

    assert reason == result.stop_reason
    assert diagnostic is None or diagnostic in str(result.diagnostic)
    told(run)


def test_a_resident_goes_on_after_a_turn_that_failed(runtime: Runtime) -> None:
    """
    LOG-10: a failure of the model ends the turn, not the run's ability to work again, and
    the next request has the whole balanced conversation.
    """
    model = Talker(says("one"), ValueError("odd"), says("three"))
    resident = runtime.open(Agent(model=model)).get()

    answers = [resident.ask(text).get() for text in ("a", "b", "c")]

    assert ["one", "", "three"] == [answer.text for answer in answers]
    assert ["a", "one", "b", "c"] == [message.text for message in model.requests[2].messages]


def test_calls_that_may_be_cut_off_are_not_made(runtime: Runtime) -> None:
    """
    LOG-15, RES-7: an answer that came to the token limit makes no call, its text is kept,
    and the reason says so.
    """
    run = runtime.start("spawn", "go", agent=Agent(model=Talker(CUT_OFF), tools=[add])).get()

    result = run.result.get()

    assert (MAX_TOKENS, "so") == (result.stop_reason, result.text)
    assert ["step 1", "user: go", "says: so", "ended max-tokens"] == told(run)


def test_the_token_limit_sticks_whatever_completes_after_it(runtime: Runtime) -> None:
    """
    RES-7: steering has the turn go on for a step that completes; the reason is max-tokens.
    """
    model = Talker(says("half", Finish.LENGTH), says("whole"))
    run = runtime.start("spawn", "go", agent=Agent(model=model)).get()
    steer: Any = run
    receipt = steer.steer("go on")

    result = run.result.get()

    assert (MAX_TOKENS, "whole") == (result.stop_reason, result.text)
    assert receipt.get().turn == 1


def test_calls_of_one_answer_that_share_an_id_are_told_apart(runtime: Runtime) -> None:
    """
    LOG-6: each call of a step has its own result, also where a model repeats itself.
    """
    model = Talker(calls(("x", "add", {"n": 1}), ("x", "add", {"n": 2})), says("done"))

    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=[add])).get()
    run.result.get()

    assert ["x: 1", "x-2: 2"] == [line for line in told(run) if line.startswith(("x:", "x-"))]
    assert [ToolCall("x", "add", {"n": 1}), ToolCall("x-2", "add", {"n": 2})] == list(
        model.requests[1].messages[1].content
    )


def test_an_unknown_tool_is_named_and_the_model_goes_on(runtime: Runtime) -> None:
    """
    TOOL-31: a call of a tool that is not there is an error result that says what is.
    """
    model = Talker(calls(("x", "subtract", {})), says("sorry"))

    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=[add])).get()

    assert run.result.get().is_success
    assert any("unknown tool 'subtract'" in line and "add" in line for line in told(run))


def test_a_model_without_a_route_fails_its_turn(runtime: Runtime) -> None:
    """
    VAL-9: nothing is invented: the child is there, and its turn fails as an ordinary error.
    """
    run = runtime.start("spawn", "go", agent=Agent(name="idle")).get()

    result = run.result.get()

    assert ERROR == result.stop_reason
    assert "neither behaviour nor model" in str(result.diagnostic)


def test_a_fork_of_a_model_has_the_conversation_and_its_own_task(runtime: Runtime) -> None:
    """
    FRK-1, H45, RES-12: the fork's first request holds the parent's completed turns, the
    notice, and then the task; its result is its own alone.
    """
    model = Talker(says("Rome"), Answer((), ONE), says("never mind"))
    resident = runtime.open(Agent(model=model)).get()
    resident.ask("capital?").get()

    run = runtime.start("fork", "what now?", agent=Agent(model=model), parent=resident).get()
    result = run.result.get()

    texts = [message.text for message in model.requests[1].messages]
    assert (["capital?", "Rome"], "what now?") == (texts[:2], texts[-1])
    assert "Your only task is the next message" in texts[2]
    assert (COMPLETED, ()) == (result.stop_reason, result.output)
    assert Text("never mind") not in result.output


def test_only_delegated_runs_are_told_that_they_are(runtime: Runtime) -> None:
    """
    PER-10: a child is told that its scope is fixed and that nobody can approve; a root is not.
    """
    model = Talker(says("a"), says("b"))
    agent = Agent(model=model, instructions="Be brief.")
    root = runtime.open(agent).get()
    root.ask("go").get()
    runtime.start("spawn", "go", agent=agent, parent=root).get().result.get()

    first, second = (request.instructions for request in model.requests)
    assert "Be brief." == first
    assert second.startswith("Be brief.\n\n")
    assert "scope is fixed" in second

"""Guards look at calls: before they are made, after they were, and wherever the tool goes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors import Runtime
from retinue.protocol.agent import Agent
from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.tool import Conclude, Guard, Tool
from tests.backends.tools.using import caller, ended, texts, used, with_tools


def noting(seen: list[str], name: str, denial: str | None = None) -> Guard:
    """Return a guard that notes when it is asked, and may deny."""

    def before(call: ToolCall, turn: object) -> str | None:
        del turn
        seen.append(f"{name} before {call.name}")
        return denial

    async def after(call: ToolCall, result: ToolResult, turn: object) -> None:
        del turn
        await asyncio.sleep(1.0)
        seen.append(f"{name} after {call.name}: {result.text}")

    return Guard(before, after)


def test_guards_are_asked_from_the_outside_in_and_back(runtime: Runtime) -> None:
    """
    STR-5: the agent's own stand outermost, and have the first word and the last.
    """
    seen: list[str] = []
    work = Tool("work", lambda: "fine", guards=(noting(seen, "inner"),))
    tools = [work.guarded(noting(seen, "outer"))]
    used(runtime, tools, ("work", {}), guards=[noting(seen, "agent")])

    assert [
        "agent before work",
        "outer before work",
        "inner before work",
        "inner after work: fine",
        "outer after work: fine",
        "agent after work: fine",
    ] == seen


def test_a_denial_is_what_the_model_reads_and_nothing_runs(runtime: Runtime) -> None:
    """
    Guards inside of the one that denied are not asked; those outside of it hear of it.
    """
    seen: list[str] = []
    tools = [
        Tool("work", lambda: seen.append("ran"))
        .guarded(noting(seen, "inner"))
        .guarded(noting(seen, "middle", "not on Sundays"))
        .guarded(noting(seen, "outer"))
    ]
    (result,) = used(runtime, tools, ("work", {}))

    assert ("not on Sundays", True) == (result.text, result.is_error)
    assert [
        "outer before work",
        "middle before work",
        "outer after work: not on Sundays",
    ] == seen


@pytest.mark.parametrize(
    ("said", "text", "is_error"),
    [
        (None, "fine", False),
        ("blocked", "blocked", True),
        (ToolResult("", "other words"), "other words", False),
        (ToolResult("", "an error", is_error=True), "an error", True),
        (5, "a guard of 'work' answered with a int: text denies, None does not", True),
    ],
    ids=repr,
)
def test_what_a_guard_says_afterwards_stands(
    runtime: Runtime, said: Any, text: str, *, is_error: bool
) -> None:
    """
    STR-5: it may deny a result, replace it, or leave it.
    """
    guard = Guard(after=lambda *_: said)
    (result,) = used(runtime, [Tool("work", lambda: "fine", guards=(guard,))], ("work", {}))

    assert ("c1", text, is_error) == (result.call_id, result.text, result.is_error)


@pytest.mark.parametrize(
    ("said", "ends"),
    [(ToolResult("", "other words"), True), (ToolResult("", "an error", is_error=True), False)],
    ids=["a replacement", "an error"],
)
def test_a_conclusion_stands_or_falls_with_its_result(
    runtime: Runtime, said: ToolResult, *, ends: bool
) -> None:
    """
    STR-5: other words for it change nothing else; an error takes the conclusion back.
    """
    tools = [
        Tool("finish", lambda: Conclude("ok", "the end"), guards=(Guard(after=lambda *_: said),))
    ]
    agent = with_tools(caller(("finish", {})), tools)
    run = runtime.start("spawn", "go", agent=agent).get()

    assert ("the end" if ends else "done") == ended(run).text
    assert [said.text] == texts(run)


@pytest.mark.parametrize("error", [ValueError("broken"), SystemExit(1), KeyError()], ids=repr)
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_guard_that_raises_denies(runtime: Runtime, error: BaseException, when: str) -> None:
    """
    A gate that is broken is shut, and the turn goes on.
    """
    ran: list[int] = []

    def fail(*_: object) -> None:
        raise error

    guard = Guard(before=fail) if when == "before" else Guard(after=fail)
    tools = [Tool("work", lambda: ran.append(1), guards=(guard,))]
    (result,) = used(runtime, tools, ("work", {}))

    assert result.is_error
    assert f"its guard failed: {type(error).__name__}" in result.text
    assert (when == "after") == bool(ran)


def test_a_guard_that_answers_with_anything_else_denies(runtime: Runtime) -> None:
    """
    True may have been meant as yes or as no, so that it is neither.
    """
    tools = [Tool("work", lambda: "ran", guards=(lambda *_: True,))]
    (result,) = used(runtime, tools, ("work", {}))

    assert "a guard of 'work' answered with a bool: text denies, None does not" == result.text
    assert result.is_error


def test_a_guard_travels_with_its_tool_to_a_child(runtime: Runtime) -> None:
    """
    H66: whoever the tool is handed to, its guard looks; the parent's own guards stay there.
    """
    seen: list[str] = []
    guarded = Tool("work", lambda: "fine", guards=(noting(seen, "tool", "no"),))
    model = caller(("work", {}))
    inner: list[Any] = []

    async def delegate(turn: Any) -> str:
        child = await turn.start("spawn", "go", agent=Agent(model=model, tools=[guarded]))
        inner.append(child)
        result = await child.result
        return str(result.text)

    agent = with_tools(
        caller(("delegate", {})), [Tool("delegate", delegate)], guards=[noting(seen, "agent")]
    )
    ended(runtime.start("spawn", "go", agent=agent).get())

    assert ["no"] == texts(inner[0])
    assert ["agent before delegate", "tool before work", "agent after delegate: done"] == seen

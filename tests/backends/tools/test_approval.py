"""Calls that need approval: the policy decides, or the approver, and both are in the log."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from retinue.actors import DeterministicDispatcher, Run, Runtime, ask_user
from retinue.protocol.agent import Agent
from retinue.protocol.approval import Question
from retinue.protocol.errors import InvalidAgent, InvalidRequest, ToolFailed
from retinue.protocol.log import ApprovalAsked, ApprovalGiven
from retinue.protocol.tool import Ask, Tool
from tests.actors.conftest import watched
from tests.backends.loop.models import HOUR
from tests.backends.tools.using import caller, ended, results, texts, with_tools

PAY = Tool("pay", lambda: "paid", guards=(lambda *_: Ask("pay 5 euros"),))
NOBODY = (
    "not run: it needs approval (pay 5 euros), and nobody can give it here; say so in your"
    " result instead of trying again"
)


@contextmanager
def runtime_with(**options: Any) -> Iterator[Runtime]:
    """Give a runtime in virtual time with these options."""
    dispatcher = DeterministicDispatcher(0)
    yield from watched(Runtime(dispatcher=dispatcher, **options))


def paying(runtime: Runtime, **options: Any) -> Run:
    """Have a model pay once; returns its run, ended."""
    agent = with_tools(caller(("pay", {})), [PAY])
    run = runtime.start("spawn", "go", agent=agent, **options).get()
    assert "done" == ended(run).text
    return run


def audit(run: Run) -> list[tuple[str, Any]]:
    """Return what was asked and decided, in order."""
    found: list[tuple[str, Any]] = []
    for event in run.own_transcript():
        if isinstance(event, ApprovalAsked):
            found.append(("asked", event.question))
        elif isinstance(event, ApprovalGiven):
            found.append((event.by, event.is_allowed))
    return found


@pytest.mark.parametrize(
    ("policy", "text", "decision"),
    [
        ({}, NOBODY, ("policy never", False)),
        ({"approval": "never"}, NOBODY, ("policy never", False)),
        ({"approval": "ask"}, NOBODY, ("no approver", False)),
        ({"approval": "always"}, "paid", ("policy always", True)),
    ],
    ids=repr,
)
def test_a_policy_answers_at_once(
    policy: dict[str, str], text: str, decision: tuple[str, bool]
) -> None:
    """
    Without anybody to ask, nothing waits: the policy allows or denies.
    """
    with runtime_with(policy=policy) as runtime:
        run = paying(runtime)

    assert [text] == texts(run)
    assert [("asked", "pay 5 euros"), decision] == audit(run)


async def yes_later(question: Question) -> bool:
    """Think about it, and agree."""
    assert ("pay 5 euros", "pay") == (question.text, question.call.name)
    await asyncio.sleep(HOUR / 60)
    return True


async def never(question: Question) -> bool:
    """Say nothing for half a day."""
    del question
    await asyncio.sleep(12 * HOUR)
    return True


def broken(question: Question) -> bool:
    """Fail."""
    raise ValueError(question.text)


DENIED = "not run: it needs approval (pay 5 euros), and that was denied: "


@pytest.mark.parametrize(
    ("approver", "text", "decision"),
    [
        (yes_later, "paid", ("approver", True)),
        (lambda _: True, "paid", ("approver", True)),
        (lambda _: False, DENIED + "the approver said no", ("approver", False)),
        (lambda _: None, DENIED + "the approver said no", ("approver", False)),
        (lambda _: "too much", DENIED + "too much", ("approver", False)),
        (lambda _: 1, DENIED + "the approver said no", ("approver", False)),
        (
            broken,
            DENIED + "the approver failed: ValueError: pay 5 euros",
            ("approver", False),
        ),
        (never, DENIED + "no answer came in time", ("time", False)),
    ],
    ids=["later", "yes", "no", "None", "a reason", "1", "broken", "never"],
)
def test_an_approver_is_asked_where_nothing_else_is_said(
    approver: Callable[[Question], Any], text: str, decision: tuple[str, bool]
) -> None:
    """
    Only True allows; silence, after ten minutes, and whatever else it does deny.
    """
    with runtime_with(approver=approver) as runtime:
        run = paying(runtime)

    assert [text] == texts(run)
    assert [("asked", "pay 5 euros"), decision] == audit(run)


def chain(depth: int, found: list[Run]) -> Agent:
    """Return an agent that delegates *depth* times, and then pays."""
    if not depth:
        return Agent(model=caller(("pay", {})), tools=[PAY])

    async def delegate(turn: Any) -> str:
        child = await turn.start("spawn", "go", agent=chain(depth - 1, found))
        found.append(child)
        return str((await child.result).text)

    return Agent(model=caller(("delegate", {})), tools=[Tool("delegate", delegate)])


@pytest.mark.parametrize("depth", [1, 2])
@pytest.mark.parametrize(
    ("policy", "text", "by"),
    [
        ({}, NOBODY, "policy never"),
        ({"approval": "always"}, NOBODY, "policy never"),
        ({"delegated_approval": "always"}, "paid", "policy always"),
        ({"approval": "never", "delegated_approval": "always"}, "paid", "policy always"),
        ({"delegated_approval": "never"}, NOBODY, "policy never"),
    ],
    ids=repr,
)
def test_a_delegated_call_is_answered_at_once_by_what_the_root_says(
    policy: dict[str, str], text: str, by: str, depth: int
) -> None:
    """
    H53, POL-1, POL-5: the approver is not consulted, however deep, and nothing hangs; the
    pair of question and decision is in the child's log.
    """
    asked: list[Question] = []
    found: list[Run] = []

    def approver(question: Question) -> bool:
        asked.append(question)
        return True

    with runtime_with(approver=approver, policy=policy) as runtime:
        ended(runtime.start("spawn", "go", agent=chain(depth, found)).get())

    child = next(run for run in found if audit(run))
    assert [text] == texts(child)
    assert [("asked", "pay 5 euros"), (by, text == "paid")] == audit(child)
    assert [] == asked


@pytest.mark.parametrize(
    "options",
    [
        {"policy": {"approval": "perhaps"}},
        {"policy": {"delegated_approval": True}},
        {"policy": {"tools": {}}},
        {"policy": "never"},
        {"approver": 5},
    ],
    ids=repr,
)
def test_policies_that_nobody_knows_are_refused(options: dict[str, Any]) -> None:
    """
    A policy is honoured or refused when it is given.
    """
    with pytest.raises(InvalidRequest):
        Runtime(**options)


@pytest.mark.parametrize(("name", "value"), [("approval", "perhaps"), ("tools", {"allow": []})])
def test_a_turn_cannot_set_what_nobody_knows(runtime: Runtime, name: str, value: object) -> None:
    """
    Nor can it lift its own tool filter; the turn goes on.
    """

    def work(turn: Any) -> str:
        with pytest.raises(InvalidRequest):
            turn.set_policy(name, value)
        return "refused"

    assert "refused" == runtime.start("spawn", "go", agent=work).get().result.get().text


@pytest.mark.parametrize("is_async", [False, True])
def test_a_root_asks_its_user_and_a_child_has_none(runtime: Runtime, *, is_async: bool) -> None:
    """
    POL-6: a delegated run is refused with DELEGATED_CALLER, and the person is left alone.
    """
    asked: list[str] = []

    def answer(question: str) -> str:
        asked.append(question)
        return "blue"

    async def later(question: str) -> str:
        return answer(question)

    tool = ask_user(later if is_async else answer)
    found: list[Run] = []

    async def delegate(turn: Any) -> str:
        model = caller(("ask_user", {"question": "which colour below?"}))
        child = await turn.start("spawn", "go", agent=Agent(model=model, tools=[tool]))
        found.append(child)
        return str((await child.result).text)

    model = caller(("ask_user", {"question": "which colour?"}), ("delegate", {}))
    run = runtime.start("spawn", "go", agent=with_tools(model, [tool, delegate])).get()
    ended(run)

    assert ["blue", "done"] == texts(run)
    assert ["which colour?"] == asked
    (refused,) = results(found[0])
    assert refused.is_error
    assert refused.text.startswith("DELEGATED_CALLER: ")


def test_a_question_of_a_turn_that_was_stopped_is_not_asked(runtime: Runtime) -> None:
    """
    POL-6: whoever asks for a turn that is over is told CALLER_NOT_LIVE, and nobody is
    troubled.
    """
    asked: list[str] = []
    tool = ask_user(asked.append)
    said: list[str] = []

    async def late(turn: Any) -> None:
        turn.run.interrupt()
        try:
            await asyncio.sleep(HOUR)
        finally:
            with pytest.raises(ToolFailed) as caught:
                await tool.function(turn, "still there?")
            said.append(str(caught.value))

    run = runtime.start("spawn", "go", agent=late).get()

    assert "aborted" == ended(run).stop_reason
    assert said[0].startswith("CALLER_NOT_LIVE: ")
    assert [] == asked


def test_ask_user_needs_somebody_to_ask() -> None:
    """
    The mistake is told where the tool is made.
    """
    with pytest.raises(InvalidAgent, match="ask_user: expected a function, got str"):
        ask_user("me")  # type: ignore[arg-type]

"""Approval in turns that end early, and in runs that change whose they are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors import Run, RunResult, Runtime, ask_user
from retinue.protocol.approval import Question
from tests.actors.hosts import hosting, within
from tests.backends.loop.models import HOUR
from tests.backends.tools.test_approval import NOBODY, PAY, audit, runtime_with
from tests.backends.tools.using import caller, ended, texts, with_tools
from tests.doubles import PATIENCE, Gate, Probe


def test_a_cancel_while_an_approver_thinks_is_a_decision(threaded: Runtime) -> None:
    """
    POL-5: every question has its decision, also when nobody waits for it any more.
    """
    threaded.close()
    gate = Gate()

    def think(question: Question) -> bool:
        del question
        gate.wait()
        return True

    with Runtime(approver=think) as runtime:
        agent = with_tools(caller(("pay", {})), [PAY])
        run = runtime.start("spawn", "go", agent=agent).get(timeout=PATIENCE)
        assert gate.reached.wait(PATIENCE)
        run.cancel("enough")
        assert "aborted" == ended(run).stop_reason
        gate.open()

    assert [("asked", "pay 5 euros"), ("cancelled", False)] == audit(run)


def test_a_turn_that_ends_without_its_approver_decides_by_itself() -> None:
    """
    POL-5: an approver that does not let go holds up neither the end nor the audit.
    """

    async def stubborn(question: Question) -> bool:
        del question
        try:
            await asyncio.sleep(HOUR)
        except asyncio.CancelledError:
            await asyncio.sleep(HOUR)
        return True

    with runtime_with(approver=stubborn, grace=2 * HOUR) as runtime:
        agent = with_tools(caller(("pay", {})), [PAY])
        run = runtime.start("spawn", "go", agent=agent, deadline=60.0).get()
        assert "timeout" == ended(run).stop_reason
        assert [("asked", "pay 5 euros"), ("the turn ended", False)] == audit(run)


def test_a_root_that_goes_on_as_a_child_has_nobody_to_ask_any_more() -> None:
    """
    POL-5: whose run it is now counts; the approver that it had is not consulted.
    """
    asked: list[Question] = []
    found: list[Run] = []

    def approver(question: Question) -> bool:
        asked.append(question)
        return True

    with runtime_with(approver=approver) as runtime:
        agent = with_tools(caller(("pay", {})), [PAY])
        before: Any = runtime.start("spawn", "go", agent=agent).get()
        ended(before)

        async def go_on(turn: Any) -> str:
            again = with_tools(caller(("pay", {})), [PAY])
            after = await before.resume("again", agent=again, parent=turn.run)
            found.append(after)
            return str((await after.result).text)

        ended(runtime.start("spawn", "go", agent=go_on).get())

    assert ["paid"] == texts(before)
    assert [NOBODY] == texts(found[0])
    assert 1 == len(asked)


@pytest.mark.parametrize("policy", [{}, {"approval": "always"}], ids=repr)
def test_what_a_host_starts_is_no_delegation(policy: dict[str, str]) -> None:
    """
    POL-5, POL-6: the runs of a pykka host stand for its user; only those below are delegated.
    """
    heard = Probe()
    asked: list[Question] = []

    def approver(question: Question) -> bool:
        asked.append(question)
        return True

    model = caller(("pay", {}), ("ask_user", {"question": "sure?"}))
    agent = with_tools(model, [PAY, ask_user(lambda question: f"to {question} yes")])
    with hosting(heard, approver=approver, policy=policy) as host:
        run = within(host, lambda it: it.rt.start("spawn", "go", agent=agent).get(timeout=PATIENCE))
        assert "done" == heard.expect(RunResult).text

    assert ["paid", "to sure? yes"] == texts(run)
    assert (not policy) == bool(asked)

"""Approval: what policies say of a call, and what a child is pinned to."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.protocol.accounting import unanswered_approvals
from retinue.protocol.approval import Question, Verdict, pinned, policies, verdict
from retinue.protocol.errors import InvalidRequest
from retinue.protocol.export import export
from tests.protocol.logs import asked, called, decided
from tests.protocol.rules import OPEN_STEP, SECOND_STEP


def yes(question: Question) -> bool:
    """Agree to everything."""
    del question
    return True


@pytest.mark.parametrize("approver", [None, yes], ids=["nobody", "somebody"])
@pytest.mark.parametrize("is_delegated", [False, True], ids=["root", "child"])
@pytest.mark.parametrize("choice", [None, "never", "always", "ask"])
def test_the_policy_decides_and_without_one_only_a_root_asks(
    choice: str | None, approver: Any, *, is_delegated: bool
) -> None:
    """
    POL-5: nothing that is delegated asks of itself, and who is not there is not asked.
    """
    policy = {} if choice is None else {"approval": choice}
    said = verdict(policy, approver, is_delegated=is_delegated)

    if choice == "always":
        assert Verdict(True, "policy always") == said
    elif choice == "never" or (choice is None and (is_delegated or approver is None)):
        assert Verdict(False, "policy never") == said
    elif approver is None:
        assert Verdict(False, "no approver") == said
    else:
        assert Verdict(None, "approver", yes) == said


@pytest.mark.parametrize(
    ("policy", "approver", "child"),
    [
        ({}, None, {}),
        ({"sandbox": "strict"}, None, {"sandbox": "strict"}),
        ({}, yes, {"approval": "never"}),
        ({"approval": "always"}, None, {"approval": "never"}),
        (
            {"delegated_approval": "always"},
            None,
            {"delegated_approval": "always", "approval": "always"},
        ),
    ],
    ids=repr,
)
def test_a_child_is_pinned_where_anything_is_ever_approved(
    policy: dict[str, Any], approver: Any, child: dict[str, Any]
) -> None:
    """
    POL-1: to never, unless the root says otherwise for everything below it.
    """
    assert child == pinned(policy, approver)


def test_questions_without_a_decision_are_found() -> None:
    """
    Each question needs a decision of its own, those of one call too.
    """
    log = [*OPEN_STEP, called(1, 1), called(1, 1, "c2")]

    assert () == unanswered_approvals(log)
    assert ("c1",) == unanswered_approvals([*log, asked(1, 1)])
    assert () == unanswered_approvals([*log, asked(1, 1), decided(1, 1)])
    again = [*log, asked(1, 1), decided(1, 1), asked(1, 1)]
    assert ("c1",) == unanswered_approvals(again)
    assert ("c2",) == unanswered_approvals([*log, asked(1, 1), asked(1, 1, "c2"), decided(1, 1)])
    assert () == unanswered_approvals([*SECOND_STEP])


def test_a_question_and_its_decision_are_written_down() -> None:
    """
    The pair is in every export.
    """
    lines = export([asked(1, 1), decided(1, 1, is_allowed=False)], with_time=False)

    assert [
        (
            '{"n": 0, "type": "approval-asked", "turn": 1, "step": 1, "call_id": "c1",'
            ' "question": "may I?"}'
        ),
        (
            '{"n": 1, "type": "approval-given", "turn": 1, "step": 1, "call_id": "c1",'
            ' "is_allowed": false, "by": "approver"}'
        ),
    ] == lines.splitlines()


@pytest.mark.parametrize("name", ["aproval", "approvals", "delegated_aproval", "", 3])
def test_a_slip_in_a_policys_name_is_no_policy(name: object) -> None:
    """
    Promise 1: what would be accepted and do nothing is refused; other names are free.
    """
    with pytest.raises(InvalidRequest, match=r"did you mean|expected a name"):
        policies({name: "never"})

    assert (("sandbox", "strict"), ("approval", "never")) == policies(
        {"sandbox": "strict", "approval": "never"}
    )

"""Having a call approved: the run's policy answers, or the runtime's approver does."""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Final

from retinue.backends._inprocess.answers import error_text
from retinue.backends._inprocess.containing import called, within
from retinue.backends._inprocess.turn import Turn
from retinue.protocol import messages
from retinue.protocol.approval import PATIENCE, Approver, Question
from retinue.protocol.content import ToolCall
from retinue.protocol.provider import Workplace

_NOBODY: Final = (
    "not run: it needs approval ({question}), and nobody can give it here; say so in your"
    " result instead of trying again"
)
_DENIED: Final = "not run: it needs approval ({question}), and that was denied: {reason}"


class Approval:
    """Has the calls of one turn approved; question and decision are logged as a pair."""

    __slots__ = ("_turn", "_workplace")

    def __init__(self, turn: Turn, workplace: Workplace) -> None:
        self._turn = turn
        self._workplace = workplace

    async def denial(self, question: str, call: ToolCall) -> str | None:
        """Return why *call* is not to be made, or None."""
        asked = messages.AskApproval(self._turn.number, call.call_id, question)
        said = await self._workplace.ask(asked)
        if said.is_allowed is None:
            return await self._asked(said.approver, question, call)
        return None if said.is_allowed else _NOBODY.format(question=question)

    async def _asked(self, approver: Approver, question: str, call: ToolCall) -> str | None:
        subject = Question(question, call, self._workplace.run_id)
        try:
            outcome = await within(self._workplace, PATIENCE, self._said(approver, subject))
        except asyncio.CancelledError:
            self._decided(call, "cancelled", is_allowed=False)
            raise
        if outcome is None:
            reason = "no answer came in time"
        elif outcome.error is not None:
            reason = f"the approver failed: {error_text(outcome.error)}"
        elif outcome.value is True:
            self._decided(call, "approver", is_allowed=True)
            return None
        else:  # only True allows: what a broken approver returns is no approval
            reason = outcome.value if isinstance(outcome.value, str) else "the approver said no"
        self._decided(call, "approver" if outcome is not None else "time", is_allowed=False)
        return _DENIED.format(question=question, reason=reason)

    async def _said(self, approver: Approver, subject: Question) -> Any:
        if inspect.iscoroutinefunction(approver):
            return await called(approver, subject)
        value = await self._workplace.call(lambda: approver(subject), is_bounded=False)
        return await value if inspect.isawaitable(value) else value

    def _decided(self, call: ToolCall, by: str, *, is_allowed: bool) -> None:
        turn = self._turn.number
        self._workplace.report(messages.ApprovalDecided(turn, call.call_id, is_allowed, by))

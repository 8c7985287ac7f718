"""The steps of a turn: what its driver reports of them, and what is claimed between two."""

from __future__ import annotations

from typing import cast

from retinue.actors._run_budget import BudgetWork
from retinue.actors._run_inbox import StepTaken
from retinue.protocol import accounting, messages
from retinue.protocol.approval import Verdict, verdict
from retinue.protocol.content import Content, Message, ToolResult, as_content
from retinue.protocol.errors import BudgetSpent, Cancelled
from retinue.protocol.events import OutputDelta
from retinue.protocol.lifecycle import Phase
from retinue.protocol.log import (
    ApprovalAsked,
    ApprovalGiven,
    AssistantMessage,
    Chunk,
    Log,
    Retried,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolReturned,
    UserMessage,
)


class StepWork(BudgetWork):
    """The work of steps."""

    __slots__ = ()

    def on_step_edge(self, fact: messages.StepEdge) -> tuple[Message, ...] | None:
        """Hand out what waits for the next step, and open that step."""
        self._must_be_open(fact.turn)
        if fact.is_last and not fact.add and not self.the_inbox().has_waking_step:
            return None
        if not self._may_step(fact):
            return None
        now, log = self.now, self.the_log()
        log.append(StepFinished(fact.turn, self.step, now))
        self.step += 1
        self._ref.has_mail = self.may_have_mail
        taken = self.left(self.the_inbox().claim_step(now))
        log.append(StepStarted(fact.turn, self.step, now))
        for item in taken:
            log.append(UserMessage(item.message, now))
        for message in fact.add:
            log.append(UserMessage(message, now))
        self._answer_receipts(taken, StepTaken(self._ref.run_id, fact.turn, self.step))
        return (*[item.message for item in taken], *fact.add)

    def _may_step(self, fact: messages.StepEdge) -> bool:
        """
        Take one more step of what is left.

        A turn that would end here ends as it is when none is left for what came last. A
        driver that does not wait for an answer is stopped.

        Raises:
            BudgetSpent: none is left.
        """
        try:
            self.take_step()
        except BudgetSpent as error:
            if fact.is_last and not fact.add:
                return False
            if self._ref.dispatcher.has_asker:
                raise
            self.stop_for(error.reason)
            return False
        return True

    def _must_be_open(self, turn: int) -> None:
        if turn != self.open_turn or self.life.phase is not Phase.WORKING:
            raise Cancelled(f"{self._ref.run_id}: turn {turn} was stopped")

    def on_reserve(self, fact: messages.Reserve) -> bool:
        """Count one request to a model before it is sent; raises BudgetSpent."""
        self._must_be_open(fact.turn)
        self.take_request()
        return True

    def on_retried(self, fact: messages.Retried) -> None:
        """Log that a request is sent again."""
        if fact.turn == self.open_turn:
            self.the_log().append(Retried(fact.problem, self.now))

    def on_said(self, fact: messages.Said) -> None:
        """Log what the agent said."""
        if fact.turn == self.open_turn:
            self.the_log().append(
                AssistantMessage(
                    as_driver_content(fact.content), fact.usage, fact.is_interrupted, self.now
                )
            )
            self.spend(fact.usage)

    def on_streamed(self, fact: messages.Streamed) -> None:
        """Log a piece of text and pass it on to whoever listens."""
        if fact.turn == self.open_turn and fact.text:
            self.the_log().append(Chunk(fact.text, self.now))
            self.service.publish(OutputDelta(self._ref.run_id, fact.text))

    def on_tool_used(self, fact: messages.ToolUsed) -> None:
        """Log a tool call, or what it gave."""
        if fact.turn != self.open_turn:
            return
        if fact.result is None:
            self.the_log().append(ToolCalled(fact.turn, self.step, fact.call, self.now))
        else:
            returned = ToolReturned(fact.turn, self.step, fact.result, fact.is_synthetic, self.now)
            self.the_log().append(returned)

    def on_ask_approval(self, fact: messages.AskApproval) -> Verdict:
        """Log that a call needs approval; what the policies say is logged with it (POL-5)."""
        self._must_be_open(fact.turn)
        said = verdict(self.policy, self.service.approver, is_delegated=self.workplace.is_delegated)
        asked = ApprovalAsked(fact.turn, self.step, fact.call_id, fact.question, self.now)
        self.the_log().append(asked)
        if said.is_allowed is not None:
            self._decide(fact.call_id, said.by, is_allowed=said.is_allowed)
        return said

    def on_approval_decided(self, fact: messages.ApprovalDecided) -> None:
        """Log what an approver decided."""
        if fact.turn == self.open_turn:
            self._decide(fact.call_id, fact.by, is_allowed=fact.is_allowed)

    def _decide(self, call_id: str, by: str, *, is_allowed: bool) -> None:
        turn = self.open_turn
        self.the_log().append(ApprovalGiven(turn, self.step, call_id, is_allowed, by, self.now))

    def on_usage(self, fact: messages.UsageRecorded) -> None:
        """Log what was spent, as an empty message (RES-10)."""
        if fact.turn == self.open_turn:
            self.the_log().append(AssistantMessage((), fact.usage, False, self.now))
            self.spend(fact.usage)

    def answer_calls(self, log: Log, turn: int, now: float) -> None:
        """LOG-14: an open call would spoil every later request on this history (H46)."""
        for call_id in accounting.unanswered_approvals(log.open_events):
            self._decide(call_id, "the turn ended", is_allowed=False)
        for call, is_begun in accounting.unanswered_calls(log.open_events):
            text = "the turn ended before an answer came"
            if not is_begun:
                text = "ABORTED_BEFORE_DISPATCH: the turn ended before the call was made"
                log.append(ToolCalled(turn, self.step, call, now))
            answer = ToolResult(call.call_id, text, is_error=True)
            log.append(ToolReturned(turn, self.step, answer, True, now))


def as_driver_content(given: object) -> Content:
    """Take content as a driver gave it; raises InvalidContent for what is none."""
    if type(given) is tuple:
        return cast("Content", given)
    return as_content(given, "a driver's output") if given else ()

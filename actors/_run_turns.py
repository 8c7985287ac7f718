"""The turns of a run: how one begins, what happens in it, and how it ends."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from retinue.actors._run_inbox import StepTaken
from retinue.actors._run_steps import StepWork, as_driver_content
from retinue.actors._stepping import Resume
from retinue.protocol import accounting, messages
from retinue.protocol.approval import check_policy
from retinue.protocol.content import Form, Message
from retinue.protocol.errors import (
    BudgetSpent,
    UnsupportedCapability,
    printable,
)
from retinue.protocol.inbox import Waiting
from retinue.protocol.lifecycle import Input, Phase
from retinue.protocol.log import (
    AssistantMessage,
    Cause,
    Ending,
    PolicySet,
    StepFinished,
    StepStarted,
    TurnFinished,
    TurnStarted,
    UserMessage,
)
from retinue.protocol.provider import TurnOrder
from retinue.protocol.result import TurnResult, bounded_diagnostic


class TurnWork(StepWork):
    """The work of turns."""

    __slots__ = ()

    def start_turn(self) -> None:
        """Open a turn, claim what it answers, and give it to the driver (LOG-7)."""
        log, now = self.the_log(), self.now
        turn = log.last_turn + 1
        log.append(TurnStarted(turn, now))
        self.wrapping_up = False
        self.last = None
        self.cause = None
        self._ref.has_mail = self.may_have_mail
        is_counted = self._ref.quota.meters or self.warnings
        refusal = self._refused_turn() if is_counted else None
        taken = self.left(self.the_inbox().claim_turn(now))
        if refusal is not None:
            self._answer_receipts(taken, None)
            self.facts.append(
                messages.TurnEnded(
                    turn, Ending.ERROR, (), None, str(refusal), refusal, refusal.reason
                )
            )
            self._take_asker(taken)
            return
        declined = self._declined(taken)
        if declined is not None:
            self._answer_receipts(taken, None)
            self.facts.append(messages.TurnEnded(turn, Ending.BLOCKED, (), None, declined))
            self._take_asker(taken)
            return
        if not taken:
            # LOG-9: a wake whose message was withdrawn opens an empty turn, and no step.
            self.facts.append(messages.TurnEnded(turn, Ending.COMPLETED))
            return
        self.step = 1
        log.append(StepStarted(turn, 1, now))
        for item in taken:
            log.append(UserMessage(item.message, now))
        self._take_asker(taken)
        self._answer_receipts(taken, StepTaken(self._ref.run_id, turn, 1))
        driver = self.driver
        assert driver is not None
        order = TurnOrder(turn, tuple([item.message for item in taken]))
        self.at_driver(lambda: driver.begin(order))

    def _refused_turn(self) -> BudgetSpent | None:
        """Take the turn of what is left, if it has work; or say what forbids it (H37)."""
        if self.the_inbox().has_work:
            try:
                self.take_turn()
            except BudgetSpent as error:
                return error
        return None

    def _declined(self, taken: Sequence[Waiting]) -> str | None:
        gate = None if self._ref.request.agent is None else self._ref.request.agent.gate
        if gate is None:
            return None
        for item in taken:
            if item.message.source.form is Form.WARNING:
                continue  # the runtime's own word, and no prompt
            try:
                reason = gate(item.message)
                if reason is not None:
                    return str(reason)
            except BaseException as error:  # noqa: BLE001 - the gate is the user's (H85)
                return f"the gate raised {printable(error)}"
        return None

    def _take_asker(self, taken: Sequence[Waiting]) -> None:
        for item in taken:
            if not item.lapses and item.reply is not None:
                self.asker = item.reply

    def on_wrap_up(self, _: messages.WrapUp) -> bool:
        """Ask the open turn to finish with what it has."""
        if self.life.phase is not Phase.WORKING:
            return False
        self.wrapping_up = True
        wrap_up = getattr(self.driver, "wrap_up", None)
        if wrap_up is None:
            raise UnsupportedCapability(
                f"{self._ref.run_id}: provider {self.provider.name!r} cannot wrap up", "wrap_up"
            )
        self.at_driver(wrap_up)
        return True

    def on_interrupt(self, order: messages.Interrupt) -> bool:
        """Stop the open turn, keep the queue; without a turn this is harmless (CON-92)."""
        if self.life.phase not in {Phase.WORKING, Phase.DRAINING}:
            return False
        is_first = self.cause is None
        self.cause = self.cause or order.cause
        self.feed(Input.INTERRUPT)
        if is_first:
            self.limit_stop()
        return True

    def limit_stop(self) -> None:
        """Give the driver its time to end the turn, unless it has reported that already."""
        if self.open_turn and not self.facts:
            self.set_timer(self.grace, messages.DeadlinePassed("stop", self.open_turn))

    def stop_turn(self) -> None:
        """Stop the driver's turn and the children that belong to it."""
        self.stop_turn_children()
        if self.driver is not None:
            driver, cause = self.driver, self.cause or Cause.USER
            self.at_driver(lambda: driver.stop(cause))

    def stop_turn_children(self) -> None:
        """Cancel the children of the turn."""
        raise NotImplementedError

    def on_turn_ended(self, fact: messages.TurnEnded) -> None:
        """Close the turn, once; facts of a turn that is over are ignored."""
        if fact.turn != self.open_turn:
            return
        if type(fact.output) is not tuple:
            fact = attrs.evolve(fact, output=as_driver_content(fact.output))
        self.last = fact
        self._close_turn(fact)
        phase = self.life.phase
        drains = self._ref.request.drain and phase is Phase.WORKING
        if drains and self.turn_children_left():
            self.feed(Input.TURN_OVER_CHILDREN_LEFT)
            return
        abandoned = self.live_turn_children() if self.life.is_resident else ()
        self._answer_asker(abandoned)
        if self.life.is_resident and phase is Phase.WORKING:
            self.cause = None  # an interrupt's cause ends with its turn
        self.feed(Input.TURN_OVER)

    def _close_turn(self, fact: messages.TurnEnded) -> None:
        log, now = self.the_log(), self.now
        if fact.output:
            log.append(AssistantMessage(fact.output, None, False, now))
        elif self.step and fact.ending is Ending.ABORTED:
            prefix = accounting.cut_off_text(log.open_events)
            if prefix:
                log.append(AssistantMessage(prefix, None, True, now))
        if self.step:
            self.answer_calls(log, fact.turn, now)
        if self.step:
            log.append(StepFinished(fact.turn, self.step, now))
            self.step = 0
        if self.inbox is not None:
            lapsed = self.left(self.inbox.lapse(now))
            self._answer_receipts(lapsed, None)
            self.keep_warnings(lapsed)
        is_aborted = fact.ending is Ending.ABORTED
        cause = (self.cause or Cause.USER) if is_aborted else None
        error = fact.diagnostic if fact.ending is Ending.ERROR else None
        log.append(TurnFinished(fact.turn, fact.ending, cause, error, now))

    def _answer_asker(self, abandoned: tuple[str, ...]) -> None:
        asker, self.asker = self.asker, None
        fact = self.last
        if asker is None or fact is None:
            return
        log = self.the_log()
        reason, output, usage = self.service.turn_outcome(log, fact, self.cause)
        diagnostic = None if fact.diagnostic is None else bounded_diagnostic(fact.diagnostic)
        asker.resolve(
            TurnResult(
                output,
                fact.structured,
                diagnostic,
                reason,
                usage,
                self._ref.run_id,
                fact.turn,
                abandoned,
                fact.error,
            )
        )

    def on_drained(self) -> None:
        """Go on after the last child of a drained turn has ended."""
        self._answer_asker(())
        self.feed(Input.DRAINED)

    def turn_children_left(self) -> bool:
        """Whether children of the turn are still under way."""
        raise NotImplementedError

    def live_turn_children(self) -> tuple[str, ...]:
        """Return the ids of the live children that belong to the turn."""
        raise NotImplementedError

    def on_resume(self, letter: Resume) -> None:
        """Let a generator go on."""
        letter.stepping.resume()

    def on_set_policy(self, order: messages.SetPolicy) -> bool:
        """Set one policy explicitly; later children inherit it (POL-1)."""
        check_policy(order.name, order.value)
        if self.policy is None:
            self.policy = {}
        self.policy[order.name] = order.value
        self.the_log().append(PolicySet(order.name, order.value, "explicit", self.now))
        return True

    def completed_messages(self) -> tuple[Message, ...]:
        """Return the messages of the completed turns, the seed's included."""
        return () if self.log is None else self.log.seed().messages()

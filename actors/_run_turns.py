"""The turns of a run: what waits for one, what happens in it, and how it ends."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import attrs

from retinue.actors._mailbox import LATER
from retinue.actors._run_state import RunState
from retinue.actors._scope import Resume
from retinue.protocol import messages
from retinue.protocol.content import Message
from retinue.protocol.errors import (
    Cancelled,
    DeadRun,
    NotDelivered,
    NotResident,
    UnsupportedCapability,
    printable,
)
from retinue.protocol.events import OutputDelta, Undelivered
from retinue.protocol.inbox import Waiting
from retinue.protocol.lifecycle import Input, Phase
from retinue.protocol.log import (
    AssistantMessage,
    Cause,
    Chunk,
    Ending,
    PolicySet,
    StepFinished,
    StepStarted,
    Target,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    UserMessage,
)
from retinue.protocol.provider import TurnOrder
from retinue.protocol.result import TurnResult, bounded_diagnostic

if TYPE_CHECKING:
    from retinue.actors._reply import Reply


@attrs.frozen
class StepTaken:
    """The receipt of a steered message: which step of which turn took it."""

    run_id: str
    turn: int
    step: int


class TurnWork(RunState):
    """Prompting, steering and the work of turns."""

    __slots__ = ()

    def _must_be_live(self, what: str) -> None:
        if self.is_over:
            raise DeadRun(f"{self._ref.run_id}: is ending; the {what} was not taken")

    def on_prompt(self, order: messages.Prompt) -> Any:
        """Queue one next turn."""
        self._ref.unload()
        self._must_be_live("prompt")
        if not self.life.is_resident:
            raise NotResident(
                f"{self._ref.run_id}: a one-shot run has one prompt; steer it, or open a"
                " resident with runtime.open(agent)"
            )
        reply = self.take_reply() if order.is_ask else None
        self._add(Target.NEXT_TURN, Waiting(order.message, reply, order.sender))
        return True if reply is None else LATER

    def first_prompt(self, message: Message) -> None:
        """Queue the prompt that the run was started with."""
        self.the_inbox().add(Target.NEXT_TURN, Waiting(message, None, None), self.now)

    def on_steer(self, order: messages.Steer) -> Any:
        """Queue for the next step of the open turn, waking; the receipt follows."""
        self._ref.unload()
        self._must_be_live("steer")
        if self.driver is not None and not hasattr(self.driver, "steer"):
            raise UnsupportedCapability(
                f"{self._ref.run_id}: provider {self.provider.name!r} cannot steer a run", "steer"
            )
        reply = self.take_reply()
        item = Waiting(order.message, reply, order.sender, lapses=True)
        self._add(Target.NEXT_STEP, item)
        return True if reply is None else LATER

    def on_inject(self, order: messages.Inject) -> bool:
        """Queue for the next step, without waking."""
        self._ref.unload()
        self._must_be_live("message")
        item = Waiting(order.message, None, order.sender, wakes=False)
        self._add(Target.NEXT_STEP, item)
        return True

    def on_report(self, order: messages.Report) -> bool:
        """Take a child's own words at the next step, waking."""
        self._ref.unload()
        self._must_be_live("report")
        self._add(Target.NEXT_STEP, Waiting(order.message, None, order.sender))
        return True

    def on_notice(self, order: messages.Notice) -> None:
        """Take the account of how a child ended at the next step, waking."""
        if not self.is_over:
            self._add(Target.NEXT_STEP, Waiting(order.message, None, None))

    def _add(self, target: Target, item: Waiting) -> None:
        self.the_inbox().add(target, item, self.now)
        if self.life.phase is Phase.IDLE:
            self.seek_work()
        elif target is Target.NEXT_STEP and self.life.phase is Phase.WORKING:
            steer = getattr(self.driver, "steer", None)
            if steer is not None:
                steer()

    def seek_work(self) -> None:
        """Start a turn if something waits for one."""
        if self.inbox is not None and self.life.phase is Phase.IDLE and self.inbox.has_work:
            self.feed(Input.WORK)

    def start_turn(self) -> None:
        """Open a turn, claim what it answers, and give it to the driver (LOG-7)."""
        log, now = self.the_log(), self.now
        turn = log.last_turn + 1
        log.append(TurnStarted(turn, now))
        self.wrapping_up = False
        self.last = None
        self.cause = None
        taken = self.the_inbox().claim_turn(now)
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
        if self.driver is None:
            raise RuntimeError("a turn without a driver")
        self.driver.begin(TurnOrder(turn, tuple([item.message for item in taken])))

    def _declined(self, taken: list[Waiting]) -> str | None:
        gate = None if self._ref.request.agent is None else self._ref.request.agent.gate
        if gate is None:
            return None
        for item in taken:
            try:
                reason = gate(item.message)
            except Exception as error:  # noqa: BLE001 - the gate is the user's
                return f"the gate raised {printable(error)}"
            if reason is not None:
                return str(reason)
        return None

    def _take_asker(self, taken: list[Waiting]) -> None:
        for item in taken:
            if not item.lapses and item.reply is not None:
                self.asker = item.reply

    def _answer_receipts(self, taken: Iterable[Waiting], receipt: StepTaken | None) -> None:
        for item in taken:
            if item.lapses and item.reply is not None:
                if receipt is None:
                    item.reply.fail(_not_delivered(self._ref.run_id))
                else:
                    item.reply.resolve(receipt)

    def on_step_edge(self, fact: messages.StepEdge) -> tuple[Message, ...]:
        """Hand out what waits for the next step, and open that step."""
        if fact.turn != self.open_turn or self.life.phase is not Phase.WORKING:
            raise Cancelled(f"{self._ref.run_id}: turn {fact.turn} was stopped")
        now, log = self.now, self.the_log()
        log.append(StepFinished(fact.turn, self.step, now))
        self.step += 1
        taken = self.the_inbox().claim_step(now)
        log.append(StepStarted(fact.turn, self.step, now))
        for item in taken:
            log.append(UserMessage(item.message, now))
        self._answer_receipts(taken, StepTaken(self._ref.run_id, fact.turn, self.step))
        return tuple(item.message for item in taken)

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
        wrap_up()
        return True

    def on_interrupt(self, order: messages.Interrupt) -> bool:
        """Stop the open turn, keep the queue; without a turn this is harmless (CON-92)."""
        if self.life.phase not in {Phase.WORKING, Phase.DRAINING}:
            return False
        self.cause = self.cause or order.cause
        self.feed(Input.INTERRUPT)
        return True

    def stop_turn(self) -> None:
        """Stop the driver's turn and the children that belong to it."""
        self.stop_turn_children()
        if self.driver is not None:
            self.driver.stop(self.cause or Cause.USER)

    def stop_turn_children(self) -> None:
        """Cancel the children of the turn."""
        raise NotImplementedError

    def on_said(self, fact: messages.Said) -> None:
        """Log what the agent said."""
        if fact.turn == self.open_turn:
            self.the_log().append(
                AssistantMessage(fact.content, fact.usage, fact.is_interrupted, self.now)
            )

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
            returned = ToolReturned(fact.turn, self.step, fact.result, False, self.now)
            self.the_log().append(returned)

    def on_usage(self, fact: messages.UsageRecorded) -> None:
        """Log what was spent, as an empty message (RES-10)."""
        if fact.turn == self.open_turn:
            self.the_log().append(AssistantMessage((), fact.usage, False, self.now))

    def on_turn_ended(self, fact: messages.TurnEnded) -> None:
        """Close the turn, once; facts of a turn that is over are ignored."""
        if fact.turn != self.open_turn:
            return
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
        if self.step:
            log.append(StepFinished(fact.turn, self.step, now))
            self.step = 0
        if self.inbox is not None:
            lapsed = self.inbox.lapse(now)
            self._answer_receipts(lapsed, None)
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
        if self.policy is None:
            self.policy = {}
        self.policy[order.name] = order.value
        self.the_log().append(PolicySet(order.name, order.value, "explicit", self.now))
        return True

    def drop_waiting(self) -> None:
        """Empty both lists; every sender is told (H25, H59)."""
        if self.inbox is None or not len(self.inbox):
            return
        for item in self.inbox.clear(self.now):
            if item.reply is not None:
                item.reply.fail(_not_delivered(self._ref.run_id))
            else:
                self.hand_back(item.message, item.sender)

    def hand_back(self, message: Any, sender: Any) -> None:
        """Tell a sender, or else the subscribers, that a message was not taken."""
        event = Undelivered(self._ref.run_id, message, "the run ended before it was taken")
        if sender is not None and sender.is_alive():
            sender.dispatcher.put(sender, messages.Returned(event), None)
        self.service.publish(event)

    def undelivered(self, message: Any, reason: str) -> None:
        """Hand back what was told to this run and refused by it."""
        if type(message) in messages.BOUNDED:
            event = Undelivered(self._ref.run_id, message.message, reason)
            sender = message.sender
            if sender is not None and sender.is_alive():
                sender.dispatcher.put(sender, messages.Returned(event), None)
            self.service.publish(event)

    def on_undelivered(self, message: Any) -> None:
        """Hand back what still stood in the mailbox when it was sealed."""
        self.undelivered(message, "the run ended before it was taken")

    def on_returned(self, order: messages.Returned) -> None:
        """Hear that something this run sent was not taken; a host is told."""
        returned = getattr(self.driver, "returned", None)
        if returned is not None:
            returned(order.event)

    def completed_messages(self) -> tuple[Message, ...]:
        """Return the messages of the completed turns, the seed's included."""
        return () if self.log is None else self.log.seed().messages()


def _not_delivered(run_id: str) -> NotDelivered:
    return NotDelivered(f"{run_id}: the turn ended before a step took the message")

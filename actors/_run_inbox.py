"""What waits inside a run: prompts, steering, reports and notices, and their receipts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from retinue.actors._mailbox import LATER
from retinue.actors._run_state import RunState
from retinue.protocol import messages
from retinue.protocol.content import Message
from retinue.protocol.errors import (
    DeadRun,
    NotDelivered,
    NotResident,
    UnsupportedCapability,
)
from retinue.protocol.events import Undelivered
from retinue.protocol.inbox import Waiting
from retinue.protocol.lifecycle import Input, Phase
from retinue.protocol.log import (
    Target,
)


@attrs.frozen
class StepTaken:
    """The receipt of a steered message: which step of which turn took it."""

    run_id: str
    turn: int
    step: int


class InboxWork(RunState):
    """Taking messages in, and handing back what nobody took."""

    __slots__ = ()

    def _must_be_live(self, what: str) -> None:
        if self.is_over:
            raise DeadRun(f"{self._ref.run_id}: is ending; the {what} was not taken")

    def on_prompt(self, order: messages.Prompt) -> Any:
        """Queue one next turn."""
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
        self.the_inbox().add(Target.NEXT_TURN, Waiting(message, None, None, counts=False), self.now)

    def first_word(self, message: Message) -> None:
        """Queue what the runtime has to say before the first prompt."""
        item = Waiting(message, None, None, wakes=False, counts=False)
        self.the_inbox().add(Target.NEXT_STEP, item, self.now)

    def on_steer(self, order: messages.Steer) -> Any:
        """Queue for the next step of the open turn, waking; the receipt follows."""
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
        self._must_be_live("message")
        item = Waiting(order.message, None, order.sender, wakes=False)
        self._add(Target.NEXT_STEP, item)
        return True

    def on_report(self, order: messages.Report) -> bool:
        """Take a child's own words at the next step, waking."""
        self._must_be_live("report")
        self._add(Target.NEXT_STEP, Waiting(order.message, None, order.sender))
        return True

    def on_notice(self, order: messages.Notice) -> None:
        """Take the account of how a child ended at the next step, waking."""
        if not self.is_over:
            self._add(Target.NEXT_STEP, Waiting(order.message, None, None, counts=False))

    def _add(self, target: Target, item: Waiting) -> None:
        self.the_inbox().add(target, item, self.now)
        if self.life.phase is Phase.IDLE:
            self.seek_work()
        elif target is Target.NEXT_STEP and self.life.phase is Phase.WORKING:
            steer = getattr(self.driver, "steer", None)
            if steer is not None:
                self.at_driver(steer)

    def seek_work(self) -> None:
        """Start a turn if something waits for one."""
        if self.inbox is None or self.maintenance is not None:
            return
        if self.life.phase is Phase.IDLE and self.inbox.has_work:
            self.feed(Input.WORK)

    def _answer_receipts(self, taken: Iterable[Waiting], receipt: StepTaken | None) -> None:
        for item in taken:
            if item.lapses and item.reply is not None:
                if receipt is None:
                    item.reply.fail(_not_delivered(self._ref.run_id))
                else:
                    item.reply.resolve(receipt)

    def left(self, items: Sequence[Waiting]) -> Sequence[Waiting]:
        """Note that *items* wait no more: there is room in the mailbox again (INB-1)."""
        for item in items:
            if item.counts:
                self._ref.unload()
        return items

    def drop_waiting(self) -> None:
        """Empty both lists; every sender is told (H25, H59)."""
        if self.inbox is None or not len(self.inbox):
            return
        for item in self.left(self.inbox.clear(self.now)):
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
            self.at_driver(lambda: returned(order.event))


def _not_delivered(run_id: str) -> NotDelivered:
    return NotDelivered(f"{run_id}: the turn ended before a step took the message")

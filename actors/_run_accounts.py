"""
How a run hears of its background children: each end once, and its text once (H34, H35).

A child's text reaches its parent by the notice of its end, or because a tool asked for it
first. Which of the two it is, is decided here, in one handler; the other becomes a line.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import attrs

from retinue.actors._mailbox import LATER
from retinue.actors._run_children import Delegation
from retinue.protocol import messages
from retinue.protocol.agent import Kind as AgentKind
from retinue.protocol.content import Form, Kind, Message, Text
from retinue.protocol.inbox import Waiting
from retinue.protocol.lifecycle import Phase
from retinue.protocol.log import SealedTurn, Target, UserMessage

if TYPE_CHECKING:
    from retinue.actors._reply import Reply

# JOB-6: so many turns in a row may begin because a child has ended, and for nothing else.
NOTICE_TURNS: Final = 3


class Accounts(Delegation):
    """What is told of children that have ended; nothing is held for runs without any."""

    # Both are made when they are first needed.
    #   held: the step edge of a turn that waits for its background children, and its asker
    #   told: the ids of children whose text the run has been given
    __slots__ = ("held", "told")

    held: tuple[messages.StepEdge, Reply[Any] | None] | None
    told: set[str]

    def on_notice(self, order: messages.Notice) -> None:
        """Take the account of how a child ended at the next step, waking where it is new."""
        if self.is_over:
            return
        run_id = order.result.run_id
        if run_id in self._told():
            self._add(Target.NEXT_STEP, _short(order.message))
            return
        self._told().add(run_id)
        wakes = self.life.phase is not Phase.IDLE or not self._woke_for_notices()
        item = Waiting(order.message, None, None, wakes=wakes, counts=False)
        self._add(Target.NEXT_STEP, item)

    def _told(self) -> set[str]:
        if not hasattr(self, "told"):
            self.told = set[str]()
        return self.told

    def _woke_for_notices(self) -> bool:
        """
        Whether the last turns were about ends of children alone, as many as may be.

        A loop that sustains itself is a model's: a behaviour and a host have been written
        to hear of every end.
        """
        agent = self._ref.request.agent
        is_model = agent is None or agent.kind is AgentKind.MODEL
        if not is_model or getattr(self.provider, "is_endless", False):
            return False
        log = self.the_log()
        turn = log.latest
        for _ in range(NOTICE_TURNS):
            if turn is None or turn.turns <= log.seed_turns or not _is_of_notices(turn):
                return False
            turn = turn.previous
        return True

    def on_take_output(self, order: messages.TakeOutput) -> bool:
        """
        Hand out a child's text once; False when the run has been given it already.

        A notice that still waits becomes a line that wakes nobody.
        """
        told = self._told()
        if order.run_id not in told:
            told.add(order.run_id)
            return True
        for at, item in enumerate(() if self.inbox is None else self.inbox.next_step):
            source = item.message.source
            is_its_notice = source.form is Form.NOTICE and source.sender == order.run_id
            if is_its_notice and len(item.message.content) > 1:
                self.the_inbox().replace(at, _short(item.message), self.now)
                return True
        return False

    # A turn that would end while background children work.

    def on_step_edge(self, fact: messages.StepEdge) -> Any:
        """Hand out what waits; a patient turn that would end waits for its children (H29)."""
        self._must_be_open(fact.turn)
        if fact.is_patient and not fact.add and self._has_to_wait():
            self.held = (fact, self.take_reply())
            return LATER
        return super().on_step_edge(fact)

    def _has_to_wait(self) -> bool:
        if self.wrapping_up or self.the_inbox().has_waking_step:
            return False
        return any(child.request.is_background for child in self._ref.children())

    @property
    def is_held(self) -> bool:
        """Whether the open turn waits for background children."""
        return getattr(self, "held", None) is not None

    def look_again(self) -> None:
        """Let a turn that waits go on, or end, when there is reason to."""
        held = getattr(self, "held", None)
        if held is None or self._has_to_wait():
            return
        self.held = None
        fact, reply = held
        if reply is None or fact.turn != self.open_turn or self.life.phase is not Phase.WORKING:
            return  # it was stopped, and nobody asks any more
        try:
            reply.resolve(super().on_step_edge(fact))
        except Exception as error:  # noqa: BLE001 - it is the asker's, as in any handler
            reply.fail(error)

    def _add(self, target: Target, item: Waiting) -> None:
        super()._add(target, item)
        self.look_again()

    def on_child_ended(self, order: messages.ChildEnded) -> None:
        """Unlink the child and account for it."""
        super().on_child_ended(order)
        self.look_again()

    def on_wrap_up(self, _: messages.WrapUp) -> bool:
        """Ask the open turn to finish with what it has; it waits for nobody any more."""
        is_open = super().on_wrap_up(_)
        self.look_again()
        return is_open

    def waits_for_children(self) -> tuple[str, ...]:
        """Return the ids of the background children that the open turn waits for."""
        if not self.is_held:
            return ()
        return tuple([c.run_id for c in self._ref.children() if c.request.is_background][::-1])


def _is_of_notices(turn: SealedTurn) -> bool:
    # A child's report is no more a user's word than the account of its end is (JOB-6).
    said = [event.message.source.kind for event in turn.events if type(event) is UserMessage]
    return all(kind is Kind.RUNTIME or kind is Kind.CHILD for kind in said)


def _short(notice: Message) -> Waiting:
    """Return what is left to say of an end whose text was read."""
    line = Text(f"{notice.source.summary}; you have read what it left.")
    return Waiting(attrs.evolve(notice, content=(line,)), None, None, wakes=False, counts=False)

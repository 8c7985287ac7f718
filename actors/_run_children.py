"""The children of a run: tickets of starts under way, live children, and what they owe."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from retinue.actors._mailbox import LATER
from retinue.actors._options import with_route
from retinue.actors._run_turns import TurnWork
from retinue.protocol import messages
from retinue.protocol.approval import pinned
from retinue.protocol.content import Form, Kind, Message, Source, Text, clip
from retinue.protocol.delegation import child_depth, narrower
from retinue.protocol.errors import Cancelled, Closing, StartCancelled
from retinue.protocol.lifecycle import Phase
from retinue.protocol.tool_filter import OWN, ToolFilter

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef
    from retinue.actors._reply import Reply
    from retinue.actors._ticket import Ticket


class _Entry:
    """One start under way: its ticket, who asked, and which turn owns it (0: the run)."""

    __slots__ = ("reply", "ticket", "turn")

    def __init__(self, ticket: Ticket, reply: Reply[Any] | None, turn: int) -> None:
        self.ticket = ticket
        self.reply = reply
        self.turn = turn


class Delegation(TurnWork):
    """Starting children and hearing of their ends."""

    __slots__ = ()

    def on_delegate(self, order: messages.Delegate) -> object:
        """
        Write a start into the ticket table, then send it on to be admitted.

        The order matters: a cancel that arrives between the two finds the ticket. What
        only this run knows is stamped here: depth, limits, policy, and for a fork the seed.
        """
        ticket, request = order.ticket, order.request
        if self.is_over or self._ref.mark is not None:
            raise Closing(f"{self._ref.run_id}: is ending and starts no more children")
        if ticket.cancelled is not None:
            raise StartCancelled(f"{ticket.cancelled}: the start was cancelled before it began")
        if order.turn and order.turn != self.open_turn:
            raise Cancelled(f"{self._ref.run_id}: turn {order.turn} is over")
        belongs_to_run = request.is_background or request.is_resident or not order.turn
        turn = 0 if belongs_to_run else order.turn
        if self.order is not None and self.order.options:
            request = with_route(request, self.order.options)
        depth, cap = child_depth(self._ref.depth), self._ref.cap
        origin = request.features.origin
        if origin is None:
            prefix = order.prefix or self._prefix(request.provider)
            policy = self._inherited_policy()
        else:
            prefix, policy = order.prefix, origin.policy
            depth, cap = max(depth, origin.depth), narrower(cap, origin.cap)
        admit = messages.Admit(
            request,
            ticket,
            self._ref,
            depth,
            cap,
            self._ref.quota,
            prefix,
            policy,
            (self.place, self.started),
            turn,
            self._ceiling(request.features.tool_rules),
        )
        self.started += 1
        if self.tickets is None:
            self.tickets = {}
        self.tickets[ticket.number] = _Entry(ticket, self.take_reply(), turn)
        registry = self.service.registry
        registry.dispatcher.put(registry, admit, None)
        return LATER

    def _prefix(self, provider: str) -> Any:
        """Return the balanced completed turns, where the provider wants a seed: O(1)."""
        if self.log is None or not self.service.inherits_context(provider):
            return None
        seed = self.log.seed()
        return seed if seed.turns else None

    def _inherited_policy(self) -> tuple[tuple[str, Any], ...]:
        """Capture the policies now: later switches belong to this run's own future (POL-1, 3)."""
        approver = self.service.approver
        if self._ref is self.service.stand_in:
            return tuple((self.policy or {}).items())  # what a host starts has the host's user
        if not self.policy and approver is None:
            return ()
        # A child has nobody to ask, so approval is pinned whatever the parent's own is.
        return tuple(pinned(self.policy, approver).items())

    def _ceiling(self, rules: str | None) -> ToolFilter | None:
        """Return what this run keeps of its tools, where that binds its child too (H65)."""
        return None if rules == OWN or self.order is None else self.order.tool_filter

    def on_child_opened(self, order: messages.ChildOpened) -> None:
        """Link the child and answer the starter; cancel it if nobody wants it any more."""
        entry = (self.tickets or {}).pop(order.ticket.number)
        child = order.run.ref
        if not child.is_sealed:
            self._ref.link(child)
        reason = entry.ticket.cancelled
        if reason is None and (self.is_over or self._ref.mark is not None):
            reason = self._ref.mark or "its parent has ended"
        if reason is None and self._is_over_for(entry.turn):
            reason = "the turn that started it is over"
        if reason is not None and self._starter_is_gone(entry):
            self._cancel_child(child, reason)
            if entry.reply is not None:
                entry.reply.fail(StartCancelled(f"{child.run_id}: {reason}"))
        elif entry.reply is not None:
            entry.reply.resolve(order.run)
        self.check_released()

    def _starter_is_gone(self, entry: _Entry) -> bool:
        """Whether the start's owner has ended; a tripped token alone is no failed start (VAL-6)."""
        gone = self.is_over or self._ref.mark is not None
        return gone or self._is_over_for(entry.turn)

    def _is_over_for(self, turn: int) -> bool:
        """Whether a turn takes no more children; one that is drained still takes its own."""
        if not turn or turn == self.open_turn:
            return False
        drains = self.life.phase is Phase.DRAINING
        return not (drains and self.last is not None and self.last.turn == turn)

    def on_start_refused(self, order: messages.StartRefused) -> None:
        """Tell the starter why there is no child."""
        entry = (self.tickets or {}).pop(order.ticket.number)
        if entry.reply is not None:
            entry.reply.fail(order.error)
        self._after_child_left(entry.turn)

    def on_child_ended(self, order: messages.ChildEnded) -> None:
        """Unlink the child; account for a background child with one notice (H21)."""
        child: RunRef = order.ref
        self._ref.unlink(child)
        self.stuck += order.stuck
        if child.request.is_background and not self.is_over:
            self.on_notice(_notice(child, order))
        self._after_child_left(child.owner_turn)

    def _after_child_left(self, turn: int) -> None:
        del turn
        if self.life.phase is Phase.DRAINING and not self.turn_children_left():
            self.on_drained()
        self.check_released()

    def turn_children_left(self) -> bool:
        """Whether children of a turn are still under way."""
        if any(child.owner_turn for child in self._ref.children()):
            return True
        return any(entry.turn for entry in (self.tickets or {}).values())

    def live_turn_children(self) -> tuple[str, ...]:
        """Return the ids of the children at work that belong to a turn, oldest first."""
        return self._live_ids(turn_only=True)

    def _live_ids(self, *, turn_only: bool) -> tuple[str, ...]:
        live = [
            child.run_id
            for child in self._ref.children()
            if (child.owner_turn or not turn_only) and not child.is_settled and not child.is_idle
        ]
        live.reverse()
        return tuple(live)

    def live_children(self) -> tuple[str, ...]:
        """Return the ids of all children that are at work, oldest first."""
        return self._live_ids(turn_only=False)

    def stop_turn_children(self) -> None:
        """Cancel the children and the starts of the turn."""
        for entry in (self.tickets or {}).values():
            if entry.turn:
                entry.ticket.cancel("the turn that started it is over")
        for child in list(self._ref.children()):
            if child.owner_turn:
                self._cancel_child(child, "the turn that started it is over")

    def cancel_all_children(self, reason: str) -> None:
        """Cancel every child and every start."""
        for entry in list((self.tickets or {}).values()):
            entry.ticket.cancel(reason)
        for child in list(self._ref.children()):
            self._cancel_child(child, reason)

    def _cancel_child(self, child: RunRef, reason: str) -> None:
        if child.mark is None:
            dispatcher = child.dispatcher
            order = messages.Cancel(reason, messages.Cause.PARENT, self.grace)
            dispatcher.put(child, order, None)

    def check_released(self) -> None:
        """Feed ``released`` when nothing is left to wait for."""
        raise NotImplementedError


def _notice(child: RunRef, ended: messages.ChildEnded) -> messages.Notice:
    result = ended.result
    label = child.request.label or child.request.provider
    summary = clip(f"{label} ({child.run_id}) ended {result.stop_reason}")
    lead = Text(f"{summary}.\n" if result.output else f"{summary}; it left no closing message.")
    source = Source(Kind.RUNTIME, Form.NOTICE, child.run_id, summary)
    return messages.Notice(Message((lead, *result.output), source), result)

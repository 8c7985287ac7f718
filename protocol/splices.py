"""A run's two lists of waiting messages, replayed from its log (INB-19)."""

from __future__ import annotations

from collections.abc import Iterable

from retinue.protocol.content import Message
from retinue.protocol.entries import Event, Spliced, Target
from retinue.protocol.errors import InvariantViolated


class Pending:
    """
    The messages that wait for a run's next step and for its next turn.

    Only its owner reads or changes it.
    """

    __slots__ = ("next_step", "next_turn")

    def __init__(self) -> None:
        self.next_step: list[Message] = []
        self.next_turn: list[Message] = []

    def of(self, target: Target) -> list[Message]:
        """Return the list that *target* names."""
        return self.next_step if target is Target.NEXT_STEP else self.next_turn

    def problem(self, splice: Spliced) -> str | None:
        """Say why *splice* cannot be applied; None when it can."""
        waiting = self.of(splice.target)
        start, end = splice.start, splice.start + splice.removed
        if start < 0 or splice.removed < 0 or end > len(waiting):
            return (
                f"a splice of {start}..{end} does not fit into {splice.target.value},"
                f" which has {len(waiting)}"
            )
        if not splice.removed:
            if splice.cancelled:
                return "a splice that removes nothing cancels nothing (INB-4)"
            if not splice.inserted:
                return "a splice that changes nothing is not logged (INB-4)"
        leaving = {id(message) for message in waiting[start:end]}
        known = {
            message.message_id
            for message in (*self.next_step, *self.next_turn)
            if id(message) not in leaving
        }
        for message in splice.inserted:
            if message.message_id and message.message_id in known:
                return f"message {message.message_id} waits already (INB-1)"
            known.add(message.message_id)
        return None

    def apply(self, splice: Spliced) -> None:
        """
        Make the change that *splice* records.

        Raises:
            InvariantViolated: it does not fit. Nothing is changed.
        """
        problem = self.problem(splice)
        if problem is not None:
            raise InvariantViolated(problem)
        start = splice.start
        self.of(splice.target)[start : start + splice.removed] = splice.inserted


def pending_after(own: Iterable[Event], first: int = 0) -> Pending:
    """
    Replay the splices of a run's own suffix.

    Args:
        first: the sequence number of the suffix's first event.

    Raises:
        InvariantViolated: a splice does not fit; the message names its number.
    """
    waiting = Pending()
    for number, event in enumerate(own, first):
        if isinstance(event, Spliced):
            problem = waiting.problem(event)
            if problem is not None:
                raise InvariantViolated(f"event {number}: {problem}")
            waiting.apply(event)
    return waiting

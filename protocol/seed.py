"""
Sealed history: a chain of ended turns, and the pointer to one of them that a fork takes.

Rule: nothing here recurses. A chain of 100 000 turns is walked, pickled and shown with
loops, and shared by pointer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import attrs

from retinue.protocol.content import Message
from retinue.protocol.entries import Event, TurnFinished
from retinue.protocol.errors import InvariantViolated
from retinue.protocol.history import derived

Parts: TypeAlias = tuple[tuple[Event, ...], ...]


class SealedTurn:
    """
    One ended turn, and what came before it; never changed.

    It compares by identity, and is its own copy. Pickled, it carries its whole past.

    Attributes:
        events: everything since the previous seal, the turn's end included.
        previous: the sealed turn before this one.
        turn: the number of the turn that it ends.
        turns: how many sealed turns there are up to here.
        length: how many events there are up to here.
        cached: its conversation, if it is the last of its chain that was asked.
    """

    __slots__ = ("cached", "events", "length", "previous", "turn", "turns")

    def __init__(self, events: tuple[Event, ...], previous: SealedTurn | None, turn: int) -> None:
        self.events = events
        self.previous = previous
        self.turn = turn
        if previous is None:
            self.turns = 1
            self.length = len(events)
        else:
            self.turns = previous.turns + 1
            self.length = previous.length + len(events)
        self.cached: tuple[Message, ...] | None = None

    def __repr__(self) -> str:
        return f"<SealedTurn {self.turn}: {len(self.events)} of {self.length} events>"

    def __copy__(self) -> SealedTurn:
        return self

    def __deepcopy__(self, memo: object) -> SealedTurn:
        return self

    def __reduce__(self) -> tuple[object, ...]:
        return _chained, (tuple(turn.events for turn in chain(self)),)

    def conversation(self) -> tuple[Message, ...]:
        """
        Return the messages up to here, oldest first.

        The first request walks back to the nearest turn that knows its own, later ones
        do not. A chain keeps one such tuple, with the last turn that was asked:
        otherwise a run that reads its history every turn would keep one per turn.
        """
        known: tuple[Message, ...] | None = None
        missing: list[SealedTurn] = []
        node: SealedTurn | None = self
        while node is not None:
            # Read once: another thread may hand the tuple on meanwhile.
            known = node.cached
            if known is not None:
                break
            missing.append(node)
            node = node.previous
        if not missing:
            return known or ()
        messages = list(known or ())
        for turn in reversed(missing):
            messages.extend(derived(turn.events))
        self.cached = conversation = tuple(messages)
        if node is not None:
            node.cached = None
        return conversation


def _chained(parts: Parts) -> SealedTurn | None:
    head: SealedTurn | None = None
    for events in parts:
        last = events[-1]
        if not isinstance(last, TurnFinished):
            raise InvariantViolated(f"a sealed turn ends with its turn's end, not with {last}")
        head = SealedTurn(events, head, last.turn)
    return head


def chain(head: SealedTurn | None, stop: SealedTurn | None = None) -> list[SealedTurn]:
    """List the sealed turns after *stop* up to *head*, oldest first."""
    turns: list[SealedTurn] = []
    while head is not None and head is not stop:
        turns.append(head)
        head = head.previous
    turns.reverse()
    return turns


@attrs.frozen(eq=False, repr=False)
class Seed:
    """
    A balanced prefix of a log, up to the end of its last ended turn (FRK-1).

    It is a pointer: to make one costs the same whatever its length, and it keeps nothing
    alive that came later. Without a turn it seeds nothing (FRK-2).
    """

    head: SealedTurn | None = None

    @property
    def turns(self) -> int:
        """How many ended turns it holds; 0 when it seeds nothing."""
        return 0 if self.head is None else self.head.turns

    @property
    def length(self) -> int:
        """How many events it holds."""
        return 0 if self.head is None else self.head.length

    @property
    def last_turn(self) -> int:
        """The number of its last turn; 0 when it seeds nothing."""
        return 0 if self.head is None else self.head.turn

    def events(self) -> Iterator[Event]:
        """Iterate over its events, oldest first."""
        for turn in chain(self.head):
            yield from turn.events

    def messages(self) -> tuple[Message, ...]:
        """Return its conversation, oldest first; worked out at the first request."""
        return () if self.head is None else self.head.conversation()

    def __repr__(self) -> str:
        return f"<Seed: {self.turns} turns, {self.length} events>"

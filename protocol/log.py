"""
The log of one run: append-only, and the single source of truth about it.

Rule 1: a log is a chain of sealed turns and one open list. A turn's end seals the list.
Rule 2: what is said of a run is read from its own suffix, never from its seed (FRK-6).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain as joined
from typing import TYPE_CHECKING

from retinue.protocol.content import Message
from retinue.protocol.entries import (
    ApprovalAsked,
    ApprovalGiven,
    AssistantMessage,
    Cause,
    Chunk,
    Described,
    Ending,
    Event,
    PolicySet,
    Retried,
    SeedEnded,
    Spliced,
    StepFinished,
    StepStarted,
    Target,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    UserMessage,
)
from retinue.protocol.history import derived
from retinue.protocol.seed import SealedTurn, Seed, chain

if TYPE_CHECKING:
    from retinue.protocol.invariants import Monitor

__all__ = [
    "ApprovalAsked",
    "ApprovalGiven",
    "AssistantMessage",
    "Cause",
    "Chunk",
    "Described",
    "Ending",
    "Event",
    "Log",
    "PolicySet",
    "Retried",
    "SealedTurn",
    "Seed",
    "SeedEnded",
    "Spliced",
    "StepFinished",
    "StepStarted",
    "Target",
    "ToolCalled",
    "ToolReturned",
    "TurnFinished",
    "TurnStarted",
    "UserMessage",
]


class Log:
    """
    An append-only list of events; an event's sequence number is its position (LOG-2).

    A log belongs to the run that writes it. Seeds and sealed turns may be read anywhere.

    Args:
        seed: the history that it begins with, taken by pointer (FRK-3..5). A log with
            one writes its end marker at once, exactly one (FRK-12).
        time: when that is.
        monitor: vetoes events before they are written (LOG-3); without one, none is.

    Attributes:
        open_turn: the number of the turn that has not ended, if there is one.
        latest: the turn sealed last, the seed's included.
    """

    __slots__ = ("_base", "_monitor", "_open", "latest", "open_turn")

    def __init__(
        self, seed: Seed | None = None, time: float = 0.0, monitor: Monitor | None = None
    ) -> None:
        self.latest: SealedTurn | None
        self._base: SealedTurn | None
        self.open_turn: int | None = None
        self._open: list[Event] | None = None
        self._monitor = monitor
        if seed is None:
            self.latest = self._base = None
        else:
            self.latest = self._base = seed.head
            if monitor is not None:
                monitor.follow(seed)
            if seed.head is not None:
                self.append(SeedEnded(time))

    @classmethod
    def restored(
        cls,
        own: Iterable[Event],
        seed: Seed | None = None,
        time: float = 0.0,
        monitor: Monitor | None = None,
    ) -> Log:
        """
        Build a log again from its seed and its stored own suffix.

        An end marker that the suffix begins with is not written twice (FRK-12).

        Raises:
            InvariantViolated: *monitor* refuses one of the events.
        """
        events = list(own)
        if seed is not None and seed.head is not None and events:
            marker = events[0]
            if isinstance(marker, SeedEnded):
                time = marker.time
                del events[0]
        log = cls(seed, time, monitor)
        for event in events:
            log.append(event)
        return log

    def __reduce__(self) -> tuple[object, ...]:
        # Rebuilt from its parts, so that seed and own suffix share one chain again.
        return Log.restored, (tuple(self.own()), Seed(self._base))

    def append(self, event: Event) -> int:
        """
        Write *event* and return its sequence number; the end of a turn seals the turn.

        Raises:
            InvariantViolated: the monitor refuses it. The log is unchanged.
        """
        if self._monitor is not None:
            self._monitor.observe(event)
        events = self._open
        if events is None:
            events = self._open = [event]
        else:
            events.append(event)
        latest = self.latest
        number = len(events) - 1 if latest is None else latest.length + len(events) - 1
        if type(event) is TurnFinished:
            if event.turn == self.open_turn:
                self.latest = SealedTurn(tuple(events), latest, event.turn)
                self._open = self.open_turn = None
        elif type(event) is TurnStarted:
            self.open_turn = event.turn
        return number

    @property
    def last_turn(self) -> int:
        """The number of the last turn, open or ended; it goes on from the seed's (LOG-19)."""
        if self.open_turn is not None:
            return self.open_turn
        return 0 if self.latest is None else self.latest.turn

    @property
    def seed_length(self) -> int:
        """How many events were inherited."""
        return 0 if self._base is None else self._base.length

    @property
    def seed_turns(self) -> int:
        """How many ended turns were inherited; 0 for a log that was not seeded."""
        return 0 if self._base is None else self._base.turns

    @property
    def latest_time(self) -> float | None:
        """When the last event was written, or None for an empty log."""
        if self._open:
            return self._open[-1].time
        return None if self.latest is None else self.latest.events[-1].time

    def __len__(self) -> int:
        sealed = 0 if self.latest is None else self.latest.length
        return sealed if self._open is None else sealed + len(self._open)

    def __repr__(self) -> str:
        return f"<Log: {len(self)} events, {self.seed_length} inherited, turn {self.last_turn}>"

    @property
    def open_events(self) -> Sequence[Event]:
        """What was written since the last turn's end; the log's own, not to be changed."""
        return self._open or ()

    def seed(self) -> Seed:
        """Return all ended turns as a seed; what follows the last turn's end is not in it."""
        return Seed(self.latest)

    def events(self) -> Iterator[Event]:
        """Iterate over all events up to now, the inherited ones first."""
        return joined(Seed(self.latest).events(), tuple(self._open or ()))

    def own(self) -> Sequence[Event]:
        """Return the events after the seed: what this run did itself (FRK-6)."""
        latest, rest = self.latest, self._open
        if latest is self._base:
            return tuple(rest or ())
        if rest is None and latest is not None and latest.previous is self._base:
            return latest.events  # one turn, ended: the life of most runs
        events: list[Event] = []
        for turn in chain(latest, self._base):
            events.extend(turn.events)
        events.extend(rest or ())
        return events

    def messages(self) -> tuple[Message, ...]:
        """Return the whole conversation up to now, oldest first."""
        sealed = Seed(self.latest).messages()
        return (*sealed, *derived(self._open)) if self._open else sealed

    def own_messages(self) -> tuple[Message, ...]:
        """Return the conversation after the seed."""
        return tuple(derived(self.own()))

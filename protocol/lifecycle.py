"""
The life of one run.

Rule 1: every change of phase is a row of TRANSITIONS; nothing else assigns a phase.
Rule 2: this module does not know who is asking. An input from a parent, a provider,
a clock or a test is the same input.
Rule 3: the table is total. The mailbox lets control overtake work, so every input can
arrive in every phase; what means nothing there changes nothing.

    NEW → OPENING → OPENED → IDLE ⇄ WORKING → RELEASING → ENDED
                                    CANCELLING, DRAINING
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Final

import attrs


class Phase(enum.Enum):
    """Where a run is."""

    # Members are unique; the enum module would hash their names in Python each time.
    __hash__ = object.__hash__

    NEW = "new"
    OPENING = "opening"
    OPENED = "opened"
    IDLE = "idle"
    WORKING = "working"
    CANCELLING = "cancelling"
    DRAINING = "draining"
    RELEASING = "releasing"
    ENDED = "ended"


class Input(enum.Enum):
    """What can happen to a run."""

    __hash__ = object.__hash__

    BEGIN = "begin"
    DRIVER_OPENED = "driver opened"
    OPEN_FAILED = "open failed"
    PUBLISHED = "published"
    WORK = "work"
    TURN_OVER = "turn over"
    TURN_OVER_CHILDREN_LEFT = "turn over, children left to drain"
    DRAINED = "drained"
    INTERRUPT = "interrupt"
    STOP = "stop"
    CRASHED = "crashed"
    RELEASED = "released"


class Effect(enum.Enum):
    """What the actor has to do about it, in order."""

    __hash__ = object.__hash__

    OPEN_DRIVER = "open the driver"
    ANNOUNCE = "tell the registry that the driver is open"
    SEEK_WORK = "look whether work waits"
    START_TURN = "start a turn"
    STOP_TURN = "stop the turn"
    STOP_TURN_CHILDREN = "cancel the turn's children"
    SETTLE = "settle the result"
    RELEASE = "release children and driver"
    TELL_ENDED = "tell parent and registry that the run has ended"
    TELL_REFUSED = "tell parent and registry that the start failed"


@attrs.frozen
class Life:
    """
    The part of a run's state that decides what may follow.

    Args:
        phase: where the run is.
        is_resident: whether it lives on after a turn.
        is_published: whether anybody was told that it exists.
        is_stopping: whether it is to end as soon as it is published.
    """

    phase: Phase = Phase.NEW
    is_resident: bool = False
    is_published: bool = False
    is_stopping: bool = False


_P, _I, _E = Phase, Input, Effect

# One row per phase; an input that is not in the row changes nothing. A one-shot's last
# turn and a resident's any turn differ in one cell each, and those are below.
TRANSITIONS: Final[Mapping[Phase, Mapping[Input, tuple[Phase, tuple[Effect, ...]]]]] = {
    _P.NEW: {
        _I.BEGIN: (_P.OPENING, (_E.OPEN_DRIVER,)),
        # A cancel overtakes the Begin that it cancels, which then arrives too late.
        _I.STOP: (_P.RELEASING, (_E.RELEASE,)),
        _I.CRASHED: (_P.RELEASING, (_E.RELEASE,)),
    },
    _P.OPENING: {
        _I.DRIVER_OPENED: (_P.OPENED, (_E.ANNOUNCE,)),
        _I.OPEN_FAILED: (_P.RELEASING, (_E.RELEASE,)),
        _I.STOP: (_P.RELEASING, (_E.RELEASE,)),
        _I.CRASHED: (_P.RELEASING, (_E.RELEASE,)),
    },
    # The registry answers an announcement at once, and may have published already: a
    # stop waits for that answer (VAL-6).
    _P.OPENED: {
        _I.PUBLISHED: (_P.IDLE, (_E.SEEK_WORK,)),
        _I.CRASHED: (_P.OPENED, ()),
        _I.STOP: (_P.OPENED, ()),
    },
    _P.IDLE: {
        _I.WORK: (_P.WORKING, (_E.START_TURN,)),
        _I.STOP: (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
        _I.CRASHED: (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
    },
    _P.WORKING: {
        _I.INTERRUPT: (_P.WORKING, (_E.STOP_TURN,)),
        _I.STOP: (_P.CANCELLING, (_E.STOP_TURN,)),
        _I.CRASHED: (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
        _I.TURN_OVER_CHILDREN_LEFT: (_P.DRAINING, ()),
    },
    # RUN-5: a turn that ends completed in spite of the cancel is not thrown away; the
    # outcome is read from the log, here only the way out is the same.
    _P.CANCELLING: {
        _I.TURN_OVER: (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
        _I.TURN_OVER_CHILDREN_LEFT: (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
        _I.CRASHED: (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
    },
    _P.DRAINING: {
        _I.INTERRUPT: (_P.DRAINING, (_E.STOP_TURN_CHILDREN,)),
        _I.STOP: (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
        _I.CRASHED: (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
    },
    _P.RELEASING: {},
    _P.ENDED: {},
}

_TURN_END: Final = {
    (_P.WORKING, _I.TURN_OVER, True): (_P.IDLE, (_E.STOP_TURN_CHILDREN, _E.SEEK_WORK)),
    (_P.WORKING, _I.TURN_OVER, False): (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
    (_P.DRAINING, _I.DRAINED, True): (_P.IDLE, (_E.SEEK_WORK,)),
    (_P.DRAINING, _I.DRAINED, False): (_P.RELEASING, (_E.SETTLE, _E.RELEASE)),
}


def _step(life: Life, what: Input) -> tuple[Life, tuple[Effect, ...]]:
    phase, resident = life.phase, life.is_resident
    published, stopping = life.is_published, life.is_stopping
    if phase is Phase.RELEASING and what is Input.RELEASED:
        told = Effect.TELL_ENDED if published else Effect.TELL_REFUSED
        return Life(Phase.ENDED, resident, published, stopping), (told,)
    if phase is Phase.OPENED and what is Input.PUBLISHED and stopping:
        after = Life(Phase.RELEASING, resident, True, True)
        return after, (Effect.SETTLE, Effect.RELEASE)
    row = _TURN_END.get((phase, what, resident)) or TRANSITIONS[phase].get(what)
    if row is None:
        return life, ()
    if what is Input.STOP or what is Input.CRASHED:
        stopping = True
    published = published or what is Input.PUBLISHED
    return Life(row[0], resident, published, stopping), row[1]


def _every_life() -> list[Life]:
    both = (False, True)
    return [Life(p, r, o, s) for p in Phase for r in both for o in both for s in both]


# All 144 lives times 12 inputs, worked out once: a decision is one look-up.
_DECISIONS: Final = {life: {what: _step(life, what) for what in Input} for life in _every_life()}
_SHARED: Final = {life: life for life in _DECISIONS}
_TABLE: Final = {
    id(life): {what: (_SHARED[after], effects) for what, (after, effects) in row.items()}
    for life, row in _DECISIONS.items()
}


def new_life(*, is_resident: bool) -> Life:
    """Return the life of a run that nobody has told anything yet."""
    return _SHARED[Life(Phase.NEW, is_resident)]


def decide(life: Life, what: Input) -> tuple[Life, tuple[Effect, ...]]:
    """
    Take one step.

    Returns:
        The life after *what*, and what the actor has to do about it, in order.
    """
    row = _TABLE.get(id(life))
    if row is None:  # a life that a caller built by hand
        row = _TABLE[id(_SHARED[life])]
    return row[what]

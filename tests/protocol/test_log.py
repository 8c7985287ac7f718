"""The log: append-only, sealed turn by turn, its own part told from what it inherited."""

from __future__ import annotations

import copy
import pickle
import sys
from typing import cast

import attrs
import pytest

from retinue.protocol.errors import InvariantViolated
from retinue.protocol.invariants import Monitor, violations
from retinue.protocol.log import (
    Chunk,
    Described,
    Ending,
    Event,
    Log,
    PolicySet,
    SeedEnded,
    StepStarted,
    Target,
    TurnFinished,
    TurnStarted,
)
from retinue.protocol.result import Usage
from tests.protocol.logs import (
    T,
    answered,
    called,
    claimed,
    heard,
    inserted,
    log_of,
    log_with,
    message,
    returned,
    said,
    step,
    turn,
)

ONE_OF_EACH: list[Event] = [
    inserted(Target.NEXT_TURN, 0, message("go")),
    TurnStarted(1, 1000.25),
    heard("go"),
    StepStarted(1, 1, 1000.25),
    Chunk("pie", 1000.25),
    said("piece", usage=Usage(1, 1)),
    called(1, 1),
    returned(1, 1),
    *step(1, 1)[1:],
    TurnFinished(1, Ending.COMPLETED, None, None, 1000.25),
    SeedEnded(1000.25),
    Described({"version": 2}, 1000.25),
    PolicySet("approval", "never", "delegation", 1000.25),
]


def bytes_of(value: object) -> int:
    """Add up the size of *value* and of all that it holds; texts, flags and enums left out."""
    if isinstance(value, float):
        return sys.getsizeof(value)
    if isinstance(value, tuple):
        items = cast("tuple[object, ...]", value)
        return sys.getsizeof(items) + sum(bytes_of(item) for item in items)
    cls = type(value)
    if not attrs.has(cls):
        return 0
    return sys.getsizeof(value) + sum(
        bytes_of(getattr(value, field.name)) for field in attrs.fields(cls)
    )


def test_an_event_is_numbered_by_its_position() -> None:
    """
    LOG-2: the sequence number of an event is its index, across sealed turns.
    """
    log = log_with(2)

    numbers = [log.append(event) for event in answered(3, "q", "a")]

    assert list(range(16, 24)) == numbers
    assert 24 == len(log) == len(list(log.events()))


def test_an_appended_event_stays_what_it_was() -> None:
    """
    LOG-2: a log is append-only, and no field of an event can be set.
    """
    for event in ONE_OF_EACH:
        with pytest.raises(attrs.exceptions.FrozenInstanceError):
            event.time = 0.0  # type: ignore[misc]


def test_what_was_read_does_not_grow() -> None:
    """
    LOG-2: reading gives what the log is now; an append later changes nothing in it.
    """
    log = log_of(*answered(1, "q", "a"), TurnStarted(2, T))
    events, own, messages, seed = log.events(), log.own(), log.messages(), log.seed()

    log_of(heard("more"), *step(2, 1, said("b")), turn(2)[-1], log=log)

    assert 9 == len(list(events)) == len(own)
    assert 2 == len(messages)
    assert (1, 8) == (seed.turns, seed.length)


@pytest.mark.parametrize("event", ONE_OF_EACH, ids=lambda event: type(event).__name__)
def test_an_event_is_small(event: Event) -> None:
    """
    An event takes at most 200 bytes, its time and its own tuples included, texts and
    messages (which others hold too) left out.
    """
    size = sys.getsizeof(event) + sys.getsizeof(event.time)
    for field in attrs.fields(type(event)):
        value: object = getattr(event, field.name)
        if isinstance(value, tuple):
            size += sys.getsizeof(cast("object", value))

    assert size <= 200


def test_a_turn_takes_little_memory() -> None:
    """
    All that a turn keeps alive is at most 200 bytes an event, texts left out.
    """
    log = log_with(1)
    sealed = log.latest
    assert sealed is not None

    size = sys.getsizeof(sealed) + bytes_of(sealed.events)

    assert size / len(sealed.events) <= 200
    assert sys.getsizeof(Log()) <= 100


def test_a_veto_leaves_the_log_unchanged() -> None:
    """
    LOG-3: what the monitor refuses is not written, and the next event takes its number.
    """
    log = Log(monitor=Monitor())
    log_of(*answered(1, "q", "a"), TurnStarted(2, T), log=log)
    before = list(log.events())

    with pytest.raises(InvariantViolated, match=r"^event 9: turn 3 starts inside turn 2$"):
        log.append(TurnStarted(3, T))

    assert before == list(log.events())
    assert (2, 2, 1) == (log.open_turn, log.last_turn, log.seed().turns)
    assert 9 == log.append(StepStarted(2, 1, T))


def test_a_log_without_a_monitor_takes_everything() -> None:
    """
    LOG-3: nothing but a monitor vetoes; a run that is to be read after a fault is written.
    """
    log = log_of(TurnStarted(1, T), TurnStarted(7, T), StepStarted(9, 9, T))

    assert 3 == len(log)
    assert violations(log.events())


def test_the_end_of_a_turn_seals_it() -> None:
    """
    FRK-8: what is logged after the last turn's end belongs to the next turn's part.
    """
    log = log_of(*answered(1, "q", "a"), PolicySet("sandbox", "off", "user", T))

    sealed = log.latest
    assert sealed is not None
    assert (1, 1, 8) == (sealed.turn, sealed.turns, sealed.length)
    assert answered(1, "q", "a") == list(sealed.events)
    assert 9 == len(log)


def test_an_end_of_another_turn_seals_nothing() -> None:
    """
    A turn that is still open is never part of a seed, whatever else was logged.
    """
    log = log_of(TurnStarted(1, T), TurnFinished(2, Ending.COMPLETED, None, None, T))

    assert 1 == log.open_turn
    assert 0 == log.seed().turns


@pytest.mark.parametrize("ending", Ending)
def test_every_ending_seals_its_turn(ending: Ending) -> None:
    """
    LOG-5, LOG-10: an end is an end: an aborted or failed turn is part of a seed too, and
    the next turn may begin.
    """
    log = Log(monitor=Monitor())

    log_of(
        *turn(1, claimed_now := inserted(Target.NEXT_TURN, 0, message("q")), ending=ending), log=log
    )
    log_with(1, log)

    assert claimed_now in list(log.seed().events())
    assert 2 == log.seed().turns


def test_an_interrupted_message_is_part_of_the_conversation() -> None:
    """
    LOG-22, RES-17: what was visible of a cancelled stream is kept.
    """
    log = log_of(
        *turn(
            1,
            *step(1, 1, Chunk("half a", T), said("half a", interrupted=True)),
            ending=Ending.ABORTED,
        )
    )

    assert ["half a"] == [message.text for message in log.messages()]


def test_a_log_knows_when_it_was_last_written() -> None:
    """
    H22: the time of the last event is at hand, sealed, open or inherited.
    """
    log = Log()

    assert log.latest_time is None
    log.append(TurnStarted(1, 3.0))
    assert 3.0 == log.latest_time
    log.append(TurnFinished(1, Ending.COMPLETED, None, None, 4.0))
    assert 4.0 == log.latest_time
    assert 5.0 == Log(log.seed(), 5.0).latest_time


def test_a_log_survives_pickle() -> None:
    """
    A log that crossed a process boundary still tells its own part from its seed.
    """
    log = log_with(2, Log(log_with(3).seed(), T))
    log_of(TurnStarted(6, T), log=log)

    loaded: Log = pickle.loads(pickle.dumps(log))  # noqa: S301  # our own bytes

    assert list(log.events()) == list(loaded.events())
    assert list(log.own()) == list(loaded.own())
    assert (6, 3, 24) == (loaded.open_turn, loaded.seed_turns, loaded.seed_length)


def test_a_copied_log_goes_its_own_way() -> None:
    """
    A copy has the same events, and what either appends stays with it.
    """
    log = log_with(2)

    copied = copy.deepcopy(log)
    log_with(1, log)

    assert (16, 24) == (len(copied), len(log))
    assert list(copied.events()) == list(log.events())[:16]


def test_a_log_shows_itself_in_one_line() -> None:
    """
    A log in an error or a debugger is a line, however long it is.
    """
    log = log_with(2, Log(log_with(3).seed(), T))

    assert "<Log: 41 events, 24 inherited, turn 5>" == repr(log)


def test_a_turn_without_a_step_is_sealed() -> None:
    """
    LOG-9: a turn that entered no step, and called no model, is sealed like any other.
    """
    log = Log(monitor=Monitor())

    log_of(inserted(Target.NEXT_TURN, 0, message("q")), *turn(1, claimed()), log=log)

    assert 1 == log.seed().turns
    assert () == log.messages()

"""Forks: what a child inherits, what it did itself, and what both cost."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.content import Message
from retinue.protocol.invariants import Monitor, violations
from retinue.protocol.log import (
    Described,
    Event,
    Log,
    PolicySet,
    Seed,
    SeedEnded,
    StepStarted,
    Target,
    TurnStarted,
)
from tests.protocol.logs import (
    T,
    answered,
    called,
    inserted,
    log_of,
    log_with,
    message,
)


def calls_made(function: object, *args: object) -> tuple[object, int]:
    """Call *function* and count the calls that this took, those of C functions included."""
    count = 0

    def profile(_frame: FrameType, what: str, _arg: object) -> None:
        nonlocal count
        count += what in {"call", "c_call"}

    assert callable(function)
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        result: object = function(*args)
    finally:
        sys.setprofile(before)
    return result, count


@pytest.mark.parametrize("open_part", [0, 1, 2, 3])
def test_a_seed_is_the_prefix_up_to_the_last_end_of_a_turn(open_part: int) -> None:
    """
    FRK-1, H44: the turn that asks for the fork is excluded, and its unanswered call too.
    """
    log = log_with(2)
    asking: list[Event] = [TurnStarted(3, T), StepStarted(3, 1, T), called(3, 1)]

    log_of(*asking[:open_part], log=log)

    assert [*answered(1, "question 1", "answer 1"), *answered(2, "question 2", "answer 2")] == list(
        log.seed().events()
    )
    assert (2, 16, 2) == (log.seed().turns, log.seed().length, log.seed().last_turn)


def test_a_fork_in_the_first_turn_has_no_seed() -> None:
    """
    FRK-2: without an ended turn a child is an ordinary fresh one: nothing marks a seed.
    """
    seed = log_of(*answered(1, "q", "a")[:-1]).seed()

    child = Log(seed, T)

    assert (0, 0, 0) == (seed.turns, seed.length, seed.last_turn)
    assert (0, 0, 0) == (child.seed_turns, child.seed_length, len(child))
    assert [] == list(seed.events())
    assert () == seed.messages()


def test_a_child_goes_on_where_its_seed_ends() -> None:
    """
    FRK-3, LOG-19: numbers of events are contiguous, and turns count on from the seed's.
    """
    parent = log_with(3)
    child = Log(parent.seed(), T)

    log_with(1, child)

    assert (3, 24) == (child.seed_turns, child.seed_length)
    assert 4 == child.last_turn
    assert [*parent.events(), SeedEnded(T), *answered(4, "question 4", "answer 4")] == list(
        child.events()
    )
    assert () == violations(child.events())


def test_what_describes_a_log_s_origin_never_changes() -> None:
    """
    LOG-1: length and turns of the seed are facts of creation; no append changes them.
    """
    log = Log(log_with(2).seed(), T)

    log_with(3, log)

    assert (2, 16) == (log.seed_turns, log.seed_length)


def test_forking_changes_nothing_in_the_parent() -> None:
    """
    FRK-4: the parent's log is the same after a fork and after all that its child did.
    """
    parent = log_with(2)
    before = list(parent.events())

    log_with(5, Log(parent.seed(), T))

    assert before == list(parent.events())


def test_a_seed_stays_what_it_was_when_its_parent_goes_on() -> None:
    """
    FRK-5: the prefix is captured once; newer turns of the parent are not in it.
    """
    parent = log_with(2)
    seed = parent.seed()

    log_with(3, parent)

    assert (2, 16) == (seed.turns, len(list(seed.events())))
    assert 2 == Log(seed, T).seed_turns


def test_what_a_child_did_itself_begins_after_its_seed() -> None:
    """
    FRK-6: an ancestor's descriptor, splices and answers are not the child's own.
    """
    parent = log_of(
        Described({"version": 2}, T),
        inserted(Target.NEXT_STEP, 0, message("left over")),
        *answered(1, "q", "parent's answer"),
    )
    child = Log(parent.seed(), T)

    assert [SeedEnded(T)] == list(child.own())
    assert () == child.own_messages()
    log_with(2, child)
    assert [
        SeedEnded(T),
        *answered(2, "question 2", "answer 2"),
        *answered(3, "question 3", "answer 3"),
    ] == list(child.own())
    assert ["question 2", "answer 2", "question 3", "answer 3"] == [
        message.text for message in child.own_messages()
    ]


@pytest.mark.parametrize("inherited", [0, 1, 3])
@pytest.mark.parametrize("turns", [0, 1, 3])
@pytest.mark.parametrize("rest", [0, 1, 4])
def test_seed_and_own_part_are_the_whole(inherited: int, turns: int, rest: int) -> None:
    """
    FRK-6: every event is inherited or the run's own, and none is both.
    """
    log = Log(log_with(inherited).seed(), T)
    log_with(turns, log)
    log_of(*answered(log.last_turn + 1, "q", "a")[:rest], log=log)

    events = list(log.events())

    assert events[log.seed_length :] == list(log.own())
    assert events[: log.seed_length] == list(log_with(inherited).events())


def test_reading_the_own_part_does_not_walk_the_seed() -> None:
    """
    FRK-6: what a child did costs what it did, not what it inherited.
    """
    seeds = [log_with(turns).seed() for turns in (1, 1000)]
    logs = [log_with(3, Log(seed, T)) for seed in seeds]

    short, long = (calls_made(log.own)[1] for log in logs)

    assert short == long


def test_a_seed_costs_the_same_whatever_its_length() -> None:
    """
    FRK-3: to take a seed and to begin a log with it is O(1), in calls and in memory.
    """
    counts: set[int] = set()
    for turns in (1, 10, 1000):
        parent = log_with(turns)
        seed, taking = calls_made(parent.seed)
        assert isinstance(seed, Seed)
        child, beginning = calls_made(Log, seed, T)
        assert isinstance(child, Log)
        assert seed.head is parent.latest is child.latest
        counts.add(taking + beginning)

    assert 1 == len(counts)


def test_a_log_from_a_seed_has_one_end_marker() -> None:
    """
    FRK-12: construction writes the marker, a stored suffix that begins with it keeps it.
    """
    seed = log_with(1).seed()
    own = [SeedEnded(7.0), *answered(2, "q", "a")]

    fresh = Log(seed, T)
    restored = Log.restored(own, seed, T)
    without = Log.restored(own[1:], seed, T)

    assert [SeedEnded(T)] == list(fresh.own())
    assert own == list(restored.own())
    assert [SeedEnded(T), *own[1:]] == list(without.own())
    assert [] == list(Log.restored([]).events())


def test_a_seed_of_a_fork_keeps_every_marker() -> None:
    """
    FRK-12: a grandchild's seed holds the marker of its parent, and gets one of its own.
    """
    child = log_with(1, Log(log_with(1).seed(), T))

    grandchild = Log(child.seed(), T)

    assert [8, 17] == [
        number for number, event in enumerate(grandchild.events()) if isinstance(event, SeedEnded)
    ]


def test_a_log_may_begin_with_a_turn_that_never_ended() -> None:
    """
    FRK-11: a crashed log is a legal log; a fork of it takes its ended turns only.
    """
    crashed = Log.restored([*answered(1, "q", "a"), TurnStarted(2, T), StepStarted(2, 1, T)])
    child = Log(crashed.seed(), T, Monitor())

    log_with(1, child)

    assert 2 == crashed.open_turn
    assert 2 == child.last_turn


def test_a_fork_in_mid_turn_raises_no_violation() -> None:
    """
    FRK-11: with the monitor attached, a child of an open turn goes on with the next number.
    """
    parent = Log(monitor=Monitor())
    log_with(2, parent)
    log_of(TurnStarted(3, T), StepStarted(3, 1, T), called(3, 1), log=parent)

    child = Log(parent.seed(), T, Monitor())
    log_with(2, child)

    assert 4 == child.last_turn
    assert () == violations(child.events())


def test_a_policy_is_the_child_s_own() -> None:
    """
    POL-2, FRK-7: delegated policy follows the seed, so that it beats what was inherited.
    """
    parent = log_of(PolicySet("approval", "ask", "user", T), *answered(1, "q", "a"))
    child = Log(parent.seed(), T, Monitor())

    child.append(PolicySet("approval", "never", "delegation", T))

    assert ["never"] == [e.value for e in child.own() if isinstance(e, PolicySet)]
    assert ["ask", "never"] == [e.value for e in child.events() if isinstance(e, PolicySet)]


@given(st.lists(st.sampled_from(["turn", "fork", "event"]), max_size=12))
def test_any_history_of_forks_keeps_its_numbers(acts: list[str]) -> None:
    """
    FRK-3, LOG-19: whatever was forked when, turns count 1, 2, 3 and lengths add up.
    """
    log = Log(monitor=Monitor())
    conversation: list[Message] = []
    for act in acts:
        if act == "turn":
            log_with(1, log)
            conversation += [
                message(f"question {log.last_turn}"),
                message(f"answer {log.last_turn}"),
            ]
        elif act == "fork":
            log = Log(log.seed(), T, Monitor())
        else:
            log.append(Described("anything", T))
        assert log.seed_length + len(log.own()) == len(log) == len(list(log.events()))

    assert acts.count("turn") == log.last_turn
    assert [m.text for m in conversation] == [m.text for m in log.messages()]
    assert () == violations(log.events())

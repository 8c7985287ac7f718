"""The rules of a log: what the monitor refuses, and that it refuses nothing else."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.errors import InvariantViolated
from retinue.protocol.invariants import Monitor, violations
from retinue.protocol.log import (
    Cause,
    Chunk,
    Ending,
    Event,
    Log,
    StepFinished,
    StepStarted,
    Target,
    TurnFinished,
    TurnStarted,
)
from tests.protocol.logs import (
    T,
    called,
    claimed,
    inserted,
    log_of,
    log_with,
    message,
    returned,
    said,
    step,
    turn,
)
from tests.protocol.rules import ILLEGAL, LEGAL


@pytest.mark.parametrize("events", LEGAL.values(), ids=LEGAL.keys())
def test_a_sound_log_raises_nothing(events: list[Event]) -> None:
    """
    LOG-6, LOG-7, LOG-8, LOG-9: what may happen passes, event by event and as a whole.
    """
    log_of(*events, log=Log(monitor=Monitor()))

    assert () == violations(events)


@pytest.mark.parametrize(
    ("before", "event", "why"), [row[1:] for row in ILLEGAL], ids=[row[0] for row in ILLEGAL]
)
def test_a_broken_rule_is_named_with_its_event(before: list[Event], event: Event, why: str) -> None:
    """
    LOG-6: the monitor refuses the event, and names its sequence number and the rule.
    """
    log = log_of(*before, log=Log(monitor=Monitor()))

    with pytest.raises(InvariantViolated) as caught:
        log.append(event)

    assert str(caught.value).startswith(f"event {len(before)}: ")
    assert why in str(caught.value)
    assert (str(caught.value),) == violations([*before, event])


@pytest.mark.parametrize("event", [row[2] for row in ILLEGAL], ids=[row[0] for row in ILLEGAL])
@pytest.mark.parametrize("sound", LEGAL.values(), ids=LEGAL.keys())
def test_a_refused_event_leaves_no_trace(sound: list[Event], event: Event) -> None:
    """
    LOG-3: after a veto a monitor takes just what it would have taken without it.
    """
    monitor = Monitor()
    for number, following in enumerate(sound):
        if violations([*sound[:number], event]):
            with pytest.raises(InvariantViolated):
                monitor.observe(event)
        monitor.observe(following)


@pytest.mark.parametrize("stranger", [None, "text", 3, message("a message")])
def test_what_is_no_event_is_refused(stranger: object) -> None:
    """
    LOG-4: a log is made of its own kinds of event and nothing else.
    """
    with pytest.raises(InvariantViolated, match="is no event of a log"):
        Monitor().observe(stranger)


def test_every_violation_of_a_log_is_listed() -> None:
    """
    LOG-6: a whole log is checked to its end, whatever broke first.
    """
    events = [TurnStarted(2, T), said("a"), claimed(), *step(2, 3), turn(2)[-1], turn(2)[-1]]

    found = violations(events)

    assert ["event 0", "event 1", "event 2", "event 3", "event 6"] == [
        violation.partition(":")[0] for violation in found
    ]


def test_one_order_of_a_turn_is_legal() -> None:
    """
    LOG-6: of all orders of a turn with one step, one answer and one call, three are sound:
    those that differ in where the answer stands.
    """
    events = turn(1, *step(1, 1, said("a"), called(1, 1), returned(1, 1)))

    legal = [
        [type(event).__name__ for event in order]
        for order in itertools.permutations(events)
        if not violations(order)
    ]

    assert 3 == len(legal)
    assert {"TurnStarted"} == {order[0] for order in legal}
    assert {"TurnFinished"} == {order[-1] for order in legal}
    assert {2, 3, 4} == {order.index("AssistantMessage") for order in legal}


def test_a_seed_is_taken_as_sound() -> None:
    """
    FRK-11: a monitor on a seeded log counts on from the seed, and its numbers too.
    """
    log = Log(log_with(2).seed(), T, Monitor())

    with pytest.raises(InvariantViolated, match=r"^event 17: turn 1 follows turn 2$"):
        log.append(TurnStarted(1, T))

    log.append(TurnStarted(3, T))
    assert 18 == len(log)


def test_what_waited_for_an_ancestor_does_not_wait_for_its_fork() -> None:
    """
    FRK-6, INB-19: the lists are replayed from the own suffix only.
    """
    parent = log_of(inserted(Target.NEXT_TURN, 0, message("a"), message("b")), *turn(1, claimed()))
    child = Log(parent.seed(), T, Monitor())

    with pytest.raises(InvariantViolated, match="which has 0"):
        child.append(claimed())

    assert ("event 5: a splice of 0..1 does not fit into next-turn, which has 0",) == violations(
        [*child.events(), claimed()]
    )


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_of_an_abort_is_kept(cause: Cause) -> None:
    """
    INB-20, LOG-5: the cause is typed, durable, and read back as what it was.
    """
    events = turn(1, ending=Ending.ABORTED, cause=cause)

    assert () == violations(events)
    assert isinstance(end := events[-1], TurnFinished)
    assert cause is end.cause


def test_a_hook_that_aborts_says_why() -> None:
    """
    INB-20: the abort of a hook carries its detail beside its cause.
    """
    end = TurnFinished(1, Ending.ABORTED, Cause.HOOK, "budget spent", T)

    assert () == violations([TurnStarted(1, T), end])
    assert "budget spent" == end.error


@given(
    st.lists(
        st.lists(
            st.lists(st.sampled_from(["chunk", "say", "tool", "lost"]), max_size=4), max_size=3
        ),
        max_size=4,
    ),
    st.data(),
)
def test_a_log_with_one_event_taken_out_or_doubled(
    turns: list[list[list[str]]], data: st.DataObject
) -> None:
    """
    LOG-6: any sound log passes; without one of its frames, or with one twice, none does.
    """
    events: list[Event] = []
    for number, steps in enumerate(turns, 1):
        inside: list[Event] = []
        for at, acts in enumerate(steps, 1):
            acted: list[Event] = []
            for call, act in enumerate(acts):
                if act == "chunk":
                    acted.append(Chunk("a", T))
                elif act == "say":
                    acted.append(said("a"))
                else:
                    acted.append(called(number, at, f"c{call}"))
                    acted.append(returned(number, at, f"c{call}", synthetic=act == "lost"))
            inside += step(number, at, *acted)
        events += turn(number, *inside)
    assert () == violations(events)

    frames = [
        at
        for at, event in enumerate(events)
        if isinstance(event, (TurnStarted, StepStarted, StepFinished, TurnFinished))
    ]
    if frames:
        at = data.draw(st.sampled_from(frames))
        assert violations([*events[: at + 1], *events[at:]])
        if at != len(events) - 1:  # a log that ends in an open turn is a crashed one
            assert violations([*events[:at], *events[at + 1 :]])

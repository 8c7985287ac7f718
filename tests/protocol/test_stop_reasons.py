"""Stop reasons: one table for one-shots and residents."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.accounting import (
    REASONS,
    Standing,
    select_output,
    stop_reason_one_shot,
    stop_reason_resident,
)
from retinue.protocol.content import ToolResult
from retinue.protocol.log import (
    Cause,
    Ending,
    Event,
    Target,
    TurnFinished,
    TurnStarted,
)
from retinue.protocol.result import KNOWN_REASONS
from tests.protocol.logs import (
    T,
    answered,
    claimed,
    dropped,
    heard,
    idle,
    inserted,
    message,
    reasons,
    refused,
    said,
    step,
    turn,
    worked,
)

# ending, then: one-shot, one-shot cancelled, resident, resident cancelled
MAPPING = [
    (Ending.COMPLETED, "completed", "completed", "completed", "completed"),
    (Ending.MAX_TOKENS, "max-tokens", "aborted", "max-tokens", "max-tokens"),
    (Ending.ABORTED, "aborted", "aborted", "aborted", "aborted"),
    (Ending.BLOCKED, "refusal", "aborted", "refusal", "refusal"),
    (Ending.ERROR, "error", "aborted", "error", "error"),
    (Ending.INTERRUPTED, "error", "aborted", "aborted", "aborted"),
]


@pytest.mark.parametrize(("ending", "a", "b", "c", "d"), MAPPING)
def test_an_ending_has_one_meaning_per_kind_of_run(
    ending: Ending, a: str, b: str, c: str, d: str
) -> None:
    """
    RES-2, RES-3, RUN-5, INF-7: one table says what each ending is for a one-shot and for a
    resident; a cancelled one-shot is aborted unless its turn completed.
    """
    assert (a, b, c, d) == reasons(worked(1, ending))


def test_every_ending_has_its_row() -> None:
    """
    INF-7: a new ending is added to the table, and to the mapping above, or this fails.
    """
    assert {*Ending, *Standing} == REASONS.keys()
    assert set(Ending) == {row[0] for row in MAPPING}


def test_an_unknown_ending_is_a_failure() -> None:
    """
    RES-1, RES-2, RES-3: an ending that nobody knows is an error, never a success.
    """
    end = TurnFinished(1, "ending of tomorrow", None, None, T)  # type: ignore[arg-type]

    assert ("error", "aborted", "error", "error") == reasons([*worked(1, Ending.ERROR)[:-1], end])


def test_no_turn_at_all_is_no_work_of_a_one_shot() -> None:
    """
    RES-2, RES-3: a missing turn is an error of a one-shot, and nothing amiss in a resident.
    """
    assert ("error", "aborted", "completed", "completed") == reasons([])


@pytest.mark.parametrize("last", [[], *[idle(1, ending) for ending in Ending]])
def test_a_cancel_before_the_ordinary_end_is_aborted(last: list[Event]) -> None:
    """
    RUN-6: with the last ending missing, or of a turn that did nothing, the flag decides.
    """
    assert "aborted" == stop_reason_one_shot(last, cancelled=True)
    assert "error" == stop_reason_one_shot(last, cancelled=False)


@pytest.mark.parametrize("cut", range(3, 7))
def test_a_turn_without_an_end_is_no_success(cut: int) -> None:
    """
    RUN-6, H38: a run that stops in mid-turn is aborted if it was cancelled, else an error,
    also when an earlier turn completed.
    """
    events = (
        answered(1, "q", "a")
        + [
            inserted(Target.NEXT_TURN, 0, message("q")),
            *turn(2, claimed(), heard("q"), *step(2, 1, said("a"))),
        ][:cut]
    )

    assert ("error", "aborted", "error", "aborted") == reasons(events)


def test_a_turn_that_only_began_changes_nothing() -> None:
    """
    RES-4: an open turn that took no work is no work cut off.
    """
    events = [*answered(1, "q", "a"), TurnStarted(2, T)]

    assert ("completed", "completed", "completed", "completed") == reasons(events)


def test_a_prompt_that_a_gate_rejected_is_a_refusal() -> None:
    """
    RES-6: a policy that discards the task must not read as done.
    """
    log = [inserted(Target.NEXT_TURN, 0, message("q")), *refused(1, Ending.BLOCKED)]

    assert "refusal" == stop_reason_one_shot(log, cancelled=False)
    assert "refusal" == stop_reason_resident(log, cancelled=False)


@pytest.mark.parametrize("later", [Ending.COMPLETED])
@pytest.mark.parametrize("turns", [1, 2, 5])
def test_a_token_ceiling_sticks(later: Ending, turns: int) -> None:
    """
    RES-7: a one-shot that hit its ceiling once stays max-tokens, whatever it completed
    later; a resident is what its latest turn was.
    """
    events = worked(1, Ending.MAX_TOKENS)
    for number in range(2, 2 + turns):
        events += worked(number, later)

    assert ("max-tokens", "aborted", "completed", "completed") == reasons(events)


def test_a_ceiling_does_not_hide_a_later_failure() -> None:
    """
    RES-7: what sticks is the ceiling under a success, not over an error.
    """
    events = [*worked(1, Ending.MAX_TOKENS), *worked(2, Ending.ERROR)]

    assert "error" == stop_reason_one_shot(events, cancelled=False)


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        (Ending.ERROR, "error"),
        (Ending.MAX_TOKENS, "max-tokens"),
        (Ending.BLOCKED, "refusal"),
        (Ending.ABORTED, "aborted"),
        (Ending.COMPLETED, "aborted"),
    ],
)
def test_a_failure_wins_over_a_dropped_queue(ending: Ending, reason: str) -> None:
    """
    RES-8: an error or a ceiling, followed by the cancel of what still waited, stays what
    it was; a completed turn followed by dropped work is aborted (RES-3).
    """
    events = [*worked(1, ending), dropped()]

    assert reason == stop_reason_resident(events, cancelled=False)
    assert reason == stop_reason_resident(events, cancelled=True)


@pytest.mark.parametrize("idle_ending", Ending)
def test_a_resident_whose_work_was_thrown_away_did_not_complete(idle_ending: Ending) -> None:
    """
    RES-3, RES-4: nothing to do is completed, work thrown away is aborted, and an idle
    turn's ending tells neither.
    """
    nothing = idle(1, idle_ending)

    assert "completed" == stop_reason_resident(nothing, cancelled=False)
    assert "aborted" == stop_reason_resident([*nothing, dropped()], cancelled=False)


def test_late_steering_does_not_undo_an_answer() -> None:
    """
    RES-2: a one-shot whose turn completed is completed, also if steering was dropped.
    """
    events = [*worked(1, Ending.COMPLETED), dropped(target=Target.NEXT_STEP)]

    assert ("completed", "completed", "aborted", "aborted") == reasons(events)


def test_a_failure_that_meets_an_abort_is_an_abort() -> None:
    """
    LOG-11: the ending says aborted with its first cause, and keeps what went wrong.
    """
    end = TurnFinished(1, Ending.ABORTED, Cause.PARENT, "connection reset", T)

    assert "aborted" == stop_reason_one_shot([*worked(1, Ending.ERROR)[:-1], end], cancelled=False)


@pytest.mark.parametrize("order", [*itertools.permutations(range(4))])
def test_the_order_of_turns_decides(order: tuple[int, ...]) -> None:
    """
    RES-4, RES-5: whatever came in which order, the last turn that counts decides, and a
    drop only if none came after it.
    """
    kinds = {0: "worked", 1: "failed", 2: "idle", 3: "drop"}
    events: list[Event] = []
    number = 0
    for what in (kinds[index] for index in order):
        if what == "drop":
            events.append(dropped())
            continue
        number += 1
        if what == "worked":
            events += worked(number, Ending.COMPLETED)
        elif what == "failed":
            events += refused(number, Ending.ERROR)
        else:
            events += idle(number, Ending.ABORTED)

    last = max(order.index(0), order.index(1))
    if order.index(1) == last:
        expected = "error"
    else:
        expected = "aborted" if order.index(3) > last else "completed"

    assert expected == stop_reason_resident(events, cancelled=False)


@given(
    st.lists(
        st.tuples(st.sampled_from([worked, refused, idle]), st.sampled_from(Ending)), max_size=6
    ),
    st.booleans(),
)
def test_a_cancelled_one_shot_is_completed_or_aborted(
    turns: list[tuple[Callable[[int, Ending], list[Event]], Ending]],
    cancelled: bool,  # noqa: FBT001  # drawn, not passed
) -> None:
    """
    RUN-5, RES-1: cancel owns every outcome but completed; reasons are known ones.
    """
    events: list[Event] = []
    for number, (kind, ending) in enumerate(turns, 1):
        events += kind(number, ending)

    without = stop_reason_one_shot(events, cancelled=False)
    with_cancel = stop_reason_one_shot(events, cancelled=True)

    assert ("completed" if without == "completed" else "aborted") == with_cancel
    assert stop_reason_resident(events, cancelled=cancelled) in KNOWN_REASONS
    assert not any(isinstance(block, ToolResult) for block in select_output(events))

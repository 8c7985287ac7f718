"""What a run's own suffix says: how it ended, and what it gave."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.accounting import (
    REASONS,
    Standing,
    accounting_turn,
    dropped_unrun,
    select_output,
    stop_reason_one_shot,
    stop_reason_resident,
    usage_of,
)
from retinue.protocol.content import Content, Reasoning, Text, ToolResult
from retinue.protocol.log import (
    Cause,
    Chunk,
    Ending,
    Event,
    Log,
    PolicySet,
    StepStarted,
    Target,
    TurnFinished,
    TurnStarted,
)
from retinue.protocol.result import KNOWN_REASONS, NO_USAGE, Usage
from tests.protocol.logs import (
    T,
    answered,
    called,
    claimed,
    dropped,
    heard,
    inserted,
    log_of,
    log_with,
    message,
    returned,
    said,
    step,
    tool_call,
    turn,
)


def worked(number: int, ending: Ending) -> list[Event]:
    """Return a turn that entered a step."""
    return turn(number, claimed(), heard("q"), *step(number, 1, said("a")), ending=ending)


def refused(number: int, ending: Ending) -> list[Event]:
    """Return a turn that claimed input and entered no step."""
    return turn(number, claimed(), ending=ending)


def idle(number: int, ending: Ending) -> list[Event]:
    """Return a turn that claimed nothing and entered no step."""
    return turn(number, ending=ending)


# ending, then: one-shot, one-shot cancelled, resident, resident cancelled
MAPPING = [
    (Ending.COMPLETED, "completed", "completed", "completed", "completed"),
    (Ending.MAX_TOKENS, "max-tokens", "aborted", "max-tokens", "max-tokens"),
    (Ending.ABORTED, "aborted", "aborted", "aborted", "aborted"),
    (Ending.BLOCKED, "refusal", "aborted", "refusal", "refusal"),
    (Ending.ERROR, "error", "aborted", "error", "error"),
    (Ending.INTERRUPTED, "error", "aborted", "aborted", "aborted"),
]


def reasons(events: list[Event]) -> tuple[str, str, str, str]:
    """Return all that the same events say, in the order of the table."""
    return (
        stop_reason_one_shot(events, cancelled=False),
        stop_reason_one_shot(events, cancelled=True),
        stop_reason_resident(events, cancelled=False),
        stop_reason_resident(events, cancelled=True),
    )


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


@pytest.mark.parametrize("ending", Ending)
@pytest.mark.parametrize("kind", [worked, refused, idle])
def test_which_turn_counts(kind: Callable[[int, Ending], list[Event]], ending: Ending) -> None:
    """
    RES-4: one that entered a step; or that claimed input and did not complete; no other.
    """
    events = [*worked(1, Ending.COMPLETED), *kind(2, ending)]
    counts = kind is worked or (kind is refused and ending is not Ending.COMPLETED)

    found = accounting_turn(events)

    assert events[-1] if counts else worked(1, Ending.COMPLETED)[-1] == found
    assert found is not None
    assert (2 if counts else 1) == found.turn


def test_the_latest_turn_that_counts_is_taken() -> None:
    """
    RES-4: of several that count it is the last, whatever idle turns follow it.
    """
    events = [
        *worked(1, Ending.ERROR),
        *worked(2, Ending.MAX_TOKENS),
        *idle(3, Ending.ABORTED),
        *refused(4, Ending.COMPLETED),
    ]

    found = accounting_turn(events)

    assert found is not None
    assert (2, Ending.MAX_TOKENS) == (found.turn, found.ending)


def test_a_turn_that_has_not_ended_does_not_account() -> None:
    """
    RES-4: the accounting turn is a closed one.
    """
    assert accounting_turn([TurnStarted(1, T), StepStarted(1, 1, T)]) is None


def test_an_insertion_is_no_claim() -> None:
    """
    RES-4: a turn that only saw new mail arrive took none of it.
    """
    assert (
        accounting_turn(turn(1, inserted(Target.NEXT_STEP, 0, message("x")), ending=Ending.ERROR))
        is None
    )


def test_a_claim_outside_a_turn_is_credited_to_none() -> None:
    """
    RES-5: what is claimed while no turn is open belongs to no turn, earlier or later.
    """
    after = [*idle(1, Ending.ERROR), claimed()]
    before = [claimed(), *idle(1, Ending.ERROR)]

    assert accounting_turn(after) is accounting_turn(before) is None
    assert ("error", "aborted", "completed", "completed") == reasons(after) == reasons(before)


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


DROPS: list[tuple[str, list[Event], bool]] = [
    ("nothing happened", [], False),
    ("dropped before any turn", [dropped()], True),
    ("dropped after the turn", [*worked(1, Ending.COMPLETED), dropped()], True),
    ("replaced after the turn", [*worked(1, Ending.COMPLETED), dropped(message("x"))], False),
    ("dropped before the turn", [dropped(), *worked(1, Ending.COMPLETED)], False),
    (
        "dropped inside the turn",
        turn(1, claimed(), *step(1, 1, said("a")), dropped()),
        False,
    ),
    (
        "dropped inside the turn, before its step",
        turn(1, claimed(), dropped(), *step(1, 1, said("a"))),
        False,
    ),
    (
        "dropped, then an idle turn",
        [*worked(1, Ending.COMPLETED), dropped(), *idle(2, Ending.COMPLETED)],
        True,
    ),
    (
        "dropped inside an idle turn",
        [*worked(1, Ending.COMPLETED), *turn(2, dropped(), ending=Ending.ABORTED)],
        True,
    ),
    (
        "dropped, then a turn that counts",
        [*worked(1, Ending.COMPLETED), dropped(), *refused(2, Ending.ERROR)],
        False,
    ),
    (
        "claimed after the turn",
        [*worked(1, Ending.COMPLETED), claimed()],
        False,
    ),
    (
        "inserted after the turn",
        [*worked(1, Ending.COMPLETED), inserted(Target.NEXT_TURN, 0, message("x"))],
        False,
    ),
]


@pytest.mark.parametrize(
    ("events", "is_dropped"), [row[1:] for row in DROPS], ids=[row[0] for row in DROPS]
)
def test_what_was_dropped_unrun(events: list[Event], *, is_dropped: bool) -> None:
    """
    RES-5: a cancelled removal that inserts nothing, after the accounting turn; a later one
    absorbs it.
    """
    assert is_dropped == dropped_unrun(events)


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


OUTPUTS: list[tuple[str, list[Event], Content]] = [
    ("nothing said (RES-9)", turn(1), ()),
    ("one answer (RES-9)", [said("a")], (Text("a"),)),
    ("the last answer (RES-9)", [said("a"), said("b")], (Text("b"),)),
    ("reasoning alone counts (RES-9)", [said("a"), said(Reasoning("r"))], (Reasoning("r"),)),
    ("a call alone counts (RES-9)", [said("a"), said(tool_call())], (tool_call(),)),
    ("an empty text is a block (RES-9)", [said("a"), said("")], (Text(""),)),
    ("usage only keeps text (RES-10)", [said("a"), said(usage=Usage(1))], (Text("a"),)),
    ("usage only keeps chunks (RES-10)", [Chunk("a", T), said(usage=Usage(1))], (Text("a"),)),
    ("chunks are one text (RES-9)", [Chunk("a", T), Chunk("b", T)], (Text("ab"),)),
    (
        "empty chunks are ignored (RES-11)",
        [Chunk("", T), Chunk("a", T), Chunk("", T)],
        (Text("a"),),
    ),
    ("only empty chunks are nothing (RES-11)", [Chunk("", T)], ()),
    ("later chunks replace no answer (RES-11)", [said("a"), Chunk("b", T)], (Text("a"),)),
    (
        "tool results are no output (RES-11)",
        turn(1, *step(1, 1, Chunk("a", T), called(1, 1), returned(1, 1))),
        (Text("a"),),
    ),
    (
        "what was interrupted is output (LOG-22)",
        [said("a"), said("half", interrupted=True)],
        (Text("half"),),
    ),
    ("marks are no output", [said("a"), PolicySet("p", 1, "user", T)], (Text("a"),)),
]


@pytest.mark.parametrize(
    ("events", "output"), [row[1:] for row in OUTPUTS], ids=[row[0] for row in OUTPUTS]
)
def test_what_a_run_gave(events: list[Event], output: Content) -> None:
    """
    RES-9, RES-10, RES-11: the last message with a block, else the streamed text, else
    nothing.
    """
    assert output == select_output(events)


def test_a_fork_that_said_nothing_gave_nothing() -> None:
    """
    RES-12, FRK-6: the parent's last answer is never the child's.
    """
    child = Log(log_with(2).seed(), T)

    assert () == select_output(child.own())
    assert None is accounting_turn(child.own())
    assert NO_USAGE == usage_of(child.own())
    log_of(*turn(3, claimed(), ending=Ending.BLOCKED), log=child)
    assert () == select_output(child.own())
    assert "refusal" == stop_reason_one_shot(child.own(), cancelled=False)


def test_an_epoch_without_a_turn_has_no_output() -> None:
    """
    RES-13: a resumed epoch is read from its own start, and not from an earlier answer.
    """
    log = log_with(2)
    start = len(log)
    log.append(PolicySet("p", 1, "user", T))

    epoch = list(log.own())[start:]

    assert () == select_output(epoch)
    assert "completed" == stop_reason_resident(epoch, cancelled=False)


def test_usage_is_counted_once_per_message() -> None:
    """
    Usage is the sum over all messages, empty ones and those without usage included.
    """
    events = [said("a", usage=Usage(1, 2, 1)), said("b"), said(usage=Usage(10, 20, 1, 0.5))]

    assert Usage(11, 22, 2, 0.5) == usage_of(events)


def once(events: list[Event]) -> Iterator[Event]:
    """Return what can be iterated over only once."""
    return iter(events)


def test_events_may_come_from_anywhere() -> None:
    """
    A fold takes a log's own list and what a store streams alike.
    """
    events = [*worked(1, Ending.COMPLETED), dropped()]

    assert accounting_turn(events) == accounting_turn(once(events))
    assert dropped_unrun(once(events))
    assert select_output(events) == select_output(once(events))
    assert "aborted" == stop_reason_resident(once(events), cancelled=False)


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

"""What a run's own suffix says: how it ended, and what it gave."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from retinue.protocol.accounting import (
    accounting_turn,
    dropped_unrun,
    select_output,
    stop_reason_resident,
)
from retinue.protocol.log import (
    Ending,
    Event,
    StepStarted,
    Target,
    TurnStarted,
)
from tests.protocol.logs import (
    T,
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


def test_a_message_that_entered_a_turn_was_claimed() -> None:
    """
    RES-4, LOG-7: a user message inside a turn is input that it took, however it came.
    """
    events = turn(1, heard("q"), ending=Ending.ERROR)

    assert events[-1] is accounting_turn(events)


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

"""The two lists of waiting messages, replayed from splices."""

from __future__ import annotations

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.content import Message
from retinue.protocol.errors import InvariantViolated
from retinue.protocol.log import Event, Spliced, Target
from retinue.protocol.splices import Pending, pending_after
from tests.protocol.logs import T, claimed, dropped, inserted, message, turn

A, B, C = (message(text, text) for text in "abc")
STEP, TURN = Target.NEXT_STEP, Target.NEXT_TURN


def test_a_splice_says_where_it_changed_which_list() -> None:
    """
    INB-3: target, start, removed count and what was inserted replay both lists.
    """
    pending = pending_after(
        [
            inserted(TURN, 0, A),
            inserted(TURN, 0, B),
            inserted(STEP, 0, C),
            *turn(1, claimed(STEP)),
            claimed(TURN, start=1),
        ]
    )

    assert ([], [B]) == (pending.next_step, pending.next_turn)


def test_a_replacement_stands_where_the_old_message_stood() -> None:
    """
    INB-4: a cancelled removal that inserts replaces in place.
    """
    pending = pending_after([inserted(TURN, 0, A, B), dropped(C, start=0)])

    assert [C, B] == pending.next_turn


def test_a_message_may_be_replaced_by_one_of_its_id() -> None:
    """
    INB-1: an edited message keeps its id: the old one leaves as the new one comes.
    """
    edited = message("edited", "a")

    pending = pending_after([inserted(TURN, 0, A), dropped(edited)])

    assert [edited] == pending.next_turn


@pytest.mark.parametrize(
    ("splice", "why"),
    [
        (claimed(TURN, removed=2), "0..2 does not fit into next-turn, which has 1"),
        (claimed(TURN, start=1), "1..2 does not fit"),
        (claimed(TURN, start=-1), "-1..0 does not fit"),
        (attrs.evolve(inserted(TURN, 0, B), removed=-1), "0..-1 does not fit"),
        (claimed(STEP), "does not fit into next-step, which has 0"),
        (inserted(TURN, 2, B), "2..2 does not fit"),
        (inserted(TURN, 0), "changes nothing is not logged"),
        (dropped(removed=0), "removes nothing cancels nothing"),
        (dropped(B, removed=0), "removes nothing cancels nothing"),
        (inserted(STEP, 0, A), "message a waits already"),
        (inserted(TURN, 0, B, B), "message b waits already"),
    ],
)
def test_a_splice_that_does_not_fit_fails_with_its_number(splice: Spliced, why: str) -> None:
    """
    INB-19: replay fails loudly and names the event; INB-1, INB-4: so does a duplicate id
    and a change of nothing.
    """
    with pytest.raises(InvariantViolated, match=r"^event 41: ") as caught:
        pending_after([inserted(TURN, 0, A), splice], first=40)

    assert why in str(caught.value)


def test_a_splice_that_does_not_fit_changes_nothing() -> None:
    """
    INB-1: after a refused splice both lists are as they were.
    """
    pending = Pending()
    pending.apply(inserted(TURN, 0, A))

    with pytest.raises(InvariantViolated, match="waits already"):
        pending.apply(inserted(TURN, 1, A))

    assert ([], [A]) == (pending.next_step, pending.next_turn)


def test_messages_without_an_id_may_be_equal() -> None:
    """
    INB-1 speaks of ids: two messages that have none may wait side by side.
    """
    pending = pending_after([inserted(TURN, 0, message("x"), message("x"))])

    assert 2 == len(pending.next_turn)


@given(
    st.lists(st.tuples(st.sampled_from(Target), st.integers(0, 5), st.integers(0, 5)), max_size=30)
)
def test_replay_gives_what_a_list_gives(changes: list[tuple[Target, int, int]]) -> None:
    """
    INB-19: replaying the splices of a log gives the lists that wrote them.
    """
    lists: dict[Target, list[Message]] = {STEP: [], TURN: []}
    events: list[Event] = []
    for number, (target, start, removed) in enumerate(changes):
        waiting = lists[target]
        at = min(start, len(waiting))
        count = min(removed, len(waiting) - at)
        new = () if number % 3 == 0 and count else (message("x", f"m{number}"),)
        events.append(Spliced(target, at, count, new, count > 0, T))
        waiting[at : at + count] = new

    pending = pending_after(events)

    assert lists == {STEP: pending.next_step, TURN: pending.next_turn}

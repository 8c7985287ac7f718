"""The two lists of messages that wait inside a run, each change of which is in its log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.errors import InvariantViolated
from retinue.protocol.inbox import Inbox, Waiting
from retinue.protocol.invariants import Monitor
from retinue.protocol.log import Log, Spliced, Target
from retinue.protocol.splices import pending_after
from tests.protocol.logs import T, claimed, dropped, inserted, message

STEP, TURN = Target.NEXT_STEP, Target.NEXT_TURN


def inbox() -> tuple[Inbox, Log]:
    """Return an empty inbox and its log, which vetoes what breaks a rule."""
    log = Log(monitor=Monitor())
    return Inbox(log), log


def waiting(text: str, message_id: str = "", **flags: bool) -> Waiting:
    """Return a message that waits."""
    return Waiting(message(text, message_id), None, None, **flags)


def texts(items: Sequence[Waiting]) -> list[str]:
    """Return what the messages say."""
    return [item.message.text for item in items]


def test_the_two_lists_keep_their_order() -> None:
    """
    INB-1: two ordered lists; neither knows of the other.
    """
    box, _ = inbox()
    for text, target in (("a", TURN), ("b", STEP), ("c", TURN), ("d", STEP)):
        box.add(target, waiting(text), T)

    assert (["b", "d"], ["a", "c"]) == (texts(box.next_step), texts(box.next_turn))
    assert 4 == len(box)


def test_an_id_waits_once_across_both_lists() -> None:
    """
    INB-1: a duplicate is an error, and neither log nor lists change.
    """
    box, log = inbox()
    box.add(TURN, waiting("first", "m1"), T)

    with pytest.raises(InvariantViolated, match="m1 waits already"):
        box.add(STEP, waiting("second", "m1"), T)
    assert (1, 1) == (len(box), len(log))


def test_every_change_is_one_event_with_its_place() -> None:
    """
    INB-3: target, start, how many left, what came, and whether it was cancelled.
    """
    box, log = inbox()
    for text, target in (("a", TURN), ("b", TURN), ("c", STEP), ("d", STEP)):
        box.add(target, waiting(text), T)
    box.claim_turn(T)
    box.clear(T)

    assert [
        inserted(TURN, 0, message("a")),
        inserted(TURN, 1, message("b")),
        inserted(STEP, 0, message("c")),
        inserted(STEP, 1, message("d")),
        claimed(STEP, removed=2),
        claimed(TURN),
        dropped(target=TURN),
    ] == list(log.own())


def test_the_log_is_written_before_memory_changes() -> None:
    """
    INB-3: what is vetoed there never waited, and what was waiting still does.
    """

    class Veto(Monitor):
        is_armed = False

        def observe(self, event: object) -> None:
            if self.is_armed:
                raise InvariantViolated("no")
            super().observe(event)

    veto = Veto()
    box = Inbox(Log(monitor=veto))
    box.add(TURN, waiting("a"), T)
    box.add(STEP, waiting("b", lapses=True), T)
    veto.is_armed = True

    changes: list[Any] = [box.claim_step, box.claim_turn, box.lapse, box.clear]
    for change in changes:
        with pytest.raises(InvariantViolated):
            change(T)
    with pytest.raises(InvariantViolated):
        box.add(TURN, waiting("c"), T)
    assert (["b"], ["a"]) == (texts(box.next_step), texts(box.next_turn))


def test_what_changes_nothing_is_not_logged() -> None:
    """
    INB-4: claims and cancellations of empty lists leave no trace.
    """
    box, log = inbox()

    taken = [*box.claim_step(T), *box.claim_turn(T), *box.lapse(T), *box.clear(T)]
    assert [] == taken
    assert 0 == len(log)


def test_a_claim_and_a_cancellation_are_told_apart() -> None:
    """
    INB-4: a claim is a removal without outcome, a cancellation says so.
    """
    box, log = inbox()
    box.add(STEP, waiting("a"), T)
    box.claim_step(T)
    box.add(STEP, waiting("b"), T)
    box.clear(T)

    removals = [event for event in log.own() if isinstance(event, Spliced) and event.removed]
    assert [False, True] == [event.cancelled for event in removals]


def test_a_turn_takes_all_steps_and_then_one_prompt() -> None:
    """
    INB-5: the second prompt waits for the next turn.
    """
    box, _ = inbox()
    for text, target in (("p1", TURN), ("s1", STEP), ("p2", TURN), ("s2", STEP)):
        box.add(target, waiting(text), T)

    assert ["s1", "s2", "p1"] == texts(box.claim_turn(T))
    assert ["p2"] == texts(box.claim_turn(T))
    assert [] == texts(box.claim_turn(T))


def test_between_steps_no_prompt_is_taken() -> None:
    """
    INB-5: a step edge takes next-step input alone.
    """
    box, _ = inbox()
    box.add(TURN, waiting("p"), T)
    box.add(STEP, waiting("s"), T)

    assert ["s"] == texts(box.claim_step(T))
    assert [] == texts(box.claim_step(T))
    assert ["p"] == texts(box.next_turn)


def test_an_injected_message_wakes_nobody() -> None:
    """
    INB-2: steering and prompts are work for an idle run, injected text is not.
    """
    box, _ = inbox()
    box.add(STEP, waiting("quiet", wakes=False), T)
    assert not box.has_work

    box.add(STEP, waiting("steer"), T)
    assert box.has_work

    box.claim_step(T)
    box.add(TURN, waiting("prompt"), T)
    assert box.has_work


def test_steering_lapses_with_the_turn_that_it_was_meant_for() -> None:
    """
    What was sent to no turn in particular stays, in order; each lapse is a cancellation.
    """
    box, log = inbox()
    for text, lapses in (("a", True), ("b", False), ("c", True), ("d", True), ("e", False)):
        box.add(STEP, waiting(text, lapses=lapses), T)

    assert ["a", "c", "d"] == texts(box.lapse(T))
    assert ["b", "e"] == texts(box.next_step)
    assert [dropped(target=STEP, start=at) for at in (0, 1, 1)] == list(log.own())[5:]


def test_clearing_drops_steps_before_turns() -> None:
    """
    INB-10: next-step first, then next-turn, each as one logged cancellation.
    """
    box, log = inbox()
    for text, target in (("p1", TURN), ("s1", STEP), ("p2", TURN)):
        box.add(target, waiting(text), T)

    assert ["s1", "p1", "p2"] == texts(box.clear(T))
    assert [dropped(target=STEP), dropped(target=TURN, removed=2)] == list(log.own())[3:]
    assert 0 == len(box)


@given(
    st.lists(
        st.sampled_from(["step", "lapsing", "turn", "claim step", "claim turn", "lapse", "clear"]),
        max_size=40,
    )
)
def test_the_lists_can_be_replayed_from_the_log(moves: list[str]) -> None:
    """
    INB-19: whatever was done, the log alone gives both lists back.
    """
    box, log = inbox()
    for number, move in enumerate(moves):
        if move in {"step", "lapsing", "turn"}:
            target = TURN if move == "turn" else STEP
            box.add(target, waiting("text", f"m{number}", lapses=move == "lapsing"), T)
        else:
            getattr(box, move.replace(" ", "_"), box.claim_turn)(T)

    replayed = pending_after(log.own())

    assert [item.message for item in box.next_step] == replayed.next_step
    assert [item.message for item in box.next_turn] == replayed.next_turn

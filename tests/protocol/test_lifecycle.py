"""The life of one run: a total table, and what holds whatever comes in whatever order."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable
from itertools import permutations
from typing import Final

import pytest

from retinue.protocol.lifecycle import Effect, Input, Life, Phase, decide, new_life

FIRST: Final = [
    pytest.param(new_life(is_resident=False), id="one-shot"),
    pytest.param(new_life(is_resident=True), id="resident"),
]
EVERY_LIFE: Final = [
    Life(phase, is_resident, is_published, is_stopping)
    for phase in Phase
    for is_resident in (False, True)
    for is_published in (False, True)
    for is_stopping in (False, True)
]
# What comes in the end, whatever happened before: an answer to each effect that awaits one.
ANSWERS: Final = (
    Input.STOP,
    Input.DRIVER_OPENED,
    Input.PUBLISHED,
    Input.TURN_OVER,
    Input.RELEASED,
)
_TOLD: Final = (Effect.TELL_ENDED, Effect.TELL_REFUSED)
ONWARD: Final = {
    Phase.NEW: {Phase.OPENING, Phase.RELEASING},
    Phase.OPENING: {Phase.OPENED, Phase.RELEASING},
    Phase.OPENED: {Phase.IDLE, Phase.RELEASING},
    Phase.IDLE: {Phase.WORKING, Phase.RELEASING},
    Phase.WORKING: {Phase.IDLE, Phase.CANCELLING, Phase.DRAINING, Phase.RELEASING},
    Phase.CANCELLING: {Phase.RELEASING},
    Phase.DRAINING: {Phase.IDLE, Phase.RELEASING},
    Phase.RELEASING: {Phase.ENDED},
    Phase.ENDED: set[Phase](),
}


def live(life: Life, inputs: Iterable[Input]) -> tuple[Life, list[Effect]]:
    """Return the life after *inputs*, and everything that had to be done."""
    done: list[Effect] = []
    for what in inputs:
        life, effects = decide(life, what)
        done += effects
    return life, done


def reachable(first: Life) -> dict[Life, list[Input]]:
    """Return every life that can come to be, each with one way to it."""
    ways: dict[Life, list[Input]] = {first: []}
    to_visit = deque([first])
    while to_visit:
        life = to_visit.popleft()
        for what in Input:
            after, _ = decide(life, what)
            if after not in ways:
                ways[after] = [*ways[life], what]
                to_visit.append(after)
    return ways


@pytest.mark.parametrize("what", Input)
@pytest.mark.parametrize("phase", Phase)
def test_every_input_means_something_in_every_phase(phase: Phase, what: Input) -> None:
    """
    The table is total, since control overtakes work: a step never raises, what kind of run
    it is never changes, and what was published or stopped stays so.
    """
    for life in (life for life in EVERY_LIFE if life.phase is phase):
        after, effects = decide(life, what)

        assert after.phase is phase or after.phase in ONWARD[phase]
        assert life.is_resident is after.is_resident
        assert after.is_published >= life.is_published
        assert after.is_stopping >= life.is_stopping
        assert set(effects) <= set(Effect)


@pytest.mark.parametrize("what", Input)
def test_what_means_nothing_changes_nothing(what: Input) -> None:
    """
    An ended run takes every input, does nothing about it and is the same run.
    """
    for life in (life for life in EVERY_LIFE if life.phase is Phase.ENDED):
        assert (life, ()) == decide(life, what)


def test_only_a_stop_and_a_crash_end_a_run_on_their_own() -> None:
    """
    From where work waits or is under way, nothing but these two leads towards the end,
    except the end of a one-shot's turn.
    """
    for life in reachable(new_life(is_resident=True)):
        if life.phase in {Phase.IDLE, Phase.WORKING, Phase.DRAINING}:
            leaving = {what for what in Input if decide(life, what)[0].phase is Phase.RELEASING}
            assert leaving <= {Input.STOP, Input.CRASHED}


@pytest.mark.parametrize("first", FIRST)
def test_every_phase_can_be_reached(first: Life) -> None:
    """
    No row is dead, for either kind of run.
    """
    assert set(Phase) == {life.phase for life in reachable(first)}


@pytest.mark.parametrize("first", FIRST)
def test_a_run_ends_once_whatever_comes_in_whatever_order(first: Life) -> None:
    """
    All orders of seven inputs, and then the answers that are due. The end is told exactly
    once, the result settles at most once and before that, and a run that was published is
    never refused (promise 2).
    """
    inputs = (
        Input.BEGIN,
        Input.DRIVER_OPENED,
        Input.PUBLISHED,
        Input.WORK,
        Input.TURN_OVER_CHILDREN_LEFT,
        Input.STOP,
        Input.CRASHED,
    )
    for order in permutations(inputs):
        life, done = live(first, (*order, *ANSWERS))

        counts = Counter(done)
        assert Phase.ENDED is life.phase, order
        told = Effect.TELL_ENDED if life.is_published else Effect.TELL_REFUSED
        assert [told] == [item for item in done if item in _TOLD], order
        assert 1 == counts[Effect.RELEASE], order
        assert int(life.is_published) == counts[Effect.SETTLE], order
        if life.is_published:
            assert done.index(Effect.SETTLE) < done.index(Effect.RELEASE), order
        assert done.index(Effect.RELEASE) < done.index(told), order


@pytest.mark.parametrize("first", FIRST)
def test_no_run_is_stuck(first: Life) -> None:
    """
    From every life that can come to be, a stop and the answers that are due lead to the end.
    """
    for life, way in reachable(first).items():
        ended, done = live(life, ANSWERS)

        assert Phase.ENDED is ended.phase, way
        assert life.phase is Phase.ENDED or done[-1] in _TOLD, way


@pytest.mark.parametrize("first", FIRST)
def test_what_was_announced_is_never_refused(first: Life) -> None:
    """
    VAL-6: once the registry was told, only its answer leads on. A run that a caller may
    hold already cannot turn into a start that failed.
    """
    for life in reachable(first):
        if life.phase is Phase.OPENED:
            assert [Input.PUBLISHED] == [
                what for what in Input if decide(life, what)[0].phase is not Phase.OPENED
            ]


@pytest.mark.parametrize("first", FIRST)
def test_a_stop_before_publication_is_kept_until_then(first: Life) -> None:
    """
    VAL-6: the run is published and at once settled, and no turn of it begins.
    """
    inputs = (Input.BEGIN, Input.DRIVER_OPENED, Input.STOP, Input.PUBLISHED, Input.WORK)

    life, done = live(first, inputs)

    assert (Phase.RELEASING, True) == (life.phase, life.is_published)
    assert [Effect.OPEN_DRIVER, Effect.ANNOUNCE, Effect.SETTLE, Effect.RELEASE] == done


@pytest.mark.parametrize("first", FIRST)
def test_no_turn_starts_while_another_is_open(first: Life) -> None:
    """
    INB-8: one turn at a time. Every start of one is followed by its end before the next.
    """
    for life in reachable(first):
        for what in Input:
            after, effects = decide(life, what)
            if Effect.START_TURN in effects:
                assert (Phase.IDLE, Phase.WORKING) == (life.phase, after.phase)


def test_an_interrupt_leaves_the_run_where_it_is() -> None:
    """
    It stops the turn, and whether the run lives on is decided when the turn is over.
    """
    for life in EVERY_LIFE:
        after, effects = decide(life, Input.INTERRUPT)

        assert life == after
        assert not {Effect.SETTLE, Effect.RELEASE} & set(effects)


def test_a_one_shot_ends_with_its_turn_and_a_resident_lives_on() -> None:
    """
    The same end of a turn settles the one and lets the other look for work.
    """
    begun = (Input.BEGIN, Input.DRIVER_OPENED, Input.PUBLISHED, Input.WORK)

    one_shot, settled = live(new_life(is_resident=False), (*begun, Input.TURN_OVER))
    resident, went_on = live(new_life(is_resident=True), (*begun, Input.TURN_OVER))

    assert Phase.RELEASING is one_shot.phase
    assert [Effect.SETTLE, Effect.RELEASE] == settled[-2:]
    assert Phase.IDLE is resident.phase
    assert [Effect.STOP_TURN_CHILDREN, Effect.SEEK_WORK] == went_on[-2:]


def test_a_life_made_by_hand_is_decided_like_the_shared_one() -> None:
    """
    Lives are compared by value; which object is given does not matter.
    """
    shared, _ = decide(new_life(is_resident=False), Input.BEGIN)

    assert decide(shared, Input.STOP) == decide(Life(Phase.OPENING), Input.STOP)

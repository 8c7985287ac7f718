"""Openings that take their time: given up, cancelled, and never in anybody's way."""

from __future__ import annotations

import pytest

from retinue.actors import Cancellation, Limits, ManualClock, Runtime
from retinue.backends.scripted import FailOpen, Hold, NeverOpen, Scripted
from retinue.protocol.errors import (
    LimitReached,
    StartCancelled,
    StartFailed,
    StartTimeout,
)
from retinue.protocol.messages import Closed
from tests.backends.contract import (
    Case,
    overheard,
    refusal,
    result_of,
    scripted_run,
    started,
    told,
)
from tests.doubles import PATIENCE, Probe


def test_a_parent_that_is_disposed_of_during_its_childs_set_up_gets_no_child(
    case: Case, runtime: Runtime, edges: Probe, slow: tuple[Case, NeverOpen]
) -> None:
    """
    VAL-8b, RACE-9: nothing is announced, the start is refused, and the dispose is not held up.
    """
    slow_case, never = slow
    hold = Hold()
    parent = started(runtime, case, hold)
    child = slow_case.start(runtime, [], parent=parent)
    assert never.reached.wait(PATIENCE)

    assert parent.dispose().get(timeout=PATIENCE)
    assert isinstance(refusal(child), StartFailed)
    assert {parent.id} == {event.run_id for event in told(runtime, edges)}  # type: ignore[attr-defined]


def test_one_slow_preparation_does_not_touch_its_siblings(
    runtime: Runtime, slow: tuple[Case, NeverOpen]
) -> None:
    """
    REG-16: the first is parked and then cancelled; the second, started meanwhile, completes.
    """
    case, never = slow
    token = Cancellation()
    first = case.start(runtime, [], cancel=token)
    assert never.reached.wait(PATIENCE)

    second = case.start(runtime, []).get(timeout=PATIENCE)
    token.cancel("the first one")

    assert isinstance(refusal(first), StartCancelled)
    assert ("completed", "second") == (result_of(second).stop_reason, result_of(second).text)


def test_a_start_is_cancelled_with_a_parent_that_does_not_hear_it(
    runtime: Runtime, slow: tuple[Case, NeverOpen]
) -> None:
    """
    Promise 3: the child under way is refused at once, and not when its parent has ended.
    """
    case, never = slow
    hold = Hold(ignores_stop=True)
    parent = scripted_run(runtime, hold)
    child = case.start(runtime, [], parent=parent)
    assert hold.reached.wait(PATIENCE)
    assert never.reached.wait(PATIENCE)

    parent.cancel().get(timeout=PATIENCE)

    assert isinstance(refusal(child), StartCancelled)
    assert not parent.result.is_done
    hold.release()


def test_a_provider_that_never_opens_is_given_up_at_the_start_limit(
    runtime: Runtime, clock: ManualClock, edges: Probe, slow: tuple[Case, NeverOpen]
) -> None:
    """
    H16: the start rejects at its limit, nothing is published, and its place is free again.
    """
    case, never = slow
    limits = Limits(start=1.0)
    start = case.start(runtime, [], limits=limits)
    assert never.reached.wait(PATIENCE)

    clock.advance(0.5)
    assert not start.is_done
    clock.advance(0.5)
    why = refusal(start)

    assert isinstance(why, StartTimeout)
    assert "slow" in str(why)
    assert () == tuple(runtime.tree())
    assert [] == told(runtime, edges)


def test_a_driver_that_comes_after_the_start_was_given_up_is_closed(
    runtime: Runtime, clock: ManualClock, slow: tuple[Case, NeverOpen]
) -> None:
    """
    RUN-2: a provider that comes back late does not leave an open driver behind.
    """
    case, never = slow
    case, ear = overheard(runtime, case)
    start = case.start(runtime, [], limits=Limits(start=1.0))
    assert never.reached.wait(PATIENCE)
    clock.advance(1.0)
    refusal(start)

    never.release()

    ear.wait_for(Closed)


@pytest.mark.parametrize("is_immediate", [True, False])
def test_an_opening_that_failed_gives_its_place_back(*, is_immediate: bool) -> None:
    """
    RUN-2: a tree with one place, for one run ever, has both again after the refusal.
    """
    failing = Scripted([FailOpen(OSError("no"))], name="failing", is_immediate=is_immediate)
    with Runtime([failing], limits=Limits(live=1, total=1)) as runtime:
        refusal(runtime.start("failing", "go"))

        assert "in" == result_of(runtime.start("scripted", "in").get(timeout=PATIENCE)).text
        assert isinstance(refusal(runtime.start("scripted", "out")), LimitReached)


def test_who_waits_for_room_comes_in_when_an_opening_fails() -> None:
    """
    RUN-2: the place of a start that came to nothing goes to whoever is next.
    """
    never, token = NeverOpen(), Cancellation()
    slow = Scripted([never], name="slow", is_immediate=False)
    with Runtime([slow], limits=Limits(live=1, queue=True)) as runtime:
        first = runtime.start("slow", "go", cancel=token)
        assert never.reached.wait(PATIENCE)
        second = runtime.start("scripted", "in")
        runtime.children()  # a barrier: the second has asked and waits
        assert not second.is_done

        token.cancel()
        refusal(first)

        assert "in" == result_of(second.get(timeout=PATIENCE)).text
        never.release()

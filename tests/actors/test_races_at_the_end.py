"""Cancels, crashes and disposals that meet the end of a turn; each order is written down."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from retinue.actors import Run
from retinue.protocol.errors import DeadRun, NotDelivered, NotQuiescent
from retinue.protocol.log import Cause, Ending, TurnFinished
from retinue.protocol.result import ABORTED, COMPLETED, ERROR, TIMEOUT
from tests.actors.by_hand import ByHand, Stage, stage
from tests.doubles import PATIENCE

STOPS: dict[str, Callable[[Run], Any]] = {
    "cancel": Run.cancel,
    "dispose": Run.dispose,
    "interrupt": Run.interrupt,
    "pykka's stop": lambda run: run.ref.stop(block=False),
}


@pytest.fixture(name="here")
def make_stage() -> Iterator[Stage]:
    """Give a stage."""
    with stage() as made:
        yield made


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
def test_a_stop_that_overtakes_a_completed_end_keeps_the_answer(here: Stage, stop: Any) -> None:
    """
    RUN-5: the turn's end stands in the mailbox when the stop overtakes it.
    """
    run, driver = here.start()

    driver.end(Ending.COMPLETED, "the answer")
    stop(run)
    here.settle()

    result = run.result.get()
    assert (COMPLETED, "the answer") == (result.stop_reason, result.text)
    assert 1 == len(driver.stops)


@pytest.mark.parametrize("stop", STOPS.values(), ids=STOPS)
def test_a_stop_after_the_end_changes_nothing(here: Stage, stop: Any) -> None:
    """
    RUN-5: cancelling what is over is no error, since the caller could not have known.
    """
    run, driver = here.start()
    driver.end()
    here.settle()
    result = run.result.get()

    stop(run)
    here.settle()

    assert run.result.get() is result
    assert [] == driver.stops
    assert ["RunStarted", "RunEnded"] == here.life


@pytest.mark.parametrize("ending", [Ending.ERROR, Ending.MAX_TOKENS, Ending.INTERRUPTED])
def test_a_failure_that_a_cancel_overtakes_reads_as_aborted(here: Stage, ending: Ending) -> None:
    """
    RUN-15: the cancel owns every outcome but a completed one, also one that was queued first.
    """
    run, driver = here.start()

    driver.end(ending, "part", diagnostic="it broke")
    run.cancel()
    here.settle()

    assert (ABORTED, "part") == (run.result.get().stop_reason, run.result.get().text)


def test_a_crash_while_a_cancel_waits_for_the_turn_reads_as_aborted(here: Stage) -> None:
    """
    RUN-6: the driver broke before it could write the ordinary ending.
    """
    run, driver = here.start()
    driver.say("part")
    run.cancel()
    here.settle()
    driver.crash()
    here.settle()

    assert (ABORTED, "part") == (run.result.get().stop_reason, run.result.get().text)


@pytest.mark.parametrize("breaks", ["crash", "interrupted"])
def test_without_a_cancel_the_same_log_reads_as_error(here: Stage, breaks: str) -> None:
    """
    RUN-6: only the flag tells them apart.
    """
    run, driver = here.start()
    if breaks == "crash":
        driver.crash()
    else:
        driver.end(Ending.INTERRUPTED)
    here.settle()

    assert ERROR == run.result.get().stop_reason


def test_the_first_cause_of_an_abort_stays(here: Stage) -> None:
    """
    LOG-11: a dispose that follows a cancel changes neither cause nor reason.
    """
    run, driver = here.start(deadline=5)
    here.dispatcher.advance(5)
    run.cancel()
    run.dispose()
    driver.end(Ending.ABORTED)
    here.settle()

    [end] = [event for event in run.own_transcript() if isinstance(event, TurnFinished)]
    assert Cause.DEADLINE == end.cause
    assert TIMEOUT == run.result.get().stop_reason


def test_every_dispose_gets_the_same_answer_and_stops_once(here: Stage) -> None:
    """
    RUN-7, RUN-16: three at once and one afterwards; the driver is stopped and closed once.
    """
    run, driver = here.start()
    answers = [run.dispose() for _ in range(3)]
    here.settle()
    assert [False] * 3 == [answer.is_done for answer in answers]
    driver.end(Ending.ABORTED)
    here.settle()
    answers.append(run.dispose())

    assert [True] * 4 == [answer.get() for answer in answers]
    assert (1, 1) == (len(driver.stops), driver.closes)


def test_a_dispose_resolves_at_quiescence_and_the_result_before(here: Stage) -> None:
    """
    RUN-7: the answer is out when the turn is over, the end is told when all is released.
    """
    here.hand = ByHand("late", closes=False)
    here.runtime.register(here.hand).get()
    run, driver = here.start()
    disposal = run.dispose()
    here.settle()
    driver.end(Ending.ABORTED)
    here.settle()

    assert (run.result.is_done, disposal.is_done) == (True, False)
    assert ["RunStarted"] == here.life
    driver.closed()
    here.settle()
    assert disposal.get() is True
    assert ["RunStarted", "RunEnded"] == here.life


def test_a_driver_that_never_stops_is_named_and_the_rest_released(here: Stage) -> None:
    """
    INF-5: a dispose has its time, and then says what did not stop; the result is aborted.
    """
    here.hand = ByHand("deaf", closes=False)
    here.runtime.register(here.hand).get()
    deaf, driver = here.start()
    driver.say("part")
    here.hand = here.runtime.provider("hand")  # type: ignore[assignment]
    other, fine = here.start()
    fine.end()

    with pytest.raises(NotQuiescent) as caught:
        deaf.dispose(grace=3).get()

    assert (deaf.id,) == caught.value.stuck
    assert (ABORTED, "part") == (deaf.result.get().stop_reason, deaf.result.get().text)
    assert COMPLETED == other.result.get().stop_reason
    assert here.dispatcher.clock.now() <= 6
    driver.closed()


def test_a_driver_that_does_not_hear_an_interrupt_does_not_hold_its_run(here: Stage) -> None:
    """
    INF-5, INF-8: the turn ends aborted without it, and the next one begins.
    """
    run, driver = here.resident("one", "two")
    assert run.interrupt().get() is True
    here.dispatcher.advance(PATIENCE)

    assert ["one", "two"] == driver.texts
    driver.end()
    here.settle()
    assert ["aborted", "completed"] == [
        event.ending.value for event in run.own_transcript() if isinstance(event, TurnFinished)
    ]


def test_a_hung_driver_is_seen_to_hang_and_ended_by_its_deadline(here: Stage) -> None:
    """
    INF-8, H20: alive is not told as progressing, and the deadline needs no help of the driver.
    """
    run, _ = here.start(deadline=30)
    here.dispatcher.advance(20)
    [row] = here.runtime.children()
    assert (20, True) == (row.quiet_seconds, row.is_live)

    assert TIMEOUT == run.result.get().stop_reason
    with pytest.raises(DeadRun):
        run.inject("late").get()


@pytest.mark.parametrize("verb", ["steer", "inject"])
def test_a_word_that_arrives_with_the_end_is_handed_back(here: Stage, verb: str) -> None:
    """
    H25, RUN-20: before or behind the end in the mailbox, and no step takes it any more.
    """
    for is_first in (True, False):
        run, driver = here.start()
        if not is_first:
            driver.end()
        said = getattr(run, verb)("too late")
        if is_first:
            driver.end()
        here.settle()

        if verb == "steer" or not is_first:
            assert isinstance(said.error, (NotDelivered, DeadRun))
        else:
            assert "too late" == here.undelivered.pop()

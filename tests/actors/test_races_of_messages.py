"""Messages that meet interrupts, cancels and ends: taken once, or handed back, in this order."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any

import pytest

from retinue.actors import Run, agent
from retinue.protocol.errors import DeadRun, NotDelivered
from retinue.protocol.events import OutputDelta
from retinue.protocol.invariants import violations
from retinue.protocol.log import Ending, Spliced, Target, TurnFinished, TurnStarted
from retinue.protocol.messages import Streamed
from retinue.protocol.result import ABORTED, COMPLETED
from tests.actors.by_hand import Stage, stage

Steps = Generator[Any, Any, Any]


@pytest.fixture(name="here")
def make_stage() -> Iterator[Stage]:
    """Give a stage."""
    with stage() as made:
        yield made


def endings(run: Run) -> list[str]:
    """Return how the turns of a run have ended."""
    return [e.ending.value for e in run.own_transcript() if isinstance(e, TurnFinished)]


def test_a_cancel_drops_next_step_and_then_next_turn(here: Stage) -> None:
    """
    INB-10: each list is one logged cancellation; every sender hears of it.
    """
    run, driver = here.resident("now", "later", "latest")
    run.inject("aside")
    steer = run.steer("aside too")  # type: ignore[attr-defined]
    ask = run.ask("and then?")
    here.settle()
    run.cancel()
    driver.end(Ending.ABORTED)
    here.settle()

    log = run.own_transcript()
    dropped = [(e.target, e.removed) for e in log if isinstance(e, Spliced) and e.cancelled]
    # The steer was meant for the turn that ended, so it has lapsed before.
    assert [(Target.NEXT_STEP, 1), (Target.NEXT_STEP, 1), (Target.NEXT_TURN, 3)] == dropped
    assert ["aside", "later", "latest"] == here.undelivered
    assert [NotDelivered] * 2 == [type(reply.error) for reply in (steer, ask)]
    assert () == violations(log)


def test_an_interrupt_without_a_turn_is_not_kept_for_the_next(here: Stage) -> None:
    """
    INB-10, CON-92: on an idle run it says False, and does not arm against later work.
    """
    run, driver = here.resident()
    assert run.interrupt().get() is False
    ask = run.ask("work")
    here.settle()
    driver.end()

    assert COMPLETED == ask.get().stop_reason
    assert [] == driver.stops


def test_an_interrupt_overtakes_the_prompt_that_it_would_stop(here: Stage) -> None:
    """
    INB-15: sent right behind a prompt it comes first, finds no turn, and the turn runs.
    """
    run, driver = here.resident()
    ask, interrupt = run.ask("work"), run.interrupt()
    here.settle()
    driver.end()

    assert interrupt.get() is False
    assert COMPLETED == ask.get().stop_reason


def test_a_cancel_right_behind_a_prompt_leaves_no_turn(here: Stage) -> None:
    """
    INB-15: the cancel comes first; no turn is logged, and the asker hears why.
    """
    run, driver = here.resident()
    ask, tell = run.ask("work"), run.tell("more work")
    run.ref.tell("still more")
    run.cancel()
    here.settle()

    assert [DeadRun, DeadRun] == [type(ask.error), type(tell.error)]
    assert ["still more"] == here.undelivered
    assert [] == driver.turns
    assert [] == [event for event in run.own_transcript() if isinstance(event, TurnStarted)]


def test_what_comes_between_interrupt_and_end_is_kept_for_the_next_turn(here: Stage) -> None:
    """
    INB-11, INB-12: the queue is kept, what was steered lapses, nothing joins the old turn.
    """
    run, driver = here.resident("one", "two")
    run.interrupt()
    here.settle()
    three = run.ask("three")
    steer = run.steer("for one")  # type: ignore[attr-defined]
    run.inject("for whoever is next")
    here.settle()
    assert ["one"] == driver.texts
    driver.end(Ending.ABORTED)
    here.settle()

    assert isinstance(steer.error, NotDelivered)
    assert ["one", "for whoever is next two"] == driver.texts
    driver.end()
    here.settle()
    driver.end(text="third")
    assert "third" == three.get().text
    assert ["aborted", "completed", "completed"] == endings(run)
    assert () == violations(run.own_transcript())


def test_a_cancel_in_that_window_drops_what_was_kept(here: Stage) -> None:
    """
    INB-13: nothing is replayed, and no turn begins on the way out.
    """
    run, driver = here.resident("one", "two")
    run.interrupt()
    here.settle()
    run.tell("three")
    here.settle()
    run.cancel()
    driver.end(Ending.ABORTED)
    here.settle()

    assert ["one"] == driver.texts
    assert ["two", "three"] == here.undelivered
    assert ABORTED == run.result.get().stop_reason


def test_work_that_an_answer_brings_is_a_turn_of_its_own(here: Stage) -> None:
    """
    INB-14: whoever hears of a turn's end and prompts again joins the queue, once.
    """
    run, driver = here.resident("one")

    def prompt_again(_: object) -> None:
        run.tell("four")

    run.ask("two").on_done(prompt_again)
    run.tell("three")
    here.settle()
    for _ in range(4):
        driver.end()
        here.settle()

    assert ["one", "two", "three", "four"] == driver.texts
    assert ["completed"] * 4 == endings(run)


def test_a_dispose_waits_for_no_turn_that_the_queue_would_bring(here: Stage) -> None:
    """
    INB-13, INB-16: it resolves when the open turn is over, whatever is queued meanwhile.
    """
    run, driver = here.resident("one", "two")
    disposal = run.dispose()
    late = run.ask("three")
    here.settle()
    driver.end(Ending.ABORTED)

    assert disposal.get() is True
    assert isinstance(late.error, DeadRun)
    assert ["one"] == driver.texts


@pytest.mark.parametrize("ending", [Ending.ERROR, Ending.MAX_TOKENS, Ending.ABORTED])
def test_the_queue_goes_on_after_a_turn_that_failed(here: Stage, ending: Ending) -> None:
    """
    INF-1: an accepted prompt is worked on, whatever became of the one before.
    """
    run, driver = here.resident("one", "two")
    driver.end(ending)
    here.settle()
    driver.end()
    here.settle()

    assert [ending.value, "completed"] == endings(run)


def test_the_queue_goes_on_after_a_turn_that_the_gate_declined(here: Stage) -> None:
    """
    INF-1, INB-17: a declined prompt is answered blocked, and the next one has its turn.
    """

    @agent(gate=lambda message: "no" if message.text == "bad" else None)
    def echo(turn: Any) -> Steps:
        return turn.text
        yield

    run = here.runtime.open(echo).get()
    answers = [run.ask(text) for text in ("bad", "good", "bad", "fine")]
    outcomes = [answer.get() for answer in answers]

    assert ["", "good", "", "fine"] == [outcome.text for outcome in outcomes]
    assert ["blocked", "completed"] * 2 == endings(run)
    assert ["no", None, "no", None] == [outcome.diagnostic for outcome in outcomes]


def test_an_observer_may_cancel_what_it_observes(here: Stage) -> None:
    """
    INF-2, LOG-23: with words queued, and from inside the very event; the log stays balanced.
    """
    run, driver = here.resident("one", "two", "three")
    here.runtime.subscribe(lambda event: isinstance(event, OutputDelta) and run.cancel())
    driver.workplace.report(Streamed(1, "half a wo"))
    here.settle()
    driver.end(Ending.ABORTED)
    here.settle()

    assert ABORTED == run.result.get().stop_reason
    assert ["two", "three"] == here.undelivered
    assert () == violations(run.own_transcript())

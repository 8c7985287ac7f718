"""The contract of every provider: how a resident's whole life is read when it ends."""

from __future__ import annotations

import pytest

from retinue.actors import ManualClock, Run, Runtime
from retinue.backends.scripted import (
    Crash,
    Echo,
    End,
    Hold,
    Item,
    NeverClose,
    Raise,
    Refuse,
    Return,
    Say,
)
from retinue.protocol.errors import DeadRun, NotDelivered, NotQuiescent
from retinue.protocol.log import Ending
from tests.backends.contract import Case, barrier, result_of, scripted_resident
from tests.doubles import PATIENCE


def resident(runtime: Runtime, case: Case, *script: Item) -> Run:
    """Open a resident that plays *script*."""
    return case.open(runtime, script).get(timeout=PATIENCE)


def ended(run: Run) -> tuple[str, str]:
    """Dispose of a run, and return its reason and text."""
    run.dispose().get(timeout=PATIENCE)
    result = result_of(run)
    return result.stop_reason, result.text


def test_a_resident_that_was_never_asked_has_completed(case: Case, runtime: Runtime) -> None:
    """
    RES-3, RES-13: no turn at all is nothing left undone, and no output.
    """
    assert ("completed", "") == ended(resident(runtime, case))


def test_a_resident_that_answered_has_completed(case: Case, runtime: Runtime) -> None:
    """
    RES-3, RES-9: disposing of it afterwards takes nothing back; the last answer is its own.
    """
    run = resident(runtime, case, Return("one"), Return("two"))
    for _ in range(2):
        run.ask("more").get(timeout=PATIENCE)

    assert ("completed", "two") == ended(run)


def test_a_failure_is_what_a_resident_is_remembered_for(case: Case, runtime: Runtime) -> None:
    """
    RES-3, RES-8: its last turn failed, and being stopped after that does not hide it.
    """
    run = resident(runtime, case, Say("so far"), Raise(ValueError("odd")))
    run.ask("more").get(timeout=PATIENCE)

    assert ("error", "so far") == ended(run)


def test_a_resident_stopped_at_work_was_aborted(case: Case, runtime: Runtime) -> None:
    """
    RES-3: the turn under way had no end of its own.
    """
    hold = Hold()
    run = resident(runtime, case, Say("so far"), hold)
    asked = run.ask("more")
    assert hold.reached.wait(PATIENCE)

    assert ("aborted", "so far") == ended(run)
    assert "aborted" == asked.get(timeout=PATIENCE).stop_reason


def test_a_prompt_that_was_dropped_unrun_makes_an_abort(case: Case, runtime: Runtime) -> None:
    """
    RES-3, RES-5: the last turn completed, and work was thrown away after it.
    """
    hold = Hold()
    run = resident(runtime, case, Return("done"), hold, Echo())
    run.ask("first").get(timeout=PATIENCE)
    held, dropped = run.ask("second"), run.ask("third")
    assert hold.reached.wait(PATIENCE)
    barrier(run)

    assert "aborted" == ended(run)[0]
    assert "aborted" == held.get(timeout=PATIENCE).stop_reason
    with pytest.raises((DeadRun, NotDelivered), match=run.id):
        dropped.get(timeout=PATIENCE)


def test_a_turns_result_is_that_turns_alone(case: Case, runtime: Runtime) -> None:
    """
    RES-13: a turn without output does not pass off the last turn's answer as its own.
    """
    run = resident(runtime, case, Return("one"), Return(None))

    answers = [run.ask("more").get(timeout=PATIENCE) for _ in range(2)]

    assert ["one", ""] == [answer.text for answer in answers]


def test_whoever_asked_a_run_that_breaks_is_answered(runtime: Runtime) -> None:
    """
    H59: the turn has no end of its own, and the ask has one.
    """
    run = scripted_resident(runtime, Crash(OSError("gone")))

    with pytest.raises(DeadRun, match=run.id):
        run.ask("more").get(timeout=PATIENCE)

    assert "error" == result_of(run).stop_reason


def test_a_run_that_is_letting_go_takes_no_more(runtime: Runtime, clock: ManualClock) -> None:
    """
    H27: it has its result and is not gone yet; what is said to it now is refused.
    """
    run = scripted_resident(runtime, NeverClose())
    run.cancel().get(timeout=PATIENCE)
    result_of(run)

    for verb in (run.tell, run.ask, run.inject):
        with pytest.raises(DeadRun, match="is ending"):
            verb("one more thing").get(timeout=PATIENCE)

    clock.advance(60.0)
    with pytest.raises(NotQuiescent):
        runtime.close()


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (End(Ending.MAX_TOKENS, "half"), "max-tokens"),
        (Refuse("not today"), "refusal"),
        (End(Ending.ABORTED), "aborted"),
        (End(Ending.INTERRUPTED), "aborted"),
        (End(Ending.ERROR), "error"),
        (Return("done"), "completed"),
    ],
    ids=["max-tokens", "blocked", "aborted", "interrupted", "error", "completed"],
)
def test_every_ending_of_the_last_turn_has_its_reason(
    runtime: Runtime, item: Item, reason: str
) -> None:
    """
    RES-3: interrupted is an abort here, and an error for a one-shot.
    """
    run = scripted_resident(runtime, item)
    run.ask("more").get(timeout=PATIENCE)

    assert reason == ended(run)[0]

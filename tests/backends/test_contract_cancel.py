"""The contract of every provider: cancelling, interrupting and disposing of runs."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Cancellation, Runtime
from retinue.backends.scripted import Delta, Echo, Hold, Raise, Return, Say
from retinue.protocol.errors import Cancelled
from retinue.protocol.log import Cause, Ending, TurnFinished
from retinue.protocol.messages import SetPolicy, TurnEnded
from tests.backends.contract import (
    CASES,
    Case,
    barrier,
    cancelled_at,
    overheard,
    result_of,
    standstill,
    started,
)
from tests.doubles import PATIENCE


def test_a_working_run_that_is_cancelled_ends_aborted(case: Case, runtime: Runtime) -> None:
    """
    RUN-3, RUN-4: the result fulfils as aborted, and the log has the same end with its cause.
    """
    hold = Hold()
    run = started(runtime, case, hold, Return("too late"))

    result = cancelled_at(hold, run)
    ends = [event for event in run.transcript() if isinstance(event, TurnFinished)]

    assert ("aborted", "") == (result.stop_reason, result.text)
    assert [(Ending.ABORTED, Cause.USER)] == [(end.ending, end.cause) for end in ends]


def test_a_tripped_token_cancels_the_run_as_its_parent_would(case: Case, runtime: Runtime) -> None:
    """
    RUN-4, RUN-11: the token reaches the working run, and lets go of it when it has settled.
    """
    hold, token = Hold(), Cancellation()
    run = started(runtime, case, hold, cancel=token)
    assert hold.reached.wait(PATIENCE)

    token.cancel("the tool was aborted")
    result = result_of(run)
    ends = [event for event in run.transcript() if isinstance(event, TurnFinished)]

    assert "aborted" == result.stop_reason
    assert [Cause.PARENT] == [end.cause for end in ends]


def test_a_settled_run_leaves_its_token(case: Case, runtime: Runtime) -> None:
    """
    RUN-11: a long-lived token gathers no listeners of runs that are over.
    """
    token = Cancellation()
    run = started(runtime, case, Echo(), cancel=token)

    run.dispose().get(timeout=PATIENCE)

    assert "0 listening" in repr(token)


def test_the_work_sees_the_cancel_where_it_waits(case: Case, runtime: Runtime) -> None:
    """
    A behaviour that waits is woken, so that the run is quiescent and no thread is left.
    """
    hold = Hold()
    run = started(runtime, case, hold)
    cancelled_at(hold, run)

    assert run.dispose().get(timeout=PATIENCE)


def test_a_cancel_after_the_result_is_inert(case: Case, runtime: Runtime) -> None:
    """
    RUN-5, RUN-17: the answer stays, and the caller is not told off.
    """
    run = started(runtime, case, Return("kept"))
    before = result_of(run)

    assert run.cancel().get(timeout=PATIENCE) in {True, False}
    assert before is result_of(run)
    assert "completed" == before.stop_reason


@pytest.mark.parametrize("case", [case for case in CASES if case.works_elsewhere], ids=str)
def test_a_cancel_that_overtakes_a_completed_end_does_not_undo_it(
    case: Case, runtime: Runtime
) -> None:
    """
    RUN-5: the turn has ended completed, nobody has handled that yet, and a cancel comes first.

    Other turns end inside the actor, where nothing can come between.
    """
    hold = Hold()
    case, ear = overheard(runtime, case)
    run = started(runtime, case, hold, Return("kept"))
    assert hold.reached.wait(PATIENCE)

    with standstill(runtime):
        hold.release()
        ear.wait_for(TurnEnded)
        cancelled = run.cancel()

    assert cancelled.get(timeout=PATIENCE)
    assert ("completed", "kept") == (result_of(run).stop_reason, result_of(run).text)


def test_a_cancel_that_overtakes_a_failure_owns_it(case: Case, runtime: Runtime) -> None:
    """
    RUN-5, RUN-15: a failure that is on its way when the cancel comes reads as aborted.
    """
    hold = Hold()
    case, ear = overheard(runtime, case)
    run = started(runtime, case, hold, Raise(ValueError("odd")))
    assert hold.reached.wait(PATIENCE)

    with standstill(runtime):
        hold.release()
        if case.works_elsewhere:
            ear.wait_for(TurnEnded)
        run.cancel()

    assert "aborted" == result_of(run).stop_reason


def test_a_run_whose_owner_is_torn_down_ends_aborted(case: Case, runtime: Runtime) -> None:
    """
    RUN-6: disposing of a parent reaches a working child, and the child's reason is aborted.
    """
    holds = Hold(), Hold()
    parent = started(runtime, case, holds[0])
    child = started(runtime, case, Say("so far"), holds[1], parent=parent)
    assert all(hold.reached.wait(PATIENCE) for hold in holds)

    parent.dispose().get(timeout=PATIENCE)

    assert ("aborted", "so far") == (result_of(child).stop_reason, result_of(child).text)
    assert (child.id,) == result_of(parent).abandoned


def test_a_cancel_reaches_every_descendant(case: Case, runtime: Runtime) -> None:
    """
    H04, H06: three deep, and nobody in between mentions cancelling.
    """
    holds = [Hold() for _ in range(4)]
    runs = [started(runtime, case, holds[0])]
    for hold in holds[1:]:
        runs.append(started(runtime, case, hold, parent=runs[-1]))
    assert all(hold.reached.wait(PATIENCE) for hold in holds)

    runs[0].cancel("all of you").get(timeout=PATIENCE)

    assert ["aborted"] * 4 == [result_of(run).stop_reason for run in runs]


def test_an_interrupt_ends_a_one_shot_aborted(case: Case, runtime: Runtime) -> None:
    """
    A one-shot has one turn, and its stopping is the run's end.
    """
    hold = Hold()
    run = started(runtime, case, Delta("some"), hold)
    assert hold.reached.wait(PATIENCE)

    assert run.interrupt().get(timeout=PATIENCE)
    assert ("aborted", "some") == (result_of(run).stop_reason, result_of(run).text)
    assert not run.interrupt().get(timeout=PATIENCE)


def test_an_interrupt_keeps_a_residents_queue(case: Case, runtime: Runtime) -> None:
    """
    The turn under way is aborted, and the next prompt has its turn.
    """
    hold = Hold()
    run = case.open(runtime, [hold, Echo()]).get(timeout=PATIENCE)
    first, second = run.ask("first"), run.ask("second")
    assert hold.reached.wait(PATIENCE)

    run.interrupt().get(timeout=PATIENCE)

    assert "aborted" == first.get(timeout=PATIENCE).stop_reason
    assert "second" == second.get(timeout=PATIENCE).text


def test_the_turn_after_an_interrupted_one_is_judged_by_itself(
    case: Case, runtime: Runtime
) -> None:
    """
    That the last turn was stopped makes no abort of this one's failure.
    """
    hold = Hold()
    run = case.open(runtime, [hold, Raise(ValueError("odd"))]).get(timeout=PATIENCE)
    first = run.ask("first")
    assert hold.reached.wait(PATIENCE)
    run.interrupt().get(timeout=PATIENCE)

    assert "aborted" == first.get(timeout=PATIENCE).stop_reason
    assert "error" == run.ask("second").get(timeout=PATIENCE).stop_reason


def test_a_run_whose_actor_breaks_ends_error_and_lets_everything_go(
    case: Case, runtime: Runtime
) -> None:
    """
    Design 3.6: once, with the work that was under way, and with its children.
    """
    holds = Hold(), Hold()
    run = started(runtime, case, Say("so far"), holds[0])
    child = started(runtime, case, holds[1], parent=run)
    assert all(hold.reached.wait(PATIENCE) for hold in holds)
    barrier(run)

    no_name: Any = []  # no handler can file a policy under it
    run.ref.tell(SetPolicy(no_name, "x"))

    assert ("error", "so far") == (result_of(run).stop_reason, result_of(run).text)
    assert "aborted" == result_of(child).stop_reason
    assert run.dispose().get(timeout=PATIENCE)
    assert () == runtime.children()


def test_a_behaviour_that_raises_cancelled_by_itself_has_failed(
    case: Case, runtime: Runtime
) -> None:
    """
    Nobody cancelled it: the exception is the behaviour's own, and so is the failure.
    """
    run = started(runtime, case, Raise(Cancelled("I give up")))

    assert "error" == result_of(run).stop_reason

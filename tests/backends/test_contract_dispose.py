"""The contract of every provider: disposing of runs, deadlines, and what comes too late."""

from __future__ import annotations

import threading

import pytest

from retinue.actors import Limits, ManualClock, Runtime
from retinue.backends.scripted import Echo, Hold, Raise, Return, Say
from retinue.protocol.errors import DeadRun
from retinue.protocol.events import RunEnded
from tests.backends.contract import (
    Case,
    cancelled_at,
    only,
    result_of,
    started,
    told,
)
from tests.doubles import PATIENCE, Probe


def test_every_dispose_of_every_thread_is_answered(case: Case, runtime: Runtime) -> None:
    """
    RUN-7, RUN-16: eight threads at once, and once more when all is over; one end is told.
    """
    probe, hold, answers = Probe(), Hold(), list[bool]()
    runtime.subscribe(only(probe, RunEnded))
    run = started(runtime, case, hold)
    assert hold.reached.wait(PATIENCE)
    together = threading.Barrier(8)

    def dispose() -> None:
        together.wait(PATIENCE)
        answers.append(run.dispose().get(timeout=PATIENCE))

    threads = [threading.Thread(target=dispose) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)

    assert run.dispose().get(timeout=PATIENCE)
    assert [True] * 8 == answers
    assert [run.id] == [
        event.run_id for event in told(runtime, probe) if isinstance(event, RunEnded)
    ]


@pytest.mark.parametrize("state", ["working", "completed", "failed", "cancelled", "idle", "asked"])
def test_a_run_in_any_state_can_be_disposed_of_twice(
    case: Case, runtime: Runtime, state: str
) -> None:
    """
    H18: each dispose returns soon, and the second changes nothing.
    """
    hold = Hold()
    match state:
        case "working":
            run = started(runtime, case, hold)
        case "completed":
            run = started(runtime, case, Echo())
            result_of(run)
        case "failed":
            run = started(runtime, case, Raise(ValueError("odd")))
            result_of(run)
        case "cancelled":
            run = started(runtime, case, hold)
            cancelled_at(hold, run)
        case "idle":
            run = case.open(runtime, [Echo()]).get(timeout=PATIENCE)
            run.ask("once").get(timeout=PATIENCE)
        case _:
            run = case.open(runtime, [hold]).get(timeout=PATIENCE)
            run.ask("once")
            assert hold.reached.wait(PATIENCE)

    assert run.dispose().get(timeout=PATIENCE)
    ended = result_of(run)

    assert run.dispose().get(timeout=PATIENCE)
    assert ended is result_of(run)
    assert () == runtime.children()


def test_what_is_said_to_a_run_that_is_gone_is_refused(case: Case, runtime: Runtime) -> None:
    """
    H27, H59: every verb has an answer, and it says that the run has ended.
    """
    run = case.open(runtime, []).get(timeout=PATIENCE)
    run.dispose().get(timeout=PATIENCE)

    for verb in (run.tell, run.ask, run.inject):
        with pytest.raises(DeadRun, match=run.id):
            verb("anybody there?").get(timeout=PATIENCE)


def test_asks_that_wait_when_a_run_is_disposed_of_are_all_answered(
    case: Case, runtime: Runtime
) -> None:
    """
    H59: a hundred prompts behind a turn that never ends, and none of them waits for ever.
    """
    hold = Hold()
    run = case.open(runtime, [hold]).get(timeout=PATIENCE)
    asked = [run.ask(str(number)) for number in range(100)]
    assert hold.reached.wait(PATIENCE)

    run.dispose().get(timeout=PATIENCE)

    assert "aborted" == asked[0].get(timeout=PATIENCE).stop_reason
    for reply in asked[1:]:
        with pytest.raises(Exception, match=run.id):
            reply.get(timeout=PATIENCE)


def test_a_run_over_its_deadline_alone_ends_timeout(
    case: Case, runtime: Runtime, clock: ManualClock
) -> None:
    """
    H10, H20: five children, two done and one stuck past its limit: the others' work is kept.
    """
    done = [started(runtime, case, Return(text)) for text in ("a", "b")]
    holds = [Hold() for _ in range(3)]
    stuck = started(runtime, case, Say("nearly"), holds[0], deadline=60.0)
    free = [started(runtime, case, hold, Return("c"), deadline=61.0) for hold in holds[1:]]
    assert all(hold.reached.wait(PATIENCE) for hold in holds)

    clock.advance(60.0)
    result_of(stuck)
    for hold in holds:
        hold.release()
    outcomes = runtime.wait([*done, stuck, *free]).get(timeout=PATIENCE)

    assert ["completed", "completed", "timeout", "completed", "completed"] == [
        outcome.stop_reason for outcome in outcomes
    ]
    assert ["a", "b", "nearly", "c", "c"] == [outcome.text for outcome in outcomes]


def test_a_run_whose_tree_has_a_time_limit_ends_timeout(
    case: Case, runtime: Runtime, clock: ManualClock
) -> None:
    """
    Limits.run is a deadline of the run and of everything below it.
    """
    hold = Hold()
    run = started(runtime, case, hold, limits=Limits(run=5.0))
    assert hold.reached.wait(PATIENCE)

    clock.advance(5.0)

    assert "timeout" == result_of(run).stop_reason

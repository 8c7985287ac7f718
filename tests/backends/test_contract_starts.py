"""The contract of every provider: starts that fail, and that they leave nothing behind."""

from __future__ import annotations

from retinue.actors import Cancellation, Limits, Runtime
from retinue.backends.scripted import Echo, Hold, Return, Scripted, StepEdge
from retinue.protocol.errors import (
    Closing,
    InvalidToolFilter,
    LimitReached,
    NoProvider,
    StartCancelled,
)
from retinue.protocol.events import RunStarted
from retinue.protocol.log import UserMessage
from tests.backends.contract import (
    Case,
    cancelled_at,
    refusal,
    result_of,
    script_of_options,
    standstill,
    started,
    told,
)
from tests.doubles import PATIENCE, Probe


def test_a_token_that_is_tripped_already_starts_nothing(
    case: Case, runtime: Runtime, edges: Probe
) -> None:
    """
    VAL-4: refused before a run exists, and nobody hears of one.
    """
    token = Cancellation()
    token.cancel("the user left")

    why = refusal(case.start(runtime, [Echo()], cancel=token))

    assert isinstance(why, StartCancelled)
    assert "the user left" in str(why)
    assert () == tuple(runtime.tree())
    assert [] == told(runtime, edges)


def test_a_token_that_trips_right_after_the_call_starts_nothing(
    case: Case, runtime: Runtime, edges: Probe
) -> None:
    """
    VAL-5, RACE-1: the call has returned and nobody has handled it yet.
    """
    token = Cancellation()

    with standstill(runtime):
        start = case.start(runtime, [Echo()], cancel=token)
        token.cancel("changed my mind")

    assert isinstance(refusal(start), StartCancelled)
    assert () == tuple(runtime.tree())
    assert [] == told(runtime, edges)


def test_a_token_that_trips_as_the_run_is_announced_ends_a_run_that_never_worked(
    case: Case, runtime: Runtime
) -> None:
    """
    VAL-6, RACE-2: no failed start, but a run without output whose prompt was not delivered.
    """
    token = Cancellation()

    def trip(event: object) -> None:
        if isinstance(event, RunStarted):
            token.cancel("too late")

    runtime.subscribe(trip)

    run = case.start(runtime, [Echo()], cancel=token).get(timeout=PATIENCE)
    result = result_of(run)

    assert ("aborted", ()) == (result.stop_reason, result.output)
    assert [] == [event for event in run.transcript() if isinstance(event, UserMessage)]
    assert run.dispose().get(timeout=PATIENCE)


def test_abandoning_the_start_cancels_it(case: Case, runtime: Runtime, edges: Probe) -> None:
    """
    Whoever stops waiting for a start, as a cancelled await does, gets no run.
    """
    with standstill(runtime):
        start = case.start(runtime, [Echo()])
        start.abandon()

    assert isinstance(refusal(start), StartCancelled)
    assert [] == told(runtime, edges)


def test_an_unknown_tool_in_a_filter_starts_nothing(
    case: Case, runtime: Runtime, edges: Probe
) -> None:
    """
    VAL-7: the error teaches, and no run is left.
    """
    why = refusal(case.start(runtime, [Echo()], tool_filter={"allow": ["ghost"]}))

    assert isinstance(why, InvalidToolFilter)
    assert "ghost" in str(why)
    assert [] == told(runtime, edges)


def test_a_parent_that_is_ending_starts_nothing(case: Case, runtime: Runtime) -> None:
    """
    VAL-8: neither while it is cancelled nor when it is gone.
    """
    hold = Hold()
    parent = started(runtime, case, hold)
    assert hold.reached.wait(PATIENCE)

    with standstill(runtime):
        parent.cancel()
        during = case.start(runtime, [Echo()], parent=parent)
    parent.dispose().get(timeout=PATIENCE)
    after = case.start(runtime, [Echo()], parent=parent)

    assert isinstance(refusal(during), Closing)
    assert isinstance(refusal(after), Closing)
    assert 1 == len(tuple(runtime.tree()))


def test_a_start_that_failed_gives_its_place_back(case: Case, runtime: Runtime) -> None:
    """
    RUN-2: rolled back before the refusal is delivered: a tree with one place has it again.
    """
    hold = Hold()
    parent = started(runtime, case, hold, limits=Limits(live=2, total=3))
    token = Cancellation()
    with standstill(runtime):
        first = case.start(runtime, [Echo()], parent=parent, cancel=token)
        token.cancel()
    refusal(first)

    second = case.start(runtime, [Return("in")], parent=parent).get(timeout=PATIENCE)

    assert "in" == result_of(second).text
    assert "in" == result_of(started(runtime, case, Return("in"), parent=parent)).text
    assert isinstance(refusal(case.start(runtime, [Echo()], parent=parent)), LimitReached)


def test_runs_of_one_provider_are_independent(case: Case, runtime: Runtime) -> None:
    """
    REG-16: of three under way one is cancelled and one fails, and the third does not notice.
    """
    holds = [Hold() for _ in range(3)]
    runs = [started(runtime, case, hold, Return(str(n))) for n, hold in enumerate(holds)]
    assert all(hold.reached.wait(PATIENCE) for hold in holds)

    cancelled_at(holds[0], runs[0])
    runs[1].interrupt().get(timeout=PATIENCE)
    holds[2].release()

    assert ["aborted", "aborted", "completed"] == [result_of(run).stop_reason for run in runs]


def test_a_run_outlives_the_registration_of_its_provider(case: Case, runtime: Runtime) -> None:
    """
    REG-14, RACE-7: it works on, takes what is said to it, and is disposed of; new starts fail.
    """
    hold = Hold()
    provider = Scripted(script_of_options, name="leaving")
    remove = runtime.register(provider).get(timeout=PATIENCE)
    leaving = Case("leaving", provider)
    parent = started(runtime, case, Hold())
    run = started(runtime, leaving, hold, StepEdge(), Echo(), parent=parent)
    assert hold.reached.wait(PATIENCE)

    assert remove()
    note = run.inject("a note")
    hold.release()

    assert note.get(timeout=PATIENCE)
    assert "completed" == result_of(run).stop_reason
    assert run.dispose().get(timeout=PATIENCE)
    assert isinstance(refusal(leaving.start(runtime, [Echo()])), NoProvider)

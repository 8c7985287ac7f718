"""Times that were set: of a start, of a run, of a sleep; told by a clock that the test moves."""

from __future__ import annotations

import math
import threading
from typing import Any

import pytest

from retinue.actors import Limits, ManualClock, Reply, Runtime
from retinue.protocol.errors import InvalidLimit, RetinueError, RunFailed, StartTimeout
from retinue.protocol.log import Cause, TurnFinished
from retinue.protocol.result import ABORTED, COMPLETED, TIMEOUT
from tests.actors.behaviours import WAYS, Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate

KINDS = pytest.mark.parametrize("make", WAYS)
NO_TIMES = [0, -1, math.nan, True, "1", 1j]


def lasting(begun: threading.Barrier) -> Any:
    """Return a generator that says something, meets the others and then waits for long."""

    def behaviour(turn: Any) -> Steps:
        turn.say(f"begun {turn.text}")
        yield from turn.call(begun.wait, PATIENCE)
        yield turn.sleep(1e9)

    return behaviour


def test_a_run_over_its_deadline_ends_timeout_with_what_it_said(
    timed: Runtime, clock: ManualClock
) -> None:
    """
    H20, H39: its own reason, and the text that there is; it ends at the time and not before.
    """
    begun = threading.Barrier(2)
    run = started(timed, lasting(begun), "work", deadline=10.0)
    begun.wait(PATIENCE)
    clock.advance(9.9)
    timed.tree()
    assert not run.result.is_done

    clock.advance(0.1)

    result = ended(run)
    assert (TIMEOUT, "begun work") == (result.stop_reason, result.text)
    assert "its deadline has passed" == result.diagnostic
    causes = [event.cause for event in run.transcript() if isinstance(event, TurnFinished)]
    assert [Cause.DEADLINE] == causes


def test_who_cancels_may_say_why(runtime: Runtime) -> None:
    """
    The reason is the result's diagnostic, and in what `unwrap` raises.
    """
    begun = threading.Barrier(2)
    run = started(runtime, lasting(begun), "work")
    begun.wait(PATIENCE)

    run.cancel("changed my mind")

    result = ended(run)
    assert (ABORTED, "changed my mind") == (result.stop_reason, result.diagnostic)
    with pytest.raises(RunFailed, match="changed my mind"):
        result.unwrap()


def test_one_stuck_child_costs_its_siblings_nothing(timed: Runtime, clock: ManualClock) -> None:
    """
    H10: of five, two are done, two go on, and the one over its limit alone is a timeout.
    """
    begun = threading.Barrier(4)
    done = [started(timed, echo, str(number)) for number in range(2)]
    for run in done:
        ended(run)
    stuck = started(timed, lasting(begun), "stuck", deadline=1.0)
    going = [started(timed, lasting(begun), "going") for _ in range(2)]
    begun.wait(PATIENCE)

    clock.advance(1.0)

    assert TIMEOUT == ended(stuck).stop_reason
    assert [False, False] == [run.result.is_done for run in going]
    assert [COMPLETED] * 2 == [ended(run).stop_reason for run in done]


def test_a_deadline_covers_the_time_that_a_resident_is_idle(
    timed: Runtime, clock: ManualClock
) -> None:
    """
    It counts from the start, whatever the run did meanwhile; completed turns stay completed.
    """
    run = opened(timed, echo, deadline=5.0)
    clock.advance(4.0)
    assert "fine" == run.ask("fine").get(timeout=PATIENCE).text

    clock.advance(1.0)

    assert COMPLETED == ended(run).stop_reason
    with pytest.raises(RetinueError):
        run.ask("late").get(timeout=PATIENCE)


def test_the_first_of_deadline_and_cancel_gives_the_reason(
    timed: Runtime, clock: ManualClock
) -> None:
    """
    LOG-11: the first cause stays.
    """
    begun = threading.Barrier(2)
    run = started(timed, lasting(begun), deadline=5.0)
    begun.wait(PATIENCE)
    run.cancel("enough").get(timeout=PATIENCE)
    clock.advance(5.0)

    assert ABORTED == ended(run).stop_reason


@pytest.mark.parametrize(("given", "outer"), [(9.0, 5.0), (5.0, 9.0), (None, 5.0)])
def test_the_time_limit_of_a_runtime_holds_for_every_run(
    clock: ManualClock, given: float | None, outer: float
) -> None:
    """
    Promise 1, promise 7: a limit that is given is kept, and only narrowed further down.
    """
    begun = threading.Barrier(2)
    with Runtime(clock=clock, limits=Limits(run=outer)) as runtime:
        limits = None if given is None else Limits(run=given)
        run = started(runtime, lasting(begun), limits=limits)
        begun.wait(PATIENCE)
        clock.advance(4.9)
        runtime.tree()
        assert not run.result.is_done
        clock.advance(0.1)

        assert TIMEOUT == ended(run).stop_reason


def test_the_time_limit_of_a_run_holds_for_its_children(timed: Runtime, clock: ManualClock) -> None:
    """
    Each counts from its own start; a child's is no longer than its parent's.
    """
    begun, children = threading.Barrier(2), list[Any]()

    def parent(turn: Any) -> Steps:
        yield turn.sleep(1.0)
        children.append((yield from turn.start("spawn", "child", agent=lasting(begun))))
        result = yield from children[0].result
        return str(result.stop_reason)

    def grandparent(turn: Any) -> Steps:
        limits = Limits(run=100.0)
        run = yield from turn.start("spawn", "go", agent=parent, limits=limits)
        result = yield from run.result
        return result.text

    run = started(timed, grandparent, limits=Limits(run=3.0))
    while not run.ref.first_child:
        timed.tree()
    clock.advance(1.0)
    begun.wait(PATIENCE)
    clock.advance(2.0)

    assert TIMEOUT == ended(run).stop_reason
    assert ABORTED == ended(children[0]).stop_reason


def test_a_start_that_waits_for_room_keeps_its_own_time(clock: ManualClock) -> None:
    """
    H48, H16: its start limit runs on while others are let in before it.
    """
    gates = [Gate(), Gate()]
    limits = Limits(live=1, queue=True, start=3.0)
    with Runtime(clock=clock, limits=limits) as runtime:
        first = started(runtime, lambda _: gates[0].wait())
        second = runtime.start("spawn", "second", agent=lambda _: gates[1].wait())
        third = runtime.start("spawn", "third", agent=echo)
        runtime.tree()
        clock.advance(2.0)
        gates[0].open()
        ended(first)
        second.get(timeout=PATIENCE)
        clock.advance(1.0)

        with pytest.raises(StartTimeout):
            third.get(timeout=PATIENCE)
        gates[1].open()


@pytest.mark.parametrize("seconds", [math.inf, 10**400, 1e12, threading.TIMEOUT_MAX])
def test_a_time_without_an_end_ends_nothing(seconds: float) -> None:
    """
    No lock can wait for so long; the runtime does, and does not notice.
    """
    gate = Gate()
    with Runtime() as runtime:

        def behaviour(turn: Any) -> None:
            gate.wait()
            if seconds < math.inf:
                turn.sleep(seconds)

        run = started(runtime, behaviour, deadline=seconds, limits=Limits(run=seconds))
        waiting = runtime.wait([run], timeout=seconds)
        assert gate.reached.wait(PATIENCE)
        gate.open()
        assert "beside" == ended(started(runtime, echo, "beside")).text
        run.cancel().get(timeout=PATIENCE)
        assert run.result.get(timeout=seconds).stop_reason in {ABORTED, COMPLETED}
        assert 1 == len(waiting.get(timeout=PATIENCE))


@pytest.mark.parametrize("seconds", NO_TIMES)
def test_a_deadline_that_makes_no_sense_is_refused(runtime: Runtime, seconds: Any) -> None:
    """
    Before anything exists, for one-shots and residents.
    """
    starts: list[Reply[Any]] = [
        runtime.start("spawn", "go", agent=echo, deadline=seconds),
        runtime.open(echo, deadline=seconds),
    ]
    for start in starts:
        with pytest.raises(InvalidLimit, match="deadline"):
            start.get(timeout=PATIENCE)
    assert 0 == len(runtime.tree())


@pytest.mark.parametrize("seconds", NO_TIMES[1:])
def test_a_grace_that_makes_no_sense_is_refused(runtime: Runtime, seconds: Any) -> None:
    """
    And the run that it was meant for is none the worse.
    """
    run = opened(runtime, echo)

    with pytest.raises(InvalidLimit, match="grace"):
        run.dispose(grace=seconds).get(timeout=PATIENCE)
    with pytest.raises(InvalidLimit, match="grace"):
        Runtime(grace=seconds)
    assert "fine" == run.ask("fine").get(timeout=PATIENCE).text


@pytest.mark.parametrize("seconds", [-1, math.nan, math.inf, "1", None, True])
@KINDS
def test_a_sleep_that_makes_no_sense_raises_there(
    runtime: Runtime, make: Any, seconds: Any
) -> None:
    """
    Where it stands: None would be forever, and a negative one never.
    """

    def work(turn: Any) -> str:
        with pytest.raises(InvalidLimit, match="sleep"):
            turn.sleep(seconds)
        return "fine"

    assert "fine" == ended(started(runtime, make(work))).text


@pytest.mark.parametrize("seconds", [math.nan, "1", True])
def test_a_wait_that_makes_no_sense_is_refused(runtime: Runtime, seconds: Any) -> None:
    """
    A time that compares with nothing would disturb the order of everybody's timers.
    """
    run = opened(runtime, echo)

    with pytest.raises(InvalidLimit, match="timeout"):
        runtime.wait([run], timeout=seconds).get(timeout=PATIENCE)

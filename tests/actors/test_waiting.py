"""Waiting for several runs: for all of them, for the first, or for a time."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import pytest

from retinue.actors import ManualClock, Reply, Run, Runtime
from retinue.protocol.errors import InvalidLimit, InvalidRequest, NoProvider, RunFailed
from retinue.protocol.result import ABORTED, COMPLETED, ERROR, NotStarted, Unfinished
from tests.actors.behaviours import Gates, Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate


def test_outcomes_stand_in_the_order_of_the_runs(runtime: Runtime) -> None:
    """
    H30: whatever the order in which they end; each with its text and its id.
    """
    gates = Gates(runtime, "abc")
    waiting = runtime.wait(gates.runs)
    gates.open("cab")
    results = waiting.get(timeout=PATIENCE)

    assert ["a", "b", "c"] == [result.text for result in results]
    assert [run.id for run in gates.runs] == [result.run_id for result in results]


def test_every_kind_of_outcome_is_told(runtime: Runtime) -> None:
    """
    H09, H19: completed, failed, stopped from outside, and never started: one for each input.
    """

    def failing(_: Any) -> None:
        raise ValueError("odd")

    gate = Gate()
    stopped = started(runtime, lambda _: gate.wait())
    inputs = [
        started(runtime, echo, "done"),
        runtime.start("spawn", "started", agent=echo),
        runtime.start("spawn", "go", agent=failing),
        runtime.start("nowhere", "go", agent=echo),
        stopped,
    ]
    waiting = runtime.wait(inputs)
    stopped.cancel("from outside").get(timeout=PATIENCE)
    outcomes = waiting.get(timeout=PATIENCE)
    gate.open()

    assert ["done", "started"] == [outcome.text for outcome in outcomes[:2]]
    assert (ERROR, ABORTED) == (outcomes[2].stop_reason, outcomes[4].stop_reason)
    assert isinstance(outcomes[3], NotStarted)
    assert isinstance(outcomes[3].error, NoProvider)
    assert [True, True, False, False, False] == [outcome.is_success for outcome in outcomes]
    for outcome in outcomes[2:]:
        with pytest.raises((RunFailed, NoProvider)):
            outcome.unwrap()


def test_the_first_is_enough(runtime: Runtime) -> None:
    """
    The others are unfinished, with their ids, and go on.
    """
    gates = Gates(runtime, "abc")
    waiting = runtime.wait(gates.runs, return_when="first")
    gates.open("b")
    first = waiting.get(timeout=PATIENCE)

    assert [Unfinished, "b", Unfinished] == [
        type(one) if isinstance(one, Unfinished) else one.text for one in first
    ]
    assert [gates.runs[0].id, gates.runs[2].id] == [first[0].run_id, first[2].run_id]
    gates.open("ac")
    assert [COMPLETED] * 3 == [ended(run).stop_reason for run in gates.runs]


def test_a_wait_that_is_over_says_what_there_is(timed: Runtime, clock: ManualClock) -> None:
    """
    H10: the results that came are kept, and nothing is cancelled by a time-out.
    """
    gates = Gates(timed, "abc")
    waiting = timed.wait(gates.runs, timeout=5.0)
    gates.open("a")
    clock.advance(4.9)
    assert not waiting.is_done
    clock.advance(0.1)
    outcomes = waiting.get(timeout=PATIENCE)

    assert "a" == outcomes[0].text
    assert [Unfinished(run.id, 5.0) for run in gates.runs[1:]] == outcomes[1:]
    with pytest.raises(RunFailed, match="it had not settled when the wait was over"):
        outcomes[1].unwrap()
    gates.open("bc")
    assert [True] * 3 == [ended(run).is_success for run in gates.runs]


def test_a_wait_of_no_time_looks(runtime: Runtime) -> None:
    """
    What is there is given, and the rest is unfinished.
    """
    gates = Gates(runtime, "ab")
    gates.open("a")

    outcomes = runtime.wait(gates.runs, timeout=0).get(timeout=PATIENCE)
    gates.open("b")

    assert ["a", False] == [outcomes[0].text, outcomes[1].is_success]


def test_nothing_to_wait_for_is_there_at_once(runtime: Runtime) -> None:
    """
    An empty list has all of its outcomes, and an iteration over none ends.
    """
    assert [] == runtime.wait([]).get(timeout=PATIENCE)
    assert [] == runtime.wait([], return_when="first").get(timeout=PATIENCE)
    assert [] == list(runtime.as_completed([]))


@pytest.mark.parametrize("wrong", [[5], ["a-1"], [None], 5, "runs"])
def test_what_is_no_run_cannot_be_waited_for(runtime: Runtime, wrong: Any) -> None:
    """
    The mistake is told in the Reply, and at once where there is none.
    """
    with pytest.raises(InvalidRequest):
        runtime.wait(wrong).get(timeout=PATIENCE)
    with pytest.raises(InvalidRequest):
        runtime.as_completed(wrong)
    with pytest.raises(InvalidRequest, match="return_when"):
        runtime.wait([], return_when="some").get(timeout=PATIENCE)
    with pytest.raises(InvalidLimit):
        runtime.as_completed([], timeout=-1)


def test_one_run_may_be_waited_for_twice(runtime: Runtime) -> None:
    """
    In one wait and in several.
    """
    run = started(runtime, echo, "once")

    results = runtime.wait([run, run]).get(timeout=PATIENCE)

    assert ["once", "once"] == [result.text for result in results]


def test_a_derived_reply_can_be_waited_for(runtime: Runtime) -> None:
    """
    What its value is computed to is the outcome.
    """
    gates = Gates(runtime, "a")
    mapped = gates.runs[0].result.map(lambda result: result.text.upper())
    waiting = runtime.wait([mapped])
    gates.open("a")

    assert ["A"] == waiting.get(timeout=PATIENCE)


def test_a_wait_that_is_over_leaves_nothing_with_its_runs(runtime: Runtime) -> None:
    """
    A resident that is looked at again and again does not collect what looked.
    """
    run = opened(runtime, echo)

    looks = []
    for _ in range(10):
        look = runtime.wait([run], timeout=0)
        look.get(timeout=PATIENCE)
        looks.append(weakref.ref(look))
    del look
    runtime.tree()
    gc.collect()

    assert [None] * 10 == [look() for look in looks]


def test_a_turn_waits_for_the_first_of_its_children(runtime: Runtime) -> None:
    """
    H29: a parent's next step sees every result that came, in the order of its starts.
    """
    gate, seen = Gate(), list[Any]()

    def slow(_: Any) -> str:
        gate.wait()
        return "slow"

    def parent(turn: Any) -> Steps:
        starts: list[Reply[Run]] = [
            turn.start("spawn", "x", agent=slow),
            turn.start("spawn", "quick", agent=echo),
        ]
        first = yield from turn.wait(starts, return_when="first")
        seen.extend(type(one) for one in first)
        gate.open()
        results = yield from turn.wait(starts)
        return [result.text for result in results]

    assert ["slow", "quick"] == ended(started(runtime, parent)).unwrap()
    assert Unfinished is seen[0]

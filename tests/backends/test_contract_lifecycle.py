"""The contract of every provider: what is told of a run's start and end, and to whom."""

from __future__ import annotations

from typing import cast

import pykka
import pytest

from retinue.actors import Run, Runtime
from retinue.backends.scripted import Delta, Echo, Hold, Item, Raise, Return, Say
from retinue.protocol.errors import NoSuchRun
from retinue.protocol.events import OutputDelta, RunEnded, RunStarted
from retinue.protocol.log import UserMessage
from retinue.protocol.tree import RunInfo
from tests.backends.contract import (
    Case,
    UnprintableError,
    cancelled_at,
    only,
    result_of,
    started,
    told,
)
from tests.doubles import PATIENCE, Probe


@pytest.fixture
def probe(runtime: Runtime) -> Probe:
    """A subscriber to what is told of runs."""
    probe = Probe()
    runtime.subscribe(only(probe, RunStarted, RunEnded, OutputDelta))
    return probe


def test_a_start_is_told_before_the_end(case: Case, runtime: Runtime, probe: Probe) -> None:
    """
    LIF-1, LIF-3, RACE-6: also when the run is over as soon as it begins.
    """
    run = started(runtime, case, Echo(), label="first")
    run.dispose().get(timeout=PATIENCE)

    start, end = probe.expect(RunStarted), probe.expect(RunEnded)

    assert (run.id, run.provider, "first") == (start.run_id, start.provider, start.label)
    assert (run.id, run.provider, "first") == (end.run_id, end.provider, end.label)
    assert end.result is result_of(run)
    assert [] == told(runtime, probe)


def test_a_run_is_listed_when_its_start_is_told(case: Case, runtime: Runtime) -> None:
    """
    RUN-1, LIF-2: an observer of the start sees the run, and no turn of it has begun.
    """
    probe = Probe()

    def look(event: object) -> None:
        if isinstance(event, RunStarted):
            probe.tell(runtime.children())

    runtime.subscribe(look)
    run = started(runtime, case, Echo())
    rows = cast("tuple[RunInfo, ...]", probe.expect(tuple))

    assert [(run.id, 0, True)] == [(row.run_id, row.turn, row.is_live) for row in rows]


def test_a_run_is_found_by_its_id_until_it_has_ended(case: Case, runtime: Runtime) -> None:
    """
    RUN-1: the handle that is found is that of the same run.
    """
    hold = Hold()
    run = started(runtime, case, hold)

    assert run.ref is runtime.find(run.id).get(timeout=PATIENCE).ref
    cancelled_at(hold, run)
    run.dispose().get(timeout=PATIENCE)
    with pytest.raises(NoSuchRun, match=run.id):
        runtime.find(run.id).get(timeout=PATIENCE)


def test_no_output_comes_before_the_start_and_none_after_the_end(
    case: Case, runtime: Runtime, probe: Probe
) -> None:
    """
    LIF-9: the start is told before any turn can run, the end after the last.
    """
    run = started(runtime, case, Delta("a"), Delta("b"), Return("ab"))
    result_of(run)
    run.dispose().get(timeout=PATIENCE)

    assert [RunStarted, OutputDelta, OutputDelta, RunEnded] == [
        type(event) for event in told(runtime, probe)
    ]


def test_every_run_has_an_id_of_its_own(case: Case, runtime: Runtime, probe: Probe) -> None:
    """
    LIF-4, VAL-11: one agent, one provider, one prompt; never one id.
    """
    runs = [started(runtime, case, Echo(), prompt="same") for _ in range(5)]
    for run in runs:
        run.dispose().get(timeout=PATIENCE)

    ids = [event.run_id for event in told(runtime, probe) if isinstance(event, RunStarted)]

    assert [run.id for run in runs] == ids
    assert 5 == len(set(ids))


@pytest.mark.parametrize(
    ("script", "reason"),
    [([Return("x")], "completed"), ([Say("x"), Raise(ValueError("odd"))], "error")],
    ids=["completed", "failed"],
)
def test_the_end_says_what_the_result_says(
    case: Case, runtime: Runtime, probe: Probe, script: list[Item], reason: str
) -> None:
    """
    LIF-1: reason and output on the end event are those that the caller was given.
    """
    run = started(runtime, case, *script)
    result_of(run)
    run.dispose().get(timeout=PATIENCE)
    probe.expect(RunStarted)

    end = probe.expect(RunEnded)

    assert (reason, "x") == (end.result.stop_reason, end.result.text)
    assert (None, ()) == (end.release_error, end.stuck)


def test_the_ends_of_a_tree_are_told_children_first(
    case: Case, runtime: Runtime, probe: Probe
) -> None:
    """
    A parent's end is told when everything below it has released what it held.
    """
    holds = [Hold() for _ in range(3)]
    runs = [started(runtime, case, holds[0])]
    for hold in holds[1:]:
        runs.append(started(runtime, case, hold, parent=runs[-1]))
    assert all(hold.reached.wait(PATIENCE) for hold in holds)

    runs[0].dispose().get(timeout=PATIENCE)
    events = told(runtime, probe)
    ends = [event for event in events if isinstance(event, RunEnded)]

    assert [run.id for run in reversed(runs)] == [end.run_id for end in ends]
    assert [runs[1].id, runs[0].id, None] == [end.parent_id for end in ends]


@pytest.mark.parametrize(
    "problem", [ValueError("odd"), UnprintableError(), SystemExit(1)], ids=type
)
def test_an_observer_that_raises_costs_nobody_anything(
    case: Case, runtime: Runtime, problem: BaseException
) -> None:
    """
    LIF-7, LIF-14: the others are told, the run is as it would be, and nothing is vetoed.
    """
    before, after = Probe(), Probe()
    edges = RunStarted, OutputDelta, RunEnded

    def broken(event: object) -> None:
        if isinstance(event, edges):
            raise problem

    for observer in (only(before, *edges), broken, only(after, *edges)):
        runtime.subscribe(observer)
    run = started(runtime, case, Delta("a"), Return("done"))
    result = result_of(run)
    run.dispose().get(timeout=PATIENCE)

    assert "done" == result.text
    assert edges == tuple(type(event) for event in told(runtime, before))
    assert edges == tuple(type(event) for event in told(runtime, after))


def test_a_dead_pykka_observer_is_passed_over(case: Case, runtime: Runtime) -> None:
    """
    LIF-7: an actor of the host's that was stopped neither hears nor hinders.
    """

    class Listener(pykka.ThreadingActor):
        use_daemon_thread = True

    dead = Listener.start()
    dead.stop()
    runtime.subscribe(dead)
    probe = Probe()
    runtime.subscribe(only(probe, RunStarted))

    run = started(runtime, case, Echo())
    run.dispose().get(timeout=PATIENCE)

    assert run.id == probe.expect(RunStarted).run_id


def test_a_watcher_is_told_once_also_when_it_comes_late(case: Case, runtime: Runtime) -> None:
    """
    Watching a run that has ended tells at once what watching it in time would have told.
    """
    early, late, hold = Probe(), Probe(), Hold()
    run = started(runtime, case, hold)
    runtime.watch(run, early.tell)
    cancelled_at(hold, run)
    first = early.expect(RunEnded)

    runtime.watch(run, late.tell)

    assert first.result is late.expect(RunEnded).result
    assert [] == told(runtime, early)


def test_five_children_of_which_one_raises_give_four_results_and_an_error(
    case: Case, runtime: Runtime
) -> None:
    """
    H09, H30: in the order of the call, each with its id and its text.
    """
    parent = started(runtime, case, Hold())
    scripts: list[Item] = [Return("0"), Return("1"), Raise(ValueError("2")), Say("3"), Echo()]
    runs = [started(runtime, case, item, parent=parent, prompt="4") for item in scripts]

    results = runtime.wait(runs).get(timeout=PATIENCE)

    assert [run.id for run in runs] == [result.run_id for result in results]
    assert ["completed"] * 2 + ["error"] + ["completed"] * 2 == [
        result.stop_reason for result in results
    ]
    assert ["0", "1", "", "3", "4"] == [result.text for result in results]


def test_one_agent_run_eight_times_at_once_shares_nothing(case: Case, runtime: Runtime) -> None:
    """
    H41, H43, H40: eight histories, each with its own prompt and no other's.
    """
    hold = Hold()
    runs: list[Run] = [
        started(runtime, case, hold, Echo(), prompt=f"marker {number}") for number in range(8)
    ]
    hold.release()
    results = [result_of(run) for run in runs]

    assert [f"marker {number}" for number in range(8)] == [result.text for result in results]
    for number, run in enumerate(runs):
        heard = [e.message.text for e in run.transcript() if isinstance(e, UserMessage)]
        assert [f"marker {number}"] == heard


def test_the_result_of_an_ended_run_can_be_read_by_its_id(case: Case, runtime: Runtime) -> None:
    """
    H28, H71: any number of times, from any end.
    """
    run = started(runtime, case, Say("body"), Raise(ValueError("odd")))
    result = result_of(run)
    run.dispose().get(timeout=PATIENCE)

    assert result == runtime.result_of(run.id)
    assert "body" == runtime.result_of(run.id).text

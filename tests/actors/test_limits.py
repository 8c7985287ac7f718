"""Limits of a tree are checked when work is admitted, and leave nothing behind."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from retinue.actors import Cancellation, Limits, Run, Runtime
from retinue.protocol.errors import (
    Closing,
    DepthExceeded,
    InvalidLimit,
    LimitReached,
    RetinueError,
    StartCancelled,
    StartFailed,
)
from retinue.protocol.events import RunStarted
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate


def test_the_start_after_the_last_is_refused_for_good() -> None:
    """
    H49: the twenty-first of a tree of twenty, also when the first twenty have ended.
    """
    with Runtime(limits=Limits(total=20)) as runtime:
        for _ in range(20):
            assert ended(started(runtime, echo)).is_success
        for _ in range(3):
            with pytest.raises(LimitReached, match="all 20 runs of the tree have been started"):
                started(runtime, echo)


def test_an_ended_run_makes_room() -> None:
    """
    H50: with two at once, two more start when two have settled; nobody has to dispose.
    """
    gates = [Gate(), Gate()]
    with Runtime(limits=Limits(live=2)) as runtime:
        runs = [started(runtime, lambda _, gate=gate: gate.wait()) for gate in gates]
        with pytest.raises(LimitReached, match="2 runs of the tree are alive"):
            started(runtime, echo)
        for gate, run in zip(gates, runs, strict=True):
            gate.open()
            ended(run)

        assert ["a", "b"] == [ended(started(runtime, echo, text)).text for text in "ab"]


def test_starts_over_the_limit_queue_in_order() -> None:
    """
    H48: with N places, N + 50 starts are all worked on, never more than N at once.
    """
    at_once, most, lock = [0], [0], threading.Lock()

    def behaviour(turn: Any) -> str:
        with lock:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
        turn.step()
        with lock:
            at_once[0] -= 1
        return str(turn.text)

    order: list[str] = []
    with Runtime(limits=Limits(live=4, queue=True)) as runtime:
        runtime.subscribe(
            lambda event: order.append(str(event.label)) if isinstance(event, RunStarted) else None
        )
        starts = [runtime.start("spawn", str(n), agent=behaviour, label=str(n)) for n in range(54)]
        results = runtime.wait(starts).get(timeout=PATIENCE)

    assert [str(number) for number in range(54)] == [result.text for result in results]
    assert [str(number) for number in range(54)] == order
    assert most[0] <= 4


def test_a_start_that_waits_for_room_can_be_cancelled() -> None:
    """
    By its token, and by the end of the runtime; each leaves its place in the queue.
    """
    gate, token = Gate(), Cancellation()
    with Runtime(limits=Limits(live=1, queue=True)) as runtime:
        first = started(runtime, lambda _: gate.wait())
        second = runtime.start("spawn", "second", agent=echo, cancel=token)
        third = runtime.start("spawn", "third", agent=echo)
        runtime.tree()
        token.cancel("changed my mind")
        with pytest.raises(StartCancelled, match="changed my mind"):
            second.get(timeout=PATIENCE)
        gate.open()
        assert ended(first).is_success
        assert "third" == ended(third.get(timeout=PATIENCE)).text
        blocking = opened(runtime, echo)
        last = runtime.start("spawn", "last", agent=echo)
        runtime.tree()
    assert ended(blocking).is_success
    with pytest.raises((Closing, StartFailed)):
        last.get(timeout=PATIENCE)


def test_a_subtree_has_limits_of_its_own(runtime: Runtime) -> None:
    """
    The run itself counts; its children and theirs do too, and nobody outside.
    """
    refused: list[str] = []

    def child(turn: Any) -> Steps:
        yield turn.sleep(1e9)

    def parent(turn: Any) -> int:
        runs = [turn.start("spawn", "x", agent=child) for _ in range(2)]
        try:
            turn.start("spawn", "x", agent=child)
        except LimitReached as error:
            refused.append(str(error))
        return len(runs)

    run = started(runtime, parent, limits=Limits(live=3))
    beside = [opened(runtime, echo) for _ in range(5)]

    assert (2, 1) == (ended(run).structured, len(refused))
    assert [True] * 5 == [one.ref.is_alive() for one in beside]


@pytest.mark.parametrize("limits", [Limits(live=1), Limits(total=1)])
def test_a_run_that_counts_alone_has_no_children(runtime: Runtime, limits: Limits) -> None:
    """
    Promise 1: the run itself is the one that there may be; fewer than one is no limit.
    """

    def parent(turn: Any) -> str:
        with pytest.raises(LimitReached):
            turn.start("spawn", "x", agent=echo)
        return "alone"

    assert "alone" == ended(started(runtime, parent, limits=limits)).text
    for none in (Limits(live=0), Limits(total=0)):
        with pytest.raises(InvalidLimit, match="at least 1"):
            started(runtime, parent, limits=none)


def test_limits_of_a_subtree_do_not_widen_the_trees() -> None:
    """
    Promise 7: the tighter of the two holds, wherever it was given.
    """
    with Runtime(limits=Limits(total=3)) as runtime:

        def parent(turn: Any) -> int:
            for count in range(100):
                try:
                    ended(turn.start("spawn", "x", agent=echo))
                except LimitReached:
                    return count
            return 100

        assert 2 == ended(started(runtime, parent, limits=Limits(total=100))).structured


def test_children_that_always_delegate_five_ways_stop_at_the_stated_number() -> None:
    """
    H47: total and depth end it, each with words that say what to do; no run is left.
    """
    refusals: list[RetinueError] = []

    def behaviour(turn: Any) -> Steps:
        runs: list[Run] = []
        for _ in range(5):
            try:
                runs.append((yield from turn.start("spawn", "more", agent=behaviour)))
            except RetinueError as error:
                refusals.append(error)
        yield from turn.wait(runs)

    with Runtime(limits=Limits(total=20)) as runtime:
        ended(started(runtime, behaviour))
        assert 20 == len(runtime.tree())
        assert {LimitReached} == {type(error) for error in refusals}
        assert [] == [row for row in runtime.tree() if row.is_live]
    refusals.clear()
    with Runtime() as runtime:
        ended(started(runtime, behaviour, max_depth=2))
        assert 1 + 5 + 25 == len(runtime.tree())
        assert {DepthExceeded} == {type(error) for error in refusals}
        assert 125 == len(refusals)


def test_a_start_that_came_to_nothing_counts_for_nothing() -> None:
    """
    RUN-2: refused starts use up neither places nor the total.
    """
    with Runtime(limits=Limits(live=1, total=1)) as runtime:
        for _ in range(5):
            with pytest.raises(RetinueError):
                runtime.start("spawn", "no agent").get(timeout=PATIENCE)
            with pytest.raises(RetinueError):
                started(runtime, echo, tool_filter={"allow": ("unknown",)})

        assert "go" == ended(started(runtime, echo)).text


def test_what_is_no_limit_is_refused(runtime: Runtime) -> None:
    """
    At the runtime and at a start; a mapping is not silently taken for limits.
    """
    wrong: Any = {"live": 1}

    with pytest.raises(InvalidLimit):
        Runtime(limits=wrong)
    with pytest.raises(InvalidLimit):
        started(runtime, echo, limits=wrong)


def test_a_run_that_has_settled_holds_no_place_though_it_still_holds_a_thread() -> None:
    """
    H50: its result is there; what it has not let go of yet is no work of the tree.
    """
    gate = Gate()
    with Runtime(limits=Limits(live=1)) as runtime:
        run = started(runtime, lambda _: gate.wait())
        assert gate.reached.wait(PATIENCE)
        run.cancel("enough").get(timeout=PATIENCE)
        ended(run)

        assert "next" == ended(started(runtime, echo, "next")).text
        gate.open()

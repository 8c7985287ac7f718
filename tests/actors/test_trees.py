"""Runs in a tree: whose child a run is, and what an end does to those below."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from retinue.actors import Run, Runtime
from retinue.protocol.errors import Closing, RunFailed
from retinue.protocol.result import ABORTED, COMPLETED
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE


def sleeper(turn: Any) -> Steps:
    """Wait until somebody ends the run."""
    yield turn.sleep(1e9)


async def awaiting(turn: Any) -> None:
    """Wait on the loop until somebody ends the run."""
    await turn.sleep(1e9)


def blocking(turn: Any) -> None:
    """Wait on a thread until somebody ends the run."""
    turn.sleep(1e9)


SLEEPERS = pytest.mark.parametrize("sleeping", [sleeper, awaiting, blocking])


def parent_of(runtime: Runtime, run: Run) -> str | None:
    """Return the id of the run's parent."""
    return next(row.parent_id for row in runtime.tree() if row.run_id == run.id)


def test_what_is_started_inside_a_turn_is_its_runs_child(runtime: Runtime) -> None:
    """
    Without a word about it, for every kind of behaviour, at any depth, and however it calls.
    """
    kids: dict[str, Run] = {}

    def plain(turn: Any) -> str:
        kids["plain"] = runtime.start("spawn", "x", agent=sleeper).get()
        kids["call"] = turn.call(lambda: runtime.start("spawn", "x", agent=sleeper).get())
        return str(turn.run.id)

    async def coroutine(turn: Any) -> str:
        kids["coroutine"] = await runtime.start("spawn", "x", agent=sleeper)
        kids["on the pool"] = await turn.call(
            lambda: runtime.start("spawn", "x", agent=sleeper).get()
        )
        return str(turn.run.id)

    def generator(turn: Any) -> Steps:
        kids["generator"] = yield from runtime.start("spawn", "x", agent=sleeper)
        kids["resident"] = yield from runtime.open(echo)
        return str(turn.run.id)

    for behaviour, names in (
        (plain, ("plain", "call")),
        (coroutine, ("coroutine", "on the pool")),
        (generator, ("generator", "resident")),
    ):
        run = started(runtime, behaviour)
        result = ended(run)
        for name in names:
            assert run.id == parent_of(runtime, kids[name]), name
            assert 1 == kids[name].depth
        working = [kids[name].id for name in names if name != "resident"]
        assert working == list(result.abandoned)


def test_a_parent_may_be_named_from_outside(runtime: Runtime) -> None:
    """
    The run that is named owns the child, which belongs to no turn of it.
    """
    root = opened(runtime, echo)

    child = started(runtime, sleeper, parent=root)
    root.ask("a turn comes and goes").get(timeout=PATIENCE)

    assert root.id == parent_of(runtime, child)
    assert not child.result.is_done
    root.dispose().get(timeout=PATIENCE)
    assert ABORTED == ended(child).stop_reason


def test_an_ended_run_has_no_more_children(runtime: Runtime) -> None:
    """
    VAL-8: the start is refused and nothing is left of it.
    """
    root = started(runtime, echo)
    root.dispose().get(timeout=PATIENCE)

    with pytest.raises(Closing, match="has ended"):
        started(runtime, echo, parent=root)
    assert 1 == len(runtime.tree())


@SLEEPERS
def test_the_end_of_a_turn_cancels_its_children(runtime: Runtime, sleeping: Any) -> None:
    """
    A one-shot child belongs to the turn that started it; the result says whom that cost
    (H31), and such a result does not unwrap.
    """
    kids: list[Run] = []

    def behaviour(turn: Any) -> str:
        kids.append(turn.start("spawn", "x", agent=sleeping))
        return "done"

    run = started(runtime, behaviour)
    result = ended(run)

    assert (COMPLETED, "done", (kids[0].id,)) == (result.stop_reason, result.text, result.abandoned)
    assert not result.is_success
    with pytest.raises(RunFailed, match=f"its end cancelled {kids[0].id}; wait for"):
        result.unwrap()
    assert ABORTED == ended(kids[0]).stop_reason
    assert run.dispose().get(timeout=PATIENCE)


def test_a_child_that_ended_before_was_not_abandoned(runtime: Runtime) -> None:
    """
    A parent that waited for its children is a success.
    """

    def behaviour(turn: Any) -> str:
        kids = [turn.start("spawn", text, agent=echo) for text in "abc"]
        return "".join(result.text for result in turn.wait(kids))

    result = ended(started(runtime, behaviour))

    assert (True, "abc", ()) == (result.is_success, result.text, result.abandoned)


def test_an_interrupt_stops_what_the_turn_started_and_nothing_else(runtime: Runtime) -> None:
    """
    H04, H08: turn-owned children end aborted; background children and residents run on and
    take what is said to them.
    """
    kids: dict[str, Run] = {}
    begun = threading.Event()

    def behaviour(turn: Any) -> str:
        if turn.text == "next":
            return "next"
        kids["owned"] = turn.start("spawn", "x", agent=sleeper)
        kids["background"] = turn.start("spawn", "x", agent=sleeper, background=True)
        kids["resident"] = turn.open(echo)
        begun.set()
        turn.sleep(1e9)
        return "not reached"

    run = opened(runtime, behaviour)
    answer = run.ask("go")
    assert begun.wait(PATIENCE)
    run.interrupt().get(timeout=PATIENCE)

    assert ABORTED == answer.get(timeout=PATIENCE).stop_reason
    assert ABORTED == ended(kids["owned"]).stop_reason
    assert "next" == run.ask("next").get(timeout=PATIENCE).text
    assert not kids["background"].result.is_done
    assert "hello" == kids["resident"].ask("hello").get(timeout=PATIENCE).text
    run.dispose().get(timeout=PATIENCE)
    assert ABORTED == ended(kids["background"]).stop_reason
    assert (kids["background"].id,) == ended(run).abandoned, "an idle resident loses no work"


@SLEEPERS
def test_a_cancel_reaches_the_bottom_of_a_deep_tree(runtime: Runtime, sleeping: Any) -> None:
    """
    H05, H06: five levels that never mention a cancel, and the innermost work sees it.
    """
    stopped, begun = list[int](), threading.Event()

    def behaviour(turn: Any) -> Steps:
        try:
            if turn.depth < 5:
                agent = behaviour if turn.depth < 4 else sleeping
                run = yield from turn.start("spawn", "deeper", agent=agent)
                if turn.depth == 4:
                    begun.set()
                yield from run.result
        finally:
            stopped.append(turn.depth)

    root = started(runtime, behaviour)
    assert begun.wait(PATIENCE)
    rows = list(runtime.descendants(root))
    root.cancel("enough").get(timeout=PATIENCE)

    assert ABORTED == ended(root).stop_reason
    assert root.dispose().get(timeout=PATIENCE)
    assert [1, 2, 3, 4, 5] == [row.depth for row in rows]
    assert [ABORTED] * 5 == [runtime.result_of(row.run_id).stop_reason for row in rows]
    assert [0, 1, 2, 3, 4] == sorted(stopped)


def test_a_start_is_cancelled_with_the_turn_that_wanted_it(runtime: Runtime) -> None:
    """
    One that is still under way when its turn is over leaves no run behind.
    """

    def behaviour(turn: Any) -> Steps:
        for _ in range(50):
            turn.start("spawn", "x", agent=sleeper)
        yield
        return "done"

    run = started(runtime, behaviour)
    result = ended(run)

    assert run.dispose().get(timeout=PATIENCE)
    assert [] == [row for row in runtime.tree() if row.is_live]
    assert COMPLETED == result.stop_reason


def test_a_resident_that_waits_for_nothing_is_not_left_behind(runtime: Runtime) -> None:
    """
    H31: work that an end cancels is named; a resident that is idle, with nothing waiting and
    nobody below it, had none.
    """
    kids: list[Run] = []

    def behaviour(turn: Any) -> str:
        kids.append(turn.open(echo))
        kids.append(turn.open(sleeper))
        kids[1].tell("sleep").get(timeout=PATIENCE)
        return str(turn.ask(kids[0], "hello").text)

    result = ended(started(runtime, behaviour))

    assert ("hello", (kids[1].id,)) == (result.text, result.abandoned)
    assert not result.is_success

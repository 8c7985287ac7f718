"""What will not stop is named by id after the grace time, and the rest is released."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from retinue.actors import ManualClock, Run, Runtime
from retinue.protocol.errors import NotQuiescent
from retinue.protocol.events import RunEnded
from retinue.protocol.result import ABORTED, ERROR
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate, Probe

GRACE = 0.05


@pytest.fixture(name="hasty")
def make_hasty() -> Iterator[Runtime]:
    """Give a runtime that waits for what it stops only a moment, its own close included."""
    runtime = Runtime(grace=GRACE)
    yield runtime
    with suppress(NotQuiescent):
        runtime.close()


@pytest.fixture(name="gate")
def make_gate(hasty: Runtime) -> Iterator[Gate]:
    """Give a gate that is open when the runtime closes, whatever came of the test."""
    del hasty
    gate = Gate()
    yield gate
    gate.open()


def released(run: Run) -> None:
    """Wait until the run has let go after all: a dispose then has nothing to complain of."""
    for _ in range(500):
        try:
            assert run.dispose().get(timeout=PATIENCE)
        except NotQuiescent:
            threading.Event().wait(0.01)
        else:
            return
    raise AssertionError("it never let go")


def deaf(gate: Gate) -> Any:
    """Return a function that blocks and does not look whether it is wanted."""

    def behaviour(_: Any) -> str:
        gate.wait()
        return "too late"

    return behaviour


def test_a_function_that_never_returns_is_named(hasty: Runtime, gate: Gate) -> None:
    """
    The result is there at once, a dispose fails after the grace time with the run's id, and
    the same is said each time it is asked.
    """
    run = started(hasty, deaf(gate))
    assert gate.reached.wait(PATIENCE)

    disposed = run.dispose()

    assert ABORTED == ended(run).stop_reason
    for answer in (disposed, run.dispose()):
        with pytest.raises(NotQuiescent, match=run.id) as caught:
            answer.get(timeout=PATIENCE)
        assert (run.id,) == caught.value.stuck


def test_the_rest_of_the_tree_is_released(hasty: Runtime, gate: Gate) -> None:
    """
    Promise 4: one that is stuck costs nobody else their end; every one above names it.
    """
    released = list[str]()

    def child(turn: Any) -> Steps:
        try:
            yield turn.sleep(3600)
        finally:
            released.append(turn.text)

    def parent(turn: Any) -> Steps:
        yield from turn.start("spawn", "one", agent=child)
        yield from turn.start("spawn", "go", agent=deaf(gate), label="deaf")
        yield from turn.start("spawn", "two", agent=child)
        yield turn.sleep(3600)

    probe = Probe()
    run = started(hasty, parent)
    assert gate.reached.wait(PATIENCE)
    stuck = next(row.run_id for row in hasty.descendants(run) if row.label == "deaf")
    hasty.watch(run, probe.tell)

    with pytest.raises(NotQuiescent) as caught:
        run.dispose().get(timeout=PATIENCE)

    assert (stuck,) == caught.value.stuck
    assert (stuck,) == probe.expect(RunEnded).stuck
    assert ["one", "two"] == sorted(released)
    assert () == tuple(hasty.descendants(run))
    assert [] == [row for row in hasty.tree() if row.is_live]


def test_a_coroutine_that_swallows_its_cancellation_is_aborted(clock: ManualClock) -> None:
    """
    It has a second to clean up; then its run settles without it, and a dispose names it.
    """
    with Runtime(clock=clock, grace=2.0) as runtime:
        begun, caught = threading.Event(), threading.Event()
        free = list[Any]()

        async def behaviour(_: Any) -> None:
            release = asyncio.Event()
            free.append((asyncio.get_running_loop(), release))
            begun.set()
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    caught.set()

        run = started(runtime, behaviour)
        neighbour = opened(runtime, echo)
        assert begun.wait(PATIENCE)
        disposed = run.dispose()
        assert caught.wait(PATIENCE)
        assert "beside" == neighbour.ask("beside").get(timeout=PATIENCE).text
        assert not run.result.is_done

        clock.advance(1.0)
        assert ABORTED == ended(run).stop_reason
        assert not disposed.is_done

        clock.advance(2.0)
        with pytest.raises(NotQuiescent, match=run.id):
            disposed.get(timeout=PATIENCE)

        loop, release = free.pop()
        loop.call_soon_threadsafe(release.set)
        released(run)


def test_a_dispose_may_bring_its_own_grace(timed: Runtime, clock: ManualClock) -> None:
    """
    Shorter than the runtime's: this dispose does not wait longer than it is told to.
    """
    gate = Gate()
    run = started(timed, deaf(gate))
    assert gate.reached.wait(PATIENCE)

    disposed = run.dispose(grace=0.5)
    assert ABORTED == ended(run).stop_reason
    clock.advance(0.5)

    with pytest.raises(NotQuiescent):
        disposed.get(timeout=PATIENCE)
    gate.open()
    released(run)


def test_a_function_that_returns_in_time_is_no_trouble(runtime: Runtime, gate: Gate) -> None:
    """
    Dispose returns when the thread has, and not before.
    """
    run = started(runtime, deaf(gate))
    assert gate.reached.wait(PATIENCE)

    disposed = run.dispose()
    assert ABORTED == ended(run).stop_reason
    assert not disposed.is_done
    gate.open()

    assert disposed.get(timeout=PATIENCE)
    assert "" == ended(run).text


def test_a_runtime_that_closes_names_what_is_stuck(gate: Gate) -> None:
    """
    `close` releases everything else and says which run it was; its thread is left alone.
    """
    runtime = Runtime(grace=GRACE)
    run, fine = started(runtime, deaf(gate)), opened(runtime, echo)
    assert gate.reached.wait(PATIENCE)

    with pytest.raises(NotQuiescent, match=run.id) as caught:
        runtime.close()

    assert [run.id] == list(caught.value.stuck)
    assert ABORTED == ended(run).stop_reason
    assert ended(fine).is_success


def test_what_has_let_go_since_is_not_named_any_more(gate: Gate) -> None:
    """
    A dispose and a close say what holds something now, and not what once did.
    """

    def parent(turn: Any) -> Steps:
        child = yield from turn.start("spawn", "go", agent=deaf(gate))
        while not gate.reached.is_set():
            yield from turn.step()
        try:
            yield from child.dispose()
        except NotQuiescent:
            return child.id

    with Runtime(grace=GRACE) as runtime:
        run = started(runtime, parent)
        assert ended(run).is_success
        gate.open()
        released(run)


def test_what_the_pool_still_does_for_a_run_counts(hasty: Runtime, gate: Gate) -> None:
    """
    A generator that was closed while its blocking call goes on is no more quiet than that.
    """

    def behaviour(turn: Any) -> Steps:
        yield from turn.call(gate.wait)

    run = started(hasty, behaviour)
    assert gate.reached.wait(PATIENCE)

    with pytest.raises(NotQuiescent, match=run.id):
        run.dispose().get(timeout=PATIENCE)


def test_a_constructor_that_never_returns_is_like_a_turn_that_does_not(
    hasty: Runtime, gate: Gate
) -> None:
    """
    The instance of a class is made on the turn's own thread.
    """

    class Behaviour:
        def __init__(self) -> None:
            gate.wait()

        def turn(self, turn: Any) -> str:
            return str(turn.text)

    run = started(hasty, Behaviour)
    assert gate.reached.wait(PATIENCE)

    with pytest.raises(NotQuiescent, match=run.id):
        run.dispose().get(timeout=PATIENCE)
    assert ABORTED == ended(run).stop_reason


def test_a_second_turn_does_not_wait_for_a_first_that_is_deaf(runtime: Runtime, gate: Gate) -> None:
    """
    An interrupted function may still be blocked; the resident goes on all the same.
    """

    def behaviour(turn: Any) -> str:
        if turn.text == "deaf":
            gate.wait()
        return str(turn.text)

    run = opened(runtime, behaviour)
    first, second = run.ask("deaf"), run.ask("next")
    assert gate.reached.wait(PATIENCE)
    run.interrupt().get(timeout=PATIENCE)

    assert ABORTED == first.get(timeout=PATIENCE).stop_reason
    assert "next" == second.get(timeout=PATIENCE).text
    assert ERROR != ended_soon(run, gate)


def ended_soon(run: Any, gate: Gate) -> str:
    """Let the blocked thread go and dispose of the run."""
    gate.open()
    assert run.dispose().get(timeout=PATIENCE)
    return str(ended(run).stop_reason)

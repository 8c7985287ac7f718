"""A generator that blocks inside a step does not take the runtime with it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from retinue.actors import Run, Runtime, ThreadDispatcher
from retinue.protocol.errors import NotQuiescent
from retinue.protocol.events import RunEnded, RunStalled
from retinue.protocol.result import ABORTED, COMPLETED, ERROR
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate, Probe

EVICT = 0.1
GRACE = 0.05


@pytest.fixture(name="gate")
def make_gate() -> Iterator[Gate]:
    """Give a gate that is open at the end, so that nothing stays blocked."""
    gate = Gate()
    yield gate
    gate.open()


@pytest.fixture(name="heard")
def make_heard() -> Probe:
    """Give the probe that observes the runtime."""
    return Probe()


@pytest.fixture(name="runtime")
def make_runtime(gate: Gate, heard: Probe) -> Iterator[Runtime]:
    """Give a runtime that leaves a step behind soon, observed, and closed with the gate open."""
    runtime = Runtime(dispatcher=ThreadDispatcher(evict_after=EVICT), grace=GRACE)
    runtime.subscribe(heard.tell)
    yield runtime
    gate.open()
    assert [] == left_behind()
    runtime.close()


def left_behind() -> list[threading.Thread]:
    """Wait for the dispatcher's threads but the newest; return those that have not ended."""
    threads = [thread for thread in threading.enumerate() if thread.name == "retinue-dispatch"]
    for thread in threads[:-1]:
        thread.join(PATIENCE)
    return [thread for thread in threads[:-1] if thread.is_alive()]


def blocks(gate: Gate, cleaned: Callable[[], None]) -> Any:
    """Return a generator that blocks in its first step."""

    def behaviour(turn: Any) -> Steps:
        try:
            turn.say("before")
            gate.wait()
            yield turn.sleep(3600)
        finally:
            cleaned()

    return behaviour


def nothing() -> None:
    """Clean nothing up."""


def stalled(heard: Probe) -> RunStalled:
    """Wait for the report of a step that blocks."""
    while not isinstance(event := heard.expect(object), RunStalled):
        pass
    return event


def test_the_turn_ends_and_says_what_to_do_instead(
    runtime: Runtime, gate: Gate, heard: Probe
) -> None:
    """
    The stall is told, the turn ends ``error`` with what would not have blocked, and what
    was said before stays.
    """
    run = started(runtime, blocks(gate, nothing))

    result = ended(run)

    assert (ERROR, "before") == (result.stop_reason, result.text)
    assert "turn.call()" in str(result.diagnostic)
    event = stalled(heard)
    assert run.id == event.run_id
    assert event.seconds >= EVICT


def test_other_runs_go_on(runtime: Runtime, gate: Gate) -> None:
    """
    What was queued behind the step is handled by a new thread, in its order.
    """
    neighbour = opened(runtime, echo)
    started(runtime, blocks(gate, nothing))
    assert gate.reached.wait(PATIENCE)

    replies = [neighbour.ask(word) for word in ("one", "two", "three")]

    assert ["one", "two", "three"] == [reply.get(timeout=PATIENCE).text for reply in replies]


def test_a_step_that_returns_after_all_is_cleaned_up(runtime: Runtime, gate: Gate) -> None:
    """
    Its generator is closed on the thread that was left behind; then the run is quiescent.
    """
    cleaned = threading.Event()
    run = started(runtime, blocks(gate, cleaned.set))
    assert ERROR == ended(run).stop_reason
    assert not cleaned.is_set()

    gate.open()

    assert cleaned.wait(PATIENCE)
    assert [] == left_behind()
    assert run.dispose().get(timeout=PATIENCE)


def test_a_step_that_never_returns_is_named(gate: Gate) -> None:
    """
    A dispose names the run, a close names it again, and everything else is released.
    """
    runtime = Runtime(dispatcher=ThreadDispatcher(evict_after=EVICT), grace=GRACE)
    fine = opened(runtime, echo)
    run = started(runtime, blocks(gate, nothing))
    assert ERROR == ended(run).stop_reason

    with pytest.raises(NotQuiescent, match=run.id) as disposed:
        run.dispose().get(timeout=PATIENCE)
    with pytest.raises(NotQuiescent, match=run.id) as closed:
        runtime.close()

    assert ((run.id,), (run.id,)) == (disposed.value.stuck, closed.value.stuck)
    assert COMPLETED == ended(fine).stop_reason
    assert fine.dispose().get(timeout=PATIENCE)


def test_a_close_gives_a_step_that_blocks_no_more_than_the_grace(gate: Gate) -> None:
    """
    A step that blocks when the runtime is closed has the grace time and no more, however
    long it would have had otherwise; the rest of the tree is cleaned up all the same.
    """
    cleaned = threading.Event()

    def tidy(turn: Any) -> Steps:
        try:
            yield turn.sleep(3600)
        finally:
            cleaned.set()

    runtime = Runtime(dispatcher=ThreadDispatcher(evict_after=3600.0), grace=GRACE)
    other = started(runtime, tidy)
    run = started(runtime, blocks(gate, nothing))
    assert gate.reached.wait(PATIENCE)

    with pytest.raises(NotQuiescent, match=run.id):
        runtime.close(timeout=PATIENCE)

    assert cleaned.is_set()
    assert ABORTED == ended(other).stop_reason


def test_a_clean_up_that_blocks_is_left_behind_as_well(runtime: Runtime, gate: Gate) -> None:
    """
    Whoever cancels is answered, the run ends, and a dispose names it until it lets go.
    """
    begun = threading.Event()

    def behaviour(turn: Any) -> Steps:
        try:
            begun.set()
            yield turn.sleep(3600)
        finally:
            gate.wait()

    run = started(runtime, behaviour)
    assert begun.wait(PATIENCE)

    assert run.cancel("enough").get(timeout=PATIENCE)

    assert ABORTED == ended(run).stop_reason
    with pytest.raises(NotQuiescent, match=run.id):
        run.dispose().get(timeout=PATIENCE)
    gate.open()
    assert [] == left_behind()
    assert run.dispose().get(timeout=PATIENCE)


def test_who_asked_for_what_had_it_step_is_answered(
    runtime: Runtime, gate: Gate, heard: Probe
) -> None:
    """
    A child's report that wakes its parent is accepted, although the parent's step blocks.
    """

    def child(turn: Any) -> str:
        turn.report("news")
        return "reported"

    def parent(turn: Any) -> Steps:
        if turn.text == "go":
            yield from turn.start("spawn", "child", agent=child, background=True)
        else:
            gate.wait()
            yield

    run = opened(runtime, parent)
    run.tell("go").get(timeout=PATIENCE)
    assert gate.reached.wait(PATIENCE)

    while not isinstance(event := heard.expect(object), RunEnded):
        pass
    assert "reported" == event.result.text


def test_the_runtime_is_usable_afterwards(runtime: Runtime, gate: Gate) -> None:
    """
    One step after the other blocks; each has its own end, and new runs start as before.
    """
    runs: list[Run] = [started(runtime, blocks(gate, nothing)) for _ in range(3)]

    assert [ERROR] * 3 == [ended(run).stop_reason for run in runs]
    assert "still here" == ended(started(runtime, echo, "still here")).text

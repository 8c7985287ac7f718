"""The deterministic dispatcher: the seed is the order, and nothing else is."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Generator
from functools import partial
from typing import Any

import pykka
import pytest

from retinue.actors import DeterministicDispatcher, Run, Runtime, agent
from retinue.protocol.errors import Deadlock, NotQuiescent
from retinue.protocol.messages import Cancel
from retinue.protocol.result import ABORTED
from tests.actors.mixed import digest, grow
from tests.actors.scribes import make
from tests.checkout import ROOT
from tests.doubles import PATIENCE, Gate

Steps = Generator[Any, Any, Any]


@agent
def part(turn: Any) -> Steps:
    """Take a moment, and say what chance gave."""
    yield turn.sleep(0.1)
    return [turn.random.random()]


@agent
def whole(turn: Any) -> Steps:
    """Start three parts at once."""
    starts = [turn.start("spawn", str(number), agent=part) for number in range(3)]
    outcomes = yield from turn.wait(starts)
    return [outcome.structured for outcome in outcomes]


@pytest.mark.parametrize("seed", [0, 1, "a word"])
def test_a_seed_gives_the_same_order_and_the_same_bytes(seed: object) -> None:
    """
    Promise 9: whatever moved, and every log of the tree, threads and coroutines included.
    """
    trace, logs = grow(seed)

    assert (trace, logs) == grow(seed)
    assert len(logs) > 10


def test_another_seed_gives_another_order() -> None:
    """
    And other ids, and other random numbers.
    """
    assert digest(1) != digest(2)


def test_the_order_depends_on_nothing_of_the_process() -> None:
    """
    Two processes with different hash seeds write the same bytes as this one.
    """
    path = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    command = [sys.executable, "-m", "tests.actors.mixed", "7"]
    digests = {
        subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": hash_seed},
            cwd=ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for hash_seed in ("1", "4242")
    }

    assert {digest("7")} == digests


def test_a_thousand_seeds_try_nearly_a_thousand_orders() -> None:
    """
    A small tree has many orders, and seeds find them.
    """
    traces = set[tuple[str, ...]]()
    results = set[str]()
    for seed in range(1000):
        dispatcher = DeterministicDispatcher(seed, record=True)
        with Runtime(dispatcher=dispatcher) as runtime:
            result = runtime.start("spawn", "go", agent=whole).get().result.get()
        traces.add(tuple(dispatcher.trace))
        results.add(str(result.structured))

    assert len(traces) >= 900
    assert 1000 == len(results)


def test_ids_and_chance_follow_the_seed_and_the_place_in_the_tree() -> None:
    """
    The order of the siblings' draws does not matter: each has numbers of its own.
    """

    def run(seed: object, order: object) -> tuple[str, Any]:
        dispatcher = DeterministicDispatcher(order)
        with Runtime(dispatcher=dispatcher, seed=seed) as runtime:
            run = runtime.start("spawn", "go", agent=whole).get()
            return run.id, run.result.get().structured

    first = run("seed", 1)

    assert {str(first)} == {str(run("seed", order)) for order in range(20)}
    assert first[0] != run("another", 1)[0]
    assert first[1] != run("another", 1)[1]


def test_whoever_waits_drives_the_runtime() -> None:
    """
    Nothing moves by itself; `run_until_idle` moves all that needs no time, `advance` the rest.
    """
    dispatcher = DeterministicDispatcher()
    with Runtime(dispatcher=dispatcher) as runtime:
        start = runtime.start("spawn", "go", agent=part)
        assert not start.is_done

        assert dispatcher.run_until_idle() > 0
        dispatcher.advance(0.05)
        assert not start.get().result.is_done
        dispatcher.advance(0.05)
        assert start.get().result.is_done
        assert 0.1 == pytest.approx(dispatcher.clock.now())


def test_time_stands_still_while_anything_can_move() -> None:
    """
    A timer comes after everything that is possible before it, however much that is.
    """
    heard: list[str] = []

    @agent
    def busy(turn: Any) -> Steps:
        yield from turn.open(chatter)
        yield turn.sleep(0.001)
        heard.append("timer")

    @agent
    def chatter(_: Any) -> None:
        heard.append("chatter")

    with Runtime(dispatcher=DeterministicDispatcher()) as runtime:
        run = runtime.open(busy).get()
        partner = runtime.open(chatter).get()
        for _ in range(100):
            partner.tell("again")
        run.ask("go").get()

    assert ["chatter"] * 100 + ["timer"] == heard


def test_a_sealed_mailbox_answers_both_lanes_at_once() -> None:
    """
    Whoever asked may be the last who drives: nobody would come to answer later.
    """
    dispatcher = DeterministicDispatcher()
    ref = make(dispatcher).ref
    asks = [ref.ask(message, block=False) for message in ("work", Cancel("enough"), "more work")]

    dispatcher.seal(ref)

    assert [pykka.ActorDeadError] * 3 == [type(ask.error) for ask in asks]


def test_a_coroutine_that_is_cancelled_before_its_first_step_has_an_end() -> None:
    """
    No loop enters such a task; its turn ends all the same, and nothing is left of it.
    """

    @agent
    async def endless(_: Any) -> None:
        await asyncio.Event().wait()

    for moves in range(1, 12):
        dispatcher = DeterministicDispatcher(1)
        with Runtime(dispatcher=dispatcher) as runtime:
            run = runtime.start("spawn", "go", agent=endless).get()
            dispatcher.inject(dispatcher.steps + moves, partial(run.cancel, "enough"))
            dispatcher.run_until_idle()
            run.cancel()

            assert ABORTED == run.result.get().stop_reason
            assert run.dispose().get() is True
            assert 0 == dispatcher.clock.now()


def test_closing_leaves_no_thread_that_was_about_to_move() -> None:
    """
    A stop of the registry ends threads that had their next turn already; none gets it.
    """

    @agent
    def blocking(turn: Any) -> None:
        turn.sleep(1)

    for moves in range(1, 40):
        dispatcher = DeterministicDispatcher(3, patience=PATIENCE)
        runtime = Runtime(dispatcher=dispatcher)
        for _ in range(3):
            runtime.start("spawn", "go", agent=blocking)
        dispatcher.inject(moves, partial(runtime.registry.stop, block=False))
        dispatcher.inject(moves + 3, partial(dispatcher.close, 0))

        dispatcher.advance(10)
        assert [] == dispatcher.close(0)
        runtime.registry.stop()


def test_a_function_that_blocks_on_something_else_is_reported() -> None:
    """
    What waits for a socket or a lock cannot be repeated; the wait raises and names the run.
    """
    gate = Gate()

    @agent
    def stuck(_: Any) -> None:
        gate.wait()

    dispatcher = DeterministicDispatcher(patience=0.05)
    runtime = Runtime(dispatcher=dispatcher)
    run = runtime.start("spawn", "go", agent=stuck).get()

    with pytest.raises(Deadlock, match=f"{run.id}: has run for 0.05 s of real time"):
        run.result.get()
    with pytest.raises(NotQuiescent) as caught:
        runtime.close()
    gate.open()

    assert (run.id,) == caught.value.stuck


def test_a_run_is_the_same_thing_under_both_dispatchers() -> None:
    """
    What a run returns does not depend on who runs it.
    """

    def result(dispatcher: Any) -> Any:
        with Runtime(dispatcher=dispatcher, seed=11) as runtime:
            run: Run = runtime.start("spawn", "go", agent=whole).get()
            return run.result.get(timeout=PATIENCE).structured

    assert result(DeterministicDispatcher(1)) == result(None)

"""Virtual time: it costs nothing, asyncio lives in it, and a wait that cannot end says so."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import pykka
import pytest

from retinue.actors import DeterministicDispatcher, Reply, Run, Runtime, agent
from retinue.protocol.errors import Deadlock
from retinue.protocol.result import COMPLETED

Steps = Generator[Any, Any, Any]
HOUR = 3600.0


@pytest.fixture(name="dispatcher")
def make_dispatcher() -> DeterministicDispatcher:
    """Give a dispatcher."""
    return DeterministicDispatcher(0)


@pytest.fixture(name="runtime")
def make_runtime(dispatcher: DeterministicDispatcher) -> Iterator[Runtime]:
    """Give a runtime on it, and close it."""
    with Runtime(dispatcher=dispatcher) as runtime:
        yield runtime


@agent
def generator_sleeper(turn: Any) -> Steps:
    """Sleep an hour in a generator."""
    yield turn.sleep(HOUR)


@agent
def thread_sleeper(turn: Any) -> None:
    """Sleep an hour on a thread."""
    turn.sleep(HOUR)


@agent
async def turn_sleeper(turn: Any) -> None:
    """Sleep an hour of the turn's in a coroutine."""
    await turn.sleep(HOUR)


@agent
async def asyncio_sleeper(_: Any) -> None:
    """Sleep an hour of asyncio's."""
    await asyncio.sleep(HOUR)


@pytest.mark.parametrize(
    "sleeper",
    [generator_sleeper, thread_sleeper, turn_sleeper, asyncio_sleeper],
    ids=lambda one: one.name,
)
def test_an_hour_costs_nothing(
    runtime: Runtime, dispatcher: DeterministicDispatcher, sleeper: Any
) -> None:
    """
    Whoever sleeps, time jumps; a hundred sleep side by side.
    """
    begun = time.monotonic()
    starts = [runtime.start("spawn", "sleep", agent=sleeper) for _ in range(100)]

    outcomes = runtime.wait(starts).get()

    assert {COMPLETED} == {outcome.stop_reason for outcome in outcomes}
    assert HOUR == dispatcher.clock.now()
    assert time.monotonic() - begun < HOUR / 100


def test_asyncio_time_outs_are_virtual(runtime: Runtime) -> None:
    """
    asyncio.timeout, wait_for, sleep and the loop's own clock tell the same time.
    """

    @agent
    async def patient(turn: Any) -> list[float]:
        loop, times = asyncio.get_running_loop(), list[float]()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(10):
                await turn.sleep(HOUR)
        times.append(loop.time())
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(asyncio.Event().wait(), 20)
        times.append(loop.time())
        await asyncio.wait([asyncio.create_task(asyncio.sleep(30))], timeout=5)
        times.append(loop.time())
        return times

    assert [10, 30, 35] == runtime.start("spawn", "go", agent=patient).get().result.get().structured


def test_a_time_out_that_nobody_needs_any_more_moves_no_time(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    Once it is left there is nothing to wait for, and a wait says so at once.
    """

    @agent
    async def early(turn: Any) -> None:
        async with asyncio.timeout(HOUR):
            await turn.sleep(1)

    runtime.start("spawn", "go", agent=early).get().result.get()

    with pytest.raises(Deadlock):
        Reply[None](dispatcher).get()
    assert 1 == dispatcher.clock.now()


def test_asyncio_threads_take_turns_like_everything_else(runtime: Runtime) -> None:
    """
    A value or an error comes back from one, and what it waits for may be virtual.
    """

    @agent
    async def threaded(turn: Any) -> Any:
        calls = (partial(int, "7"), turn.sleep(HOUR).get, partial(int, "seven"))
        three = await asyncio.gather(*map(asyncio.to_thread, calls), return_exceptions=True)
        return [three[0], three[1], type(three[2]).__name__]

    result = runtime.start("spawn", "go", agent=threaded).get().result.get()

    assert [7, None, "ValueError"] == result.structured


def test_a_clean_up_of_asyncios_runs_in_virtual_time(runtime: Runtime) -> None:
    """
    A cancelled coroutine may await in its finally; tasks of its own end with the runtime.
    """
    done: list[str] = []

    @agent
    async def careful(_: Any) -> None:
        background.append(asyncio.create_task(asyncio.sleep(HOUR)))
        try:
            await asyncio.sleep(HOUR)
        finally:
            await asyncio.sleep(0.5)
            done.append("clean")

    background: list[asyncio.Task[None]] = []
    run = runtime.start("spawn", "go", agent=careful).get()
    runtime.wait([run], timeout=1).get()
    run.cancel().get()
    run.dispose().get()

    assert ["clean"] == done
    assert not background[0].done()
    runtime.close()
    assert background[0].cancelled()


def test_a_get_with_a_time_out_waits_in_virtual_time(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    The time-out stops the waiting, and what was waited for goes on.
    """
    run = runtime.start("spawn", "sleep", agent=generator_sleeper).get()

    with pytest.raises(pykka.Timeout):
        run.result.get(timeout=HOUR / 2)
    assert HOUR / 2 == dispatcher.clock.now()
    assert run.result.get(timeout=HOUR).stop_reason == COMPLETED
    assert HOUR == dispatcher.clock.now()


def test_a_wait_with_a_time_out_inside_a_behaviour_is_virtual_too(runtime: Runtime) -> None:
    """
    On the behaviour's thread as anywhere.
    """

    @agent
    def hasty(turn: Any) -> str:
        run = turn.start("spawn", "sleep", agent=generator_sleeper)
        try:
            run.result.get(timeout=1)
        except pykka.Timeout:
            return "gave up"
        return "waited"

    assert "gave up" == runtime.start("spawn", "go", agent=hasty).get().result.get().text


def test_a_wait_that_nothing_can_end_says_who_waits_for_whom(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    Deadlock is raised at once, with every run that waits, and for which.
    """
    never = Reply[None](dispatcher)

    @agent
    def partner(_: Any) -> Steps:
        yield from never

    @agent
    def asking(turn: Any) -> Steps:
        run = yield from turn.open(partner)
        yield from turn.ask(run, "well?")

    @agent
    def blocking(turn: Any) -> None:
        turn.ask(turn.open(partner), "well?")

    generator: Run = runtime.start("spawn", "go", agent=asking).get()
    thread: Run = runtime.start("spawn", "go", agent=blocking).get()

    with pytest.raises(Deadlock) as caught:
        runtime.wait([generator, thread]).get()
    waits = caught.value.waits

    assert any(line.startswith(f"{generator.id} waits for ") for line in waits), waits
    assert any(line.startswith(f"{thread.id} waits for ") for line in waits), waits
    assert f"{thread.id} is paused in a wait" in waits
    never.resolve()
    assert {COMPLETED} == {out.stop_reason for out in runtime.wait([generator, thread]).get()}


def test_it_works_inside_a_loop_of_somebody_else(dispatcher: DeterministicDispatcher) -> None:
    """
    The outer loop is set aside while the virtual one runs, and is there again afterwards.
    """

    async def host() -> Any:
        outer = asyncio.get_running_loop()
        async with Runtime(dispatcher=dispatcher) as runtime:
            run = await runtime.start("spawn", "go", agent=turn_sleeper)
            result = await run.result
            assert asyncio.get_running_loop() is outer
            blocked = runtime.start("spawn", "go", agent=asyncio_sleeper).get()
            assert asyncio.get_running_loop() is outer
            await asyncio.sleep(0)
            await blocked.result
        return result

    assert asyncio.run(host()).stop_reason == COMPLETED
    assert 2 * HOUR == dispatcher.clock.now()

"""A runtime as a guest: used from any thread, task and loop, and leaving nothing behind."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import threading
from collections.abc import Callable
from typing import Any, Final

import pykka
import pytest

from retinue.actors import Reply, Run, Runtime
from retinue.protocol.errors import Closing, WouldBlock
from retinue.protocol.result import ABORTED
from tests.actors.behaviours import WAYS, Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate

# Long enough that a machine under load starts Python and imports us.
PROCESS_SECONDS: Final = 30.0


async def awaited(reply: Any) -> Any:
    """Await a Reply, as a task does."""
    return await reply


def held(gate: Gate) -> Any:
    """Return a function that answers when the gate is open."""

    def behaviour(_: Any) -> str:
        gate.wait()
        return "done"

    return behaviour


def in_thread(function: Callable[[], Any]) -> Any:
    """Run *function* on a thread of its own, and return what it does or raise it."""
    answer: list[Any] = []

    def run() -> None:
        try:
            answer.append(function())
        except BaseException as error:  # noqa: BLE001 - raised again below
            answer.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(PATIENCE)
    assert answer, "the thread did not come back"
    if isinstance(answer[0], BaseException):
        raise answer[0]
    return answer[0]


def test_awaiting_our_futures_never_holds_up_the_loop() -> None:
    """
    H58: the loop turns freely while every kind of Reply is awaited, derived ones included.
    """
    gate, turns = Gate(), [0]

    async def main() -> None:
        with Runtime() as runtime:
            run = await runtime.start("spawn", "go", agent=lambda _: gate.wait())
            resident = await runtime.open(echo)
            replies: list[Reply[Any]] = [
                run.result,
                run.result.map(str),
                run.result.map(str).map(len),
                run.result.join(run.result),
                runtime.wait([run]),
                runtime.wait([run.result.map(str)]),
            ]
            tasks = [asyncio.create_task(awaited(reply)) for reply in replies]
            await asyncio.to_thread(gate.reached.wait, PATIENCE)
            for _ in range(200):
                turns[0] += 1
                await asyncio.sleep(0)
            assert not any(task.done() for task in tasks)
            assert "beside" == (await resident.ask("beside")).text
            gate.open()
            await asyncio.wait_for(asyncio.gather(*tasks), PATIENCE)
            await run.dispose()
            await resident.dispose()

    asyncio.run(main())
    assert 200 == turns[0]


def test_a_run_is_disposed_of_from_wherever_one_stands() -> None:
    """
    H24: started in task A; disposed of in task B, in thread C, from a signal handler.
    """

    async def main() -> None:
        async with Runtime() as runtime:

            async def start() -> Run:
                return await runtime.start("spawn", "go", agent=sleeping)

            async def dispose(run: Run) -> None:
                assert await run.dispose()

            runs = [await asyncio.create_task(start()) for _ in range(3)]
            await asyncio.create_task(dispose(runs[0]))
            assert await asyncio.to_thread(lambda: runs[1].dispose().get(timeout=PATIENCE))
            disposed: list[Reply[bool]] = []
            before = signal.signal(signal.SIGUSR1, lambda *_: disposed.append(runs[2].dispose()))
            os.kill(os.getpid(), signal.SIGUSR1)
            signal.signal(signal.SIGUSR1, before)
            assert await disposed[0]
            assert [ABORTED] * 3 == [(await run.result).stop_reason for run in runs]

    asyncio.run(main())


async def sleeping(turn: Any) -> None:
    """Wait on the loop until somebody ends the run."""
    await turn.sleep(1e9)


@pytest.mark.parametrize("make", WAYS)
def test_a_runtime_works_in_any_thread(make: Any) -> None:
    """
    Made in one, used in another, closed in a third.
    """
    runtime = in_thread(Runtime)
    assert "there" == in_thread(lambda: ended(started(runtime, make(echo), "there")).text)
    in_thread(runtime.close)

    with pytest.raises(Closing):
        runtime.tree()


@pytest.mark.parametrize("make", WAYS)
def test_sync_code_works_under_a_running_loop(make: Any) -> None:
    """
    As in a notebook: `with`, `get` and `close` on the thread whose loop runs outside.
    """

    async def cell() -> str:
        with Runtime() as runtime:
            run = runtime.start("spawn", "in a cell", agent=make(echo)).get(timeout=PATIENCE)
            return run.result.get(timeout=PATIENCE).text

    assert "in a cell" == asyncio.run(cell())


def test_two_runtimes_stand_side_by_side() -> None:
    """
    Each has its ids, threads and registry; closing one costs the other nothing.
    """
    with Runtime() as outer:
        resident = opened(outer, echo)
        with Runtime() as inner:
            assert inner.id != outer.id
            run = started(inner, lambda turn: resident.ask(turn.text).get(timeout=PATIENCE).text)
            assert "across" == ended(started(inner, echo, "across")).text
            assert "go" == ended(run).text
            assert 2 == len(pykka.ActorRegistry.get_by_class_name("RegistryActor"))
        assert "still here" == resident.ask("still here").get(timeout=PATIENCE).text


def test_cancelling_an_await_of_a_result_only_stops_waiting() -> None:
    """
    The run goes on, and so does whoever else awaits it.
    """
    gate = Gate()

    async def main() -> str:
        async with Runtime() as runtime:
            run = await runtime.start("spawn", "go", agent=held(gate))
            tasks = [asyncio.create_task(awaited(run.result)) for _ in range(2)]
            await asyncio.sleep(0)
            tasks[0].cancel()
            with pytest.raises(asyncio.CancelledError):
                await tasks[0]
            gate.open()
            result = await tasks[1]
            return str(result.text)

    assert "done" == asyncio.run(main())


def test_an_await_that_timed_out_only_stopped_waiting(runtime: Runtime) -> None:
    """
    `asyncio.timeout`, `wait_for` and `get(timeout=)` alike.
    """
    gate = Gate()
    run = started(runtime, held(gate))

    async def main() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(awaited(run.result), 0.01)

    asyncio.run(main())
    with pytest.raises(pykka.Timeout):
        run.result.get(timeout=0.01)
    assert not run.result.is_done
    gate.open()
    assert "done" == ended(run).text


def test_waiting_where_it_would_stop_the_runtime_raises_at_once(runtime: Runtime) -> None:
    """
    In a handler of an observer, in a generator's step, and on the runtime's own loop; the
    error says what to write instead.
    """
    errors: list[BaseException] = []
    idle = opened(runtime, echo)

    def attempt() -> None:
        try:
            idle.ask("now").get()
        except WouldBlock as error:
            errors.append(error)

    def stepped(_: Any) -> Steps:
        attempt()
        yield

    async def on_loop(_: Any) -> None:
        attempt()

    end = runtime.subscribe(lambda _: attempt())
    ended(started(runtime, echo))
    runtime.tree()
    end()
    runtime.tree()
    observed = len(errors)
    for behaviour in (stepped, on_loop):
        assert ended(started(runtime, behaviour)).is_success

    assert observed
    assert observed + 2 == len(errors)
    assert all("would block" in str(error) for error in errors)
    assert "await reply" in str(errors[-1])


def test_an_await_that_was_given_up_leaves_nothing_with_its_run(runtime: Runtime) -> None:
    """
    A run that lives long does not collect those who stopped waiting for it.
    """
    run = opened(runtime, echo)

    async def main() -> int:
        async def give_up() -> None:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(awaited(run.result), 0)

        await give_up()
        gc.collect()
        before = sum(isinstance(thing, asyncio.Future) for thing in gc.get_objects())
        for _ in range(50):
            task = asyncio.create_task(awaited(run.result))
            await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
        del task
        gc.collect()
        return sum(isinstance(thing, asyncio.Future) for thing in gc.get_objects()) - before

    assert asyncio.run(main()) < 10

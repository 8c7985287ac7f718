"""A runtime inside somebody's asyncio program: on their loop, and never in its way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import pytest

from retinue.actors import DeterministicDispatcher, Reply, Run, Runtime, agent
from retinue.protocol.errors import NoSuchRun, StartCancelled, WouldBlock
from retinue.protocol.events import LifecycleMonitor, RunEnded, RunStarted
from retinue.protocol.result import ABORTED, COMPLETED
from tests.actors.by_hand import ByHand
from tests.doubles import PATIENCE, Gate

Steps = Generator[Any, Any, Any]
Host = Callable[[Runtime], Awaitable[None]]


def hosted(host: Host, *providers: Any, deterministic: bool = False) -> None:
    """Run *host* in a loop of its own, inside a runtime, and check what was told."""

    async def main() -> None:
        monitor = LifecycleMonitor()
        dispatcher = DeterministicDispatcher() if deterministic else None
        async with Runtime(providers, dispatcher=dispatcher) as runtime:
            runtime.subscribe(monitor)
            async with asyncio.timeout(None if deterministic else PATIENCE):
                await host(runtime)
        assert [] == monitor.violations
        assert {} == monitor.open
        assert 1 == len(asyncio.all_tasks())

    asyncio.run(main())


@agent
async def coroutine(turn: Any) -> list[Any]:
    """Say where this runs, and start a child from here."""
    run = await turn.start("spawn", "go", agent=generator)
    return [threading.get_ident(), (await run.result).text]


@agent
def generator(turn: Any) -> Steps:
    """Answer after a step."""
    yield from turn.step()
    return "child"


@agent
async def endless(turn: Any) -> None:
    """Never end."""
    del turn
    await asyncio.Event().wait()


@pytest.mark.parametrize("deterministic", [False, True], ids=["threads", "deterministic"])
def test_questions_are_answered_on_the_loop(*, deterministic: bool) -> None:
    """
    Tree, lists, subscriptions and watches are plain calls, and no wait for the loop itself.
    """

    async def host(runtime: Runtime) -> None:
        events: list[Any] = []
        unsubscribe = runtime.subscribe(events.append)
        run = await runtime.start("spawn", "go", agent=endless)
        runtime.watch(run, events.append)
        assert [run.id] == [row.run_id for row in runtime.tree()]
        assert [run.id] == [row.run_id for row in runtime.children()]
        assert 0 == len(runtime.descendants(run))
        assert "spawn" in runtime.providers()
        assert (await runtime.find(run.id)).id == run.id
        await run.dispose()
        assert (await run.result) == runtime.result_of(run.id)
        with pytest.raises(NoSuchRun):
            runtime.result_of("nobody")
        unsubscribe()
        assert [RunStarted, RunEnded, RunEnded] == [type(event) for event in events]

    hosted(host, deterministic=deterministic)


@pytest.mark.parametrize("deterministic", [False, True], ids=["threads", "deterministic"])
def test_a_coroutine_behaviour_may_ask_for_the_tree_that_it_is_in(*, deterministic: bool) -> None:
    """
    The same from inside a run, whose task runs on the loop.
    """

    async def host(runtime: Runtime) -> None:
        @agent
        async def curious(turn: Any) -> list[str]:
            child = await turn.start("spawn", "go", agent=endless)
            found = [[row.run_id for row in rows] for rows in (runtime.tree(), runtime.children())]
            assert child.id == runtime.children(turn.run)[0].run_id
            return [str(found == [[turn.run.id, child.id], [turn.run.id]])]

        run = await runtime.start("spawn", "go", agent=curious)
        assert ["True"] == (await run.result).structured

    hosted(host, deterministic=deterministic)


def test_coroutines_run_on_the_loop_that_was_entered() -> None:
    """
    No thread of ours is between a coroutine behaviour and its host.
    """

    async def host(runtime: Runtime) -> None:
        run = await runtime.start("spawn", "go", agent=coroutine)
        assert [threading.get_ident(), "child"] == (await run.result).structured

    hosted(host)


def test_a_get_on_the_loop_raises_at_once() -> None:
    """
    It could wait for a coroutine that waits for the loop.
    """

    async def host(runtime: Runtime) -> None:
        run = await runtime.start("spawn", "go", agent=coroutine)
        with pytest.raises(WouldBlock, match="await reply"):
            run.result.get()
        assert COMPLETED == (await run.result).stop_reason
        assert COMPLETED == run.result.get().stop_reason
        with pytest.raises(WouldBlock):
            runtime.close()

    hosted(host)


def test_the_loop_goes_on_while_something_is_awaited() -> None:
    """
    Awaiting a Reply, or what is derived from one, blocks nobody.
    """
    gate = Gate()

    @agent
    def blocking(_: Any) -> str:
        gate.wait()
        return "done"

    async def host(runtime: Runtime) -> None:
        run = await runtime.start("spawn", "go", agent=blocking)
        text = asyncio.ensure_future(_await(run.result.map(lambda result: result.text)))
        both = asyncio.ensure_future(_await(run.result.join(run.result)))
        await asyncio.to_thread(gate.reached.wait, PATIENCE)
        assert not text.done()
        gate.open()
        assert "done" == await text
        assert 2 == len(await both)

    hosted(host)


async def _await(reply: Reply[Any]) -> Any:
    return await reply


def test_cancelling_the_await_of_a_start_cancels_the_start() -> None:
    """
    Nobody would have the run, so there is none; another await may be cancelled at no cost.
    """
    provider = ByHand("slow", at_once=False)

    async def host(runtime: Runtime) -> None:
        start = runtime.start("slow", "go")
        waiting = asyncio.ensure_future(_await(start))
        run = await runtime.start("spawn", "go", agent=generator)
        result = asyncio.ensure_future(_await(run.result))
        await asyncio.sleep(0)
        waiting.cancel()
        result.cancel()
        with pytest.raises(StartCancelled):
            await start
        assert COMPLETED == (await run.result).stop_reason
        for door in provider.doors.values():
            door.resolve()

    hosted(host, provider)


def test_a_cancelled_host_task_takes_its_tree_along() -> None:
    """
    H07: leaving the runtime's block ends everything in it, whatever made the host leave.
    """
    ended: list[Any] = []

    async def work(entered: asyncio.Event) -> None:
        async with Runtime() as runtime:
            runs: list[Run] = [
                await runtime.start("spawn", "go", agent=kind) for kind in (endless, coroutine)
            ]
            runtime.subscribe(ended.append)
            entered.set()
            await runs[0].result

    async def main() -> None:
        entered = asyncio.Event()
        task = asyncio.create_task(work(entered))
        await entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert 1 == len(asyncio.all_tasks())

    asyncio.run(main())
    assert ABORTED in {event.result.stop_reason for event in ended if isinstance(event, RunEnded)}

"""Loops that end too early, and waits that are not for a loop."""

from __future__ import annotations

import asyncio
from typing import Any

import pykka
import pytest

from retinue.actors import Run, Runtime
from retinue.protocol.errors import WouldBlock
from retinue.protocol.result import ERROR
from tests.actors.behaviours import Steps, coroutine, echo, ended, opened, started
from tests.doubles import PATIENCE


async def endless(_: Any) -> None:
    """Sleep for a day."""
    await asyncio.sleep(86_400)


def test_a_loop_may_end_before_the_runtime_that_was_entered_on_it() -> None:
    """
    What ran there has an end, more of it is refused, the rest works, and this thread, which
    has no loop any more, may wait and close.
    """

    async def main() -> tuple[Runtime, Run]:
        runtime = await Runtime().__aenter__()
        return runtime, await runtime.start("spawn", "go", agent=endless)

    runtime, run = asyncio.run(main())

    assert ERROR == ended(run).stop_reason
    late = ended(started(runtime, coroutine(echo)))
    assert "loop" in str(late.diagnostic)
    assert "plain" == ended(started(runtime, echo, "plain")).text
    runtime.close()


def test_a_thread_may_wait_when_its_loop_has_ended() -> None:
    """
    Whatever came of the runtime that was entered there: others are not refused a wait.
    """

    async def main() -> Runtime:
        return await Runtime().__aenter__()

    left = asyncio.run(main())
    with Runtime() as other:
        assert "mine" == ended(started(other, echo, "mine")).text
    left.close()


def test_two_runtimes_may_be_entered_on_one_loop() -> None:
    """
    The end of one does not allow to block the other's loop.
    """

    async def main() -> str:
        async with Runtime() as outer:
            async with Runtime() as inner:
                run = await inner.start("spawn", "inner", agent=coroutine(echo))
                assert "inner" == (await run.result).text
            run = await outer.start("spawn", "outer", agent=endless)
            with pytest.raises(WouldBlock):
                run.result.get(timeout=PATIENCE)
            await run.dispose()
            run = await outer.start("spawn", "outer", agent=coroutine(echo))
            return (await run.result).text

    assert "outer" == asyncio.run(main())


def test_one_runtime_may_be_awaited_on_several_loops() -> None:
    """
    Its own loop is another, and it does not matter whose Reply it is.
    """

    async def main(word: str) -> str:
        run = await runtime.start("spawn", word, agent=coroutine(echo))
        return (await run.result).text

    with Runtime() as runtime:
        assert ["one", "two"] == [asyncio.run(main(word)) for word in ("one", "two")]


def test_a_generator_does_not_wait_for_pykkas_own_futures(runtime: Runtime) -> None:
    """
    Nothing tells when one is resolved: refused with the way to wait for it, not answered
    with a time-out that nobody asked for.
    """
    future: pykka.ThreadingFuture[str] = pykka.ThreadingFuture()
    run = opened(runtime, echo)

    def behaviour(turn: Any) -> Steps:
        with pytest.raises(WouldBlock, match=r"turn\.call\(future\.get\)"):
            yield from run.ask("x").join(future)
        future.set("there")
        yield from turn.call(future.get)
        _, word = yield from run.ask("x").join(future)
        return word

    assert "there" == ended(started(runtime, behaviour)).text

"""A host that dies without a word, at every moment of what it started."""

from __future__ import annotations

import threading
from collections.abc import Generator
from functools import partial
from itertools import count
from typing import Any

import pykka
import pytest

from retinue.actors import DeterministicDispatcher, Reply, Run, Runtime, agent
from retinue.protocol.errors import RetinueError
from retinue.protocol.invariants import violations
from retinue.protocol.lifecycle import Phase
from retinue.protocol.result import COMPLETED, HOST_GONE, RunResult
from tests.actors.providers import Keeping, Slow
from tests.actors.scribes import make

Steps = Generator[Any, Any, Any]


@agent
def leaf(turn: Any) -> Steps:
    """Take a while."""
    yield turn.sleep(20)
    return "leaf"


@agent
def blocking(turn: Any) -> str:
    """Start something slow below, and wait for it on a thread."""
    return str(turn.start("slow", "go", agent=leaf).result.get().text)


@agent
async def coroutine(turn: Any) -> str:
    """Start something below, and wait for it on the loop."""
    run = await turn.start("spawn", "go", agent=blocking)
    return str((await run.result).text)


def grow(dispatcher: DeterministicDispatcher, host: Any) -> tuple[Runtime, list[Reply[Run]], Any]:
    """Start a run of each kind below *host*; returns the Replies, and who opened what."""
    runtime = Runtime.for_host(host.ref, dispatcher=dispatcher)
    providers = [Keeping("spawn"), Slow()]
    for provider in providers:
        runtime.register(provider).get()
    starts = [runtime.start("spawn", "go", agent=kind) for kind in (leaf, blocking, coroutine)]
    starts.append(runtime.open(leaf, name="resident", prompt="go"))
    return runtime, starts, providers


def die(dispatcher: DeterministicDispatcher, host: Any) -> None:
    """Let the host be gone, with no hook run and nobody told."""
    dispatcher.seal(host.ref, run_hook=False)


@pytest.mark.parametrize("seed", range(3))
def test_a_host_that_dies_takes_its_tree_along_at_any_moment(seed: int) -> None:
    """
    Promise 4: whatever was being started or worked on ends ``host-gone``, soon, and once.
    """
    for moves in count(1):
        threads = threading.active_count()
        dispatcher = DeterministicDispatcher(seed)
        host = make(dispatcher)
        runtime, starts, providers = grow(dispatcher, host)
        dispatcher.inject(dispatcher.steps + moves, partial(die, dispatcher, host))
        dispatcher.advance(5)
        was_injected = not host.ref.is_alive()
        if not was_injected:
            runtime.close()
            break

        assert not runtime.registry.is_alive()
        for start in starts:
            assert start.is_done
            assert isinstance(start.error, (RetinueError, pykka.ActorDeadError, type(None)))
            if start.error is None:
                assert HOST_GONE == start.outcome().result.outcome().stop_reason
        for actor in [actor for provider in providers for actor in provider.opened]:
            assert Phase.ENDED is actor.life.phase
            assert not actor.tickets
            assert actor.log is None or violations(actor.log.events()) == ()
        assert threads == threading.active_count()
        runtime.close()
    assert moves > 20


def test_a_host_that_lives_is_told_every_result() -> None:
    """
    And a host that stops for good later is told nothing twice.
    """
    dispatcher = DeterministicDispatcher(4)
    host = make(dispatcher)
    runtime, starts, _ = grow(dispatcher, host)
    dispatcher.advance(100)

    ended = [message for message in host.page if isinstance(message, RunResult)]
    assert [COMPLETED] * 3 == [result.stop_reason for result in ended]
    assert {start.outcome().id for start in starts[:3]} == {result.run_id for result in ended}
    die(dispatcher, host)
    dispatcher.advance(5)
    assert starts[3].outcome().result.is_done
    assert not runtime.registry.is_alive()
    runtime.close()

"""What the runs of one runtime share: made once, and closed with the runtime on its loop."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from retinue.actors import DeterministicDispatcher, Runtime
from retinue.protocol.delegation import NO_CAPABILITIES
from retinue.protocol.errors import NotQuiescent
from tests.doubles import PATIENCE


class Sharer:
    """A provider whose runs share one thing each time they open."""

    name, capabilities = "sharer", NO_CAPABILITIES
    inherits_context, accepts_seed, is_immediate = False, False, True

    def __init__(self, make: Any) -> None:
        self.make = make
        self.seen: list[Any] = []

    def open(self, order: Any, workplace: Any) -> Any:
        """Take the thing, and answer at once."""
        del order
        self.seen.append(workplace.shared("thing", self.make))
        raise ValueError("enough")


class Thing:
    """Something with a clean-up of its own."""

    def __init__(self, error: Exception | None = None, *, hangs: bool = False) -> None:
        self.closed_on: list[str] = []
        self.error = error
        self.hangs = hangs

    async def aclose(self) -> None:
        """Clean up."""
        self.closed_on.append(threading.current_thread().name)
        if self.hangs:
            await asyncio.Event().wait()
        await asyncio.sleep(0)
        if self.error is not None:
            raise self.error


def used(runtime: Runtime, times: int = 3) -> None:
    """Have some runs open, and be refused."""
    for _ in range(times):
        with pytest.raises(Exception, match="enough"):
            runtime.start("sharer", "go").get(timeout=PATIENCE)


def test_all_runs_get_the_one_thing_and_it_is_closed_with_the_runtime() -> None:
    """
    It is made by the first that asks, and closed once, on the runtime's loop.
    """
    made: list[Thing] = []

    def make() -> Thing:
        made.append(Thing())
        return made[-1]

    provider = Sharer(make)
    with Runtime([provider]) as runtime:
        used(runtime)
        assert [] == made[0].closed_on
    assert made == [provider.seen[0]]
    assert 3 == len(provider.seen)
    assert ["retinue-loop"] == made[0].closed_on


def test_it_is_closed_in_virtual_time_too() -> None:
    """
    The deterministic dispatcher's loop does it.
    """
    thing = Thing()
    with Runtime([Sharer(lambda: thing)], dispatcher=DeterministicDispatcher(1)) as runtime:
        used(runtime)
    assert 1 == len(thing.closed_on)


def test_it_is_closed_on_the_hosts_loop() -> None:
    """
    A runtime that was entered in a loop closes it there.
    """
    thing = Thing()

    async def main() -> None:
        async with Runtime([Sharer(lambda: thing)]) as runtime:
            with pytest.raises(Exception, match="enough"):
                await runtime.start("sharer", "go")

    asyncio.run(main())

    assert [threading.current_thread().name] == thing.closed_on


def test_a_close_that_fails_is_named() -> None:
    """
    Closing the runtime says so, and everything else is released.
    """
    runtime = Runtime([Sharer(lambda: Thing(ValueError("stuck")))])
    used(runtime)

    with pytest.raises(NotQuiescent) as caught:
        runtime.close()

    assert "closing failed: ValueError('stuck')" in str(caught.value)


def test_a_close_that_hangs_ends_at_its_deadline() -> None:
    """
    Whoever closes waits no longer than they said.
    """
    thing = Thing(hangs=True)
    runtime = Runtime([Sharer(lambda: thing)])
    used(runtime)

    with pytest.raises(NotQuiescent):
        runtime.close(timeout=0.2)

    assert ["retinue-loop"] == thing.closed_on


def test_what_has_no_clean_up_is_let_go() -> None:
    """
    Not everything that is shared needs one.
    """
    with Runtime([Sharer(list)]) as runtime:
        used(runtime)

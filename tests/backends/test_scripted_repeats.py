"""The scripted provider under a deterministic dispatcher: no threads, no time, no chance."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from retinue.actors import DeterministicDispatcher, Limits, Runtime
from retinue.backends.scripted import (
    Delta,
    Echo,
    Hold,
    Item,
    NeverOpen,
    Return,
    Scripted,
    StepEdge,
)
from retinue.protocol.errors import Deadlock, StartTimeout
from tests.backends.contract import script_of_options


@contextmanager
def runtime_of(seed: int) -> Generator[tuple[Runtime, DeterministicDispatcher]]:
    """A runtime whose every move is drawn from *seed*, and its dispatcher."""
    dispatcher = DeterministicDispatcher(seed, record=True)
    provider = Scripted(script_of_options, name="played")
    with Runtime([provider], dispatcher=dispatcher, seed=seed) as runtime:
        yield runtime, dispatcher


def a_tree_of_runs(seed: int) -> tuple[list[str], list[object]]:
    """Play a parent and five children that stand, are steered and end; return what moved."""
    with runtime_of(seed) as (runtime, dispatcher):
        hold = Hold()
        script: list[Item] = [Delta("a"), hold, StepEdge(), Echo()]
        parent = runtime.start("played", "go", options={"script": [hold]}).get()
        children = [
            runtime.start("played", str(n), parent=parent, options={"script": script}).get()
            for n in range(5)
        ]
        dispatcher.run_until_idle()
        assert hold.reached.is_set()
        for child in children:
            child.inject("on your way")
        hold.release()
        runtime.wait([parent, *children]).get()
        logs: list[object] = [run.transcript() for run in (parent, *children)]
        return dispatcher.trace, logs


def test_the_same_seed_plays_the_same_way() -> None:
    """
    Promise 9: what moved when, and every log, are equal event by event.
    """
    assert a_tree_of_runs(7) == a_tree_of_runs(7)


def test_another_seed_plays_another_way() -> None:
    """
    The order is drawn: were it fixed, the test above would show nothing.
    """
    assert a_tree_of_runs(7)[0] != a_tree_of_runs(8)[0]


def test_a_hold_that_nobody_releases_is_a_deadlock() -> None:
    """
    Nothing can move and no timer is due, so that the wait says so at once.
    """
    with runtime_of(1) as (runtime, _):
        run = runtime.start("played", "go", options={"script": [Hold()]}).get()

        with pytest.raises(Deadlock):
            run.result.get()


def test_an_opening_that_is_held_runs_into_its_limit_in_virtual_time() -> None:
    """
    H16: an hour's limit takes no time; the provider goes on when it is let.
    """
    never = NeverOpen()
    scripts: list[list[Item]] = [[never, Return("a")], [Return("b")]]
    slow = Scripted(scripts, name="slow", is_immediate=False)
    with runtime_of(1) as (runtime, dispatcher):
        runtime.register(slow).get()
        with pytest.raises(StartTimeout):
            runtime.start("slow", "go", limits=Limits(start=3600.0)).get()
        passed = runtime.clock.now()
        never.release()
        dispatcher.run_until_idle()

        assert "b" == runtime.start("slow", "go").get().result.get().text

    assert 3600.0 == passed

"""Waits that end while a cancel is on its way, and waits for what others stop."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import pytest

from retinue.actors import RunResult, agent
from retinue.protocol.log import Ending
from retinue.protocol.result import ABORTED, COMPLETED
from tests.actors.by_hand import Stage, stage

Steps = Generator[Any, Any, Any]
SEEDS = range(40)


@pytest.fixture(name="here")
def make_stage() -> Iterator[Stage]:
    """Give a stage."""
    with stage() as made:
        yield made


@agent
def waits_in_steps(turn: Any) -> Steps:
    """Wait for a child, and go on with what it gave."""
    run = yield from turn.start("hand", "part")
    result = yield from run.result
    return f"all of {result.text}"


@agent
def waits_on_a_thread(turn: Any) -> str:
    """Do the same, blocking."""
    return f"all of {turn.start('hand', 'part').result.get().text}"


@agent
async def waits_on_the_loop(turn: Any) -> str:
    """Do the same in a coroutine."""
    run = await turn.start("hand", "part")
    return f"all of {(await run.result).text}"


@pytest.mark.parametrize("middle", [waits_in_steps, waits_on_a_thread, waits_on_the_loop])
def test_a_cancelled_run_makes_no_whole_of_its_childs_half(middle: Any) -> None:
    """
    H04, H38: the child's end, which the cancel brought, may come before the parent's own cancel.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            root, top = here.start()
            start = here.runtime.start("spawn", "go", agent=middle, parent=root)
            here.settle()
            leaf = here.hand.drivers[1]
            leaf.say("half")
            here.settle()
            root.cancel("enough")
            here.dispatcher.inject(here.dispatcher.steps + 2, partial(leaf.end, Ending.ABORTED))
            here.settle()
            top.end(Ending.ABORTED)
            here.settle()

            assert ABORTED == start.get().result.get().stop_reason, seed


def test_a_wait_for_all_hears_of_a_child_that_was_stopped_from_outside(here: Stage) -> None:
    """
    H19: the wait ends with that child's reason, at once when it was the last.
    """
    outcomes: list[RunResult] = []

    @agent
    def parent(turn: Any) -> Steps:
        starts = [turn.start("hand", name) for name in "abc"]
        outcomes.extend((yield from turn.wait(starts)))
        return "heard"

    run = here.runtime.start("spawn", "go", agent=parent).get()
    here.settle()
    for driver in here.hand.drivers[:2]:
        driver.end()
    here.settle()
    assert not run.result.is_done
    here.runtime.find(here.hand.drivers[2].workplace.run_id).get().cancel()
    here.settle()
    here.hand.drivers[2].end(Ending.ABORTED)

    assert "heard" == run.result.get().text
    assert [COMPLETED, COMPLETED, ABORTED] == [outcome.stop_reason for outcome in outcomes]


def test_a_clean_up_may_wait_after_its_cancel(here: Stage) -> None:
    """
    What a coroutine does in its finally is not cut off by the mark that brought it there.
    """
    done: list[str] = []

    @agent
    async def careful(turn: Any) -> None:
        run = await turn.start("hand", "part", background=True)
        try:
            await run.result
        finally:
            await run.cancel()
            done.append((await run.result).text)

    run = here.runtime.start("spawn", "go", agent=careful).get()
    here.settle()
    run.cancel("enough")
    here.settle()
    here.hand.drivers[0].end(Ending.ABORTED, "half")

    assert ABORTED == run.result.get().stop_reason
    assert ["half"] == done

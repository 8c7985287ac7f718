"""Stops that travel down a tree while it grows, and forks taken in the middle of a turn."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from functools import partial
from typing import Any

import pytest

from retinue.actors import Limits, Run, RunResult, agent
from retinue.protocol.errors import Closing, StartCancelled
from retinue.protocol.events import RunStarted
from retinue.protocol.invariants import violations
from retinue.protocol.log import Ending, SeedEnded, TurnStarted
from retinue.protocol.result import ABORTED, COMPLETED
from tests.actors.by_hand import Stage, stage

Steps = Generator[Any, Any, Any]
SEEDS = range(40)


@pytest.fixture(name="here")
def make_stage() -> Iterator[Stage]:
    """Give a stage."""
    with stage() as made:
        yield made


def chain(here: Stage, length: int) -> list[Run]:
    """Start runs by hand, each below the one before; every turn is open then."""
    runs: list[Run] = []
    for _ in range(length):
        runs.append(here.start(parent=runs[-1] if runs else None)[0])
    return runs


def test_one_cancel_marks_the_whole_tree_before_anything_else_moves() -> None:
    """
    H06: whoever stands at a step edge anywhere below sees it, though no letter has come yet.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            runs = chain(here, 5)
            seen: list[str | None] = []

            def look(here: Stage = here, seen: list[str | None] = seen) -> None:
                seen.extend(driver.workplace.stop_reason for driver in here.hand.drivers)

            runs[0].cancel("enough")
            here.dispatcher.inject(here.dispatcher.steps + 2, look)
            here.settle()
            for driver in here.hand.drivers:
                assert 1 == len(driver.stops)
                driver.end(Ending.ABORTED)
            here.settle()

            assert ["enough"] * 5 == seen
            assert {ABORTED} == {run.result.get().stop_reason for run in runs}
            assert [runs[n].id for n in (4, 3, 2, 1, 0)] == [
                event.run_id for event in here.events if not isinstance(event, RunStarted)
            ]


def test_a_marked_run_starts_no_child_though_its_cancel_has_not_come() -> None:
    """
    The mark alone refuses the start, wherever in the mailbox the cancel stands.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            runs = chain(here, 3)
            starts: list[Any] = []

            def start(here: Stage = here, last: Run = runs[2], to: list[Any] = starts) -> None:
                to.append(here.runtime.start("hand", "go", parent=last))

            runs[0].cancel("enough")
            here.dispatcher.inject(here.dispatcher.steps + 2, start)
            here.settle()
            for driver in here.hand.drivers:
                driver.end(Ending.ABORTED)
            here.settle()

            assert isinstance(starts[0].error, Closing)
            assert ["RunStarted"] * 3 + ["RunEnded"] * 3 == here.life


@pytest.mark.parametrize("how", ["interrupt", "end"])
def test_a_turn_that_ends_takes_back_the_starts_that_it_has_under_way(
    here: Stage, how: str
) -> None:
    """
    A provider that never opens is not waited for: the start is refused when its turn is over.
    """
    slow = here.quietly("slow")

    @agent
    def parent(turn: Any) -> Steps:
        if turn.text == "start":
            starts.append(turn.start("slow", "of the turn"))
            starts.append(turn.start("slow", "of the run", background=True))
            yield turn.sleep(1)
        return turn.text

    starts: list[Any] = []
    run = here.runtime.open(parent, prompt="start").get()
    here.settle()
    if how == "interrupt":
        run.interrupt()
    here.dispatcher.advance(1)

    assert isinstance(starts[0].error, StartCancelled)
    assert not starts[1].is_done
    assert "next" == run.ask("next").get().text
    for door in slow.doors.values():
        door.resolve()
    here.settle()
    assert ["of the run"] == [driver.texts[0] for driver in slow.drivers if driver.turns]
    assert 2 == len(slow.drivers)


@agent
def steps_and_returns(turn: Any) -> Steps:
    """Start two children and return without a look at either."""
    turn.start("hand", "of the turn")
    turn.start("hand", "of the run", background=True)
    return "returned"
    yield


@agent
async def coroutine_that_returns(turn: Any) -> str:
    """Do the same in a coroutine."""
    turn.start("hand", "of the turn")
    turn.start("hand", "of the run", background=True)
    return "returned"


@pytest.mark.parametrize("parent", [steps_and_returns, coroutine_that_returns])
def test_a_child_that_nobody_waited_for_is_started_before_its_turn_is_over(parent: Any) -> None:
    """
    A turn's end comes behind the starts that it sent: ``drain`` and ``background`` hold.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            drained = here.runtime.start("spawn", "go", agent=parent, drain=True).get()
            here.settle()
            assert {"of the turn", "of the run"} == {
                driver.texts[0] for driver in here.hand.drivers
            }
            assert not drained.result.is_done
            for driver in here.hand.drivers:
                driver.end()
            assert COMPLETED == drained.result.get().stop_reason


def test_without_drain_the_end_of_the_turn_takes_its_own_child_along() -> None:
    """
    And leaves the run's: whether the turn's child came to be is a matter of the order.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            run = here.runtime.open(steps_and_returns, prompt="go").get()
            here.settle()
            found = {d.texts[0]: d for d in here.hand.drivers if d.turns}
            assert "of the run" in found
            assert [] == found["of the run"].stops
            if "of the turn" in found:
                assert 1 == len(found["of the turn"].stops)
            for driver in found.values():
                driver.end()
            here.settle()
            assert run.interrupt().get() is False


@pytest.mark.parametrize(
    ("limits", "most"),
    [(None, 31), (Limits(total=20), 20), (Limits(live=20), 31)],
    ids=["depth", "total", "live"],
)
def test_children_that_always_delegate_five_ways_are_stopped_at_the_number(
    limits: Limits | None, most: int
) -> None:
    """
    H47: depth and counts hold for the whole tree, and whoever is refused can read why.
    """
    reasons: set[str] = set()

    @agent
    def greedy(turn: Any) -> Steps:
        starts = [turn.start("spawn", "more", agent=greedy) for _ in range(5)]
        outcomes = yield from turn.wait(starts)
        reasons.update(str(one) for one in outcomes if not isinstance(one, RunResult))

    for seed in range(5):
        reasons.clear()
        with stage(seed) as here:
            start = here.runtime.start("spawn", "go", agent=greedy, max_depth=2, limits=limits)
            start.get().result.get().unwrap()
            alive, high = 0, 0
            for edge in here.life:
                alive += 1 if edge == "RunStarted" else -1
                high = max(high, alive)

        assert 6 <= here.life.count("RunStarted") <= most
        assert limits is None or high <= 20
        assert all("deeper than" in reason or "20 runs" in reason for reason in reasons)
        assert reasons


def test_a_fork_in_the_middle_of_a_turn_has_a_sound_log() -> None:
    """
    FRK-1, FRK-3, FRK-11: the open turn is not in it, and the next number goes on.
    """
    for seed in SEEDS:
        with stage(seed) as here:
            run, driver = here.resident("one", "two")
            driver.say("words of the first")
            driver.end()
            here.settle()
            driver.say("half of the second")
            fork = here.runtime.start("fork", "go", agent=answer, parent=run)
            here.dispatcher.inject(here.dispatcher.steps + 2, partial(driver.say, "meanwhile"))
            child = fork.get()
            before = run.transcript()
            assert COMPLETED == child.result.get().stop_reason

            log = child.transcript()
            assert () == violations(log)
            assert [1, 2] == [event.turn for event in log if isinstance(event, TurnStarted)]
            assert 1 == child.seed_turns
            assert [SeedEnded] == [type(event) for event in log if isinstance(event, SeedEnded)]
            assert "half of the second" not in str(log)
            assert before == run.transcript()[: len(before)]
            driver.end()


@agent
def answer(_: Any) -> Steps:
    """Answer."""
    return "answer"
    yield

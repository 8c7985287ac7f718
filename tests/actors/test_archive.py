"""What is kept of ended runs is bounded in number and in size."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import psutil
import pytest

from retinue.actors import Run, Runtime
from retinue.actors._archive import MOST_WEIGHT, RETAINED
from retinue.protocol.errors import NoSuchRun
from retinue.protocol.events import RunEnded
from tests.actors.behaviours import echo, ended, started
from tests.doubles import PATIENCE, Probe

MEGABYTE = 1_000_000


class Session:
    """Something that a closure holds."""


def test_nothing_keeps_what_an_ended_run_worked_with(runtime: Runtime) -> None:
    """
    H60: of many runs with a megabyte each in prompt, history and answer memory grows little,
    and no agent outlives its run; failed ones included.
    """

    def one(number: int) -> weakref.ref[Session]:
        session = Session()
        text = f"{number:06}" + "x" * MEGABYTE

        def behaviour(turn: Any) -> str:
            turn.say(text)
            if number % 10 == 0:
                raise ValueError(session)
            return text if session else ""

        run = started(runtime, behaviour, text)
        ended(run)
        run.dispose().get(timeout=PATIENCE)
        return weakref.ref(session)

    for number in range(20):
        one(number)
    before = psutil.Process().memory_info().rss
    sessions = [one(number) for number in range(200)]
    runtime.tree()
    gc.collect()

    assert psutil.Process().memory_info().rss - before < 50 * MEGABYTE
    assert 0 == sum(session() is not None for session in sessions)


def test_large_results_are_kept_as_long_as_there_is_room(runtime: Runtime) -> None:
    """
    The oldest are forgotten first; that their runs were there stays known.
    """
    size = MOST_WEIGHT // 4
    runs: list[Run] = []
    for _ in range(6):  # one after the other: the oldest is whose end came first
        runs.append(started(runtime, lambda _: "x" * size))
        ended(runs[-1])
        runs[-1].dispose().get(timeout=PATIENCE)

    assert [run.id for run in runs] == [row.run_id for row in runtime.tree()]
    for run in runs[:2]:
        with pytest.raises(NoSuchRun, match="not too large"):
            runtime.result_of(run.id)
    assert [size] * 4 == [len(runtime.result_of(run.id).text) for run in runs[2:]]


@pytest.mark.parametrize(
    "value", [["x" * 1000] * 500, {f"key {n}": "y" * 1000 for n in range(490)}, list(range(5000))]
)
def test_the_weight_of_data_counts(runtime: Runtime, value: Any) -> None:
    """
    A JSON value is measured, and a very long one is taken to be heavy.
    """
    runs: list[Run] = []
    for _ in range(200):
        runs.append(started(runtime, lambda _: value))
        ended(runs[-1])
    runtime.tree()

    with pytest.raises(NoSuchRun):
        runtime.result_of(runs[0].id)
    assert value == runtime.result_of(runs[-1].id).structured


def test_a_run_that_was_forgotten_is_still_watched(runtime: Runtime) -> None:
    """
    Whoever holds the run knows its result, and a watcher is told as always.
    """
    probe = Probe()
    first = started(runtime, echo, "first")
    ended(first)
    runs = [runtime.start("spawn", "more", agent=echo) for _ in range(RETAINED)]
    runtime.wait(runs).get(timeout=30)
    while len(runtime.tree()) > RETAINED:
        pass

    with pytest.raises(NoSuchRun):
        runtime.result_of(first.id)
    runtime.watch(first, probe.tell)
    event = probe.expect(RunEnded)

    assert (first.id, "first") == (event.run_id, event.result.text)
    assert RETAINED == len(runtime.tree())

"""Turns that a tool ends: what still runs with its step, and what may follow it."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from retinue.actors import Agent, DeterministicDispatcher, Runtime, Tool
from retinue.protocol.errors import Cancelled
from retinue.protocol.result import ABORTED, COMPLETED
from retinue.protocol.tool import Conclude
from tests.backends.loop.models import HOUR, Talker, calls, says, told


def finish() -> Conclude:
    """End the turn."""
    return Conclude("finishing", "the end")


def note() -> str:
    """Do something else."""
    return "noted"


TOOLS = [Tool("finish", finish), Tool("note", note)]


def test_what_was_called_beside_the_end_still_runs(runtime: Runtime) -> None:
    """
    LOG-12: the other calls of the step run and are logged in their order, and no request
    follows them.
    """
    model = Talker(calls(("a", "note", {}), ("b", "finish", {}), ("c", "note", {})))
    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=TOOLS)).get()

    result = run.result.get()

    assert (COMPLETED, "the end") == (result.stop_reason, result.text)
    answers = [line for line in told(run) if line.startswith(("a: ", "b: ", "c: "))]
    assert ["a: noted", "b: finishing", "c: noted"] == answers
    assert 1 == len(model.requests)


@pytest.mark.parametrize(
    ("last", "text"),
    [(says("so, then"), "so, then"), (calls(("b", "finish", {})), "the end")],
    ids=["in words", "by the tool again"],
)
def test_what_was_steered_meanwhile_gets_one_more_step(
    runtime: Runtime, last: Any, text: str
) -> None:
    """
    LOG-12, INB-9: the end is taken back for it, and the step after it decides what the
    turn gave.
    """
    receipts: list[Any] = []

    def answer(_: Any) -> Any:
        """Be steered while the end is called."""
        receipts.append(run.steer("and another thing"))
        return calls(("a", "finish", {}))

    model = Talker(answer, last)
    run: Any = runtime.start("spawn", "go", agent=Agent(model=model, tools=TOOLS)).get()

    assert (COMPLETED, text) == (run.result.get().stop_reason, run.result.get().text)
    assert 2 == receipts[0].get().step
    assert "and another thing" in model.requests[1].messages[-1].text


def test_a_turn_that_has_its_result_waits_for_no_background_run(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    LOG-12, H31: it is over, and who was left behind is named.
    """

    async def sleeper(_: Any) -> None:
        """Sleep."""
        await asyncio.sleep(HOUR)

    async def leave(turn: Any) -> Conclude:
        """Start somebody, and end the turn."""
        child = await turn.start("spawn", "go", agent=sleeper, background=True)
        return Conclude("left", str(child.id))

    agent = Agent(model=Talker(calls(("a", "leave", {}))), tools=[leave])
    result = runtime.start("spawn", "go", agent=agent).get().result.get()

    assert (result.text,) == result.abandoned
    assert HOUR > dispatcher.clock.now()


@pytest.mark.parametrize("seed", range(8))
def test_a_tool_that_cancels_its_own_run_is_the_last_thing_that_it_does(seed: int) -> None:
    """
    LOG-23: from inside of a step, in any order of what moves: no request follows, the calls
    after it are balanced, and the run is aborted.
    """
    asked: list[tuple[str, str, dict[str, Any]]] = [(name, "stop", {}) for name in "abc"]
    model = Talker(calls(*asked), says("one request too many"))

    async def stop(turn: Any) -> str:
        """Cancel the run, and return as if nothing had been."""
        turn.run.cancel("by its tool")
        return "stopped"

    with Runtime(dispatcher=DeterministicDispatcher(seed)) as runtime:
        agent = Agent(model=model, tools=[Tool("stop", stop)])
        run = runtime.start("spawn", "go", agent=agent).get()

        assert (ABORTED, 1) == (run.result.get().stop_reason, len(model.requests))
        lines = told(run)  # which is sound and balanced
        assert ["a: stopped", "ended aborted"] == [lines[4], lines[-1]]


@pytest.mark.parametrize("timeout", [None, HOUR], ids=["no time of its own", "an hour"])
@pytest.mark.parametrize("seed", range(3))
def test_no_tool_begins_after_its_turn_was_stopped(seed: int, timeout: float | None) -> None:
    """
    LOG-23: wherever the cancel strikes among twenty calls, what begins then is no tool.
    """
    begun: list[bool] = []
    ends: set[str] = set()

    async def work(turn: Any) -> str:
        """Say whether the turn is on."""
        try:
            turn.check()
        except Cancelled:
            begun.append(False)
        else:
            begun.append(True)
        return "worked"

    answer = calls(*[(f"c{number}", "work", {}) for number in range(20)])
    agent_tools = [Tool("work", work, timeout=timeout)]
    for moment in range(0, 60, 2):
        dispatcher = DeterministicDispatcher(seed)
        with Runtime(dispatcher=dispatcher) as runtime:
            agent = Agent(model=Talker(answer, says("done")), tools=agent_tools)
            run = runtime.start("spawn", "go", agent=agent).get()
            dispatcher.inject(dispatcher.steps + moment, partial(run.cancel, "enough"))
            ends.add(run.result.get().stop_reason)
            told(run)  # which is sound and balanced

    assert ABORTED in ends
    assert {True} == set(begun)

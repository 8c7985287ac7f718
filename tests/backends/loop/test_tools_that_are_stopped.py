"""What a tool knows of its turn's end, and who waits for a tool that cleans up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors import Agent, DeterministicDispatcher, Run, Runtime, Tool
from retinue.protocol.errors import Cancelled
from tests.backends.loop.models import HOUR, Talker, calls, says, told
from tests.doubles import PATIENCE, Gate, Probe

LONG = 100.0


class Busy:
    """A sync tool that computes, looks at its turn in between, and never waits for a Reply."""

    def __init__(self) -> None:
        self.gate = Gate()
        self.probe = Probe()

    def work(self, turn: Any) -> str:
        """Work until the test says so, and look around."""
        self.gate.wait()
        try:
            turn.check()
            self.probe.tell("to wrap up" if turn.wrapping_up else "to go on")
        except Cancelled as error:
            self.probe.tell(error)
        return "worked"


def interrupt(run: Run) -> None:
    """Interrupt the turn."""
    run.interrupt().get(timeout=PATIENCE)


def cancel(run: Run) -> None:
    """Cancel the run."""
    run.cancel().get(timeout=PATIENCE)


@pytest.mark.parametrize("stop", [interrupt, cancel])
def test_a_sync_tool_that_looks_sees_that_its_turn_was_stopped(stop: Any) -> None:
    """
    H85, LOG-14: a thread cannot be stopped, so that it is told wherever it looks.
    """
    busy = Busy()
    model = Talker(calls(("a", "work", {})), says("unused"))
    with Runtime() as runtime:
        resident = runtime.open(Agent(model=model, tools=[Tool("work", busy.work)])).get()
        resident.tell("go").get(timeout=PATIENCE)
        assert busy.gate.reached.wait(PATIENCE)
        stop(resident)
        busy.gate.open()

        busy.probe.expect(Cancelled)


def test_a_sync_tool_that_looks_sees_that_its_turn_is_to_wrap_up() -> None:
    """
    Section 1, wrap up: a long tool finishes with what it has, as its turn does.
    """
    busy = Busy()
    model = Talker(calls(("a", "work", {})), says("done"))
    with Runtime() as runtime:
        agent = Agent(model=model, tools=[Tool("work", busy.work)])
        run = runtime.start("spawn", "go", agent=agent).get(timeout=PATIENCE)
        assert busy.gate.reached.wait(PATIENCE)
        run.wrap_up().get(timeout=PATIENCE)
        busy.gate.open()

        assert "done" == run.result.get(timeout=PATIENCE).text
        assert "to wrap up" == busy.probe.expect(str)


def test_a_sync_tool_that_is_late_sees_that_its_call_was_cancelled() -> None:
    """
    Tool: the work of a call that is late is cancelled; its turn goes on without it.
    """
    busy = Busy()

    def listen() -> str:
        """Let the other go on while the turn does."""
        busy.gate.open()
        busy.probe.expect(Cancelled)
        return "heard"

    model = Talker(calls(("a", "work", {})), calls(("b", "listen", {})), says("done"))
    with Runtime() as runtime:
        tools = [Tool("work", busy.work, timeout=0.001), listen]
        run = runtime.start("spawn", "go", agent=Agent(model=model, tools=tools)).get()

        assert "done" == run.result.get(timeout=PATIENCE).text
        assert "b: heard" in told(run)


@pytest.mark.parametrize("timeout", [None, HOUR], ids=["no time of its own", "an hour"])
def test_a_run_is_not_over_before_its_tools_have_cleaned_up(
    runtime: Runtime, dispatcher: DeterministicDispatcher, timeout: float | None
) -> None:
    """
    Promise 4: a clean-up that takes longer than a turn's end may is cut short, and dispose
    returns after it and not before.
    """
    order: list[str] = []

    async def slow() -> str:
        """Wait, and clean up for long."""
        try:
            await asyncio.sleep(HOUR)
        finally:
            try:
                await asyncio.sleep(LONG)
            finally:
                await asyncio.sleep(1.0)
                order.append("cleaned up")
        return "never"

    model = Talker(calls(("a", "slow", {})))
    agent = Agent(model=model, tools=[Tool("slow", slow, timeout=timeout)])
    run = runtime.start("spawn", "go", agent=agent).get()
    dispatcher.run_until_idle()
    run.cancel()
    run.result.get()
    run.dispose().get()
    order.append("disposed")
    dispatcher.advance(2 * LONG)

    assert ["cleaned up", "disposed"] == order


def test_every_source_is_closed_whatever_the_first_raises(runtime: Runtime) -> None:
    """
    H85: an error of any kind keeps nobody else from letting go, and dispose tells of it.
    """
    closed: list[str] = []

    class Source:
        """A source without tools."""

        names = ()

        def __init__(self, name: str, error: BaseException | None = None) -> None:
            self.name = name
            self.error = error

        async def tools(self, _: Any) -> list[Tool]:
            """Offer nothing."""
            return []

        async def close(self, _: str) -> None:
            """Close, or fail at it."""
            closed.append(self.name)
            if self.error is not None:
                raise self.error

    sources = [Source("first", KeyboardInterrupt()), Source("second")]
    run = runtime.start("spawn", "go", agent=Agent(model=Talker(says("x")), tools=sources)).get()

    assert "x" == run.result.get().text
    with pytest.raises(Exception, match="would not close"):
        run.dispose().get()
    assert ["first", "second"] == closed


def test_a_result_may_have_a_field_of_any_name(runtime: Runtime) -> None:
    """
    STR-1: a schema's names are the user's, those included that Python code likes to use.
    """
    schema = {"type": "object", "properties": {"self": {"type": "integer"}}, "required": ["self"]}
    model = Talker(calls(("a", "structured_output", {"self": 1})))

    run = runtime.start("spawn", "go", agent=Agent(model=model), output_schema=schema).get()

    assert {"self": 1} == run.result.get().structured
    assert 'a: {"recorded": true}' in told(run)

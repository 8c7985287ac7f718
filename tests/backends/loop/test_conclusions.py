"""Tools that end a turn with their own result, and turns that go on all the same."""

from __future__ import annotations

import math
from typing import Any

import pytest

from retinue.actors import Agent, Runtime
from retinue.protocol.errors import Transient
from retinue.protocol.tool import Conclude
from tests.backends.loop.models import Talker, calls, says, told

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


def finish() -> Conclude:
    """End the turn."""
    return Conclude("noted", {"n": 1})


def look() -> str:
    """Look around."""
    return "seen"


def test_a_conclusion_is_the_result_as_what_a_behaviour_returns_is(runtime: Runtime) -> None:
    """
    LOG-12: a JSON value is the structured result too, and text is text.
    """
    agent = Agent(model=Talker(calls(("a", "finish", {}))), tools=[finish])
    result = runtime.start("spawn", "go", agent=agent).get().result.get()

    assert {"n": 1} == result.structured
    assert {"n": 1} == result.unwrap()


@pytest.mark.parametrize("output", [object(), {1}, b"bytes", math.nan], ids=repr)
def test_a_conclusion_that_is_no_result_ends_no_turn(runtime: Runtime, output: object) -> None:
    """
    Promise 1: it could be neither logged nor read; whoever wrote the tool is told.
    """

    def conclude() -> Conclude:
        """End the turn, or try to."""
        return Conclude("noted", output)

    model = Talker(calls(("a", "conclude", {})), says("went on"))
    run = runtime.start("spawn", "go", agent=Agent(model=model, tools=[conclude])).get()

    assert "went on" == run.result.get().text
    said = next(line for line in told(run) if line.startswith("a:"))
    assert "expected text, content blocks, a JSON value or None" in said


def test_a_conclusion_without_the_demanded_result_ends_one_step_and_no_more(
    runtime: Runtime,
) -> None:
    """
    STR-9: a model that was nudged may look around again before it gives its result.
    """
    result = calls(("c", "structured_output", {"n": 2}))
    model = Talker(calls(("a", "finish", {})), calls(("b", "look", {})), result)
    agent = Agent(model=model, tools=[finish, look], nudges=1)
    run = runtime.start("spawn", "go", agent=agent, output_schema=SCHEMA).get()

    assert {"n": 2} == run.result.get().structured
    assert "b: seen" in told(run)


@pytest.mark.parametrize("after", [math.inf, "3"], ids=repr)
def test_a_pause_that_is_no_time_does_not_close_the_gate_for_good(
    runtime: Runtime, after: Any
) -> None:
    """
    H76: all children of a model wait at one gate, so that one odd answer may not lock it.
    """
    model = Talker(Transient("busy", after), says("first"), says("second"))
    agent = Agent(model=model)

    assert "first" == runtime.start("spawn", "go", agent=agent).get().result.get().text
    assert "second" == runtime.start("spawn", "go", agent=agent).get().result.get().text

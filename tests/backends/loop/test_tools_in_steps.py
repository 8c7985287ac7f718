"""A tool call is a part of a step: what a tool may do in it, and what its model is told."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors import Agent, DeterministicDispatcher, Runtime, Tool
from tests.backends.loop.models import Talker, calls, says, told

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}


async def wait() -> str:
    """Wait for a while."""
    await asyncio.sleep(10.0)
    return "waited"


async def step_on_the_loop(turn: Any) -> str:
    """Ask for a step edge after a while."""
    await turn.sleep(10.0)
    return str(await turn.step())


def step_on_a_thread(turn: Any) -> str:
    """Ask for a step edge after a while."""
    turn.sleep(10.0)
    return str(turn.step())


@pytest.mark.parametrize("function", [step_on_the_loop, step_on_a_thread])
def test_a_tool_ends_no_step_of_its_model(
    runtime: Runtime, dispatcher: DeterministicDispatcher, function: Any
) -> None:
    """
    LOG-13, H46: its call has no answer yet, and what is steered is for the model: a step that
    ended there would lose both from every later request.
    """
    model = Talker(calls(("a", "look", {})), says("done"))
    agent = Agent(model=model, tools=[Tool("look", function)])
    run = runtime.start("spawn", "go", agent=agent).get()
    dispatcher.advance(1.0)
    receipt = run.steer("by the way")  # type: ignore[attr-defined]

    assert "done" == run.result.get().text
    assert 2 == receipt.get().step
    sound = told(run)  # which insists on a sound log
    assert "turn.check()" in next(line for line in sound if line.startswith("a:"))
    assert ["go", "", "", "by the way"] == [message.text for message in model.requests[1].messages]


def test_a_model_that_calls_a_tool_after_wrap_up_is_told_why_it_does_not_run(
    runtime: Runtime, dispatcher: DeterministicDispatcher
) -> None:
    """
    TOOL-31: there is such a tool, and it would be a lie to say that there is none.
    """
    given = calls(("c", "structured_output", {"n": 1}))
    model = Talker(calls(("a", "wait", {})), calls(("b", "wait", {})), given)
    agent = Agent(model=model, tools=[wait], nudges=1)
    run = runtime.start("spawn", "go", agent=agent, output_schema=SCHEMA).get()
    dispatcher.advance(1.0)
    run.wrap_up()

    assert {"n": 1} == run.result.get().structured
    assert "b: not run: the turn is to finish with what it has" in told(run)
    offers = [[tool.name for tool in request.tools] for request in model.requests]
    assert [["wait", "structured_output"], ["structured_output"], ["structured_output"]] == offers


def test_a_model_that_calls_no_tool_of_its_own_is_told_of_the_one_for_results(
    runtime: Runtime,
) -> None:
    """
    PER-6, STR-13: the tools that it is told of are those that it was shown.
    """
    model = Talker(calls(("a", "output", {"n": 1})), calls(("b", "structured_output", {"n": 1})))
    run = runtime.start("spawn", "go", agent=Agent(model=model), output_schema=SCHEMA).get()

    assert {"n": 1} == run.result.get().structured
    assert "a: unknown tool 'output'; there are: structured_output" in told(run)

"""When the tools are there, what they say of themselves, and who keeps them."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, Limits, ToolFilter
from retinue.actors.tools import subagent
from retinue.backends.inprocess import InProcess
from retinue.protocol.delegation import Capabilities
from retinue.protocol.errors import (
    InvalidAgent,
    InvalidDepth,
    InvalidLimit,
    InvalidRequest,
    InvalidSchema,
    InvalidToolFilter,
)
from tests.actors.tools.chiefs import (
    Chief,
    call,
    calls,
    delegate,
    names,
    returned,
    unoffered,
    worker,
)

ALL = ["subagent", "subagent_output", "subagent_cancel", "subagent_wait"]


def test_a_tool_comes_and_goes_with_its_provider(chief: Chief) -> None:
    """TOOL-15: no order of loading; its absence is seen in the very next request."""
    run = chief.open(lambda _: "ok", subagent("late", agent=worker))
    run.ask("1").get()
    remove = chief.runtime.register(InProcess("late")).get()
    run.ask("2").get()
    remove()
    run.ask("3").get()
    chief.runtime.register(InProcess("late", inherits_context=True)).get()
    run.ask("4").get()

    assert [[], ALL, [], ALL] == [names(request) for request in chief.requests]
    before, after = chief.requests[1].tools[0], chief.requests[3].tools[0]
    assert "knows nothing of this conversation" in before.description
    assert "begins with the completed turns" in after.description


def test_a_call_after_the_provider_has_gone_starts_nothing(chief: Chief) -> None:
    """TOOL-15: the tool is unknown then, as whatever is not there."""
    run = chief.start([unoffered(delegate("x")), "oh"], subagent("nowhere", agent=worker))
    run.result.get()

    (result,) = returned(run)
    assert result.is_error
    assert result.text.startswith("unknown tool 'subagent'")


@pytest.mark.parametrize(
    ("provider", "inherits", "prompt"),
    [("spawn", False, "The whole task."), ("fork", True, "The task, on top of the turns so far.")],
)
def test_wording_follows_what_a_child_begins_with(
    chief: Chief, provider: str, prompt: str, *, inherits: bool
) -> None:
    """TOOL-16: a standalone prompt, or one that builds on the conversation."""
    chief.run(["ok"], subagent(provider, agent=worker))

    (tool, *_) = chief.requests[0].tools
    assert inherits == ("begins with the completed turns" in tool.description)
    assert inherits != ("knows nothing of this conversation" in tool.description)
    assert prompt == tool.parameters["properties"]["prompt"]["description"]


@pytest.mark.parametrize("background", [True, False])
def test_wording_claims_no_background_where_there_is_none(
    chief: Chief, *, background: bool
) -> None:
    """TOOL-2, TOOL-16: neither in the schema nor in any text."""
    chief.run(["ok"], subagent(agent=worker, background=background))

    (request,) = chief.requests
    said = f"{request.instructions} {request.tools}"
    assert background == ("background" in said)
    assert (ALL if background else ALL[:1]) == names(request)
    assert ["description", "prompt"] == request.tools[0].parameters["required"]


def test_a_schema_is_said_and_held(chief: Chief) -> None:
    """STR: the result is the value as JSON, and what does not fit is an error."""
    tool = subagent(agent=lambda turn: {"n": len(turn.text)}, output_schema={"type": "object"})
    bad = subagent(agent=lambda turn: [turn.text], output_schema={"type": "object"}, name="bad")

    run = chief.start([calls(delegate("four"), delegate("x", "bad")), "ok"], tool, bad)
    run.result.get()

    good, short = returned(run)
    assert '{"n": 4}' == good.text.splitlines()[1]
    assert short.is_error
    assert "gave no result that fits its schema" in short.text
    assert "JSON value of a fixed form" in chief.requests[0].tools[0].description


def test_guidance_is_there_while_the_tool_is(chief: Chief) -> None:
    """TOOL-18: neither without the provider nor for whom a filter has taken the tool away."""
    for kept, provider in [(None, "spawn"), (ToolFilter(deny=("subagent",)), "spawn"), (None, "x")]:
        chief.run(["ok"], subagent(provider, agent=worker), tool_filter=kept)

    told, filtered, absent = [request.instructions for request in chief.requests]
    assert "You can delegate with subagent" in told
    assert "was written by another agent" in told
    assert "" == filtered == absent


def test_guidance_says_when_ends_are_told(chief: Chief) -> None:
    """TOOL-16: a resident is woken, anybody else's turn goes on until its runs have ended."""
    chief.run(["ok"])
    chief.open(["ok"]).ask("go").get()

    one_shot, resident = [request.instructions for request in chief.requests]
    assert "your turn does not end before" in one_shot
    assert "your turn does not end before" not in resident
    assert "do not poll" in resident


def test_sections_stand_in_one_order(chief: Chief) -> None:
    """PER-10, STR-13: part, guidance, delegation, result; the same bytes for each request."""
    child = chief.agent(
        {"0": [calls(delegate("0 x")), calls(call("structured_output"))]},
        subagent(agent=worker),
        instructions="You are thorough.",
    )
    outer = subagent(agent=child, output_schema={"type": "object"})
    chief.run({"": [calls(delegate("go")), "ok"]}, outer)

    first, second = [request.instructions for request in chief.requests if request.path[1:]]
    sections = first.split("\n\n")
    assert first == second
    assert ["You are thorough.", "You can", "What stands", "You work for", "Give your result"] == [
        section[: len(start)]
        for section, start in zip(
            sections,
            ["You are thorough.", "You can", "What stands", "You work for", "Give your result"],
            strict=True,
        )
    ]


@pytest.mark.parametrize("kept", ["allow", "deny"])
def test_who_keeps_the_start_keeps_what_stops(chief: Chief, kept: str) -> None:
    """H03: who allows the start allows its companions; who denies one of them is refused."""
    agent = chief.agent(["ok"])
    if kept == "allow":
        chief.runtime.start(
            "spawn", "go", agent=agent, tool_filter={"allow": ["subagent"]}
        ).get().result.get()
        assert ALL == names(chief.requests[0])
        return
    with pytest.raises(InvalidToolFilter, match="subagent_cancel is not"):
        chief.runtime.start(
            "spawn", "go", agent=agent, tool_filter={"deny": ["subagent_cancel"]}
        ).get()


def test_tools_of_several_providers_live_side_by_side(chief: Chief) -> None:
    """TOOL-1: one per provider, under names of their own."""
    tools = (subagent(agent=worker), subagent("fork", name="fork_self", agent=worker))

    chief.run(["ok"], *tools)

    assert {"subagent", "fork_self", "fork_self_wait"} < set(names(chief.requests[0]))


def test_one_name_twice_is_refused_at_once() -> None:
    """TOOL-19: when the agent is made, and not when a provider appears."""
    with pytest.raises(InvalidAgent, match="two have one name"):
        Agent(model="scripted:x", tools=[subagent(), subagent("fork")])


def test_what_the_provider_cannot_honour_is_no_tool(chief: Chief) -> None:
    """TOOL-17: whoever made the tool hears it in the first turn, and no model reads a promise."""
    plain = InProcess("plain")
    plain.capabilities = Capabilities(output_schema=True)
    chief.runtime.register(plain).get()

    result = chief.run(["ok"], subagent("plain", agent=worker, persona="You are brief."))

    assert "error" == result.stop_reason
    assert "subagent: provider 'plain' cannot honour persona" in str(result.diagnostic)
    assert not chief.requests


def test_a_provider_without_depths_is_given_none(chief: Chief) -> None:
    """TOOL-17: the depth that nobody asked for is left out where nobody could hold it."""
    plain = InProcess("plain")
    plain.capabilities = Capabilities()
    chief.runtime.register(plain).get()

    run = chief.start([calls(delegate("0 x")), "ok"], subagent("plain", agent=worker))

    assert run.result.get().is_success
    assert not returned(run)[0].is_error


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"name": "two words"}, InvalidAgent, "letters, digits"),
        ({"name": ""}, InvalidAgent, "letters, digits"),
        ({"provider": ""}, InvalidAgent, "name of a provider"),
        ({"agent": 3}, InvalidAgent, "int"),
        ({"background": "yes"}, InvalidAgent, "True or False"),
        ({"most": 0}, InvalidAgent, "whole number from 1"),
        ({"most": True}, InvalidAgent, "whole number from 1"),
        ({"persona": 3}, InvalidRequest, "persona"),
        ({"options": [1]}, InvalidRequest, "options"),
        ({"tool_filter": {}}, InvalidToolFilter, "allow"),
        ({"tool_filter": ToolFilter()}, InvalidToolFilter, "empty"),
        ({"tool_filter": {"allow": ["x"]}, "agent": worker}, InvalidToolFilter, "unknown tools x"),
        ({"max_depth": -1}, InvalidDepth, "whole number"),
        ({"max_depth": "deep"}, InvalidDepth, "whole number"),
        ({"limits": 3}, InvalidLimit, "limits"),
        ({"limits": Limits(live=0)}, InvalidLimit, "at least 1"),
        ({"deadline": 0}, InvalidLimit, "deadline"),
        ({"output_schema": {"type": "wrong"}}, InvalidSchema, "wrong"),
    ],
)
def test_what_makes_no_sense_is_refused_when_the_tool_is_made(
    options: dict[str, Any], error: type[Exception], words: str
) -> None:
    """TOOL-17: an empty filter, a bad cap and the like fail at once, and never in mid-turn."""
    with pytest.raises(error, match=words):
        subagent(**options)


def test_a_filter_that_denies_allows_the_rest(chief: Chief) -> None:
    """TOOL-17: deny alone makes no empty list of what is allowed."""

    def tool() -> str:
        """Do."""
        return "done"

    def other() -> str:
        """Do."""
        return "done"

    model = chief.agent(lambda _: "ok").model
    child = Agent(model=model, tools=[tool, other])
    chief.run(
        [calls(delegate("x")), "ok"],
        subagent(agent=child, tool_filter={"deny": ["other"]}),
    )

    (request,) = [request for request in chief.requests if request.path[1:]]
    assert ["tool"] == names(request)


def test_a_caller_without_the_tool_has_none_of_it(chief: Chief) -> None:
    """PER-6: what a filter takes away is unknown, whoever calls it."""
    run = chief.start([unoffered(delegate("x")), "oh"], tool_filter={"allow": []})
    run.result.get()

    assert returned(run)[0].text.startswith("unknown tool 'subagent'")
    assert [] == names(chief.requests[0])

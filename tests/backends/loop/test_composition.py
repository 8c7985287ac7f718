"""What a child is made of: all there before its first request, in one order, or no child."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, DeterministicDispatcher, Run, Runtime, Tool
from retinue.protocol.errors import RetinueError
from retinue.protocol.log import PolicySet, SeedEnded, TurnStarted
from retinue.protocol.model import ModelRequest
from tests.backends.loop.cities import CITY, GOOD, gives
from tests.backends.loop.models import Talker, says
from tests.backends.tools.offers import TOOLS, fine
from tests.backends.tools.using import caller, offered, texts
from tests.doubles import Probe

SHAPE: dict[str, Any] = {
    "persona": "You are a nun.",
    "tool_filter": {"allow": ["read"]},
    "output_schema": CITY,
    "options": {"temperature": 0.5},
}


class Parent:
    """A resident whose every turn starts one child, with the options of the moment."""

    def __init__(self, runtime: Runtime, **options: Any) -> None:
        self.children: list[Run] = []
        self.options: dict[str, Any] = {}
        self.run = runtime.open(Agent(self.turn, tools=TOOLS), **options).get()

    async def turn(self, turn: Any) -> str:
        """Start a child, unless this is the turn that is there to be forked."""
        if turn.text == "fork me":
            return "forked"
        child = await turn.start(turn.text, "go", **self.options)
        self.children.append(child)
        return str((await child.result).stop_reason)

    def start(self, provider: str = "spawn", **options: Any) -> Run:
        """Start a child to its end."""
        self.options = options
        self.run.ask(provider).get()
        return self.children[-1]


@pytest.mark.parametrize("provider", ["spawn", "fork"])
def test_the_very_first_request_is_whole(runtime: Runtime, provider: str) -> None:
    """
    PER-1: persona, delegation, tools, result, options and, for a fork, the conversation.
    """
    model = Talker(gives(GOOD))
    parent = Parent(runtime)
    parent.run.ask("fork me").get()

    child = parent.start(provider, agent=Agent(model=model, tools=TOOLS), **SHAPE)

    assert GOOD == child.result.get().unwrap()
    (request,) = model.requests
    assert (1 + (provider == "fork"), 1) == (request.turn, request.step)
    assert ["read", "structured_output"] == offered(model)
    assert {"temperature": 0.5} == request.options
    assert _sections(request) == ["You are a nun.", "You work for", "Give your result"]
    said = [message.text for message in request.messages]
    assert "go" == said[-1]
    assert (["fork me", "forked"] if provider == "fork" else ["go"]) == said[:2]


def _sections(request: ModelRequest) -> list[str]:
    starts = ("You are a nun.", "You work for", "Give your result")
    return [
        next(start for start in starts if section.startswith(start))
        for section in request.instructions.split("\n\n")
    ]


def broken(**fields: Any) -> dict[str, Any]:
    """Return options with an agent that cannot work, whose tools nobody filters."""
    return {"agent": Agent(model=Talker(), **fields), "tool_filter": None}


BROKEN: dict[str, tuple[dict[str, Any], str]] = {
    "schema": ({"output_schema": {"type": "objekt"}}, "objekt"),
    "filter": ({"tool_filter": {"allow": ["ghost"]}}, "unknown tools ghost"),
    "persona": ({"persona": 3}, "persona: expected"),
    "options": ({"options": {"max_tokens": 0}}, "max_tokens is a whole number from 1"),
    "tries": ({"options": {"tries": 0}}, "option tries: expected"),
    "model": ({"options": {"model": 3}}, "model"),
    "name": (broken(tools=[Tool("structured_output", fine)]), "is the runtime's own"),
    "signature": (broken(tools=[Tool("odd", lambda *paths: paths)]), "tool 'odd'"),
}


@pytest.mark.parametrize("part", BROKEN)
def test_a_part_that_cannot_be_made_leaves_no_child(runtime: Runtime, part: str) -> None:
    """
    PER-1: nobody hears of a child, no model is asked, and its place is free again.
    """
    probe, model = Probe(), Talker(says("done"))
    parent = runtime.open(fine).get()
    runtime.subscribe(probe.tell)
    sound = {"agent": Agent(model=model, tools=TOOLS), **SHAPE, "parent": parent}

    wrong, words = BROKEN[part]
    with pytest.raises(RetinueError, match=words):
        runtime.start("spawn", "go", **{**sound, **wrong}).get()

    assert [] == probe.unread()
    assert [parent.id] == [row.run_id for row in runtime.tree()]
    assert [] == model.requests


@pytest.mark.parametrize("provider", ["spawn", "fork"])
def test_what_binds_a_child_is_written_down_before_its_first_turn(provider: str) -> None:
    """
    PER-2: behind the seed and before the first turn: the policies that it inherited, then
    what it keeps of its tools.
    """
    dispatcher = DeterministicDispatcher(0)
    with Runtime(dispatcher=dispatcher, policy={"delegated_approval": "always"}) as runtime:
        parent = Parent(runtime)
        parent.run.ask("fork me").get()
        agent = Agent(model=Talker(says("done")), tools=TOOLS)

        child = parent.start(provider, agent=agent, tool_filter={"deny": ["write"]})

    events = child.own_transcript()
    begun = next(n for n, event in enumerate(events) if isinstance(event, TurnStarted))
    written = [e for e in events[:begun] if isinstance(e, (SeedEnded, PolicySet))]
    names = [getattr(event, "name", "seed") for event in written]
    policies = ["delegated_approval", "approval", "tools"]
    assert ["seed"] * (provider == "fork") + policies == names


def test_under_its_own_rules_a_child_has_what_its_parent_may_not_use(runtime: Runtime) -> None:
    """
    PER-8, H65: a parent's own restriction is no child's where the start says so: the tool is
    offered, it runs, and the record says whose rules they are.
    """
    parent = Parent(runtime, tool_filter={"deny": ["write"]})
    for rules, text in (("own", "fine"), ("ceiling", "unknown tool 'write'")):
        model = caller(("write", {}))
        agent = Agent(model=model, tools=TOOLS)

        child = parent.start(agent=agent, tool_rules=rules)

        assert (rules == "own") == ("write" in offered(model))
        assert texts(child)[0].startswith(text)
        records: list[Any] = [e.value for e in child.own_transcript() if isinstance(e, PolicySet)]
        assert ["write"] * (rules == "ceiling") == (records[0]["deny"] if records else [])

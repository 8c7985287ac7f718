"""Filters down the tree: a parent's binds its child, or does not, and the child's log says so."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Run, Runtime
from retinue.protocol.agent import Agent
from retinue.protocol.errors import InvalidToolFilter, UnsupportedCapability
from retinue.protocol.log import PolicySet
from retinue.protocol.tool import Tool
from tests.actors.behaviours import opened
from tests.backends.loop.models import Talker, says
from tests.backends.tools.offers import PAIR, TOOLS, fine
from tests.backends.tools.using import ended, offered, with_tools
from tests.doubles import PATIENCE


def record(run: Run) -> list[Any]:
    """Return what a run's own log says of its tools."""
    return [
        event.value
        for event in run.own_transcript()
        if isinstance(event, PolicySet) and event.name == "tools"
    ]


class Family:
    """A parent that starts children with one set of tools, by several models."""

    def __init__(self, runtime: Runtime, **parents: Any) -> None:
        self.children: list[Run] = []
        self.models: list[Talker] = []
        self.options: dict[str, Any] = {}
        self.run = opened(runtime, Agent(self.turn, tools=TOOLS), **parents)

    def turn(self, turn: Any) -> str:
        """Start a child with the options of the moment, and a grandchild where it is told."""
        model = Talker(says("done"))
        self.models.append(model)
        agent = with_tools(model, TOOLS)
        options = self.options
        if turn.text == "grandchild":
            middle = turn.open(Agent(self.turn, tools=TOOLS), **options)
            self.options = {}
            self.children.append(middle)
            return "started"
        child = turn.start("spawn", "go", agent=agent, **options)
        child.result.get()
        self.children.append(child)
        return "started"

    def start(self, prompt: str = "child", **options: Any) -> list[str]:
        """Start a child, and return the tools that its model was offered."""
        self.options = options
        result = self.run.ask(prompt).get(timeout=PATIENCE)
        assert "started" == result.text, result
        return offered(self.models[-1])


@pytest.mark.parametrize(
    ("parents", "rules", "own", "kept"),
    [
        ({"deny": ["remove"]}, None, None, ["read", "write"]),
        ({"deny": ["remove"]}, "ceiling", {"deny": ["write"]}, ["read"]),
        ({"allow": ["read"]}, "ceiling", {"allow": ["read", "write"]}, ["read"]),
        ({"allow": ["read"]}, "own", {"allow": ["read", "write"]}, ["read", "write"]),
        ({"allow": ["read"]}, "own", None, ["read", "write", "remove"]),
        ({"deny": ["read"]}, "own", {"deny": ["write"]}, ["read", "remove"]),
    ],
)
def test_a_parents_filter_binds_its_child_or_not_as_the_start_says(
    threaded: Runtime, parents: Any, rules: str | None, own: Any, kept: list[str]
) -> None:
    """
    H64, H65, PER-4: a ceiling by default, own rules on demand, a child's denial always; the
    child's log says which, and what came of it.
    """
    family = Family(threaded, tool_filter=parents)

    assert kept == family.start(tool_rules=rules, tool_filter=own)
    (told,) = record(family.children[0])
    assert (rules or "ceiling") == told["rules"]
    allowed = told["allow"] is None or set(kept) <= set(told["allow"])
    assert allowed
    assert not set(kept) & set(told["deny"])


def test_a_ceiling_holds_for_grandchildren(threaded: Runtime) -> None:
    """
    Each level's filter is what both keep, and so is the ceiling of the next.
    """
    family = Family(threaded, tool_filter={"deny": ["remove"]})
    family.start("child", tool_filter={"deny": ["write"]})
    family.options = {"tool_filter": {"deny": ["write"]}}
    assert "started" == family.run.ask("grandchild").get(timeout=PATIENCE).text
    middle = family.children[-1]
    middle.ask("child").get(timeout=PATIENCE)

    assert ["read"] == offered(family.models[-1])
    (told,) = record(family.children[-1])
    assert {"rules": "ceiling", "allow": None, "deny": ["write", "remove"]} == told


def test_a_run_without_a_filter_has_no_record_of_one(threaded: Runtime) -> None:
    """
    What nobody filtered is in no log.
    """
    family = Family(threaded)

    assert ["read", "write", "remove"] == family.start()
    assert [] == record(family.children[0])


def test_trees_show_what_a_live_run_keeps(threaded: Runtime) -> None:
    """
    H65: which policy holds is to be seen without reading the log.
    """
    family = Family(threaded, tool_filter={"allow": ["read", "write"], "deny": ["write"]})
    (row,) = threaded.tree()

    assert "ceiling: only read, write, not write" == row.tools
    assert ", tools ceiling: only read, write, not write" in row.line()
    assert family.run.id == row.run_id


def test_a_provider_that_cannot_filter_takes_no_child_of_a_filtered_run(
    threaded: Runtime,
) -> None:
    """
    Refused loudly or honoured: the error says how to go on without the ceiling.
    """

    class Blunt:
        """A provider without capabilities."""

        name = "blunt"
        inherits_context = accepts_seed = False
        is_immediate = True

        def __init__(self) -> None:
            from retinue.backends.inprocess import InProcess
            from retinue.protocol.delegation import NO_CAPABILITIES

            self.capabilities = NO_CAPABILITIES
            self.open = InProcess("spawn").open

    threaded.register(Blunt()).get(timeout=PATIENCE)
    said: list[str] = []

    def work(turn: Any) -> str:
        with pytest.raises(UnsupportedCapability) as caught:
            turn.start("blunt", "go", agent=lambda turn: turn.text)
        said.append(str(caught.value))
        child = turn.start("blunt", "go", agent=lambda turn: turn.text, tool_rules="own")
        return str(child.result.get().text)

    run = threaded.start(
        "spawn", "go", agent=Agent(work, tools=TOOLS), tool_filter={"deny": ["write"]}
    ).get(timeout=PATIENCE)

    assert "go" == ended(run).text
    assert "start(tool_rules='own') lets a child have tools of its own" in said[0]


def test_a_ceiling_that_parts_companions_refuses_the_child(threaded: Runtime) -> None:
    """
    H03: also where the parent's filter would take the companion away.
    """

    def work(turn: Any) -> str:
        with pytest.raises(InvalidToolFilter, match="they belong together"):
            turn.start("spawn", "go", agent=with_tools(Talker(), PAIR))
        return "refused"

    plain = [Tool("stop", fine), Tool("other", fine)]
    run = threaded.start(
        "spawn", "go", agent=Agent(work, tools=plain), tool_filter={"deny": ["stop"]}
    ).get(timeout=PATIENCE)

    assert "refused" == ended(run).text


@pytest.mark.parametrize("rules", ["ceiling", "own"])
def test_a_resumed_run_keeps_what_was_kept(threaded: Runtime, rules: str) -> None:
    """
    PER-12: what bound the run before, its parent's ceiling included, binds the one after.
    """
    family = Family(threaded, tool_filter={"deny": ["remove"]})
    family.start(tool_rules=rules, tool_filter={"deny": ["write"]})
    model = Talker(says("done"))
    before = family.children[0]
    after = before.resume("on", agent=with_tools(model, TOOLS)).get(timeout=PATIENCE)  # type: ignore[attr-defined]

    ended(after)
    assert (["read"] if rules == "ceiling" else ["read", "remove"]) == offered(model)
    assert record(before) == record(after)


def test_a_fork_with_own_rules_does_not_go_by_its_parents_record(threaded: Runtime) -> None:
    """
    A fork's log begins with its parent's, where the parent's filter is written down.
    """
    found: list[Run] = []
    models = [Talker(says("one")), Talker(says("two"))]

    def work(turn: Any) -> str:
        if turn.text == "fork":
            agent = with_tools(models[0], TOOLS)
            child = turn.start("fork", "go", agent=agent, tool_rules="own")
            child.result.get()
            found.append(child)
        return "done"

    root = opened(threaded, Agent(work, tools=TOOLS), tool_filter={"deny": ["remove"]})
    for text in ("first", "fork"):
        root.ask(text).get(timeout=PATIENCE)
    agent = with_tools(models[1], TOOLS)
    after = found[0].resume("on", agent=agent).get(timeout=PATIENCE)  # type: ignore[attr-defined]
    ended(after)

    assert [{"rules": "own", "allow": None, "deny": []}] == record(found[0])
    assert ["read", "write", "remove"] == offered(models[0]) == offered(models[1])

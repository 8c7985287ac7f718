"""Which tools a run keeps: hidden and refused, narrowed down the tree, written in its log."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Runtime
from retinue.protocol.errors import InvalidRequest, InvalidToolFilter
from retinue.protocol.tool import Tool
from tests.backends.loop.models import Talker, calls, says
from tests.backends.tools.offers import PAIR, TOOLS, fine
from tests.backends.tools.using import caller, ended, offered, texts, with_tools


class Later:
    """A source of tools that come and go."""

    names = None

    def __init__(self, *offers: tuple[str, ...]) -> None:
        self.offers = list(offers)

    async def tools(self, turn: Any) -> list[Tool]:
        """Return what it offers now."""
        del turn
        names = self.offers.pop(0) if len(self.offers) > 1 else self.offers[0]
        return [Tool(name, fine) for name in names]

    async def close(self, run_id: str) -> None:
        """Hold nothing."""


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"allow": ["read", "write"]}, ["read", "write"]),
        ({"allow": ["read", "write"], "deny": ["write"]}, ["read"]),
        ({"deny": ["write"]}, ["read", "remove"]),
        ({"allow": []}, []),
    ],
    ids=repr,
)
def test_what_a_filter_takes_away_is_hidden_and_refused(
    runtime: Runtime, given: dict[str, Any], kept: list[str]
) -> None:
    """
    PER-4, PER-6, PER-7: not in the request, and unknown when it is called all the same.
    """
    model = caller(("read", {}), ("write", {}), ("remove", {}))
    run = runtime.start("spawn", "go", agent=with_tools(model, TOOLS), tool_filter=given).get()

    ended(run)
    assert kept == offered(model)
    names = ", ".join(kept) or "none"
    assert [
        "fine" if name in kept else f"unknown tool '{name}'; there are: {names}"
        for name in ("read", "write", "remove")
    ] == texts(run)


@pytest.mark.parametrize(
    ("given", "later"),
    [({"deny": ["write"]}, ["read", "more"]), ({"allow": ["read"]}, ["read"])],
    ids=repr,
)
def test_tools_that_come_later_pass_a_denial_and_no_allowance(
    runtime: Runtime, given: dict[str, Any], later: list[str]
) -> None:
    """
    PER-7: deny alone admits what is registered later, allow excludes it.
    """
    source = Later(("read", "write"), ("read", "write", "more"))
    model = Talker(calls(("c1", "read", {})), says("done"))
    run = runtime.start("spawn", "go", agent=with_tools(model, [source]), tool_filter=given).get()

    ended(run)
    assert ["read"] == offered(model, 0)
    assert later == offered(model, 1)


def test_a_name_that_never_came_ends_the_first_turn(runtime: Runtime) -> None:
    """
    VAL-7: where names come with their source, the unknown one is told as soon as they are.
    """
    agent = with_tools(Talker(), [Later(("read", "write"))])
    run = runtime.start("spawn", "go", agent=agent, tool_filter={"deny": ["wriet"]}).get()

    result = ended(run)
    assert "error" == result.stop_reason
    assert "unknown tools wriet; the agent has read, write" == result.diagnostic
    assert isinstance(result.error, InvalidToolFilter)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ({"allow": ["start"]}, ["start", "stop", "list"]),
        ({"allow": ["read"]}, ["read"]),
        ({"allow": ["stop"]}, ["stop"]),
        ({"deny": ["start", "stop"]}, ["list", "read"]),
    ],
    ids=repr,
)
def test_who_keeps_a_tool_keeps_its_companions(
    runtime: Runtime, given: dict[str, Any], kept: list[str]
) -> None:
    """
    H03: what starts something comes with what stops it and lists it.
    """
    model = Talker(says("done"))
    ended(runtime.start("spawn", "go", agent=with_tools(model, PAIR), tool_filter=given).get())

    assert kept == offered(model)


@pytest.mark.parametrize(
    "given", [{"deny": ["stop"]}, {"allow": ["start"], "deny": ["list", "stop"]}], ids=repr
)
def test_a_filter_that_parts_companions_is_refused(runtime: Runtime, given: Any) -> None:
    """
    H03: a child that could start and not stop is not started.
    """
    with pytest.raises(InvalidToolFilter, match="they belong together") as caught:
        runtime.start("spawn", "go", agent=with_tools(Talker(), PAIR), tool_filter=given).get()
    assert "deny 'start' too" in str(caught.value)


def test_other_rules_are_refused(runtime: Runtime) -> None:
    """
    There are two, and the error names them.
    """
    with pytest.raises(InvalidRequest, match="tool_rules: expected ceiling or own, got 'none'"):
        runtime.start("spawn", "go", agent=fine, tool_rules="none").get()


def test_two_tools_of_one_name_are_refused_when_they_meet(runtime: Runtime) -> None:
    """
    Which of the two is called would be chance; one that is filtered out is in nobody's way.
    """
    tools = [Later(("read",)), Later(("read", "write"))]
    both = runtime.start("spawn", "go", agent=with_tools(Talker(), tools)).get()
    model = Talker(says("done"))
    one = runtime.start(
        "spawn", "go", agent=with_tools(model, tools), tool_filter={"deny": ["read"]}
    ).get()

    assert "two tools are called 'read'" in str(ended(both).diagnostic)
    ended(one)
    assert ["write"] == offered(model)

"""A tool filter narrows what an agent may use, and is refused when it says nothing."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.agent import NO_FILTER, Agent, Tool, ToolFilter
from retinue.protocol.delegation import check_tool_filter
from retinue.protocol.errors import InvalidToolFilter

NAMES = ("read", "write", "remove")


def filters() -> st.SearchStrategy[ToolFilter]:
    """Return filters over three names."""
    names = st.lists(st.sampled_from(NAMES), unique=True).map(tuple)
    return st.builds(ToolFilter, st.none() | names, names)


def read(path: str) -> str:
    """Do the work of a tool."""
    return path


def reader() -> Agent:
    """Return an agent with two tools."""
    return Agent(read, tools=(Tool("read", read), Tool("write", read)))


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ({"allow": ("read",)}, ["read"]),
        ({"allow": ["read", "write"], "deny": ["read"]}, ["write"]),
        ({"allow": ()}, []),
        ({"deny": {"write"}}, ["read"]),
        ({"deny": None, "allow": ["write"]}, ["write"]),
        (ToolFilter(("write",)), ["write"]),
    ],
)
def test_a_filter_keeps_what_it_allows_and_then_denies(value: Any, kept: list[str]) -> None:
    """
    PER-4, PER-7: `allow` first, `deny` after it; an empty `allow` keeps nothing.
    """
    taken = check_tool_filter(value, reader())

    assert kept == [tool.name for tool in reader().tools if taken.keeps(tool.name)]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"allow": None},
        {"deny": ()},
        {"permit": ("read",)},
        {"allow": "read"},
        {"allow": 5},
        {"allow": (1,)},
        {"allow": iter(("read",))},
        ToolFilter(),
        "read",
        ("read",),
    ],
    ids=repr,
)
def test_a_filter_that_filters_nothing_or_is_none_is_refused(value: object) -> None:
    """
    PER-7: an empty filter is a mistake, and so is a filter of another shape.
    """
    with pytest.raises(InvalidToolFilter):
        check_tool_filter(value, reader())


@pytest.mark.parametrize("value", [{"allow": ("red",)}, {"deny": ("red",)}])
def test_an_unknown_tool_is_named_with_the_known_ones(value: object) -> None:
    """
    VAL-7: the error teaches what there is.
    """
    with pytest.raises(InvalidToolFilter, match="unknown tools red; the agent has read, write"):
        check_tool_filter(value, reader())
    with pytest.raises(InvalidToolFilter, match="the agent has none"):
        check_tool_filter(value, None)


def test_no_filter_keeps_everything() -> None:
    """
    The absence of a filter is a filter that keeps all, one with an empty `allow` keeps none.
    """
    assert NO_FILTER.keeps("read")
    assert not ToolFilter(()).keeps("read")
    assert not ToolFilter(("read",), ("read",)).keeps("read")


@given(filters(), filters(), st.sampled_from(NAMES))
def test_a_filter_within_another_keeps_what_both_keep(
    inner: ToolFilter, outer: ToolFilter, name: str
) -> None:
    """
    PER-4: filters along a chain intersect, whichever is applied first.
    """
    kept = inner.keeps(name) and outer.keeps(name)

    assert kept == inner.within(outer).keeps(name) == outer.within(inner).keeps(name)


@given(filters(), st.sampled_from(NAMES[:2]))
def test_a_filter_over_an_agent_speaks_of_its_tools_alone(one: ToolFilter, name: str) -> None:
    """
    An agent that took another's place is filtered as far as it has the same tools; the
    filter is then one that the agent can be started with.
    """
    over = one.over(reader())

    assert one.keeps(name) == over.keeps(name)
    assert over in {
        NO_FILTER,
        check_tool_filter(over, reader()) if over != NO_FILTER else NO_FILTER,
    }
    assert set(ToolFilter(NAMES, NAMES).over(None).deny) == set()

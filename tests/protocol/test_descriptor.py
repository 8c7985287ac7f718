"""Durable descriptors: strict, and silent about what was not declared."""

from __future__ import annotations

import json
from typing import Any

import pytest

from retinue.protocol.agent import ToolFilter
from retinue.protocol.descriptor import VERSION, Descriptor, Mode, parse
from retinue.protocol.errors import InvalidContent

ONE_SHOT: dict[str, Any] = {"version": 2, "mode": "one-shot", "provider": "spawn"}
DURABLE: dict[str, Any] = {
    "version": 2,
    "mode": "durable",
    "provider": "spawn",
    "label": "scout",
    "agent_provider": "openai",
    "agent_model": "m-1",
    "persona": "You are terse.",
    "tool_filter": {"allow": ["read", "search"], "deny": ["write"]},
}
FULL = Descriptor(
    Mode.DURABLE,
    "spawn",
    "scout",
    "openai",
    "m-1",
    "You are terse.",
    ToolFilter(("read", "search"), ("write",)),
)


@pytest.mark.parametrize(
    ("descriptor", "stored"),
    [
        (Descriptor(Mode.ONE_SHOT, "spawn"), ONE_SHOT),
        (Descriptor(Mode.ONE_SHOT, "spawn", "scout"), {**ONE_SHOT, "label": "scout"}),
        (FULL, DURABLE),
        (
            Descriptor(Mode.DURABLE, "fork", "", tool_filter=ToolFilter(())),
            {
                "version": 2,
                "mode": "durable",
                "provider": "fork",
                "label": "",
                "tool_filter": {"allow": []},
            },
        ),
        (
            Descriptor(Mode.DURABLE, "fork", "x", tool_filter=ToolFilter(None, ("a",))),
            {
                "version": 2,
                "mode": "durable",
                "provider": "fork",
                "label": "x",
                "tool_filter": {"deny": ["a"]},
            },
        ),
    ],
)
def test_a_descriptor_holds_what_was_declared(
    descriptor: Descriptor, stored: dict[str, Any]
) -> None:
    """
    DSC-1: version 2, the mode's own fields, and nothing for what was not declared.
    """
    assert stored == descriptor.to_json()
    assert descriptor == parse(json.loads(json.dumps(stored)))


@pytest.mark.parametrize("name", ["depth", "max_depth", "output_schema", "max_tokens"])
def test_what_is_never_stored_is_an_unknown_field(name: str) -> None:
    """
    DSC-2: depth, output schema and token cap are in no descriptor.
    """
    assert name not in FULL.to_json()
    with pytest.raises(InvalidContent, match=f"/{name}: unknown field"):
        parse({**DURABLE, name: 1})


def test_no_route_is_invented() -> None:
    """
    DSC-3: a route that neither side declared is absent, before and after.
    """
    read = parse({"version": 2, "mode": "durable", "provider": "spawn", "label": "x"})

    assert Descriptor(Mode.DURABLE, "spawn", "x") == read
    assert read is not None
    assert (None, None) == (read.agent_provider, read.agent_model)


@pytest.mark.parametrize("name", ["label", "agent_provider", "agent_model", "persona"])
def test_what_is_no_text_makes_no_descriptor(name: str) -> None:
    """
    DSC-4: a value that JSON would not keep as it is is refused before it is stored.
    """
    values: dict[str, Any] = {"label": "x", name: object()}

    with pytest.raises(InvalidContent, match=f"/{name}: expected text"):
        Descriptor(Mode.DURABLE, "spawn", **values)


@pytest.mark.parametrize("version", [0, 1, 3, 2.5, -2, 10**30])
def test_an_unknown_version_is_no_descriptor(version: float) -> None:
    """
    DSC-5: an unknown version is unsupported and no error, whatever else is in it.
    """
    assert parse({"version": version, "mode": 7, "and": "more"}) is None


@pytest.mark.parametrize("value", [None, [], "text", 2, [DURABLE]])
def test_a_descriptor_is_an_object(value: object) -> None:
    """
    DSC-5: what is no object is an error.
    """
    with pytest.raises(InvalidContent, match="a descriptor is a JSON object"):
        parse(value)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": "2"}, "/version: expected a number"),
        ({"version": None}, "/version: expected a number"),
        ({"version": True}, "/version: expected a number"),
        ({"mode": "continuable"}, "/mode: expected one of one-shot, durable"),
        ({"mode": None}, "/mode: "),
        ({"mode": ["durable"]}, "/mode: "),
        ({"provider": None}, "/provider: "),
        ({"provider": ""}, "/provider: "),
        ({"provider": 3}, "/provider: "),
        ({"label": 3}, "/label: expected text, not int"),
        ({"label": None}, "/label: null"),
        ({"persona": ["x"]}, "/persona: expected text, not list"),
        ({"persona": None}, "/persona: null"),
        ({"colour": "red"}, "/colour: unknown field"),
        ({"tool_filter": {}}, "/tool_filter: an empty filter"),
        ({"tool_filter": []}, "/tool_filter: expected an object"),
        ({"tool_filter": None}, "/tool_filter: null"),
        ({"tool_filter": {"allow": "read"}}, "/tool_filter/allow: expected a list"),
        ({"tool_filter": {"deny": [1]}}, "/tool_filter/deny: expected a list"),
        ({"tool_filter": {"allow": ["a"], "only": []}}, "/tool_filter/only: unknown field"),
    ],
)
def test_a_known_version_is_read_strictly(change: dict[str, Any], why: str) -> None:
    """
    DSC-5: a bad mode, a wrong type, an unknown field or an empty filter is an error.
    """
    with pytest.raises(InvalidContent) as caught:
        parse({**DURABLE, **change})

    assert why in str(caught.value)


@pytest.mark.parametrize("name", ["agent_provider", "agent_model", "persona", "tool_filter"])
def test_a_one_shot_has_no_fields_of_a_durable_run(name: str) -> None:
    """
    DSC-1, DSC-5: what only a durable run declares is unknown in a one-shot's descriptor.
    """
    with pytest.raises(InvalidContent, match=f"/{name}: unknown field"):
        parse({**ONE_SHOT, name: DURABLE[name]})
    with pytest.raises(InvalidContent, match=f"/{name}: a one-shot run has none"):
        Descriptor(Mode.ONE_SHOT, "spawn", **{name: getattr(FULL, name)})


def test_a_durable_run_needs_a_label() -> None:
    """
    DSC-1: the label is optional for a one-shot and required for a durable run.
    """
    with pytest.raises(InvalidContent, match="/label: a durable run needs one"):
        Descriptor(Mode.DURABLE, "spawn")


def test_a_filter_that_filters_nothing_is_no_filter() -> None:
    """
    DSC-5: an empty filter cannot be stored either.
    """
    with pytest.raises(InvalidContent, match="filters nothing"):
        Descriptor(Mode.DURABLE, "spawn", "x", tool_filter=ToolFilter())


def test_all_faults_are_named_at_once() -> None:
    """
    DSC-5: who repairs a descriptor by hand sees everything that is wrong with it.
    """
    with pytest.raises(InvalidContent) as caught:
        parse({"version": VERSION, "mode": "durable", "colour": 1, "persona": 2, "tool_filter": {}})

    assert {"/colour", "/tool_filter", "/provider", "/persona", "/label"} == {
        violation.partition(":")[0] for violation in caught.value.violations
    }

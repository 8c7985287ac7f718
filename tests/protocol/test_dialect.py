"""JSON Schema: what is one, all faults at once, and nothing fetched."""

from __future__ import annotations

import math
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest
from referencing.exceptions import Unresolvable

from retinue.protocol.errors import InvalidSchema
from retinue.protocol.schema import Origin, OutputSchema, as_schema
from tests.protocol.test_schema import SONG
from tests.protocol.test_schema_types import Song


def violations_of(value: object) -> set[str]:
    """Return where a value is no schema."""
    with pytest.raises(InvalidSchema) as caught:
        as_schema(value)
    return {violation.partition(": ")[0] for violation in caught.value.violations}


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        SONG,
        {"$ref": "#/$defs/a", "$defs": {"a": {"type": "object"}}},
        {"$ref": "#"},
        {
            "type": "object",
            "properties": {"n": {"$ref": "#node"}},
            "$defs": {"x": {"$anchor": "node"}},
        },
        {"type": "object", "properties": {"$ref": {"type": "string"}, "default": {"$ref": "#"}}},
        {"type": "object", "default": {"$ref": "not a reference"}},
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "enum": [1]},
        {"$schema": "http://json-schema.org/draft-07/schema#", "type": "array", "items": [True]},
        {
            "$id": "https://x.test/a",
            "$ref": "#/$defs/b",
            "$defs": {"b": {"$id": "b", "$ref": "#/$defs/c", "$defs": {"c": {"const": 1}}}},
        },
        {"oneOf": [{"type": "string"}, True]},
    ],
)
def test_a_json_schema_is_taken(schema: dict[str, Any]) -> None:
    """
    STR-12: the whole of JSON Schema may be used, and the schema is kept as it is.
    """
    made = as_schema(schema)

    assert (schema, None, Origin.JSON) == (made.json, made.source, made.origin)


def test_all_violations_are_told_at_once() -> None:
    """
    VAL-3: every violation is listed, annotations that are no JSON included.
    """
    schema = {
        "type": "banana",
        "default": math.nan,
        "examples": [{"when": object()}],
        "required": "title",
        "properties": {
            "a": int,
            "b": {"$ref": "#/$defs/none"},
            "c": {"minLength": -1},
            "d/e": {"pattern": "("},
        },
        3: "three",
    }

    assert {
        "/type",
        "/default",
        "/examples/0/when",
        "/required",
        "/properties/a",
        "/properties/b/$ref",
        "/properties/c/minLength",
        "/properties/d~1e/pattern",
        "/3",
    } == violations_of(schema)


def test_one_fault_is_told_once() -> None:
    """
    What is no JSON is no schema either, and is called what it was in the caller's hand.
    """
    with pytest.raises(InvalidSchema) as caught:
        as_schema({"type": "object", "properties": {"a": int}})

    assert ("/properties/a: type is no JSON",) == caught.value.violations


def endless() -> dict[str, Any]:
    """Return a schema that contains itself."""
    schema: dict[str, Any] = {"type": "object"}
    schema["properties"] = {"again": schema}
    return schema


def deep(levels: int) -> dict[str, Any]:
    """Return a schema in a schema in a schema."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(levels):
        schema = {"type": "object", "properties": {"a": schema}}
    return schema


@pytest.mark.parametrize(
    ("value", "where"),
    [
        ({"title": "string", "year": "integer"}, "the value"),
        ({"description": "a song"}, "the value"),
        ({"$schema": "https://x.test/my-own", "type": "object"}, "/$schema"),
        ({"$schema": 7, "type": "object"}, "/$schema"),
        ({"$ref": "https://x.test/schema.json"}, "/$ref"),
        ({"$ref": "other.json#/a"}, "/$ref"),
        ({"$ref": "#nowhere"}, "/$ref"),
        ({"$ref": "#/type", "type": "object"}, "/$ref"),
        ({"$ref": "#/properties/type", "properties": {"type": {"type": 3}}}, "/$ref"),
        ({"allOf": [{"type": "object"}, {"$ref": "#/allOf/x"}]}, "/allOf/1/$ref"),
        ({"$defs": [3], "$ref": "#/$defs/0"}, "/$defs"),
        ({"const": (1, 2)}, "/const"),
        ({"properties": {"default": {"$ref": "#/none"}}}, "/properties/default/$ref"),
        ({"patternProperties": {2: {}, "x": {}}}, "/patternProperties/2"),
        ({"$defs": [3], "$ref": "#anchor"}, "/$ref"),
        ({"$defs": {"a": {"$anchor": 3}}, "$ref": "#anchor"}, "/$ref"),
        (endless(), "/properties/again"),
        (deep(150), "the value"),
        (deep(5000), "the value"),
        (None, "the value"),
        (True, "the value"),
        (3, "the value"),
        ("Song", "the value"),
        ([SONG], "the value"),
        (Song("a"), "the value"),
        (as_schema, "the value"),
        (object, "the value"),
        (type, "the value"),
        (list[object], "the value"),
        (Callable[[], int], "the value"),
    ],
)
def test_what_is_no_schema_is_refused(value: object, where: str) -> None:
    """
    VAL-3, STR-12: it is refused before anything starts, as an invalid schema and as
    nothing else; circular and bottomless ones too.
    """
    assert where in violations_of(value)


def test_a_schema_that_contains_itself_is_cut_where_it_does() -> None:
    """
    STR-12: a circular schema is found as such, and the rest of it is checked all the same.
    """
    schema = endless()
    schema["minLength"] = -1

    assert {"/properties/again", "/minLength"} == violations_of(schema)


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A reference to another host is refused, and that host is never asked.
    """

    def fetch(*_: object) -> None:
        raise AssertionError("asked the network")

    monkeypatch.setattr(urllib.request, "urlopen", fetch)

    assert {"/$ref"} == violations_of({"$ref": "https://x.test/schema.json"})
    with pytest.raises(Unresolvable):
        OutputSchema({"$ref": "https://x.test/schema.json"}).violations(1)

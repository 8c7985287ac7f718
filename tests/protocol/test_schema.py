"""Output schemas: what is one, and what fits it."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pytest

from retinue.protocol.errors import InvalidContent, InvalidSchema
from retinue.protocol.schema import Origin, OutputSchema, as_schema
from tests.protocol.test_schema_types import Line, Pair, Song

SONG = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "year": {"type": "integer", "minimum": 1}},
    "required": ["title"],
    "additionalProperties": False,
}


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


def test_nothing_is_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    """
    A reference to another host is refused, and that host is never asked.
    """

    def fetch(*_: object) -> None:
        raise AssertionError("asked the network")

    monkeypatch.setattr(urllib.request, "urlopen", fetch)

    assert {"/$ref"} == violations_of({"$ref": "https://x.test/schema.json"})
    assert as_schema({"$ref": "#/$defs/a", "$defs": {"a": True}}).violations(1) == ()


def test_a_schema_is_captured() -> None:
    """
    VAL-13: what a caller does to its dict afterwards changes nothing.
    """
    given = copy.deepcopy(SONG)
    schema = as_schema(given)

    given["type"] = "string"

    assert SONG == schema.json
    assert {"title": "a"} == schema.read({"title": "a"})


def test_a_value_that_fits_is_read() -> None:
    """
    STR-2: what fits comes back as a value of its own.
    """
    value = {"title": "a", "year": 3}

    read = as_schema(SONG).read(value)

    assert value == read
    assert value is not read


def test_everything_that_does_not_fit_is_told() -> None:
    """
    STR-3: a model that is to try again sees every violation, each with its place.
    """
    schema = as_schema({"type": "object", "properties": {"songs": {"items": SONG}}})
    value = {"songs": [{"title": 3, "year": 0}, {"colour": "red"}]}

    assert {
        "/songs/0/title: 3 is not of type 'string'",
        "/songs/0/year: 0 is less than the minimum of 1",
        "/songs/1: Additional properties are not allowed ('colour' was unexpected)",
        "/songs/1: 'title' is a required property",
    } == set(schema.violations(value))
    with pytest.raises(InvalidContent) as caught:
        schema.read(value)
    assert schema.violations(value) == caught.value.violations


@pytest.mark.parametrize("value", [math.nan, -0.0, (1,), {1: 2}, object(), Song("a"), b"x"])
@pytest.mark.parametrize("schema", [{}, SONG])
def test_a_value_that_is_no_json_fits_no_json_schema(schema: dict[str, Any], value: object) -> None:
    """
    LOG-2: a captured value can always be written, whatever the schema allows.
    """
    with pytest.raises(InvalidContent):
        as_schema(schema).read(value)


def test_a_schema_that_never_ends_refuses_instead_of_recursing() -> None:
    """
    STR-12: a reference to itself that asks nothing is found when a value is checked.
    """
    assert ("the value: nested too deeply to be checked",) == as_schema({"$ref": "#"}).violations(1)


def test_a_violation_is_one_short_line() -> None:
    """
    A value of a megabyte is not repeated in the message about it.
    """
    (violation,) = as_schema({"type": "integer"}).violations("x\n" * 500_000)

    assert len(violation) < 400
    assert "\n" not in violation


@pytest.mark.parametrize("source", [SONG, Song, list[Song], Pair, dict, int | None, Line])
def test_a_schema_crosses_a_process_boundary(source: object) -> None:
    """
    A schema is a value: pickled or copied, used or not, it equals what it was.
    """
    schema = as_schema(source)
    schema.violations(1)

    loaded: OutputSchema = pickle.loads(pickle.dumps(schema))  # noqa: S301  # our own bytes

    assert schema == loaded == copy.deepcopy(schema)
    assert schema.violations({}) == loaded.violations({})
    assert schema is as_schema(schema)


def test_a_schema_cannot_be_changed() -> None:
    """
    What was admitted is what is checked at the end.
    """
    schema = as_schema(SONG)

    with pytest.raises(attrs.exceptions.FrozenInstanceError):
        schema.json = {}  # type: ignore[misc]


def test_importing_schemas_imports_no_validator() -> None:
    """
    The two libraries are imported by the first schema, and not before.
    """
    program = (
        "import sys, retinue.protocol.schema, retinue.protocol.export;"
        "print({'jsonschema', 'msgspec', 'pydantic'} & sys.modules.keys())"
    )
    root = Path(__file__).parents[2]

    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        check=True,
        cwd=root / ".typing",
        text=True,
        timeout=30,
    )

    assert "set()\n" == done.stdout

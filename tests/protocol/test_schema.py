"""Output schemas: what is one, and what fits it."""

from __future__ import annotations

import copy
import math
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import attrs
import pytest

from retinue.protocol.errors import InvalidContent
from retinue.protocol.schema import OutputSchema, as_schema
from tests.protocol.test_schema_types import Line, Pair, Song

SONG = {
    "type": "object",
    "properties": {"title": {"type": "string"}, "year": {"type": "integer", "minimum": 1}},
    "required": ["title"],
    "additionalProperties": False,
}


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

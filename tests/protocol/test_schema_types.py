"""Output schemas made of Python types."""

from __future__ import annotations

import dataclasses
import gc
import math
import typing
import weakref
from typing import Any

import attrs
import msgspec
import pytest

from retinue.protocol.errors import InvalidContent, InvalidSchema
from retinue.protocol.payload import is_json
from retinue.protocol.schema import Origin, as_schema


@attrs.frozen
class Song:
    """One song, as an attrs class."""

    title: str
    year: int = attrs.field(default=1970, validator=attrs.validators.ge(1))


@attrs.frozen
class Songs:
    """Songs in songs."""

    songs: list[Song]


@dataclasses.dataclass
class Place:
    """A place, as a dataclass."""

    name: str
    at: tuple[float, float] = (0.0, 0.0)


@attrs.frozen
class Blob:
    """Bytes, which JSON writes as text."""

    data: bytes


class Line(typing.TypedDict):
    """A line, as a TypedDict."""

    number: int
    text: typing.NotRequired[str]


class Pair(msgspec.Struct):
    """A pair, as a Struct."""

    left: int
    right: Pair | None = None


class Model:
    """What pydantic models can do, as far as it is used here."""

    def __init__(self, number: int) -> None:
        self.number = number

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the schema of a model."""
        return {"type": "object", "properties": {"number": {"type": "integer"}}}

    @classmethod
    def model_validate_json(cls, text: str) -> Model:
        """Build a model, or say everything that is wrong."""
        value = msgspec.json.decode(text)
        if value.get("number", 0) < 0:
            raise ManyFaultsError
        return cls(value["number"])

    def model_dump(self, *, mode: str) -> dict[str, Any]:
        """Take a model apart."""
        return {"number": self.number, "mode": mode}


class ManyFaultsError(ValueError):
    """Faults in pydantic's form."""

    def errors(self, *, include_url: bool) -> list[dict[str, Any]]:
        """List them."""
        return [
            {"loc": ("number",), "msg": "is negative", "url": include_url},
            {"loc": (), "msg": "is wrong as a whole"},
        ]


@pytest.mark.parametrize(
    ("source", "value", "instance"),
    [
        (Song, {"title": "a", "year": 3}, Song("a", 3)),
        (Song, {"title": "a"}, Song("a")),
        (Songs, {"songs": [{"title": "a"}]}, Songs([Song("a")])),
        (Place, {"name": "a", "at": [1, 2.5]}, Place("a", (1.0, 2.5))),
        (Line, {"number": 1, "text": "a"}, {"number": 1, "text": "a"}),
        (Pair, {"left": 1, "right": {"left": 2}}, Pair(1, Pair(2))),
        (dict, {"a": [1]}, {"a": [1]}),
        (list, [1, "a"], [1, "a"]),
        (int, 3, 3),
        (str, "3", "3"),
        (float, 3, 3.0),
        (bool, True, True),
        (list[int], [1, 2], [1, 2]),
        (dict[str, Song], {"x": {"title": "a"}}, {"x": Song("a")}),
        (typing.Literal["a", "b"], "b", "b"),
        (int | None, None, None),
        (list[Song], [Song("a"), {"title": "b"}], [Song("a"), Song("b")]),
        (tuple[int, str], (1, "a"), (1, "a")),
        (dict[int, str], {1: "a"}, {1: "a"}),
    ],
)
def test_a_value_becomes_an_instance_of_its_type(
    source: Any, value: object, instance: object
) -> None:
    """
    A type is a schema, and what fits it is read as an instance of it.
    """
    schema = as_schema(source)

    assert () == schema.violations(value)
    assert instance == schema.read(value)
    assert type(instance) is type(schema.read(value))
    assert (source, Origin.TYPE) == (schema.source, schema.origin)


@pytest.mark.parametrize("instance", [Song("a"), Place("a"), Pair(1), Songs([])])
def test_an_instance_passes_as_it_is(instance: object) -> None:
    """
    A behaviour that returns an instance of the very class hands on that object.
    """
    assert instance is as_schema(type(instance)).read(instance)


@pytest.mark.parametrize(
    ("source", "value", "found"),
    [
        (Song, {"year": "x"}, {"the value", "/year"}),
        (Songs, {"songs": [{"title": 1}, {}]}, {"/songs/0/title", "/songs/1"}),
        (Songs, {"songs": [{"title": "a", "year": 0}]}, {"/songs/0"}),
        (Song, {"title": "a", "year": 0}, {"the value"}),
        (Line, {"text": "a"}, {"the value"}),
        (int, True, {"the value"}),
        (int, "3", {"the value"}),
        (int, 3.0, {"the value"}),
        (int, None, {"the value"}),
        (str, b"bytes", {"the value"}),
        (list[int], [1, "a", None], {"/1", "/2"}),
        (list[int], object(), {"the value"}),
        (dict[str, float], {"a": math.nan}, {"/a"}),
        (Song, Place("a"), {"the value"}),
        (Place, Place("a", (math.nan, 0.0)), {"/at/0"}),
        (dict[int, str], {"x": "a"}, {"the value"}),
        (dict[str, dict[int, str]], {"a": {"x": "a"}}, {"/..."}),
    ],
)
def test_what_does_not_fit_a_type_is_told(source: Any, value: object, found: set[str]) -> None:
    """
    STR-3: faults against a type are told like those against a schema, and a type's own
    validators have a say.
    """
    schema = as_schema(source)

    assert found == {violation.partition(": ")[0] for violation in schema.violations(value)}
    with pytest.raises(InvalidContent):
        schema.read(value)


@pytest.mark.parametrize(
    ("source", "answer", "plain"),
    [
        (Song, Song("a"), {"title": "a", "year": 1970}),
        (Song, {"title": "a"}, {"title": "a"}),
        (list[Song], [Song("a", 3)], [{"title": "a", "year": 3}]),
        (tuple[int, str], (1, "a"), [1, "a"]),
        (dict, {"a": 1}, {"a": 1}),
        (Blob, Blob(b"a"), {"data": "YQ=="}),
        (Model, Model(7), {"number": 7, "mode": "json"}),
        (Model, {"number": 7}, {"number": 7}),
    ],
)
def test_an_answer_stands_for_a_json_value(source: Any, answer: object, plain: object) -> None:
    """
    LOG-2: what is logged or sent of an instance is the JSON value that it was read from.
    """
    assert plain == as_schema(source).plain(answer)
    assert is_json(plain)


def test_the_root_of_a_type_s_schema_is_written_out() -> None:
    """
    STR-1: a tool's parameters are an object at their root; what recurses keeps its name.
    """
    song, pair = as_schema(Song).json, as_schema(Pair).json

    assert ("object", {"title", "year"}) == (song["type"], song["properties"].keys())
    assert "$defs" not in song
    assert "object" == pair["type"]
    assert {"Pair"} == pair["$defs"].keys()


def test_a_pydantic_model_is_a_schema() -> None:
    """
    Whatever has pydantic's two methods is read by them, and its faults are told in full.
    """
    schema = as_schema(Model)
    model = Model(1)

    assert Origin.PYDANTIC is schema.origin
    assert 7 == schema.read({"number": 7}).number
    assert model is schema.read(model)
    assert ("/number: 'x' is not of type 'integer'",) == schema.violations({"number": "x"})
    assert ("/number: is negative", "the value: is wrong as a whole") == schema.violations(
        {"number": -1}
    )


def test_pydantic_itself_is_understood() -> None:
    """
    The real library, where it is installed, does what its double above does.
    """
    pydantic = pytest.importorskip("pydantic")
    model: Any = pydantic.create_model(
        "M", number=(int, pydantic.Field(gt=0)), tags=(list[str], [])
    )
    schema = as_schema(model)

    assert model(number=1) == schema.read({"number": 1})
    assert {"/number", "/tags/0"} == {
        v.partition(": ")[0] for v in schema.violations({"number": 0, "tags": [1]})
    }


class Elsewhere(Model):
    """A model whose schema points to another host."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return a schema that would have to be fetched."""
        return {"$ref": "https://x.test/schema.json"}


class Broken(Model):
    """A model that cannot say what it looks like."""

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Fail."""
        raise RuntimeError("first line\nno schema for this one")


@pytest.mark.parametrize(
    ("source", "violation"),
    [
        (Elsewhere, "/$ref: https://x.test/schema.json leads to no schema"),
        (Broken, "the value: no schema for this one"),
    ],
)
def test_a_model_without_a_sound_schema_is_refused(source: type, violation: str) -> None:
    """
    VAL-3: what a type says of itself is checked like what a caller says.
    """
    with pytest.raises(InvalidSchema) as caught:
        as_schema(source)

    assert (violation,) == caught.value.violations


def test_a_class_is_worked_out_once() -> None:
    """
    A thousand children with one answer type share what was worked out for the first.
    """
    assert as_schema(Song).json is as_schema(Song).json


def test_a_schema_keeps_no_class_alive() -> None:
    """
    H60: a class that only a schema knew is freed with that schema.
    """

    def made() -> weakref.ref[type]:
        local = attrs.make_class("Local", {"number": attrs.field(type=int)})
        assert () == as_schema(local).violations({"number": 1})
        return weakref.ref(local)

    seen = made()
    gc.collect()

    assert seen() is None

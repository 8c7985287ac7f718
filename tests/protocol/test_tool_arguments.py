"""From a signature to a schema and back: what a model may send, and what the function gets."""

from __future__ import annotations

import datetime as dt
import enum
from typing import Annotated, Any, Literal

import attrs
import pytest
from pydantic import BaseModel

from retinue.protocol.errors import InvalidAgent, InvalidArguments
from retinue.protocol.tool import Tool, tool


@attrs.frozen
class Place:
    """Somewhere."""

    city: str
    zip_code: int = 0


class Person(BaseModel):
    """Somebody."""

    name: str
    age: int = 0


class Size(enum.Enum):
    """How large."""

    SMALL = "small"
    LARGE = "large"


def violations(made: Tool, **arguments: Any) -> list[str]:
    """Return what is wrong with a call."""
    with pytest.raises(InvalidArguments, match="INVALID_ARGS: the call of 'it'") as caught:
        made.arguments.taken(arguments)
    return list(caught.value.violations)


def test_a_signature_gives_the_schema_with_words_for_each_parameter() -> None:
    """
    Types, defaults, Annotated words and the docstring's Args, and its first paragraph.
    """

    @tool
    def find(
        query: Annotated[str, "what to look for"],
        limit: int = 10,
        kinds: list[Literal["file", "folder"]] | None = None,
    ) -> None:
        """
        Find files,
        quickly.

        It is quick indeed.

        Args:
            query: is said twice.
            limit: how many
                at most.
        """

    found = find.arguments
    assert "Find files, quickly." == found.description
    assert {
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "what to look for"},
            "limit": {"type": "integer", "description": "how many at most.", "default": 10},
            "kinds": {
                "anyOf": [
                    {"type": "array", "items": {"enum": ["file", "folder"]}},
                    {"type": "null"},
                ],
                "default": None,
            },
        },
        "required": ["query"],
        "additionalProperties": False,
    } == found.schema


def test_values_come_as_the_types_say() -> None:
    """
    Attrs classes, pydantic models, lists of them, enums and dates are built from JSON.
    """

    def it(
        place: Place,
        person: Person,
        people: list[Person],
        size: Size,
        when: dt.date,
        ratio: float,
        anything: Any,
    ) -> None:
        del place, person, people, size, when, ratio, anything

    taken = Tool("it", it).arguments.taken(
        {
            "place": {"city": "Rome"},
            "person": {"name": "Ada"},
            "people": [{"name": "Bob", "age": 3}],
            "size": "large",
            "when": "2024-02-29",
            "ratio": 1,
            "anything": [1, None],
        }
    )

    assert {
        "place": Place("Rome"),
        "person": Person(name="Ada"),
        "people": [Person(name="Bob", age=3)],
        "size": Size.LARGE,
        "when": dt.date(2024, 2, 29),
        "ratio": 1.0,
        "anything": [1, None],
    } == taken


def test_all_violations_are_told_at_once_with_their_places() -> None:
    """
    A model that is told everything at once can mend everything at once.
    """

    def it(count: int, place: Place, people: list[Person], when: dt.date) -> None:
        del count, place, people, when

    found = violations(
        Tool("it", it),
        count="3",
        place={"city": 1},
        people=[{"age": "x"}],
        when="2024-02-31",
        more=1,
    )

    places = [text.partition(":")[0] for text in found]
    assert {"/count", "/place/city", "/people/0", "/people/0/age", "/when", "the value"} == {
        *places
    }


def test_text_that_looks_like_a_number_is_text() -> None:
    """
    Nothing is turned into what it is not.
    """

    def it(count: int) -> None:
        del count

    assert ["/count: '3' is not of type 'integer'"] == violations(Tool("it", it), count="3")


def test_arguments_that_are_no_object_are_quoted() -> None:
    """
    What came instead of a JSON object is told, cut where it is long.
    """

    def it(count: int = 0) -> None:
        del count

    said = violations(Tool("it", it), **{"": "[1, 2" + " " * 300})
    assert 1 == len(said)
    assert "a JSON object is expected" in said[0]
    assert "(the first of 305 characters)" in said[0]


def test_explicit_parameters_are_checked_against_the_function() -> None:
    """
    A schema that the function could not be called with is refused; one that fits is used.
    """
    schema = {"type": "object", "properties": {"word": {"type": "string", "minLength": 2}}}

    def optional(word: str = "", turn: Any = None) -> None:
        del word, turn

    def needs(word: str) -> None:
        del word

    def other(text: str = "") -> None:
        del text

    fits = Tool("it", optional, parameters=schema)
    assert ["/word: 'a' is too short"] == violations(fits, word="a")
    assert {"word": "ab"} == fits.arguments.taken({"word": "ab"})
    with pytest.raises(InvalidAgent, match="needs word; name them under 'required'"):
        _ = Tool("it", needs, parameters=schema).arguments
    with pytest.raises(InvalidAgent, match="name word, which its function does not take"):
        _ = Tool("it", other, parameters=schema).arguments
    with pytest.raises(InvalidAgent, match="no JSON Schema"):
        _ = Tool("it", needs, parameters={"type": "nonsense"}).arguments
    with pytest.raises(InvalidAgent, match="describe a array"):
        _ = Tool("it", needs, parameters={"type": "array"}).arguments


def test_parts_of_two_types_with_one_name_stay_apart() -> None:
    """
    Two classes called Node, in one signature, each keep their own shape.
    """

    def node(kind: type) -> Any:
        return attrs.make_class("Node", {"value": attrs.field(type=kind)})

    text, number = node(str), node(int)

    def it(texts: Any, numbers: Any) -> None:
        del texts, numbers

    it.__annotations__ = {"texts": list[text], "numbers": list[number]}  # type: ignore[valid-type]
    made = Tool("it", it)
    assert 2 == len(made.arguments.schema["$defs"])
    assert ["/numbers/0/value: 'a' is not of type 'integer'"] == violations(
        made, texts=[{"value": "a"}], numbers=[{"value": "a"}]
    )


@pytest.mark.parametrize(
    "fields",
    [{"timeout": 0}, {"timeout": True}, {"timeout": "5"}, {"parameters": "none"}],
)
def test_fields_of_a_tool_are_looked_at_when_it_is_made(fields: dict[str, Any]) -> None:
    """
    What can be seen at once is refused at once, with the tool's name.
    """
    with pytest.raises(InvalidAgent, match="tool 'it': "):
        Tool("it", print, **fields)


def test_what_is_no_tool_is_refused_where_it_is_made() -> None:
    """The name comes first, and what does the work is a function."""
    given: Any = test_what_is_no_tool_is_refused_where_it_is_made

    with pytest.raises(InvalidAgent, match="expected a name, as in Tool\\('name', function\\)"):
        Tool(given, "it")  # type: ignore[arg-type]
    with pytest.raises(InvalidAgent, match="tool 'it': expected a function, got str"):
        Tool("it", "it")  # type: ignore[arg-type]

"""Which parameters are a model's, which one is the turn's, and what nobody could call."""

from __future__ import annotations

import functools
from typing import Any

import pytest

from retinue.protocol.errors import InvalidAgent
from retinue.protocol.tool import Tool


class Turn:
    """Of the same name as the runtime's, and nothing of it."""


def schema_of(function: Any) -> dict[str, Any]:
    """Return the schema that a function's signature gives."""
    return dict(Tool("it", function).arguments.schema)


def first_untyped(turn, word: str) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    """Take the turn first."""
    del turn, word


def first_any(turn: Any, word: str) -> None:
    """Take the turn first, of any type."""
    del turn, word


def by_name(word: str, here: BlockingTurn) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Take the turn wherever it is annotated, even where the name is not imported."""
    del word, here


def by_path(word: str, here: retinue.Turn) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Take the turn by a dotted name."""
    del word, here


@pytest.mark.parametrize(
    ("function", "name"),
    [(first_untyped, "turn"), (first_any, "turn"), (by_name, "here"), (by_path, "here")],
)
def test_the_turn_is_given_and_not_shown(function: Any, name: str) -> None:
    """
    A parameter for the turn is not the model's to fill in.
    """
    arguments = Tool("it", function).arguments

    assert name == arguments.turn
    assert ["word"] == list(arguments.schema["properties"])


def test_a_turn_that_is_something_else_is_the_models() -> None:
    """
    Which turn of the road to take is an argument like any other.
    """

    def it(turn: int) -> None:
        del turn

    def later(word: str, turn: Any) -> None:
        del word, turn

    assert None is Tool("it", it).arguments.turn
    assert None is Tool("it", later).arguments.turn
    assert ["word", "turn"] == list(schema_of(later)["properties"])


def test_methods_partials_and_callable_objects_are_functions() -> None:
    """
    What is bound already is not asked for.
    """

    class Adder:
        def add(self, first: int, second: int) -> int:
            """Add."""
            return first + second

        async def __call__(self, first: int) -> int:
            """Call."""
            return first

    method, called = Tool("it", Adder().add), Tool("it", Adder())
    partial = Tool("it", functools.partial(Adder().add, second=1))
    assert ["first", "second"] == list(method.arguments.schema["properties"])
    assert ["first"] == list(called.arguments.schema["properties"])
    assert called.arguments.is_async
    assert not method.arguments.is_async
    assert ["first"] == partial.arguments.schema["required"]
    assert "Add." == partial.arguments.description


def test_keywords_take_what_is_not_named() -> None:
    """
    ``**more`` lets through what the schema does not name.
    """

    def it(word: str, **more: Any) -> None:
        del word, more

    assert schema_of(it)["additionalProperties"]
    assert {"word": "a", "x": 1} == Tool("it", it).arguments.taken({"word": "a", "x": 1})


def starred(*words: str) -> None:
    """Take any number."""
    del words


def positional(word: str, /) -> None:
    """Take one by position."""
    del word


def generator(word: str) -> Any:
    """Give several."""
    yield word


def unfindable(word: Nowhere) -> None:  # type: ignore[name-defined]  # noqa: F821
    """Take what nobody knows."""
    del word


def strange(word: Turn) -> None:
    """Take what has no schema, and is no turn."""
    del word


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (starred, r"\*words: a model gives arguments by name"),
        (positional, "'word' is positional-only"),
        (generator, "is a generator"),
        (unfindable, "name 'Nowhere' is not defined"),
        (str, "no signature to read"),
    ],
)
def test_what_nobody_could_call_is_refused_with_the_tools_name(function: Any, said: str) -> None:
    """
    A mistake in a signature is found before the run exists, and named.
    """
    with pytest.raises(InvalidAgent, match=f"^tool 'it': .*{said}"):
        _ = Tool("it", function).arguments


def test_a_class_of_the_same_name_as_the_turn_is_judged_by_its_name_in_text() -> None:
    """
    With annotations as text only the name is known, and it is the turn's.
    """
    assert "word" == Tool("it", strange).arguments.turn


def test_a_tool_may_speak_of_what_is_not_there_yet() -> None:
    """
    A tool that uses the very run that is started with it is made before that run is; types
    of the scope around it are found all the same.
    """
    number = int

    def look(at: number) -> str:  # type: ignore[valid-type]
        """Look, and say which run does."""
        return f"{run} {number(at)}"

    schema = schema_of(look)
    run = "r-1"

    assert "r-1 2" == look(2)
    assert {"at": {"type": "integer"}} == schema["properties"]

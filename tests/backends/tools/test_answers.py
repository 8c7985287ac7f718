"""What a call gives back: any value as text, any error as a result."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import attrs
import pytest
from pydantic import BaseModel

from retinue.actors import Runtime
from retinue.protocol.content import Data, Text
from retinue.protocol.errors import NoProvider, ToolFailed
from retinue.protocol.tool import Tool
from tests.backends.tools.using import used


@attrs.frozen
class Point:
    """A place on a plane."""

    x: int
    y: int = 0


class Person(BaseModel):
    """Somebody."""

    name: str


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        (None, "done"),
        ("", ""),
        (0, "0"),
        ({"größe": [1, True, None]}, '{"größe": [1, true, null]}'),
        (Point(1), '{"x": 1, "y": 0}'),
        ([Point(1), Point(2)], '[{"x": 1, "y": 0}, {"x": 2, "y": 0}]'),
        (Person(name="Ada"), '{"name": "Ada"}'),
        ({"who": [Person(name="Ada")]}, '{"who": [{"name": "Ada"}]}'),
        (Text("a block"), "a block"),
        ([Text("two"), Data({"a": 1}), "three"], 'two\n{"a": 1}\nthree'),
    ],
    ids=repr,
)
def test_what_a_tool_returns_is_text_for_the_model(
    runtime: Runtime, value: object, text: str
) -> None:
    """
    Text stays as it is, byte for byte; everything else is JSON that says the same.
    """
    assert [text] == [
        result.text for result in used(runtime, [Tool("get", lambda: value)], ("get", {}))
    ]


@pytest.mark.parametrize("value", [object(), {1: object()}, float("nan"), threading.Lock()])
def test_what_cannot_be_shown_is_an_error_for_its_author(runtime: Runtime, value: object) -> None:
    """
    The call's result says what a tool may return.
    """
    (result,) = used(runtime, [Tool("get", lambda: value)], ("get", {}))

    assert result.is_error
    assert "a tool returns text, JSON values, content blocks" in result.text


class Stop(BaseException):
    """Something that no handler of exceptions catches."""


def raising(error: BaseException) -> Any:
    """Return a function that raises."""

    def work() -> None:
        raise error

    return work


@pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ToolFailed("the file is locked"), "the file is locked"),
        (ValueError("bad"), "ValueError: bad"),
        (KeyError(), "KeyError"),
        (NoProvider("no provider 'x'"), "NoProvider: no provider 'x'"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError("inner"), "CancelledError: inner"),
        (Stop("now"), "Stop: now"),
    ],
    ids=repr,
)
def test_whatever_a_tool_raises_is_its_result(
    runtime: Runtime, error: BaseException, text: str, *, is_async: bool
) -> None:
    """
    TOOL-31, H85: name and message, no trace, and the turn goes on.
    """
    work = raising(error)

    async def wait() -> None:
        work()

    tools = [Tool("work", wait if is_async else work), Tool("other", lambda: "fine")]
    first, second = used(runtime, tools, ("work", {}), ("other", {}))

    assert first.is_error
    assert text in first.text
    assert "Traceback" not in first.text
    assert "fine" == second.text


def test_arguments_come_as_the_function_wants_them_or_it_is_not_called(runtime: Runtime) -> None:
    """
    A call that does not fit is an error that says how; the function never runs for it.
    """
    seen: list[Any] = []

    def move(to: Point, by: int = 1) -> None:
        seen.append((to, by))

    said = used(
        runtime,
        [move],
        ("move", {"to": {"x": 1}, "by": 2}),
        ("move", {"to": {"x": "one"}}),
        ("move", {"": "to=3"}),
    )

    assert [(Point(1), 2)] == seen
    assert [False, True, True] == [result.is_error for result in said]
    assert "/to/x: 'one' is not of type 'integer'" in said[1].text
    assert "a JSON object is expected, and this is none: to=3" in said[2].text

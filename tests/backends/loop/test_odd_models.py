"""Models that are not what they should be: a clear end of the turn, and nobody else notices."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors import Agent, Runtime
from retinue.protocol.content import Data, Text, ToolCall
from retinue.protocol.model import Answer, TextDelta
from retinue.protocol.result import ERROR, Usage
from tests.backends.loop.models import Talker, says, told

ONE: Any = Answer((Text("x"),))


class Odd:
    """A model whose stream is whatever a function makes of a request."""

    name = "odd"

    def __init__(self, stream: Any) -> None:
        self.stream = stream


async def coroutine(_: Any) -> Answer:
    """Be no generator."""
    return says("x")


def of(*pieces: Any) -> Any:
    """Return a stream of those pieces."""

    async def stream(_: Any) -> Any:
        for piece in pieces:
            if isinstance(piece, BaseException):
                raise piece
            yield piece

    return stream


def answer(**fields: Any) -> Any:
    """Return a stream of one answer, with a field that is wrong."""
    return of(Answer(**{"content": (Text("x"),), **fields}))


@pytest.mark.parametrize(
    ("stream", "said"),
    [
        (coroutine, "async generator function; it returned coroutine"),
        (lambda _: iter(()), "it returned tuple_iterator"),
        (lambda _: None, "it returned NoneType"),
        (of(), "ended without an answer"),
        (of("text"), "streamed str; expected TextDelta"),
        (of(ONE, ONE), "one Answer at the end"),
        (answer(content="x"), "content: expected a tuple"),
        (answer(content=(Data(1),)), "content: expected a tuple"),
        (answer(usage="free"), "usage: expected Usage"),
        (answer(finish="stop"), "finish: expected a Finish"),
        (answer(content=(ToolCall("a", "t", [1]),)), "arguments of t"),  # type: ignore[arg-type]
        (answer(content=(ToolCall(None, "t", {}),)), "without id or name"),  # type: ignore[arg-type]
        (of(SystemExit(3)), "SystemExit(3)"),
        (of(KeyboardInterrupt()), "KeyboardInterrupt()"),
        (of(asyncio.CancelledError()), "CancelledError()"),
    ],
)
def test_an_odd_stream_ends_the_turn_and_says_what_was_wrong(
    runtime: Runtime, stream: Any, said: str
) -> None:
    """
    H85, LOG-10: the turn ends with an error that teaches, the log is sound, and the runtime
    goes on.
    """
    run = runtime.start("spawn", "go", agent=Agent(model=Odd(stream))).get()

    result = run.result.get()

    assert ERROR == result.stop_reason
    assert said in str(result.diagnostic)
    told(run)
    sound = runtime.start("spawn", "go", agent=Agent(model=Talker(says("fine")))).get()
    assert "fine" == sound.result.get().text


def test_text_before_a_failure_is_kept(runtime: Runtime) -> None:
    """
    H39, LOG-21: a stream that fails commits no message; what was streamed is the partial text.
    """
    stream = of(TextDelta("as far "), TextDelta("as this"), ValueError("odd"))
    run = runtime.start("spawn", "go", agent=Agent(model=Odd(stream))).get()

    result = run.result.get()

    assert (ERROR, "as far as this") == (result.stop_reason, result.text)
    assert not [line for line in told(run) if line.startswith("says")]
    assert Usage(requests=1) == result.usage  # it was sent all the same


@pytest.mark.parametrize(
    "model", [3, "nonsense", "foo:bar", object()], ids=lambda model: type(model).__name__
)
def test_what_is_no_model_is_refused_before_there_is_a_run(runtime: Runtime, model: Any) -> None:
    """
    A wrong model is no run that fails later: the start says what was expected.
    """
    with pytest.raises(Exception, match=r"(?s)model|provider"):
        runtime.start("spawn", "go", agent=Agent(model=model)).get()

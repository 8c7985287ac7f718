"""A model that says what a test tells it to, and words for what came of that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeAlias

from retinue.actors import Run
from retinue.protocol.content import Content, Text, ToolCall, text_of
from retinue.protocol.invariants import violations
from retinue.protocol.log import (
    AssistantMessage,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    UserMessage,
)
from retinue.protocol.model import Answer, Finish, ModelRequest, TextDelta
from retinue.protocol.result import Usage

HOUR = 3600.0

Reply: TypeAlias = Answer | Exception | str
ONE = Usage(10, 5, 1)


def says(text: str, finish: Finish = Finish.STOP) -> Answer:
    """Return an answer that is text."""
    return Answer((Text(text),), ONE, finish)


def calls(*named: tuple[str, str, dict[str, Any]], text: str = "", finish: Any = None) -> Answer:
    """Return an answer that calls tools: id, name, arguments."""
    blocks: Content = tuple([ToolCall(*call) for call in named])
    said = (Text(text), *blocks) if text else blocks
    return Answer(said, ONE, finish or Finish.TOOL_CALLS)


class Talker:
    """
    A model that gives its replies in order, and keeps the requests that it got.

    A text hangs in the middle of its stream: it is given out, and then an hour of virtual
    time passes.
    """

    name = "talker"

    def __init__(self, *replies: Reply | Callable[[ModelRequest], Reply]) -> None:
        self.replies = list(replies)
        self.requests: list[ModelRequest] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        """Give the next reply."""
        self.requests.append(request)
        assert self.replies, f"one request too many: {request.messages[-1]}"
        reply = self.replies.pop(0)
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        if isinstance(reply, str):
            yield TextDelta(reply)
            await asyncio.sleep(HOUR)
            return
        text = text_of(reply.content)
        if text:
            yield TextDelta(text)
        yield reply


def told(run: Run) -> list[str]:
    """Return the run's own log in short words, and insist that it is sound and balanced."""
    events = run.own_transcript()
    assert () == violations(run.transcript())
    return list(_words(events))


def _words(events: Iterable[object]) -> Iterable[str]:
    for event in events:
        match event:
            case StepStarted():
                yield f"step {event.step}"
            case UserMessage():
                yield f"user: {event.message.text}"
            case AssistantMessage() if event.content:
                blocks = [
                    f"{block.name}()"
                    if isinstance(block, ToolCall)
                    else getattr(block, "text", "{}")
                    for block in event.content
                ]
                cut = " (cut off)" if event.interrupted else ""
                yield f"says: {' '.join(blocks)}{cut}"
            case ToolCalled():
                yield f"calls {event.call.call_id}"
            case ToolReturned():
                yield f"{'synthetic ' * event.synthetic}{event.result.call_id}: {event.result.text}"
            case TurnFinished():
                yield f"ended {event.ending.value}"
            case StepFinished():
                pass
            case _:
                pass

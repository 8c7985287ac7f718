"""The conversation that a log tells: messages derived from its events."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from retinue.protocol.content import Block, Form, Kind, Message, Source, ToolCall, ToolResult
from retinue.protocol.entries import (
    AssistantMessage,
    Event,
    StepStarted,
    ToolReturned,
    UserMessage,
)

ANSWER: Final = Source(Kind.SELF, Form.ANSWER)
TOOL_RESULTS: Final = Source(Kind.RUNTIME, Form.TOOL_RESULTS)


def derived(events: Sequence[Event]) -> list[Message]:
    """
    Derive the messages of a conversation, oldest first.

    The results of an answer's tool calls follow it as one message, whatever was logged
    between them. A call that nobody answered is left out, and so is an answer without
    content: a history with an unanswered call makes every later request fail (H46).
    """
    results = {
        (event.turn, event.step, event.result.call_id): event.result
        for event in events
        if isinstance(event, ToolReturned)
    }
    messages: list[Message] = []
    turn = step = 0
    for event in events:
        match event:
            case StepStarted():
                turn, step = event.turn, event.step
            case UserMessage():
                messages.append(event.message)
            case AssistantMessage():
                kept: list[Block] = []
                answers: list[ToolResult] = []
                for block in event.content:
                    if isinstance(block, ToolCall):
                        # Call ids repeat across steps, and a result answers one call.
                        answer = results.pop((turn, step, block.call_id), None)
                        if answer is None:
                            continue
                        answers.append(answer)
                    kept.append(block)
                if kept:
                    messages.append(Message(tuple(kept), ANSWER))
                if answers:
                    messages.append(Message(tuple(answers), TOOL_RESULTS))
            case _:
                pass
    return messages

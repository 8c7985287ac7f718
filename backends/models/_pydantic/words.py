"""Conversations and answers, translated in both directions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, Final, TypeAlias, cast

from pydantic_ai import messages as theirs
from pydantic_ai.models import ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from retinue.protocol.content import (
    Block,
    Content,
    Data,
    Kind,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from retinue.protocol.errors import ModelFailed
from retinue.protocol.model import Finish, ModelRequest

Original: TypeAlias = Callable[[Content], "theirs.ModelResponse | None"]

_FINISHES: Final = {
    "stop": Finish.STOP,
    "tool_call": Finish.TOOL_CALLS,
    "length": Finish.LENGTH,
    "content_filter": Finish.REFUSAL,
}


def parameters_of(request: ModelRequest) -> ModelRequestParameters:
    """Translate what stands beside the conversation: the tools and the instructions."""
    tools = [
        ToolDefinition(
            name=spec.name,
            description=spec.description,
            parameters_json_schema=dict(spec.parameters),
        )
        for spec in request.tools
    ]
    parts = [theirs.InstructionPart(request.instructions)] if request.instructions else None
    return ModelRequestParameters(function_tools=tools, instruction_parts=parts)


def conversation_of(
    conversation: Sequence[Message], original: Original
) -> list[theirs.ModelMessage]:
    """
    Translate a conversation.

    What was not said by the agent itself goes together from answer to answer, since some
    models insist on turns that alternate. *original* returns an answer as it came, where it
    is still known: what a model thought is signed, and taken back only with its signature.
    """
    names: dict[str, str] = {}
    translated: list[theirs.ModelMessage] = []
    for is_own, group in groupby(conversation, lambda message: message.source.kind is Kind.SELF):
        if is_own:
            for message in group:
                translated.append(original(message.content) or _answer(message.content))
                names.update(_names_in(message.content))
        else:
            parts = [part for message in group for part in _asked(message.content, names)]
            translated.append(theirs.ModelRequest(parts))
    return translated


def _names_in(content: Content) -> Iterator[tuple[str, str]]:
    return ((block.call_id, block.name) for block in content if isinstance(block, ToolCall))


def _answer(content: Content) -> theirs.ModelResponse:
    parts: list[theirs.ModelResponsePart] = []
    for block in content:
        match block:
            case Text(text):
                parts.append(theirs.TextPart(text))
            case Data(value):
                parts.append(theirs.TextPart(_as_json(value)))
            case ToolCall(call_id, name, arguments):
                parts.append(theirs.ToolCallPart(name, dict(arguments), call_id))
            case Reasoning():
                # Without its signature no model takes it back as what it is, and as text it
                # would be something that was said.
                pass
            case ToolResult():
                raise ModelFailed("a tool result stands in an answer; a request should hold it")
    return theirs.ModelResponse(parts or [theirs.TextPart("")])


def _asked(content: Content, names: dict[str, str]) -> Iterator[theirs.ModelRequestPart]:
    for block in content:
        match block:
            case Text(text) | Reasoning(text):
                yield theirs.UserPromptPart(text)
            case Data(value):
                yield theirs.UserPromptPart(_as_json(value))
            case ToolCall(_, name, arguments):
                yield theirs.UserPromptPart(f"{name} {_as_json(arguments)}")
            case ToolResult(call_id, text, is_error) if call_id in names:
                outcome: Any = "failed" if is_error else "success"
                yield theirs.ToolReturnPart(names[call_id], text, call_id, outcome=outcome)
            case ToolResult(text=text):  # forwarded, as any other content
                yield theirs.UserPromptPart(text)


def content_of(response: theirs.ModelResponse) -> Content:
    """Translate an answer; what it holds beside text, reasoning and calls is left out."""
    blocks: list[Block] = []
    for part in response.parts:
        match part:
            case theirs.TextPart():
                if part.content:
                    blocks.append(Text(part.content))
            case theirs.ThinkingPart():
                blocks.append(Reasoning(part.content))
            case theirs.ToolCallPart():
                arguments = arguments_of(part.args)
                blocks.append(ToolCall(part.tool_call_id, part.tool_name, arguments))
            case _:
                pass
    return tuple(blocks)


def arguments_of(given: object) -> dict[str, Any]:
    """Read the arguments of a call; what is no JSON object is kept as the text that it is."""
    if isinstance(given, str) and given:
        try:
            given = json.loads(given)
        except ValueError:
            return {"": given}
    if given is None or given == "":
        return {}
    return cast("dict[str, Any]", given) if isinstance(given, dict) else {"": _as_json(given)}


def finish_of(response: theirs.ModelResponse) -> Finish:
    """Translate why an answer ended; a model that does not say so stopped by itself."""
    finish = _FINISHES.get(response.finish_reason or "stop", Finish.STOP)
    if finish is Finish.STOP and response.tool_calls:
        return Finish.TOOL_CALLS  # some servers say "stop" all the same
    return finish


def refusal_of(response: theirs.ModelResponse) -> str | None:
    """Return the words of a refusal that came apart from the text, or None."""
    details = response.provider_details or {}
    said = details.get("refusal")
    return said if isinstance(said, str) and said else None


def _as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)

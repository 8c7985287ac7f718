"""One reply of a scripted model, and the forms that it may be written in."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Protocol, cast

import attrs

from retinue.backends.models._failures import failure_from_json
from retinue.protocol.content import (
    Block,
    Content,
    Data,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from retinue.protocol.errors import ModelFailed
from retinue.protocol.model import Answer, Finish, ModelRequest
from retinue.protocol.result import Usage

_PIECES: Final = re.compile(r"\s*\S+|\s+")
_FORMS: Final = (
    "a reply is a text, a Reply, or a dict with some of text, reasoning, calls, usage,"
    " finish, expect, raises, hold, is_unoffered"
)


class Holding(Protocol):
    """What parks a reply; ``retinue.backends.scripted.Hold`` is one."""

    def park(self, go_on: Any) -> None:
        """Call *go_on* when it is released; at once if it has been."""
        ...

    def leave(self, go_on: Any) -> None:
        """Do not call *go_on* any more."""
        ...


def pieces_of(text: str) -> Iterator[str]:
    """Cut a text in words as a model streams it; joined by nothing they are the text."""
    return (match.group() for match in _PIECES.finditer(text))


def words_of(content: Content) -> str:
    """Return all that a message says, tool calls and their results included."""
    return " ".join([_said(block) for block in content])


def _said(block: Block) -> str:
    match block:
        case Text(text) | Reasoning(text) | ToolResult(text=text):
            return text
        case Data(value):
            return _as_json(value)
        case ToolCall(name=name, arguments=arguments):
            return f"{name} {_as_json(arguments)}"


def _as_json(value: Any) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=str)


def listed(given: object, what: str) -> list[Any]:
    """Take a list or a tuple; raises ModelFailed, which begins with *what*, for all else."""
    if not isinstance(given, (list, tuple)):
        raise ModelFailed(f"{what}, got {type(given).__name__}")
    return list(cast("list[Any]", given))


def _calls(given: Any) -> tuple[ToolCall, ...]:
    return tuple([_call(call) for call in listed(given, "calls: expected a list of calls")])


def _call(given: Any) -> ToolCall:
    if isinstance(given, ToolCall):
        return given
    if isinstance(given, Mapping):
        fields = dict(cast("Mapping[str, Any]", given))
        call_id, name = fields.pop("id", ""), fields.pop("name", None)
        arguments = fields.pop("arguments", {})
        if isinstance(name, str) and isinstance(arguments, Mapping) and not fields:
            return ToolCall(call_id, name, cast("Mapping[str, Any]", arguments))
    raise ModelFailed(
        "a call is a ToolCall or a dict as {'name': 'look', 'arguments': {'at': 'it'}}, with"
        f" an 'id' if it matters; got {given!r}"
    )


def _usage(given: Any) -> Usage | None:
    if given is None or isinstance(given, Usage):
        return given
    try:
        return Usage(**{"requests": 1, **given})
    except TypeError:
        raise ModelFailed(
            "usage: expected a Usage or a dict with some of input_tokens, output_tokens,"
            f" requests, cost; got {given!r}"
        ) from None


def _finish(given: Any) -> Finish | None:
    try:
        return None if given is None else Finish(given)
    except ValueError:
        known = ", ".join([finish.value for finish in Finish])
        raise ModelFailed(f"finish: expected one of {known}, got {given!r}") from None


def _text(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, str):
        raise ModelFailed(f"{attribute.name}: expected text, got {value!r}")


def _holding(_: object, __: object, value: Any) -> None:
    if value is not None and not (hasattr(value, "park") and hasattr(value, "leave")):
        raise ModelFailed(f"hold: expected a Hold, which only Python code can give; got {value!r}")


def _raises(given: Any) -> BaseException | None:
    return given if given is None or isinstance(given, BaseException) else failure_from_json(given)


@attrs.frozen(eq=False)
class Reply:
    """
    One reply of a scripted model.

    Args:
        text: streamed word by word.
        reasoning: what it thinks aloud before; streamed likewise.
        calls: the tools that it calls, each a ToolCall or ``{"name": ..., "arguments":
            {...}}``; ids are made from turn, step and position where none is given.
        usage: what it costs; by default one request, and one token per word that was read
            or written.
        finish: why it ends; by default as its calls suggest.
        expect: a text that must occur in the newest message of the request.
        raises: what is raised once everything was streamed, in place of an answer.
        hold: where it stands, once everything was streamed, until the test lets it go on.
        is_unoffered: whether it may call tools that the request does not offer, as models do.

    Raises:
        ModelFailed: a field is not what it should be.
    """

    text: str = attrs.field(default="", validator=_text)
    reasoning: str = attrs.field(default="", validator=_text)
    calls: tuple[ToolCall, ...] = attrs.field(default=(), converter=_calls)
    usage: Usage | None = attrs.field(default=None, converter=_usage)
    finish: Finish | None = attrs.field(default=None, converter=_finish)
    expect: str | None = attrs.field(default=None, validator=attrs.validators.optional(_text))
    raises: BaseException | None = attrs.field(default=None, converter=_raises)
    hold: Holding | None = attrs.field(default=None, validator=_holding)
    is_unoffered: bool = False

    def content(self, request: ModelRequest) -> Content:
        """Return the blocks of its answer to *request*."""
        blocks: list[Block] = []
        if self.reasoning:
            blocks.append(Reasoning(self.reasoning))
        if self.text:
            blocks.append(Text(self.text))
        for number, call in enumerate(self.calls, 1):
            made = f"call-{request.turn}-{request.step}-{number}"
            blocks.append(call if call.call_id else attrs.evolve(call, call_id=made))
        return tuple(blocks)

    def answer(self, request: ModelRequest) -> Answer:
        """Return the whole answer to *request*."""
        content = self.content(request)
        usage = self.usage
        if usage is None:
            usage = Usage(_read(request), len(words_of(content).split()), 1)
        finish = self.finish or (Finish.TOOL_CALLS if self.calls else Finish.STOP)
        return Answer(content, usage, finish)

    def drift(self, request: ModelRequest) -> str | None:
        """Say how *request* differs from what this reply was written for, or None."""
        newest = newest_of(request)
        if self.expect is not None and self.expect not in newest:
            return f"expected {self.expect!r} in the newest message, which says {newest!r}"
        offered = [tool.name for tool in request.tools]
        for call in () if self.is_unoffered else self.calls:
            if call.name not in offered:
                there_are = ", ".join(offered) or "none"
                return f"the script calls the tool {call.name!r}; the request offers {there_are}"
        return None


def newest_of(request: ModelRequest) -> str:
    """Return what the newest message of a request says."""
    return words_of(request.messages[-1].content) if request.messages else ""


def _read(request: ModelRequest) -> int:
    """Count the words that a model reads."""
    said = [words_of(message.content) for message in request.messages]
    return sum([len(text.split()) for text in (request.instructions, *said)])


def as_reply(given: Any) -> Reply:
    """
    Take a reply in any of its forms.

    Raises:
        ModelFailed: it is none.
    """
    if type(given) is str:
        return Reply(given)
    if isinstance(given, Reply):
        return given
    if isinstance(given, Mapping):
        fields = cast("Mapping[str, Any]", given)
        unknown = [name for name in fields if name not in attrs.fields_dict(Reply)]
        if unknown:
            raise ModelFailed(f"{_FORMS}; unknown: {', '.join(map(repr, unknown))}")
        return Reply(**fields)
    raise ModelFailed(f"{_FORMS}; got {given!r}")

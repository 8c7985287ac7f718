"""What a tape of a model holds: requests and answers as JSON, and where two requests differ."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias, cast

import attrs

from retinue.protocol.content import (
    Block,
    Content,
    Data,
    Message,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
)
from retinue.protocol.errors import printable
from retinue.protocol.model import Answer, Finish, ModelRequest
from retinue.protocol.result import Usage

Json: TypeAlias = dict[str, Any]

_TYPES: Final[Mapping[str, type[Any]]] = {
    "text": Text,
    "reasoning": Reasoning,
    "data": Data,
    "call": ToolCall,
    "result": ToolResult,
}
_NAMES: Final = {kind: name for name, kind in _TYPES.items()}
# How much is shown of two texts that differ.
_SHOWN: Final = 60


def plain(value: object) -> Any:
    """Turn a value into what comes back when it is written as JSON and read again."""
    return json.loads(json.dumps(value, default=printable))


def _block(block: Block) -> Json:
    fields = attrs.fields(type(block))
    written: Json = {field.name: getattr(block, field.name) for field in fields}
    return {"type": _NAMES[type(block)], **written}


def _content(written: list[Json]) -> Content:
    blocks: list[Block] = []
    for item in written:
        fields = dict(item)
        blocks.append(_TYPES[fields.pop("type")](**fields))
    return tuple(blocks)


def _message(message: Message) -> Json:
    source = message.source
    said = [_block(block) for block in message.content]
    return {"kind": source.kind.value, "form": source.form.value, "content": said}


def request_to_json(request: ModelRequest) -> Json:
    """
    Write down what of a request a model can see, and when in its run it came.

    Ids of messages and of senders are left out: no model is shown them, and they are new
    in every runtime. An id that stands in a text is part of that text.
    """
    tools = [
        {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
        for tool in request.tools
    ]
    written = {
        "turn": request.turn,
        "step": request.step,
        "instructions": request.instructions,
        "options": dict(request.options),
        "tools": tools,
        "messages": [_message(message) for message in request.messages],
    }
    whole: Json = plain(written)
    return whole


def folded(now: Json, before: Json) -> Json:
    """Leave out of a request what is as in the one before, or a tape grows by the square."""
    changed = {key: now[key] for key in now if key != "messages" and now[key] != before.get(key)}
    earlier = before.get("messages", [])
    kept = 0
    for old, new in zip(earlier, now["messages"], strict=False):
        if old != new:
            break
        kept += 1
    return {**changed, "kept": kept, "messages": now["messages"][kept:]}


def unfolded(written: Json, before: Json) -> Json:
    """Put back what ``folded`` left out."""
    whole = {**before, **written}
    whole["messages"] = before.get("messages", [])[: whole.pop("kept")] + written["messages"]
    return whole


def answer_to_json(answer: Answer) -> Json:
    """Write down a whole answer."""
    written: Json = plain(
        {
            "content": [_block(block) for block in answer.content],
            "usage": attrs.asdict(answer.usage),
            "finish": answer.finish.value,
        }
    )
    return written


def answer_from_json(written: Json) -> Answer:
    """Read an answer; raises KeyError or TypeError where it is none."""
    return Answer(
        _content(written["content"]), Usage(**written["usage"]), Finish(written["finish"])
    )


def difference(recorded: object, now: object, at: str = "") -> str | None:
    """Say where *now* first differs from *recorded*, and how; None when it does not."""
    if isinstance(recorded, dict) and isinstance(now, dict):
        old, new = cast("Json", recorded), cast("Json", now)
        for key in (*old, *(key for key in new if key not in old)):
            place = f"{at}.{key}" if at else key
            if key not in new or key not in old:
                return f"{place}: recorded {_shown(old, key)}, now {_shown(new, key)}"
            found = difference(old[key], new[key], place)
            if found is not None:
                return found
        return None
    if isinstance(recorded, list) and isinstance(now, list):
        return _of_lists(cast("list[object]", recorded), cast("list[object]", now), at)
    if isinstance(recorded, str) and isinstance(now, str):
        return _of_texts(recorded, now, at)
    old_text, new_text = json.dumps(recorded), json.dumps(now)
    return None if old_text == new_text else f"{at}: recorded {old_text}, now {new_text}"


def _of_lists(recorded: list[object], now: list[object], at: str) -> str | None:
    for number, (old, new) in enumerate(zip(recorded, now, strict=False)):
        found = difference(old, new, f"{at}[{number}]")
        if found is not None:
            return found
    if len(recorded) == len(now):
        return None
    more, first = ("now", now) if len(now) > len(recorded) else ("recorded", recorded)
    extra = _cut(json.dumps(first[min(len(recorded), len(now))]), 0)
    return (
        f"{at}: recorded {len(recorded)}, now {len(now)}; the first that only {more} has: {extra}"
    )


def _of_texts(recorded: str, now: str, at: str) -> str | None:
    if recorded == now:
        return None
    pairs = enumerate(zip(recorded, now, strict=False))
    character = next(
        (number for number, (old, new) in pairs if old != new), min(len(recorded), len(now))
    )
    old, new = _cut(recorded, character), _cut(now, character)
    return f"{at}, at character {character}: recorded {old!r}, now {new!r}"


def _shown(items: Json, key: str) -> str:
    return _cut(json.dumps(items[key]), 0) if key in items else "nothing"


def _cut(text: str, at: int) -> str:
    """Cut to what stands around a place."""
    begin = max(0, at - _SHOWN // 2)
    cut = text[begin : begin + _SHOWN]
    return f"{'…' if begin else ''}{cut}{'…' if begin + _SHOWN < len(text) else ''}"

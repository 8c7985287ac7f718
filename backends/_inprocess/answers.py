"""What a tool returned, in words that a model reads."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from retinue.protocol.content import BLOCK_TYPES, Block, Data, Message, Reasoning, Text, ToolCall
from retinue.protocol.errors import ToolFailed, printable
from retinue.protocol.payload import payload_violations

# What a model reads when a tool has nothing to say.
NOTHING: Final = "done"


def answer_text(name: str, value: Any) -> str:
    """
    Return what tool *name* gave back as text: text as it is, blocks as theirs, else JSON.

    Raises:
        ToolFailed: it is nothing that can be written down; whoever wrote the tool reads how.
    """
    if value is None:
        return NOTHING
    if isinstance(value, str):
        return value
    blocks = _blocks(value)
    if blocks is not None:
        return "\n".join([_block_text(name, block) for block in blocks])
    return _json(name, value)


def _blocks(value: Any) -> Sequence[Block] | None:
    if isinstance(value, Message):
        return value.content
    if type(value) in BLOCK_TYPES:
        return (value,)
    if isinstance(value, (list, tuple)) and value:
        items = cast("Sequence[Any]", value)
        if any(type(item) in BLOCK_TYPES for item in items):
            return [Text(item) if isinstance(item, str) else item for item in items]
    return None


def _block_text(name: str, block: Any) -> str:
    match block:
        case Text(text=text) | Reasoning(text=text):
            return text
        case Data(value=value):
            return _json(name, value)
        case ToolCall():
            return f"{block.name}({_json(name, dict(block.arguments))})"
        case _:
            return str(getattr(block, "text", None) or _json(name, block))


def _json(name: str, value: Any) -> str:
    plain = _plain(value)
    found = payload_violations(plain)
    if found:
        raise ToolFailed(
            f"{name} ran, and returned a {type(value).__name__} that cannot be shown: a tool"
            " returns text, JSON values, content blocks, or instances of attrs, dataclass or"
            f" pydantic classes made of them ({found[0]})"
        )
    return json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    if not payload_violations(value):
        return value
    from retinue.protocol.schema import plain_json

    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json")
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in cast("Mapping[Any, Any]", value).items()}
    return plain_json(value)


def error_text(error: BaseException) -> str:
    """Return an error's name and message, and nothing of where it came from (TOOL-31)."""
    cause = error.__cause__
    if cause is not None and not isinstance(cause, Exception):
        error = cause  # it came from a thread, wrapped so that it does no harm
    try:
        said = str(error)
    except BaseException:  # noqa: BLE001 - a message is foreign code
        said = printable(error)
    if isinstance(error, ToolFailed) and said:
        return said
    name = type(error).__name__
    return f"{name}: {said}" if said else name

"""From what a behaviour returned to what its turn gave."""

from __future__ import annotations

from collections.abc import Coroutine, Generator, Sequence
from typing import Any, cast

import attrs

from retinue.protocol.content import BLOCK_TYPES, Content, Data, Message, Text, as_content
from retinue.protocol.errors import InvalidContent
from retinue.protocol.payload import is_json


@attrs.frozen
class Captured:
    """The output of a turn: content, and the value where it is no text."""

    output: Content
    structured: Any = None
    violations: tuple[str, ...] = ()


def capture(value: object, schema: Any, agent: str) -> Captured:
    """
    Take what *agent* returned.

    With a schema the value has to satisfy it. Without one text, content blocks, None and
    JSON values are taken; a JSON value is the structured result too.

    Raises:
        InvalidContent: the value is none of these.
    """
    if schema is not None:
        return _captured_by_schema(value, schema)
    if value is None:
        return Captured(())
    if isinstance(value, str):
        return Captured((Text(value),))
    if type(value) in BLOCK_TYPES or isinstance(value, Message) or _is_blocks(value):
        return Captured(as_content(value, "result"))
    if isinstance(value, (Coroutine, Generator)):
        cast("Generator[Any, Any, Any]", value).close()
        kind = "a coroutine" if isinstance(value, Coroutine) else "a generator"
        raise InvalidContent(f"{agent} returned {kind}; make the behaviour itself one")
    if is_json(value):
        return Captured((Data(value),), value)
    raise InvalidContent(
        f"{agent} returned {type(value).__name__}; expected text, content blocks, a JSON value"
        " or None, or start it with output_schema= for instances of a class"
    )


def _is_blocks(value: object) -> bool:
    if not isinstance(value, (list, tuple)):
        return False
    items = cast("Sequence[object]", value)
    return bool(items) and all(type(item) in BLOCK_TYPES for item in items)


def _captured_by_schema(value: object, schema: Any) -> Captured:
    violations: tuple[str, ...] = schema.violations(value)
    if violations:
        text = (Text(value),) if isinstance(value, str) else ()
        return Captured(text, None, violations)
    structured = schema.read(value)
    return Captured((Data(schema.plain(value)),), structured)

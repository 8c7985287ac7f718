"""
Logs as JSON lines: what people read, and what two runs are compared by.

Rule: the same events give the same bytes. Keys are sorted inside payloads, numbers are
written as Python writes them, lone surrogates are escaped, absent fields are left out.
"""

from __future__ import annotations

import enum
import functools
import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

import attrs

from retinue.protocol.entries import Event
from retinue.protocol.errors import InvalidContent
from retinue.protocol.log import Log

_SURROGATES: Final = re.compile("[\ud800-\udfff]")


@functools.cache
def _shape(cls: type[attrs.AttrsInstance]) -> tuple[str, tuple[str, ...]]:
    words = re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()
    return words, tuple(field.name for field in attrs.fields(cls))


def _plain(value: object) -> Any:
    if value is None or isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, Mapping):
        items = cast("Mapping[Any, object]", value)
        return {key: _plain(items[key]) for key in sorted(items)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in cast("list[object]", value)]
    cls = type(value)
    if attrs.has(cls):
        name, fields = _shape(cls)
        plain: dict[str, Any] = {"type": name}
        for field in fields:
            item = getattr(value, field)
            if item is not None:
                plain[field] = _plain(item)
        return plain
    raise InvalidContent(f"{cls.__name__} cannot be written as JSON")


def encode_event(event: Event) -> dict[str, Any]:
    """
    Write one event as a JSON object.

    ``type`` is its class in lower case with hyphens, as in ``turn-started``.

    Raises:
        InvalidContent: it holds something that is no JSON.
    """
    encoded: dict[str, Any] = _plain(event)
    return encoded


def export(log: Log | Iterable[Event], *, with_time: bool = True) -> str:
    """
    Write a log as JSON lines, one event each, ``n`` its sequence number.

    Args:
        with_time: whether times are written; without them runs under different clocks
            compare.

    Raises:
        InvalidContent: an event holds something that is no JSON; its number is named.
    """
    lines: list[str] = []
    for number, event in enumerate(log.events() if isinstance(log, Log) else log):
        try:
            encoded = {"n": number, **encode_event(event)}
            if not with_time:
                del encoded["time"]
            line = json.dumps(encoded, ensure_ascii=False, allow_nan=False)
        except (InvalidContent, ValueError, TypeError) as error:
            raise InvalidContent(f"event {number}: {error}") from error
        lines.append(_SURROGATES.sub(_escaped, line) + "\n")
    return "".join(lines)


def _escaped(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"

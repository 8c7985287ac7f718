"""
What a log takes as a JSON value (LOG-2).

Rule: a payload comes back from JSON as it was. What would come back different (a tuple,
negative zero), not at all (NaN, an instance) or never (a cycle) is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, TypeAlias, cast

from retinue.protocol.errors import InvalidContent

# Python's own JSON encoder gives up at about a thousand levels.
NESTING_LIMIT: Final = 200


def pointer_to(*keys: object) -> str:
    """Write *keys* as a JSON pointer; the whole value is ``""``."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)


def payload_violations(value: object) -> tuple[str, ...]:
    """List everything in *value* that is no lossless JSON, each with its JSON pointer."""
    found: list[str] = []
    # One frame per container that is open, so that depth costs no Python frames: what is
    # left of it, the container, and its key. Every result of a run passes here, so a
    # pointer is written only where something is wrong.
    frames: list[_Frame] = [(iter((("", value),)), (), "")]
    open_ids: list[int] = []
    while frames:
        members, container, _ = frames[-1]
        step = next(members, None)
        if step is None:
            frames.pop()
            if open_ids:
                open_ids.pop()
            continue
        key, item = step
        if type(key) is not str and type(container) is dict:
            found.append(f"{_place(frames, key)}: a key is text, not {type(key).__name__}")
        kind = type(item)
        if kind is not dict and kind is not list:
            problem = _scalar_problem(item)
            if problem is not None:
                found.append(f"{_place(frames, key)}: {problem}")
        elif id(item) in open_ids:
            found.append(f"{_place(frames, key)}: contains itself")
        elif len(open_ids) >= NESTING_LIMIT:
            found.append(f"the value: nested deeper than {NESTING_LIMIT} levels")
        else:
            open_ids.append(id(item))
            frames.append((_members(item), item, key))
    return tuple(found)


_Frame: TypeAlias = tuple[Iterator[tuple[object, object]], object, object]


def _place(frames: list[_Frame], key: object) -> str:
    """Write the pointer to a member of the last frame; the first is around the value itself."""
    if len(frames) == 1:
        return "the value"
    return pointer_to(*(frame[2] for frame in frames[2:]), key)


def _members(container: object) -> Iterator[tuple[object, object]]:
    if isinstance(container, dict):
        return iter(cast("dict[object, object]", container).items())
    return enumerate(cast("list[object]", container))


def _scalar_problem(item: object) -> str | None:
    kind = type(item)
    if item is None or kind is bool or kind is int or kind is str:
        return None
    if isinstance(item, float) and kind is float:
        if not math.isfinite(item):
            return f"{item} is no JSON number"
        if item == 0.0 and math.copysign(1, item) < 0:
            return "negative zero does not survive JSON"
        return None
    if kind is tuple:
        return "a tuple comes back from JSON as a list"
    return f"{kind.__name__} is no JSON"


def is_json(value: object) -> bool:
    """Whether *value* is lossless JSON."""
    return not payload_violations(value)


def check_payload(value: object, what: str = "payload") -> None:
    """
    Refuse what is no lossless JSON.

    Raises:
        InvalidContent: it is not; every place is named.
    """
    found = payload_violations(value)
    if found:
        raise InvalidContent(f"{what}: not a JSON value", found)


def json_copy(value: object) -> Any:
    """Copy a JSON value; of one that is none, what is no JSON becomes null or is left out."""
    return _copied(value, set())


def _copied(value: object, above: set[int]) -> Any:
    kind = type(value)
    if kind is not dict and kind is not list:
        return None if _scalar_problem(value) else value
    if (at := id(value)) in above or len(above) >= NESTING_LIMIT:
        return None
    above.add(at)
    copy: dict[str, Any] | list[Any]
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        copy = {key: _copied(item, above) for key, item in items if isinstance(key, str)}
    else:
        copy = [_copied(item, above) for item in cast("list[object]", value)]
    above.discard(at)
    return copy

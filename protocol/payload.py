"""
What a log takes as a JSON value (LOG-2).

Rule: a payload comes back from JSON as it was. What would come back different (a tuple,
negative zero), not at all (NaN, an instance) or never (a cycle) is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Final, cast

from retinue.protocol.errors import InvalidContent

# Python's own JSON encoder gives up at about a thousand levels.
NESTING_LIMIT: Final = 200


def pointer_to(*keys: object) -> str:
    """Write *keys* as a JSON pointer; the whole value is ``""``."""
    return "".join(f"/{str(key).replace('~', '~0').replace('/', '~1')}" for key in keys)


def payload_violations(value: object) -> tuple[str, ...]:
    """List everything in *value* that is no lossless JSON, each with its JSON pointer."""
    found: list[str] = []
    # One iterator per container that is open, so that depth costs no Python frames.
    open_ids: list[int] = []
    stack: list[Iterator[tuple[str, object]]] = [iter((("", value),))]
    while stack:
        step = next(stack[-1], None)
        if step is None:
            stack.pop()
            if open_ids:
                open_ids.pop()
            continue
        pointer, item = step
        kind = type(item)
        if kind is not dict and kind is not list:
            problem = _scalar_problem(item)
        elif id(item) in open_ids:
            problem = "contains itself"
        elif len(open_ids) >= NESTING_LIMIT:
            pointer, problem = "", f"nested deeper than {NESTING_LIMIT} levels"
        else:
            problem = None
            open_ids.append(id(item))
            children = cast("dict[Any, object] | list[object]", item)
            stack.append(_members(children, pointer, found))
        if problem is not None:
            found.append(f"{pointer or 'the value'}: {problem}")
    return tuple(found)


def _members(
    container: dict[Any, object] | list[object], pointer: str, found: list[str]
) -> Iterator[tuple[str, object]]:
    if isinstance(container, list):
        for index, item in enumerate(container):
            yield f"{pointer}/{index}", item
        return
    for key, item in container.items():
        where = pointer + pointer_to(key)
        if type(key) is not str:
            found.append(f"{where}: a key is text, not {type(key).__name__}")
        yield where, item


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

"""
The durable descriptor of a run: what a later process needs to know what it was (DSC).

Rule: never stored are depth, output schema and token cap (DSC-2). What was not declared
is left out, not null (DSC-1).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any, Final, cast

import attrs

from retinue.protocol.agent import ToolFilter
from retinue.protocol.errors import InvalidContent

VERSION: Final = 2


class Mode(enum.Enum):
    """What kind of run a descriptor describes."""

    ONE_SHOT = "one-shot"
    DURABLE = "durable"


_OPTIONAL_TEXTS: Final = ("label", "agent_provider", "agent_model", "persona")
_FIELDS: Final[Mapping[Mode, frozenset[str]]] = {
    Mode.ONE_SHOT: frozenset(("version", "mode", "provider", "label")),
    Mode.DURABLE: frozenset(("version", "mode", "provider", "tool_filter", *_OPTIONAL_TEXTS)),
}


@attrs.frozen
class Descriptor:
    """
    What a run was started as.

    Args:
        label: a durable run needs one.
        agent_provider: the resolved route at creation, as is *agent_model* (DSC-3).
        tool_filter: keeps something out, or is absent.

    Raises:
        InvalidContent: a field is missing, has the wrong type, or is none of this mode's.
            All violations are named.
    """

    mode: Mode
    provider: str
    label: str | None = None
    agent_provider: str | None = None
    agent_model: str | None = None
    persona: str | None = None
    tool_filter: ToolFilter | None = None

    def __attrs_post_init__(self) -> None:
        found: list[str] = []
        if not isinstance(cast("object", self.provider), str) or not self.provider:
            found.append("/provider: expected the name of a provider")
        for name in _OPTIONAL_TEXTS:
            value: object = getattr(self, name)
            if value is not None and not isinstance(value, str):
                found.append(f"/{name}: expected text, not {type(value).__name__}")
        if self.mode is Mode.DURABLE and self.label is None:
            found.append("/label: a durable run needs one")
        allowed = _FIELDS[self.mode]
        found.extend(
            f"/{name}: a {self.mode.value} run has none"
            for name in (*_OPTIONAL_TEXTS, "tool_filter")
            if name not in allowed and getattr(self, name) is not None
        )
        if self.tool_filter is not None:
            found.extend(_filter_violations(_filter_json(self.tool_filter)))
        if found:
            raise InvalidContent("a descriptor that is none", found)

    def to_json(self) -> dict[str, Any]:
        """Return it as a JSON object; fields that were not declared are left out."""
        value: dict[str, Any] = {
            "version": VERSION,
            "mode": self.mode.value,
            "provider": self.provider,
        }
        for name in _OPTIONAL_TEXTS:
            text = getattr(self, name)
            if text is not None:
                value[name] = text
        if self.tool_filter is not None:
            value["tool_filter"] = _filter_json(self.tool_filter)
        return value


def _filter_json(tool_filter: ToolFilter) -> dict[str, list[str]]:
    value: dict[str, list[str]] = {}
    if tool_filter.allow is not None:
        value["allow"] = list(tool_filter.allow)
    if tool_filter.deny:
        value["deny"] = list(tool_filter.deny)
    return value


def _filter_violations(value: object) -> list[str]:
    if not isinstance(value, dict):
        return [f"/tool_filter: expected an object, not {type(value).__name__}"]
    lists = cast("dict[str, object]", value)
    found = [
        f"/tool_filter/{name}: unknown field" for name in lists if name not in ("allow", "deny")
    ]
    if not lists:
        found.append("/tool_filter: an empty filter filters nothing")
    for key in ("allow", "deny"):
        names = lists.get(key, [])
        if not isinstance(names, list) or not all(
            isinstance(name, str) for name in cast("list[object]", names)
        ):
            found.append(f"/tool_filter/{key}: expected a list of names")
    return found


def parse(value: object) -> Descriptor | None:
    """
    Read a stored descriptor, strictly (DSC-5).

    Returns:
        None when its version is one that this code does not know.

    Raises:
        InvalidContent: it is no object, has no version, or has a version that is known
            and a mode or a field that is not. All violations are named.
    """
    if not isinstance(value, dict):
        raise InvalidContent(f"a descriptor is a JSON object, not {type(value).__name__}")
    fields = cast("dict[str, Any]", value)
    version = fields.get("version")
    if isinstance(version, bool) or not isinstance(version, (int, float)):
        raise InvalidContent(
            "a descriptor that is none", [f"/version: expected a number, not {version!r}"]
        )
    if version != VERSION:
        return None
    try:
        mode = Mode(fields.get("mode"))
    except ValueError:
        modes = ", ".join(known.value for known in Mode)
        raise InvalidContent(
            "a descriptor that is none", [f"/mode: expected one of {modes}"]
        ) from None
    found = [f"/{name}: unknown field" for name in fields if name not in _FIELDS[mode]]
    # DSC-1: what was not declared is left out; null is no way to say so.
    found.extend(f"/{name}: null" for name in fields if fields[name] is None)
    texts = {name: fields.get(name) for name in _OPTIONAL_TEXTS if name in _FIELDS[mode]}
    stored = fields.get("tool_filter")
    tool_filter: ToolFilter | None = None
    if stored is not None and "tool_filter" in _FIELDS[mode]:
        bad = _filter_violations(stored)
        found.extend(bad)
        if not bad:
            allow = stored.get("allow")
            tool_filter = ToolFilter(
                None if allow is None else tuple(allow), tuple(stored.get("deny", ()))
            )
    try:
        descriptor = Descriptor(mode, fields.get("provider", ""), **texts, tool_filter=tool_filter)
    except InvalidContent as error:
        found.extend(error.violations)
        descriptor = None
    if found:
        raise InvalidContent("a descriptor that is none", found)
    return descriptor

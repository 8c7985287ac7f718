"""From the arguments of a start to a request; wrong ones are refused here, at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from retinue.actors._arguments import text
from retinue.actors._context import CURRENT
from retinue.protocol.agent import as_agent
from retinue.protocol.content import USER_PROMPT, Message, Source, as_content
from retinue.protocol.delegation import NO_FEATURES, Features, Limits, StartRequest
from retinue.protocol.errors import InvalidRequest
from retinue.protocol.tool_filter import RULES


def start_request(
    provider: Any,
    prompt: object,
    *,
    agent: object = None,
    label: str | None = None,
    output_schema: Any = None,
    max_depth: Any = None,
    tool_filter: Any = None,
    tool_rules: str | None = None,
    persona: str | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    deadline: float | None = None,
    background: bool = False,
    drain: bool = False,
) -> StartRequest:
    """
    Make the request of a one-shot run.

    Raises:
        InvalidContent: the prompt is no content.
        InvalidAgent: the agent is nothing that can be run.
        InvalidRequest: another argument is of the wrong type.
    """
    message = Message(as_content(prompt, "prompt"), _source())
    return StartRequest(
        _named("provider", provider),
        message,
        None if agent is None else as_agent(agent),
        _optional("label", label),
        None,
        False,
        _flag("background", background),
        _flag("drain", drain),
        _features(
            output_schema, max_depth, tool_filter, tool_rules, persona, options, limits, deadline
        ),
    )


def open_request(
    agent: object,
    *,
    name: str | None = None,
    provider: Any = "spawn",
    prompt: object = None,
    label: str | None = None,
    output_schema: Any = None,
    max_depth: Any = None,
    tool_filter: Any = None,
    tool_rules: str | None = None,
    persona: str | None = None,
    options: Mapping[str, Any] | None = None,
    limits: Limits | None = None,
    deadline: float | None = None,
    drain: bool = False,
) -> StartRequest:
    """
    Make the request of a resident; it may have no prompt.

    Raises:
        InvalidRequest: an argument is wrong; see ``start_request``.
    """
    message = None if prompt is None else Message(as_content(prompt, "prompt"), _source())
    return StartRequest(
        _named("provider", provider),
        message,
        None if agent is None else as_agent(agent),
        _optional("label", label),
        None if name is None else _named("name", name),
        True,
        False,
        _flag("drain", drain),
        _features(
            output_schema, max_depth, tool_filter, tool_rules, persona, options, limits, deadline
        ),
    )


def _features(
    output_schema: Any,
    max_depth: Any,
    tool_filter: Any,
    tool_rules: str | None,
    persona: str | None,
    options: Mapping[str, Any] | None,
    limits: Limits | None,
    deadline: float | None,
) -> Features:
    if (
        output_schema is None
        and max_depth is None
        and tool_filter is None
        and tool_rules is None
        and persona is None
        and options is None
        and limits is None
        and deadline is None
    ):
        return NO_FEATURES
    _optional("persona", persona)
    if options is not None and not isinstance(options, Mapping):
        raise InvalidRequest(f"options: expected a mapping, got {type(options).__name__}")
    # A copy, since the start may wait for room while its caller goes on with the mapping.
    own = None if options is None else dict(options)
    return Features(
        output_schema,
        max_depth,
        tool_filter,
        persona,
        own,
        limits,
        deadline,
        tool_rules=_rules(tool_rules),
    )


def _rules(value: Any) -> str | None:
    if value is not None and value not in RULES:
        raise InvalidRequest(f"tool_rules: expected {' or '.join(RULES)}, got {value!r}")
    return cast("str | None", value)


def _named(what: str, value: Any) -> str:
    """Take a name; raises InvalidRequest for what is no text, or an empty one."""
    if not isinstance(value, str) or not value:
        raise InvalidRequest(f"{what}: expected a name, got {value!r}")
    return value


def _flag(what: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise InvalidRequest(f"{what}: expected True or False, got {value!r}")
    return value


def _optional(what: str, value: Any) -> Any:
    return None if value is None else text(what, value)


def _source() -> Source:
    scope = CURRENT.get()
    return USER_PROMPT if scope is None else scope.workplace.source

"""
Requests, capabilities and admission: what may be started, decided before anything exists.

Rule: the order of the checks is part of the contract (REG-10): provider, capability
flags, depth value, depth cap, schema, limits of the tree, then what describes the run:
tool filter, options, agent, name.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import attrs

from retinue.protocol.agent import Agent
from retinue.protocol.content import Message
from retinue.protocol.errors import (
    DepthExceeded,
    InvalidDepth,
    LimitReached,
    UnsupportedCapability,
)
from retinue.protocol.limits import NO_LIMITS, Limits, Quota, check_seconds
from retinue.protocol.tool_filter import check_tool_filter

__all__ = [
    "ALL_CAPABILITIES",
    "NO_CAPABILITIES",
    "NO_FEATURES",
    "NO_LIMITS",
    "Capabilities",
    "Features",
    "Limits",
    "Quota",
    "StartRequest",
    "check_cap",
    "check_depth",
    "check_features",
    "check_quota",
    "check_tool_filter",
    "child_depth",
    "effective_depth",
    "narrower",
    "unmet_capability",
]

MAX_SAFE_INTEGER: Final = 2**53 - 1


@attrs.frozen
class Capabilities:
    """What a provider can honour of a start request; all False by default (REG-19)."""

    output_schema: bool = False
    depth_limit: bool = False
    tool_filter: bool = False
    persona: bool = False


NO_CAPABILITIES: Final = Capabilities()
ALL_CAPABILITIES: Final = Capabilities(
    output_schema=True, depth_limit=True, tool_filter=True, persona=True
)


@attrs.frozen
class Origin:
    """
    What a run was bound to that another one goes on from, and that binds this one too.

    Depth, cap and policies are durable: going on is no way around them (DEP-4, POL-4).
    """

    depth: int
    cap: int | None
    policy: tuple[tuple[str, Any], ...]


@attrs.frozen
class Features:
    """The rarely used fields of a request; absent as a whole when none is given."""

    output_schema: Any = None
    max_depth: Any = None
    tool_filter: Any = None
    persona: str | None = None
    options: Mapping[str, Any] | None = None
    limits: Limits | None = None
    deadline: float | None = attrs.field(default=None, validator=check_seconds)
    origin: Origin | None = None
    # What the parent's own route lends to it, below the agent's options and its own (VAL-9).
    route: Mapping[str, Any] | None = None
    tool_rules: str | None = None


NO_FEATURES: Final = Features()


@attrs.frozen
class StartRequest:
    """
    One request to start a run; never changed after it was made (REG-11).

    ``is_resident`` tells a resident from a one-shot; a resident may have no prompt.
    ``is_background`` and residents belong to the parent's run, others to its turn.
    """

    provider: str
    prompt: Message | None
    agent: Agent | None
    label: str | None = None
    name: str | None = None
    is_resident: bool = False
    is_background: bool = False
    drain: bool = False
    features: Features = NO_FEATURES


def check_depth(value: object, what: str = "max_depth") -> int:
    """
    Take a depth that is a whole number from 0 to 2**53 - 1 (VAL-2).

    Raises:
        InvalidDepth: anything else, negative zero and True included: a comparison with
            such a value would pass silently.
    """
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        # Written so that NaN is refused too; `math.isfinite` raises for a long integer.
        or not 0 <= value <= MAX_SAFE_INTEGER
        or int(value) != value
        or (value == 0 and math.copysign(1, value) < 0)
    ):
        raise InvalidDepth(
            f"{what}: expected a whole number from 0 to {MAX_SAFE_INTEGER}, got {value!r}"
        )
    return int(value)


def effective_depth(durable: object | None, runtime: object | None) -> int:
    """
    Combine a persisted depth with a runtime one: options deepen and never lower (DEP-1, 5).

    Raises:
        InvalidDepth: either is no depth.
    """
    kept = 0 if durable is None else check_depth(durable, "depth")
    given = 0 if runtime is None else check_depth(runtime, "depth")
    return max(kept, given)


def child_depth(parent: int) -> int:
    """
    Return the depth of a child (DEP-2).

    Raises:
        OverflowError: past 2**53 - 1.
    """
    if parent >= MAX_SAFE_INTEGER:
        raise OverflowError(f"no depth below {parent}")
    return parent + 1


def narrower(cap: int | None, other: int | None) -> int | None:
    """Return the lower of two depth caps; None caps nothing."""
    if cap is None or other is None:
        return other if cap is None else cap
    return min(cap, other)


def unmet_capability(features: Features, capabilities: Capabilities) -> str | None:
    """Name the first feature that the provider lacks, in the order of REG-8."""
    if features.output_schema is not None and not capabilities.output_schema:
        return "output_schema"
    if features.max_depth is not None and not capabilities.depth_limit:
        return "depth_limit"
    if features.tool_filter is not None and not capabilities.tool_filter:
        return "tool_filter"
    if features.persona is not None and not capabilities.persona:
        return "persona"
    return None


def check_features(
    provider: str,
    features: Features,
    capabilities: Capabilities,
    depth: int,
    cap: int | None,
) -> int | None:
    """
    Check what a request asks for beyond a prompt, in the order of the contract.

    Args:
        depth: the child's depth.
        cap: the parent's own depth cap; it only narrows.

    Returns:
        The depth cap that holds for the child and below it.

    Raises:
        UnsupportedCapability: the provider lacks a capability.
        InvalidDepth: ``max_depth`` is no depth.
        DepthExceeded: the child would be too deep.
        InvalidSchema: ``output_schema`` is none.
    """
    unmet = unmet_capability(features, capabilities)
    if unmet is not None:
        raise UnsupportedCapability(
            f"provider {provider!r} cannot honour {unmet}; ask a provider whose"
            f" capabilities.{unmet} is true, or leave it out",
            unmet,
        )
    if features.max_depth is not None:
        cap = narrower(cap, check_depth(features.max_depth))
    check_cap(depth, cap)
    return cap


def check_cap(depth: int, cap: int | None) -> None:
    """
    Refuse a child that is deeper than *cap* (DEP-3).

    Raises:
        DepthExceeded: it is.
    """
    if cap is not None and depth > cap:
        raise DepthExceeded(
            f"a child at depth {depth} is deeper than max_depth {cap}; do the work here,"
            " or start the tree with a larger max_depth",
            depth,
            cap,
        )


def check_quota(quota: Quota | None) -> bool:
    """
    Check the limits of the tree.

    Returns:
        Whether the start may go ahead now; False when it has to wait its turn.

    Raises:
        LimitReached: a limit is used up and the tree does not queue.
    """
    shortage = None if quota is None else quota.shortage()
    if shortage is None:
        return True
    text, waits = shortage
    if waits:
        return False
    raise LimitReached(text)

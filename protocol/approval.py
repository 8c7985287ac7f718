"""
Approval: what becomes of a call that a guard wants somebody to agree to.

The run's policy ``approval`` decides: ``never`` denies at once, ``always`` allows at once,
``ask`` asks the runtime's approver. A delegated child has nobody to ask: its policy is
pinned when it is started, to what the policy ``delegated_approval`` above it says, and to
``never`` where that says nothing (POL-1, POL-5).
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias, cast

import attrs

from retinue.protocol.content import ToolCall
from retinue.protocol.errors import InvalidRequest
from retinue.protocol.tool_filter import POLICY as TOOLS

NEVER: Final = "never"
ALWAYS: Final = "always"
ASK: Final = "ask"
CHOICES: Final = (NEVER, ALWAYS, ASK)

APPROVAL: Final = "approval"
DELEGATED: Final = "delegated_approval"

# Policies that the runtime itself reads; every other name is free. A name that is this much
# like one of them is taken for a slip, since it would do nothing.
_OWN: Final = (APPROVAL, DELEGATED, TOOLS)
_ALIKE: Final = 0.8

# Seconds of the runtime's clock that an approver has; silence is no approval.
PATIENCE: Final = 600.0


@attrs.frozen
class Question:
    """
    What an approver is asked.

    Args:
        text: what the guard wants to be agreed to.
        call: the call as the model wrote it.
        run_id: the run that wants to make it.
    """

    text: str
    call: ToolCall
    run_id: str


Approver: TypeAlias = Callable[[Question], Any]


@attrs.frozen
class Verdict:
    """What a policy says of a call; *is_allowed* is None where *approver* is to be asked."""

    is_allowed: bool | None
    by: str
    approver: Approver | None = None


def verdict(
    policy: Mapping[str, Any] | None, approver: Approver | None, *, is_delegated: bool
) -> Verdict:
    """Read top to bottom: what the run's policies say of a call that needs approval."""
    choice = (policy or {}).get(APPROVAL)
    if choice is None:
        choice = ASK if approver is not None and not is_delegated else NEVER
    if choice == ALWAYS:
        return Verdict(True, "policy always")
    if choice == NEVER:
        return Verdict(False, "policy never")
    if approver is None:
        return Verdict(False, "no approver")
    return Verdict(None, "approver", approver)


def pinned(policy: Mapping[str, Any] | None, approver: Approver | None) -> dict[str, Any]:
    """Return the policies of a child, captured now from those of its parent (POL-1)."""
    kept = dict(policy or {})
    if approver is not None or APPROVAL in kept or DELEGATED in kept:
        kept[APPROVAL] = kept.get(DELEGATED, NEVER)
    return kept


def policies(given: object) -> tuple[tuple[str, Any], ...]:
    """Take the policies of a runtime's roots; raises InvalidRequest for what is none."""
    if given is None:
        return ()
    if not isinstance(given, Mapping):
        raise InvalidRequest(f"policy: expected a mapping, got {type(given).__name__}")
    listed = tuple(cast("Mapping[str, Any]", given).items())
    for name, value in listed:
        check_policy(name, value)
    return listed


def check_policy(name: object, value: object) -> None:
    """
    Refuse a policy of the runtime's own with a value that it does not know.

    Raises:
        InvalidRequest: it is one, or it is nothing that can be set.
    """
    if name in {APPROVAL, DELEGATED} and value not in CHOICES:
        raise InvalidRequest(f"policy {name}: expected {', '.join(CHOICES)}, got {value!r}")
    if not isinstance(name, str) or not name:
        raise InvalidRequest(f"policy: expected a name, got {name!r}")
    if name not in _OWN:
        meant = difflib.get_close_matches(name, _OWN, 1, _ALIKE)
        if meant:
            raise InvalidRequest(f"policy {name!r}: did you mean {meant[0]!r}?")
    if name == TOOLS:
        raise InvalidRequest("policy tools: is the start's; give start(tool_filter=...)")

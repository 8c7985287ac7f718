"""Failures of a model as JSON, for scripts and tapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from retinue.protocol.errors import ContextOverflow, ModelFailed, ModelRefused, Transient, printable

KINDS: Final[Mapping[str, type[ModelFailed]]] = {
    "transient": Transient,
    "context-overflow": ContextOverflow,
    "refused": ModelRefused,
    "failed": ModelFailed,
}
_NAMES: Final[Mapping[type, str]] = {kind: name for name, kind in KINDS.items()}


def failure_to_json(error: Exception) -> dict[str, Any]:
    """Write a failure down; what is none of ours is written as one that nothing helps."""
    named = [_NAMES[kind] for kind in type(error).__mro__ if kind in _NAMES]
    message = str(error) if named else printable(error)
    written: dict[str, Any] = {"kind": (*named, "failed")[0], "message": message}
    if isinstance(error, Transient):
        written["retry_after"] = error.retry_after
    return written


def failure_from_json(written: Any) -> ModelFailed:
    """
    Make the failure that was written down.

    Raises:
        ModelFailed: it is not written like one; the message shows how.
    """
    fields: dict[str, Any] = {}
    if isinstance(written, Mapping):
        fields.update(cast("Mapping[str, Any]", written))
    kind: Any = fields.get("kind")
    if not isinstance(kind, str) or kind not in KINDS:
        raise ModelFailed(
            f"a failure is an object as {{'kind': 'transient', 'message': 'busy',"
            f" 'retry_after': 2}} with a kind of {', '.join(KINDS)}; got {written!r}"
        )
    message = str(fields.get("message", kind))
    if KINDS[kind] is Transient:
        return Transient(message, fields.get("retry_after"))
    return KINDS[kind](message)

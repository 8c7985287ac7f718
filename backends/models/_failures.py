"""Failures of a model as JSON, for scripts and tapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, cast

from retinue.protocol.errors import ContextOverflow, ModelFailed, ModelRefused, Transient

KINDS: Final[Mapping[str, type[ModelFailed]]] = {
    "transient": Transient,
    "context-overflow": ContextOverflow,
    "refused": ModelRefused,
    "failed": ModelFailed,
}
_NAMES: Final = {kind: name for name, kind in KINDS.items()}


def failure_to_json(error: ModelFailed) -> dict[str, Any]:
    """Write a failure down; of a foreign subclass what the turn loop makes of it."""
    kind = next(kind for kind in type(error).__mro__ if kind in _NAMES)
    written: dict[str, Any] = {"kind": _NAMES[kind], "message": str(error)}
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

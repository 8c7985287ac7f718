"""What callers hand over besides requests: refused here when it is not what it should be."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, cast

import pykka

from retinue.actors._dispatcher import Dispatcher
from retinue.actors._ref import RunRef
from retinue.protocol.errors import InvalidRequest


def text(what: str, value: Any) -> str:
    """Take a text; raises InvalidRequest for what is none."""
    if not isinstance(value, str):
        raise InvalidRequest(f"{what}: expected text, got {type(value).__name__}")
    return value


def own_ref(run: Any, dispatcher: Dispatcher, what: str) -> RunRef | None:
    """
    Return the ref of a run of this very runtime, or None for None.

    Raises:
        InvalidRequest: it is no run, or belongs to another runtime.
    """
    ref = getattr(run, "ref", run)
    if ref is None:
        return None
    if not isinstance(ref, RunRef):
        raise InvalidRequest(f"{what}: expected a Run, got {type(run).__name__}")
    if ref.dispatcher is not dispatcher:
        raise InvalidRequest(f"{what}: {ref.run_id} belongs to another runtime")
    return ref


def recipient(what: str, value: Any) -> Any:
    """Take what can be told something: a callable or an actor's ref; raises InvalidRequest."""
    if not callable(value) and not isinstance(value, pykka.ActorRef):
        kind = type(value).__name__
        raise InvalidRequest(f"{what}: expected a callable or an actor's ref, got {kind}")
    return cast("Any", value)


def several(what: str, values: Any) -> list[Any]:
    """Take a list or the like; raises InvalidRequest for what cannot be iterated over."""
    if not isinstance(values, Iterable):
        raise InvalidRequest(f"{what}: expected a list, got {type(values).__name__}")
    return list(cast("Any", values))


def a_dispatcher(value: Any) -> Dispatcher:
    """Take a dispatcher; raises InvalidRequest for what is none."""
    if not isinstance(value, Dispatcher):
        raise InvalidRequest(f"dispatcher: expected a Dispatcher, got {type(value).__name__}")
    return value

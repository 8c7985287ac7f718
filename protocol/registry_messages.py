"""What is said to the registry. See ``messages`` for the whole vocabulary."""

from __future__ import annotations

from typing import Any

import attrs

from retinue.protocol import log
from retinue.protocol.delegation import Quota, StartRequest
from retinue.protocol.log import Cause
from retinue.protocol.meter import Unit
from retinue.protocol.result import RunResult, Usage
from retinue.protocol.tool_filter import ToolFilter


@attrs.frozen
class RegisterProvider:
    """Enter a provider under the name that it has now."""

    provider: Any


@attrs.frozen
class UnregisterProvider:
    """Remove exactly this registration; live runs go on."""

    name: str
    provider: Any


@attrs.frozen
class ListProviders:
    """Ask for the names of the registered providers."""


@attrs.frozen
class FindProvider:
    """Ask for one registered provider."""

    name: str


@attrs.frozen
class Admit:
    """Check a request and, if nothing forbids it, make the child."""

    request: StartRequest
    ticket: Any
    parent: Any = None
    depth: int = 0
    cap: int | None = None
    quota: Quota | None = None
    prefix: log.Seed | None = None
    policy: tuple[tuple[str, Any], ...] = ()
    place: Any = ()
    turn: int = 0
    ceiling: ToolFilter | None = None


@attrs.frozen
class CancelStart:
    """The start of *ticket* is no longer wanted."""

    ticket: Any
    reason: str
    cause: Cause = Cause.PARENT


@attrs.frozen
class GiveUp:
    """The start of *opening* has waited for room as long as it may."""

    opening: Any


@attrs.frozen
class RunOpened:
    """The driver of *ref* is open; publish the run."""

    ref: Any


@attrs.frozen
class OpeningFailed:
    """The run of *ref* never came to be and has released everything."""

    ref: Any
    error: BaseException


@attrs.frozen
class RunSettled:
    """The run of *ref* has its result; its place in the tree is free."""

    ref: Any
    result: RunResult


@attrs.frozen
class RunReleased:
    """The run of *ref* is gone, but for *stuck*."""

    ref: Any
    result: RunResult
    stuck: tuple[str, ...] = ()
    error: str | None = None
    was_settled: bool = True


@attrs.frozen
class Take:
    """
    Count one of each of *units* for the run of *ref*, or say what forbids it.

    It is forbidden too where one of *needs* is used up. Answered by an Allowance.
    """

    ref: Any
    units: tuple[Unit, ...]
    needs: tuple[Unit, ...] = ()


@attrs.frozen
class Spend:
    """The run of *ref* has spent *usage*. Answered by an Allowance."""

    ref: Any
    usage: Usage


@attrs.frozen
class Route:
    """Find a run by id or by name."""

    key: str
    asker: Any = None


@attrs.frozen
class ResultOf:
    """Ask for the result of a run that has ended."""

    run_id: str


@attrs.frozen
class ForgetRun:
    """Keep nothing more of an ended run."""

    ref: Any


@attrs.frozen
class ListChildren:
    """List the direct children of *ref*, or the roots."""

    ref: Any = None


@attrs.frozen
class ListDescendants:
    """List everything below *ref* in pre-order, or the whole forest."""

    ref: Any = None


@attrs.frozen
class Drain:
    """Admit nothing more, stop every run, answer when all are gone or *grace* is over."""

    grace: float
    reason: str = "the runtime is closing"


@attrs.frozen
class Watch:
    """Tell *watcher* when the run of *ref* has ended; at once if it has."""

    ref: Any
    watcher: Any


@attrs.frozen
class Subscribe:
    """Tell *observer* every lifecycle event from now on."""

    observer: Any


@attrs.frozen
class Unsubscribe:
    """Tell *observer* nothing more."""

    observer: Any


@attrs.frozen
class Publish:
    """Hand *event* to the subscribers."""

    event: Any

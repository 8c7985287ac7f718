"""
The mailbox vocabulary: what runs, drivers, the registry and the clock say.

Commands are imperative, facts are past tense. No message holds a future: an asker's
Reply travels in the envelope. CONTROL overtakes everything else; the rest is FIFO.
"""

from __future__ import annotations

from typing import Any, Final, TypeAlias

import attrs

from retinue.protocol import log
from retinue.protocol.content import Content, Message
from retinue.protocol.delegation import Quota, StartRequest
from retinue.protocol.log import Cause, Ending
from retinue.protocol.result import NO_USAGE, RunResult, Usage

# to a run


@attrs.frozen
class Seed:
    """Continue from *prefix*, the balanced completed turns of another run's log."""

    prefix: log.Seed


@attrs.frozen
class Begin:
    """Open the driver and, when published, start on what waits."""


@attrs.frozen
class Published:
    """The registry has entered the run and told everybody; turns may begin."""


@attrs.frozen
class Prompt:
    """
    Take *message* as one next turn, waking.

    With ``is_ask`` the answer comes when that turn ends, else when it is accepted.
    """

    message: Message
    sender: Any = None
    is_ask: bool = False


@attrs.frozen
class Steer:
    """Take *message* at the next step, waking. The answer says which step took it."""

    message: Message
    sender: Any = None


@attrs.frozen
class Inject:
    """Take *message* at the next step, without waking."""

    message: Message
    sender: Any = None


@attrs.frozen
class WrapUp:
    """Finish now with what there is; a return after it is completed."""


@attrs.frozen
class Interrupt:
    """Stop the current turn and keep the queue."""

    cause: Cause = Cause.USER


@attrs.frozen
class Cancel:
    """Stop the run and everything below it, whatever is still queued."""

    reason: str
    cause: Cause = Cause.USER
    grace: float | None = None
    is_marked: bool = False


@attrs.frozen
class Dispose:
    """Cancel what remains and answer at quiescence, or name what would not stop."""

    grace: float | None = None


@attrs.frozen
class Delegate:
    """Start a child of this run."""

    request: StartRequest
    ticket: Any
    turn: int = 0
    prefix: log.Seed | None = None


@attrs.frozen
class SetPolicy:
    """Set one policy of this run explicitly; later children inherit it (POL-1)."""

    name: str
    value: Any


@attrs.frozen
class Describe:
    """Ask what the run is doing, for trees and lists."""


@attrs.frozen
class ReadLog:
    """Ask for the run's log."""


# facts from a run's driver


@attrs.frozen
class Opened:
    """The provider has made *driver*; work may be given to it."""

    driver: Any


@attrs.frozen
class OpenFailed:
    """The provider could not make a driver."""

    error: BaseException


@attrs.frozen
class Said:
    """The agent said something that is part of its output."""

    turn: int
    content: Content
    usage: Usage | None = None
    is_interrupted: bool = False


@attrs.frozen
class Streamed:
    """A piece of text as it comes."""

    turn: int
    text: str


@attrs.frozen
class StepEdge:
    """The behaviour stands between two steps and takes what waits for it."""

    turn: int


@attrs.frozen
class ToolUsed:
    """One tool call and what it gave; *result* is None while it is pending."""

    turn: int
    call: Any
    result: Any = None


@attrs.frozen
class TurnEnded:
    """The work of a turn is over."""

    turn: int
    ending: Ending
    output: Content = ()
    structured: Any = None
    diagnostic: str | None = None
    error: BaseException | None = None
    reason: str | None = None


@attrs.frozen
class UsageRecorded:
    """Something was spent."""

    turn: int
    usage: Usage = NO_USAGE


@attrs.frozen
class Crashed:
    """The driver broke; no turn of it will end any more."""

    error: BaseException


@attrs.frozen
class Closed:
    """The driver has released everything."""

    error: BaseException | None = None


@attrs.frozen
class Stalled:
    """A step has blocked the dispatcher for *seconds*."""

    run_id: str
    seconds: float


# from registry, children and clock


@attrs.frozen
class ChildOpened:
    """The child of *ticket* exists and was announced."""

    ticket: Any
    run: Any


@attrs.frozen
class StartRefused:
    """The child of *ticket* does not exist, and nothing of it is left."""

    ticket: Any
    error: BaseException


@attrs.frozen
class ChildEnded:
    """A child has ended and released everything below it, but for *stuck*."""

    ref: Any
    result: RunResult
    stuck: tuple[str, ...] = ()


@attrs.frozen
class Report:
    """A child's own words to its direct parent."""

    message: Message
    sender: Any = None


@attrs.frozen
class Notice:
    """The runtime's account of how a child ended."""

    message: Message
    result: RunResult


@attrs.frozen
class Returned:
    """Something that this run sent was not taken."""

    event: Any


@attrs.frozen
class DeadlinePassed:
    """A time that was set has come: ``start``, ``run``, ``turn`` or ``release``."""

    what: str
    turn: int = 0


# to the registry


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
    path: tuple[int, ...] = ()
    turn: int = 0


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
    """Hand *event* to the subscribers, and to *also* where given."""

    event: Any
    also: Any = None


@attrs.frozen
class CheckHost:
    """Look whether the host of *ref* is still alive."""

    ref: Any


CONTROL: Final = frozenset((Cancel, Dispose, Interrupt, DeadlinePassed, CancelStart, Drain))

# What counts against the bound of a mailbox: messages that senders of any kind can pile up.
BOUNDED: Final = frozenset((Prompt, Steer, Inject, Report))

RunMessage: TypeAlias = (
    Seed
    | Begin
    | Published
    | Prompt
    | Steer
    | Inject
    | WrapUp
    | Interrupt
    | Cancel
    | Dispose
    | Delegate
    | SetPolicy
    | Describe
    | ReadLog
    | Opened
    | OpenFailed
    | Said
    | Streamed
    | StepEdge
    | ToolUsed
    | TurnEnded
    | UsageRecorded
    | Crashed
    | Closed
    | ChildOpened
    | StartRefused
    | ChildEnded
    | Report
    | Notice
    | DeadlinePassed
)

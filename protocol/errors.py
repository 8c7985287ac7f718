"""
Every exception of Retinue, in one tree.

    RetinueError
    ├── InvalidRequest          the caller's request is wrong: fix the code
    │   ├── BadMessage          neither vocabulary nor content
    │   ├── InvalidContent      a prompt or a result that is no content
    │   ├── InvalidDepth        a depth that is no whole number from 0
    │   ├── InvalidLimit        a limit or a time that makes no sense
    │   ├── InvalidSchema       an output schema that is none, all violations at once
    │   ├── InvalidToolFilter   unknown tools, or an empty filter
    │   ├── InvalidAgent        no behaviour, or one that cannot be run
    │   └── IllegalTransition   a message that means nothing in this phase of a run
    ├── Refused                 understood, and not done: give up politely
    │   ├── NoProvider          no provider of that name
    │   ├── DuplicateProvider   that provider's name is taken
    │   ├── DuplicateName       that resident's name is taken
    │   ├── NoSuchRun           no run of that id or name
    │   ├── UnsupportedCapability   the provider lacks what the request needs
    │   ├── DepthExceeded       the child would be too deep
    │   ├── LimitReached        a limit on live or total runs is used up
    │   ├── NotAllowed          the sender may not say this to that run
    │   ├── NotResident         a one-shot run takes no further prompt
    │   ├── AskCycle            the ask could never be answered
    │   ├── MailboxFull         the run has as much waiting as it takes
    │   ├── MissingExtra        an optional package is not installed
    │   └── Closing             the runtime or the run is on its way out
    ├── Undeliverable           it arrived too late
    │   ├── NotDelivered        the turn ended before a step took the message
    │   └── DeadRun             the run is over and takes no messages
    ├── StartFailed             the provider could not open the run: retry, or escalate
    │   ├── StartCancelled      cancelled before the run existed
    │   └── StartTimeout        the provider did not open the run in time
    ├── ModelFailed             a model gave no answer, and would not the next time
    │   ├── Transient           it may the next time; says when to try
    │   ├── ContextOverflow     the conversation is longer than the model takes
    │   └── ModelRefused        the model declines to answer
    ├── ToolFailed              what a tool raises to tell its model what went wrong
    │   └── InvalidArguments    a call's arguments do not fit; all violations at once
    ├── BudgetSpent             turns, steps, requests, tokens or cost are used up
    ├── RunFailed               ``unwrap()`` of a result that is no success
    ├── Cancelled               raised inside a behaviour whose turn is over
    ├── WouldBlock              waiting here would stop the runtime itself
    ├── Deadlock                nothing can move any more, and who waits for whom
    ├── NotQuiescent            a dispose or close that could not stop everything
    ├── ProviderFault           an infrastructure fault on the provider's side
    └── InvariantViolated       a log or a lifecycle that breaks its own rules

Constructors are positional, so that every error survives pickle. Messages begin with the
id of the run or the name of the provider, where there is one.
"""

from __future__ import annotations

from collections.abc import Sequence


class RetinueError(Exception):
    """The root of every error that Retinue raises."""


class InvalidRequest(RetinueError):
    """The request is wrong as it stands; the same request fails again."""


class BadMessage(InvalidRequest, TypeError):
    """A message is neither part of the vocabulary nor content."""


class _Worded(RetinueError):
    """What carries facts beside its words reads like its words."""

    def __str__(self) -> str:
        return str(self.args[0])


class _Listing(RetinueError):
    def __str__(self) -> str:
        return "\n  - ".join((self.args[0], *self.args[1]))


class _Violating(_Listing):
    def __init__(self, message: str, violations: Sequence[str] = ()) -> None:
        super().__init__(message, tuple(violations))
        self.violations = tuple(violations)


class InvalidContent(_Violating, InvalidRequest, TypeError):
    """A value is no content, no JSON, or not what was asked for; all violations at once."""


class InvalidDepth(InvalidRequest, TypeError):
    """A depth is not a whole number between 0 and 2**53 - 1 (VAL-2)."""


class InvalidLimit(InvalidRequest, ValueError):
    """A limit, a deadline or another number of a request makes no sense."""


class InvalidSchema(_Violating, InvalidRequest, ValueError):
    """An output schema is not one; all violations at once (VAL-3)."""


class InvalidToolFilter(InvalidRequest, ValueError):
    """A tool filter is empty or names tools that the agent does not have."""


class InvalidAgent(InvalidRequest, TypeError):
    """An agent is absent, or is nothing that can be run."""


class IllegalTransition(InvalidRequest):
    """An input means nothing in the present phase of a run."""


class Refused(RetinueError):
    """The request was understood and is not carried out; nothing was started."""


class NoProvider(Refused, LookupError):
    """No provider of that name is registered."""


class DuplicateProvider(Refused):
    """A provider of that name is registered already; it stays usable."""


class DuplicateName(Refused):
    """A live resident has that name already."""


class NoSuchRun(Refused, LookupError):
    """No run of that id or name is known."""


class UnsupportedCapability(_Worded, Refused):
    """The provider lacks a capability that the request needs."""

    def __init__(self, message: str, capability: str = "") -> None:
        super().__init__(message, capability)
        self.capability = capability


class DepthExceeded(_Worded, Refused):
    """The child would be deeper than allowed."""

    def __init__(self, message: str, attempted: int = 0, maximum: int = 0) -> None:
        super().__init__(message, attempted, maximum)
        self.attempted = attempted
        self.maximum = maximum


class LimitReached(Refused):
    """A limit on the runs of a tree is used up."""


class NotAllowed(Refused, PermissionError):
    """The sender is neither parent nor holder, and the agent is not declared open."""


class NotResident(Refused):
    """A one-shot run has one prompt; it can be steered, not prompted again."""


class AskCycle(_Worded, Refused):
    """The ask would wait for itself; *cycle* names the runs in order."""

    def __init__(self, message: str, cycle: Sequence[str] = ()) -> None:
        super().__init__(message, tuple(cycle))
        self.cycle = tuple(cycle)


class MailboxFull(Refused):
    """The run has as many messages waiting as it takes; send again later."""


class MissingExtra(Refused, ImportError):
    """An optional package is not installed; the message says which extra brings it."""


class Closing(Refused):
    """The runtime, or the run that was to be the parent, is being closed."""


class Undeliverable(RetinueError):
    """A message came too late to be taken."""


class NotDelivered(Undeliverable):
    """The turn ended before any step took the message."""


class DeadRun(Undeliverable):
    """The run is over and takes no messages."""


class StartFailed(RetinueError):
    """The run could not be started; everything begun was rolled back."""


class StartCancelled(StartFailed):
    """The start was cancelled before the run existed."""


class StartTimeout(StartFailed, TimeoutError):
    """The provider did not open the run within the start limit."""


class ModelFailed(RetinueError):
    """A model gave no answer, and the same request would fail again."""


class Transient(_Worded, ModelFailed):
    """A model gave no answer and may the next time, at best in *retry_after* seconds."""

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message, retry_after)
        self.retry_after = retry_after


class ContextOverflow(ModelFailed):
    """The conversation is longer than the model takes."""


class ModelRefused(ModelFailed):
    """The model, or who runs it, declines to answer."""


class ToolFailed(RetinueError):
    """A tool could not do what it was called for; its text is what the model reads."""


class InvalidArguments(_Violating, ToolFailed):
    """The arguments of a tool call do not fit; all violations at once."""


class BudgetSpent(_Worded):
    """A limit on what a run may use is reached; *reason* is the stop reason."""

    def __init__(self, message: str, reason: str = "budget") -> None:
        super().__init__(message, reason)
        self.reason = reason


class RunFailed(_Worded):
    """A result that is no success was unwrapped."""

    def __init__(self, message: str, run_id: str = "", stop_reason: str = "error") -> None:
        super().__init__(message, run_id, stop_reason)
        self.run_id = run_id
        self.stop_reason = stop_reason


class Cancelled(RetinueError):
    """Raised inside a behaviour at the first operation after its turn was stopped."""


class WouldBlock(RetinueError):
    """Waiting on this thread would stop the very thing that is waited for."""


class Deadlock(_Listing):
    """Nothing can move and no timer is due; *waits* says who waits for whom."""

    def __init__(self, message: str, waits: Sequence[str] = ()) -> None:
        super().__init__(message, tuple(waits))
        self.waits = tuple(waits)


class NotQuiescent(_Listing, TimeoutError):
    """Some of what was to be stopped did not stop in time; the rest is released."""

    def __init__(self, message: str, stuck: Sequence[str] = ()) -> None:
        super().__init__(message, tuple(stuck))
        self.stuck = tuple(stuck)


class ProviderFault(RetinueError):
    """The provider broke; the run cannot say how its work ended."""


class InvariantViolated(RetinueError):
    """A log or a stream of lifecycle events breaks a rule."""


def printable(value: object) -> str:
    """Return ``repr(value)``, or a fixed text where even that fails (LIF-7)."""
    try:
        return repr(value)
    except BaseException:  # noqa: BLE001 - a repr is foreign code
        return "<an error that cannot be printed>"


def ordinary(error: BaseException) -> Exception:
    """Return *error*, or an ordinary one about it where it could end a thread or loop (H85)."""
    if isinstance(error, Exception):
        return error
    about = RuntimeError(printable(error))
    about.__cause__ = error
    return about

"""What drivers, children, the registry and the clock report to a run: facts, past tense."""

from __future__ import annotations

from typing import Any

import attrs

from retinue.protocol.content import Content, Message
from retinue.protocol.log import Ending
from retinue.protocol.result import NO_USAGE, RunResult, Usage


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
    """
    The behaviour stands between two steps and takes what waits for it.

    With ``is_last`` it would end here: nothing is taken, and no step begins, unless
    something waits that wakes (INB-9); the answer is then None. ``add`` is what the driver
    itself has to say in the new step, logged like what is taken. With ``is_patient`` as well
    the answer waits while background children of the run work, until something comes.
    """

    turn: int
    is_last: bool = False
    add: tuple[Message, ...] = ()
    is_patient: bool = False


@attrs.frozen
class Reserve:
    """The driver is about to send one request to a model; refused when that is too much."""

    turn: int


@attrs.frozen
class Retried:
    """A request to a model failed and is sent again: what it streamed does not count."""

    turn: int
    problem: str


@attrs.frozen
class ToolUsed:
    """One tool call and what it gave; *result* is None while it is pending."""

    turn: int
    call: Any
    result: Any = None
    is_synthetic: bool = False


@attrs.frozen
class AskApproval:
    """A guard wants one call to be approved; the answer is a Verdict."""

    turn: int
    call_id: str
    question: str


@attrs.frozen
class ApprovalDecided:
    """An approver has decided on a call, or will not any more."""

    turn: int
    call_id: str
    is_allowed: bool
    by: str


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
class CallsEnded:
    """No function of the run is under way on the bounded pool any more."""


@attrs.frozen
class MaintenanceEnded:
    """What was done with the idle run is over; *outcome* has its value or its error."""

    outcome: Any


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
    """A time that was set has come: ``start``, ``near``, ``run``, ``stop`` or ``release``."""

    what: str
    turn: int = 0

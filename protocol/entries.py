"""
What a run's log is made of: one frozen event per fact.

Rule 1: an event's sequence number is its position in the log, and is not stored.
Rule 2: ``time`` comes last and has no default: who writes an event knows its clock.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

import attrs

from retinue.protocol.content import Content, Message, ToolCall, ToolResult
from retinue.protocol.result import Usage


class Ending(enum.Enum):
    """How a turn ended (LOG-5); INTERRUPTED is written by crash repair alone."""

    COMPLETED = "completed"
    ABORTED = "aborted"
    BLOCKED = "blocked"
    ERROR = "error"
    MAX_TOKENS = "max-tokens"
    INTERRUPTED = "interrupted"


class Cause(enum.Enum):
    """Who or what aborted a turn (LOG-5, INB-20)."""

    USER = "user"
    PARENT = "parent"
    HOOK = "hook"
    DISPOSED = "disposed"
    DEADLINE = "deadline"
    HOST = "host-gone"
    BUDGET = "budget"
    TURNS = "max-turns"


class Target(enum.Enum):
    """Which of a run's two lists of waiting messages a splice changes (INB-1)."""

    NEXT_STEP = "next-step"
    NEXT_TURN = "next-turn"


@attrs.frozen(weakref_slot=False)
class TurnStarted:
    """A turn began; logged before it claims input (LOG-7)."""

    turn: int
    time: float


@attrs.frozen(weakref_slot=False)
class TurnFinished:
    """
    A turn ended, and how.

    Args:
        cause: who aborted it; the first cause wins (LOG-11).
        error: what went wrong, or the detail of a hook's abort.
    """

    turn: int
    ending: Ending
    cause: Cause | None
    error: str | None
    time: float


@attrs.frozen(weakref_slot=False)
class StepStarted:
    """A step of a turn began; steps count from 1 inside each turn."""

    turn: int
    step: int
    time: float


@attrs.frozen(weakref_slot=False)
class StepFinished:
    """A step of a turn ended."""

    turn: int
    step: int
    time: float


@attrs.frozen(weakref_slot=False)
class UserMessage:
    """A claimed message entered the conversation (LOG-7)."""

    message: Message
    time: float


@attrs.frozen(weakref_slot=False)
class Chunk:
    """A piece of streamed text; reasoning and tool results are never chunks (RES-11)."""

    text: str
    time: float


@attrs.frozen(weakref_slot=False)
class Retried:
    """A request to a model failed and was sent again; the chunks before it do not count."""

    problem: str
    time: float


@attrs.frozen(weakref_slot=False)
class AssistantMessage:
    """
    What the agent said in one piece.

    An empty content records usage alone (RES-10). An *interrupted* message is the
    visible prefix of a stream that was cancelled (LOG-22).
    """

    content: Content
    usage: Usage | None
    interrupted: bool
    time: float


@attrs.frozen(weakref_slot=False)
class ToolCalled:
    """A tool call was dispatched."""

    turn: int
    step: int
    call: ToolCall
    time: float


@attrs.frozen(weakref_slot=False)
class ToolReturned:
    """
    A tool call was answered.

    A *synthetic* answer was written by the runtime for a call that never ran, so that
    history stays balanced (LOG-14).
    """

    turn: int
    step: int
    result: ToolResult
    synthetic: bool
    time: float


@attrs.frozen(weakref_slot=False)
class ApprovalAsked:
    """A guard wants a call to be approved."""

    turn: int
    step: int
    call_id: str
    question: str
    time: float


@attrs.frozen(weakref_slot=False)
class ApprovalGiven:
    """What came of that, and what or who decided; every question has one (POL-5)."""

    turn: int
    step: int
    call_id: str
    is_allowed: bool
    by: str
    time: float


@attrs.frozen(weakref_slot=False)
class Spliced:
    """
    One change of a list of waiting messages (INB-3).

    A claim removes without *cancelled*, a drop removes with it (INB-4); a drop that
    inserts is a replacement, and its work stays pending (RES-5).
    """

    target: Target
    start: int
    removed: int
    inserted: tuple[Message, ...]
    cancelled: bool
    time: float


@attrs.frozen(weakref_slot=False)
class SeedEnded:
    """The inherited history ends here; what follows is the run's own (FRK-12)."""

    time: float


@attrs.frozen(weakref_slot=False)
class Described:
    """The durable descriptor of the run (DSC-7, DSC-8); no part of its conversation."""

    descriptor: object
    time: float


@attrs.frozen(weakref_slot=False)
class PolicySet:
    """A policy of the run was set; a later one of the same name wins (FRK-7, POL-3)."""

    name: str
    value: object
    source: str
    time: float


Event: TypeAlias = (
    TurnStarted
    | TurnFinished
    | StepStarted
    | StepFinished
    | UserMessage
    | Chunk
    | Retried
    | AssistantMessage
    | ToolCalled
    | ToolReturned
    | ApprovalAsked
    | ApprovalGiven
    | Spliced
    | SeedEnded
    | Described
    | PolicySet
)

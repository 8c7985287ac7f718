"""Short words for events, so that a log in a test reads as what happened."""

from __future__ import annotations

from typing import Final

from retinue.protocol.accounting import stop_reason_one_shot, stop_reason_resident
from retinue.protocol.content import Block, Message, Text, ToolCall, ToolResult
from retinue.protocol.log import (
    ApprovalAsked,
    ApprovalGiven,
    AssistantMessage,
    Cause,
    Ending,
    Event,
    Log,
    Spliced,
    StepFinished,
    StepStarted,
    Target,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    UserMessage,
)
from retinue.protocol.result import Usage

T: Final = 0.5
"""The time of every event: no rule of a log reads it."""


def message(text: str, message_id: str = "") -> Message:
    """Return what a user said."""
    return Message((Text(text),), message_id=message_id)


def inserted(target: Target, start: int, *messages: Message) -> Spliced:
    """Messages were accepted."""
    return Spliced(target, start, 0, messages, cancelled=False, time=T)


def claimed(target: Target = Target.NEXT_TURN, start: int = 0, removed: int = 1) -> Spliced:
    """Messages were taken."""
    return Spliced(target, start, removed, (), cancelled=False, time=T)


def dropped(
    *instead: Message, target: Target = Target.NEXT_TURN, start: int = 0, removed: int = 1
) -> Spliced:
    """Messages were cancelled, and perhaps replaced."""
    return Spliced(target, start, removed, instead, cancelled=True, time=T)


def heard(text: str) -> UserMessage:
    """A claimed message entered the conversation."""
    return UserMessage(message(text), T)


def said(
    *blocks: Block | str, usage: Usage | None = None, interrupted: bool = False
) -> AssistantMessage:
    """Return what the agent said."""
    content = tuple(Text(block) if isinstance(block, str) else block for block in blocks)
    return AssistantMessage(content, usage, interrupted, T)


def tool_call(call_id: str = "c1") -> ToolCall:
    """Return a call of a tool."""
    return ToolCall(call_id, "read", {})


def called(turn: int, step: int, call_id: str = "c1") -> ToolCalled:
    """A call was dispatched."""
    return ToolCalled(turn, step, tool_call(call_id), T)


def returned(turn: int, step: int, call_id: str = "c1", *, synthetic: bool = False) -> ToolReturned:
    """A call was answered."""
    return ToolReturned(turn, step, ToolResult(call_id, f"result of {call_id}"), synthetic, T)


def asked(turn: int, step: int, call_id: str = "c1") -> ApprovalAsked:
    """A call needs approval."""
    return ApprovalAsked(turn, step, call_id, "may I?", T)


def decided(turn: int, step: int, call_id: str = "c1", *, is_allowed: bool = True) -> ApprovalGiven:
    """Somebody decided on that."""
    return ApprovalGiven(turn, step, call_id, is_allowed, "approver", T)


def step(turn: int, number: int, *inside: Event) -> list[Event]:
    """Return a step with *inside* in it."""
    return [StepStarted(turn, number, T), *inside, StepFinished(turn, number, T)]


def turn(
    number: int, *inside: Event, ending: Ending = Ending.COMPLETED, cause: Cause | None = None
) -> list[Event]:
    """Return a turn with *inside* in it; an aborted one was aborted by the user."""
    if ending is Ending.ABORTED and cause is None:
        cause = Cause.USER
    return [TurnStarted(number, T), *inside, TurnFinished(number, ending, cause, None, T)]


def answered(number: int, prompt: str, answer: str) -> list[Event]:
    """Return a whole turn: accepted, claimed, answered in one step."""
    return [
        inserted(Target.NEXT_TURN, 0, message(prompt)),
        *turn(number, claimed(), heard(prompt), *step(number, 1, said(answer))),
    ]


def worked(number: int, ending: Ending) -> list[Event]:
    """Return a turn that entered a step."""
    return turn(number, claimed(), heard("q"), *step(number, 1, said("a")), ending=ending)


def refused(number: int, ending: Ending) -> list[Event]:
    """Return a turn that claimed input and entered no step."""
    return turn(number, claimed(), ending=ending)


def idle(number: int, ending: Ending) -> list[Event]:
    """Return a turn that claimed nothing and entered no step."""
    return turn(number, ending=ending)


def reasons(events: list[Event]) -> tuple[str, str, str, str]:
    """Return all that the same events say, in the order of the table."""
    return (
        stop_reason_one_shot(events, cancelled=False),
        stop_reason_one_shot(events, cancelled=True),
        stop_reason_resident(events, cancelled=False),
        stop_reason_resident(events, cancelled=True),
    )


def log_of(*events: Event, log: Log | None = None) -> Log:
    """Return a log with *events* in it."""
    log = Log() if log is None else log
    for event in events:
        log.append(event)
    return log


def log_with(turns: int, log: Log | None = None) -> Log:
    """Return a log with that many more answered turns."""
    log = Log() if log is None else log
    for number in range(log.last_turn + 1, log.last_turn + 1 + turns):
        log_of(*answered(number, f"question {number}", f"answer {number}"), log=log)
    return log

"""
What a run's own suffix says of it: how it ended, and what it gave.

Rule 1: the log decides and live flags do not; the one flag is whether the run was cancelled.
Rule 2: callers hand in the own suffix, never the seed (FRK-6).

The folds walk backwards and stop as soon as they know. Classes are told apart by
``type() is``: a class pattern costs three times as much, and every run ends here.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, cast

import attrs

from retinue.protocol.content import Content, Reasoning, Text, ToolCall
from retinue.protocol.entries import (
    ApprovalAsked,
    ApprovalGiven,
    AssistantMessage,
    Chunk,
    Ending,
    Event,
    Retried,
    Spliced,
    StepStarted,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    UserMessage,
)
from retinue.protocol.result import (
    ABORTED,
    COMPLETED,
    ERROR,
    MAX_TOKENS,
    NO_USAGE,
    REFUSAL,
    StopReason,
    Usage,
)


class Standing(enum.Enum):
    """What a log can say beside the ending of its accounting turn."""

    NOTHING_RAN = "no turn took any work"
    NOTHING_RAN_AND_DROPPED = "no turn took any work, and work was dropped unrun"
    COMPLETED_AND_DROPPED = "a turn completed, and then work was dropped unrun"
    CUT_OFF = "a turn took work and has no end"


@attrs.frozen
class Row:
    """What one standing means for a one-shot and for a resident, cancelled or not."""

    one_shot: StopReason
    one_shot_cancelled: StopReason
    resident: StopReason
    resident_cancelled: StopReason


# RES-2, RES-3, RES-8, RUN-5, RUN-6. A one-shot's cancel owns every outcome but completed.
# A resident's is read from its turns: a failure outlives the cancel of what was queued.
# A one-shot has one prompt: steering that came too late does not undo its answer.
REASONS: Final[Mapping[Ending | Standing, Row]] = {
    Ending.COMPLETED: Row(COMPLETED, COMPLETED, COMPLETED, COMPLETED),
    Ending.ABORTED: Row(ABORTED, ABORTED, ABORTED, ABORTED),
    Ending.BLOCKED: Row(REFUSAL, ABORTED, REFUSAL, REFUSAL),
    Ending.ERROR: Row(ERROR, ABORTED, ERROR, ERROR),
    Ending.MAX_TOKENS: Row(MAX_TOKENS, ABORTED, MAX_TOKENS, MAX_TOKENS),
    Ending.INTERRUPTED: Row(ERROR, ABORTED, ABORTED, ABORTED),
    Standing.NOTHING_RAN: Row(ERROR, ABORTED, COMPLETED, COMPLETED),
    Standing.NOTHING_RAN_AND_DROPPED: Row(ERROR, ABORTED, ABORTED, ABORTED),
    Standing.COMPLETED_AND_DROPPED: Row(COMPLETED, COMPLETED, ABORTED, ABORTED),
    Standing.CUT_OFF: Row(ERROR, ABORTED, ERROR, ABORTED),
}
# RES-1: what nobody knows is a failure.
UNKNOWN: Final = Row(ERROR, ABORTED, ERROR, ERROR)


# The end of the accounting turn (RES-4); whether waiting work was dropped unrun after it
# (RES-5); whether a later turn took work and has no end.
_Account: TypeAlias = tuple[TurnFinished | None, bool, bool]


def _account(events: Iterable[Event]) -> _Account:
    ended: TurnFinished | None = None  # the end of the turn that the walk is inside
    is_tail = True  # nothing walked over yet says whether it is inside a turn
    took_work = dropped = dropped_inside = cut_off = False
    for event in _backwards(events):
        if type(event) is StepStarted:
            if ended is not None:
                return ended, dropped, cut_off
            took_work = True
        elif type(event) is UserMessage or (type(event) is Spliced and is_claim(event)):
            if ended is None:
                took_work = True
            elif ended.ending is not Ending.COMPLETED:
                return ended, dropped, cut_off
        elif type(event) is Spliced:
            if event.cancelled and not event.inserted:
                if ended is None:
                    dropped = True
                else:
                    dropped_inside = True
        elif type(event) is TurnFinished:
            ended, is_tail = event, False
        elif type(event) is TurnStarted:
            cut_off = cut_off or (is_tail and took_work)
            # The turn did nothing: what was dropped in it is dropped all the same.
            dropped = dropped or dropped_inside
            ended, is_tail, dropped_inside = None, False, False
    return None, dropped, cut_off


def _standing(events: Iterable[Event]) -> Ending | Standing:
    ended, dropped, cut_off = _account(events)
    if cut_off:
        return Standing.CUT_OFF
    if ended is None:
        return Standing.NOTHING_RAN_AND_DROPPED if dropped else Standing.NOTHING_RAN
    if dropped and ended.ending is Ending.COMPLETED:
        return Standing.COMPLETED_AND_DROPPED
    return ended.ending


def is_claim(splice: Spliced) -> bool:
    """Whether *splice* took waiting input (INB-4)."""
    return splice.removed > 0 and not splice.cancelled


def accounting_turn(events: Iterable[Event]) -> TurnFinished | None:
    """
    Return the end of the latest ended turn that counts (RES-4).

    It entered a step, or it claimed input and ended with anything but completed.
    """
    return _account(events)[0]


def dropped_unrun(events: Iterable[Event]) -> bool:
    """Whether waiting work was dropped, and not replaced, after the accounting turn (RES-5)."""
    return _account(events)[1]


def stop_reason_one_shot(events: Sequence[Event], *, cancelled: bool) -> StopReason:
    """
    Say how a one-shot ended (RES-2).

    A token ceiling that was hit in any turn sticks (RES-7).
    """
    standing = _standing(events)
    if standing is Ending.COMPLETED:
        for event in events:
            if type(event) is TurnFinished and event.ending is Ending.MAX_TOKENS:
                standing = Ending.MAX_TOKENS
    row = REASONS.get(standing, UNKNOWN)
    return row.one_shot_cancelled if cancelled else row.one_shot


def stop_reason_resident(events: Iterable[Event], *, cancelled: bool) -> StopReason:
    """Say how a resident, or one turn of one, ended (RES-3)."""
    row = REASONS.get(_standing(events), UNKNOWN)
    return row.resident_cancelled if cancelled else row.resident


def select_output(events: Iterable[Event]) -> Content:
    """
    Select what a run gave (RES-9..12).

    The last message with any block wins; without one the streamed text; else nothing.
    """
    pieces: list[str] = []
    for event in _backwards(events):
        if type(event) is AssistantMessage and event.content:
            return event.content
        if type(event) is Chunk:
            pieces.append(event.text)
        elif type(event) is Retried:
            break  # what a failed request streamed is no output (LOG-21)
    return _joined(pieces)


def select_partial(events: Iterable[Event]) -> Content:
    """
    Select what a run gave whose work was cut short (H39).

    As `select_output`, but where the last message says nothing to a reader, since it only
    thinks or calls tools, the last one that does is what there is.
    """
    # Asked twice, and a fold may be handed an iterator.
    events = tuple(events)
    selected = select_output(events)
    if not selected or _tells(selected):
        return selected
    for event in _backwards(events):
        if type(event) is AssistantMessage and _tells(event.content):
            return event.content
    return selected


def _tells(content: Content) -> bool:
    """Whether *content* has something for a reader."""
    for block in content:
        if type(block) is Text and block.text:
            return True
        if type(block) not in _SILENT:
            return True
    return False


def cut_off_text(events: Iterable[Event]) -> Content:
    """Return the text that was streamed since the last message of the open step (LOG-22)."""
    pieces: list[str] = []
    for event in _backwards(events):
        if type(event) is Chunk:
            pieces.append(event.text)
        elif type(event) in _ENDS_A_STREAM:
            break
    return _joined(pieces)


_SILENT: Final = frozenset((Text, Reasoning, ToolCall))
_ENDS_A_STREAM: Final = frozenset((AssistantMessage, Retried, StepStarted))


def _joined(pieces: list[str]) -> Content:
    """Make content of pieces that were collected backwards."""
    pieces.reverse()
    text = "".join(pieces)
    return (Text(text),) if text else ()


def unanswered_calls(events: Iterable[Event]) -> tuple[tuple[ToolCall, bool], ...]:
    """Return the calls of the open step's messages that lack a result, and which were begun."""
    asked: list[ToolCall] = []
    begun: dict[str, ToolCall] = {}
    answered: set[str] = set()
    for event in _backwards(events):
        if type(event) is StepStarted:
            break
        if type(event) is ToolReturned:
            answered.add(event.result.call_id)
        elif type(event) is ToolCalled:
            begun[event.call.call_id] = event.call
        elif type(event) is AssistantMessage:
            asked[:0] = [block for block in event.content if type(block) is ToolCall]
    calls = {call.call_id: call for call in (*asked, *reversed(begun.values()))}
    return tuple(
        [(call, call_id in begun) for call_id, call in calls.items() if call_id not in answered]
    )


def unanswered_approvals(events: Iterable[Event]) -> tuple[str, ...]:
    """Return the calls of the open step whose approval was asked for and not decided."""
    asked: list[str] = []
    decided: set[str] = set()
    for event in _backwards(events):
        if type(event) is StepStarted:
            break
        if type(event) is ApprovalGiven:
            decided.add(event.call_id)
        # Several guards may ask about one call, each when the one before has its decision.
        elif type(event) is ApprovalAsked and event.call_id not in decided:
            asked.append(event.call_id)
    return tuple(reversed(asked))


def usage_of(events: Iterable[Event]) -> Usage:
    """Add up what the messages of *events* cost."""
    total = NO_USAGE
    for event in events:
        if isinstance(event, AssistantMessage) and event.usage is not None:
            total += event.usage
    return total


def _backwards(events: Iterable[Event]) -> Iterator[Event]:
    # Asking for the abstract Sequence costs as much as the fold of a short log.
    if type(events) is not tuple and type(events) is not list:
        events = tuple(events)
    return reversed(cast("Sequence[Event]", events))

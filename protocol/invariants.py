"""
The rules of a log (LOG-6), checked event by event.

Rule: a monitor decides before it changes: an event that it refuses leaves no trace.
User messages, descriptors, policies and end markers may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Iterable

import attrs

from retinue.protocol.entries import (
    ApprovalAsked,
    ApprovalGiven,
    AssistantMessage,
    Chunk,
    Described,
    Ending,
    Event,
    PolicySet,
    Retried,
    SeedEnded,
    Spliced,
    StepFinished,
    StepStarted,
    ToolCalled,
    ToolReturned,
    TurnFinished,
    TurnStarted,
    UserMessage,
)
from retinue.protocol.errors import InvariantViolated
from retinue.protocol.seed import Seed
from retinue.protocol.splices import Pending


@attrs.define
class _State:
    turn: int | None = None
    last_turn: int = 0
    step: int | None = None
    last_step: int = 0
    calls: set[tuple[int, str]] = attrs.field(factory=set[tuple[int, str]])
    approvals: set[str] = attrs.field(factory=set[str])
    waiting: Pending = attrs.field(factory=Pending)

    def is_inside(self, turn: int, step: int) -> bool:
        """Whether that step of that turn is open."""
        return self.turn == turn and self.step == step


def _problem(state: _State, event: object) -> str | None:
    match event:
        case TurnStarted(turn=turn):
            if state.turn is not None:
                return f"turn {turn} starts inside turn {state.turn}"
            if turn != state.last_turn + 1:
                return f"turn {turn} follows turn {state.last_turn}"
        case TurnFinished():
            return _end_problem(state, event)
        case StepStarted(turn=turn, step=step):
            if state.turn is None or state.turn != turn:
                return f"step {step} of turn {turn} starts outside that turn"
            if state.step is not None:
                return f"step {step} starts inside step {state.step}"
            if step != state.last_step + 1:
                return f"step {step} follows step {state.last_step}"
        case StepFinished(turn=turn, step=step):
            if not state.is_inside(turn, step):
                return f"step {step} of turn {turn} ends and is not open"
        case Chunk() | Retried() | AssistantMessage():
            if state.step is None:
                return f"{type(event).__name__} outside a step"
        case ToolCalled(turn=turn, step=step, call=call):
            if not state.is_inside(turn, step):
                return f"tool call {call.call_id} outside step {step} of turn {turn}"
            if (step, call.call_id) in state.calls:
                return f"tool call {call.call_id} is pending already"
        case ToolReturned():
            return _result_problem(state, event)
        case ApprovalAsked(turn=turn, step=step, call_id=call_id):
            if not state.is_inside(turn, step) or (step, call_id) not in state.calls:
                return f"approval is asked for {call_id}, which is not pending"
        case ApprovalGiven(call_id=call_id):
            if call_id not in state.approvals:
                return f"approval is given for {call_id}, and was not asked for"
        case Spliced():
            return state.waiting.problem(event)
        case UserMessage() | SeedEnded() | Described() | PolicySet():
            pass
        case _:
            return f"{type(event).__name__} is no event of a log"
    return None


def _end_problem(state: _State, event: TurnFinished) -> str | None:
    if state.turn is None or state.turn != event.turn:
        return f"turn {event.turn} ends and is not open"
    if state.step is not None:
        return f"turn {event.turn} ends inside its step {state.step}"
    if event.ending is Ending.ABORTED and event.cause is None:
        return f"turn {event.turn} is aborted and names no cause (LOG-5)"
    if state.approvals and event.ending is not Ending.INTERRUPTED:
        names = ", ".join(sorted(state.approvals))
        return f"turn {event.turn} ends without a decision on {names} (POL-5)"
    # Crash repair cannot always say what became of a call.
    if state.calls and event.ending is not Ending.INTERRUPTED:
        names = ", ".join(sorted(call for _, call in state.calls))
        return f"turn {event.turn} ends without an answer to {names} (LOG-14)"
    return None


def _result_problem(state: _State, event: ToolReturned) -> str | None:
    call_id = event.result.call_id
    if event.synthetic:
        # Crash repair answers calls of a step that is over, or that never started.
        if state.turn is None or state.turn != event.turn:
            return f"a synthetic result of {call_id} outside turn {event.turn}"
    elif not state.is_inside(event.turn, event.step):
        return f"the result of {call_id} outside step {event.step} of turn {event.turn}"
    elif (event.step, call_id) not in state.calls:
        return f"the result of {call_id}, which is not pending in step {event.step}"
    return None


def _apply(state: _State, event: object) -> None:
    match event:
        case TurnStarted(turn=turn):
            state.turn = state.last_turn = turn
            state.step, state.last_step = None, 0
            state.calls.clear()
            state.approvals.clear()
        case TurnFinished():
            state.turn = state.step = None
        case StepStarted(step=step):
            state.step = state.last_step = step
        case StepFinished():
            state.step = None
        case ToolCalled(step=step, call=call):
            state.calls.add((step, call.call_id))
        case ToolReturned(step=step, result=result):
            state.calls.discard((step, result.call_id))
        case ApprovalAsked(call_id=call_id):
            state.approvals.add(call_id)
        case ApprovalGiven(call_id=call_id):
            state.approvals.discard(call_id)
        case Spliced():
            state.waiting.apply(event)
        case SeedEnded():
            # What waited for an ancestor does not wait for this run (FRK-6).
            state.waiting = Pending()
        case _:
            pass


class Monitor:
    """Checks the events of one log as they come."""

    __slots__ = ("_position", "_state")

    def __init__(self) -> None:
        self._position = 0
        self._state = _State()

    def follow(self, seed: Seed) -> None:
        """Begin after *seed*, which is taken as sound."""
        self._position = seed.length
        self._state = _State(last_turn=seed.last_turn)

    def observe(self, event: object) -> None:
        """
        Take the next event.

        Raises:
            InvariantViolated: it breaks a rule; the message has its sequence number. The
                monitor is as before.
        """
        problem = _problem(self._state, event)
        if problem is not None:
            raise InvariantViolated(f"event {self._position}: {problem}")
        _apply(self._state, event)
        self._position += 1


def violations(events: Iterable[Event]) -> tuple[str, ...]:
    """List every violation of a whole log, each with its sequence number."""
    state = _State()
    found: list[str] = []
    for number, event in enumerate(events):
        problem = _problem(state, event)
        if problem is not None:
            found.append(f"event {number}: {problem}")
            if isinstance(event, Spliced):
                continue
        _apply(state, event)
    return tuple(found)

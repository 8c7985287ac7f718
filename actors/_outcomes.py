"""What is said of a run: its result, its rows in lists, and what a request amounts to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from retinue.protocol import accounting
from retinue.protocol.agent import Kind as AgentKind
from retinue.protocol.content import Content
from retinue.protocol.delegation import NO_LIMITS, Features, Limits
from retinue.protocol.errors import BudgetSpent, InvalidLimit
from retinue.protocol.lifecycle import Phase
from retinue.protocol.log import Cause, Ending, Event, Log
from retinue.protocol.messages import TurnEnded
from retinue.protocol.result import (
    ABORTED,
    BUDGET,
    COMPLETED,
    ERROR,
    HOST_GONE,
    MAX_TURNS,
    NO_USAGE,
    TIMEOUT,
    RunResult,
    StopReason,
    Usage,
    bounded_diagnostic,
)
from retinue.protocol.tool_filter import CEILING
from retinue.protocol.tree import RunInfo

if TYPE_CHECKING:
    from retinue.actors._ref import RunRef
    from retinue.actors.run import RunActor

# An abort for one of these causes has a reason of its own.
_BY_CAUSE: Final[Mapping[Cause, StopReason]] = {
    Cause.DEADLINE: TIMEOUT,
    Cause.HOST: HOST_GONE,
    Cause.BUDGET: BUDGET,
    Cause.TURNS: MAX_TURNS,
}


def schema_of(features: Features) -> Any:
    """
    Make the output schema of a request.

    Raises:
        InvalidSchema: it is none; all violations are named.
    """
    if features.output_schema is None:
        return None
    from retinue.protocol.schema import as_schema

    return as_schema(features.output_schema)


def limits_of(features: Features) -> Limits:
    """Take the limits of a request; raises InvalidLimit for what is none."""
    limits: object = features.limits
    if limits is None:
        return NO_LIMITS
    if not isinstance(limits, Limits):
        raise InvalidLimit(f"limits: expected Limits(...), got {type(limits).__name__}")
    if 0 in {limits.live, limits.total, limits.turns, limits.steps}:
        raise InvalidLimit(
            "limits: the run itself counts, so live, total, turns and steps are at least 1"
        )
    return limits


def turn_outcome(
    log: Log, fact: TurnEnded, cause: Cause | None
) -> tuple[StopReason, Content, Usage]:
    """Say how the turn that was just sealed ended, and what it gave."""
    events = () if log.latest is None else log.latest.events
    reason = accounting.stop_reason_one_shot(events, cancelled=fact.ending is Ending.ABORTED)
    reason = _refined(reason, fact, cause)
    return reason, _output(events, reason), usage_of(events)


def usage_of(events: Any) -> Usage:
    """Add up what was spent; nothing is added where nothing was."""
    return accounting.usage_of(events)


def _refined(reason: StopReason, last: TurnEnded | None, cause: Cause | None) -> StopReason:
    if reason == ABORTED and cause is not None:
        return _BY_CAUSE.get(cause, reason)
    if reason == ERROR and last is not None:
        if last.reason is not None:
            return StopReason(last.reason)
        if isinstance(last.error, BudgetSpent):  # which left a behaviour as it came
            return StopReason(last.error.reason)
    return reason


def _output(events: Sequence[Event], reason: StopReason) -> Content:
    """Return what was given; work that was cut short also by what it had said before (H39)."""
    if reason == COMPLETED:
        return accounting.select_output(events)
    return accounting.select_partial(events)


def run_result(actor: RunActor) -> RunResult:
    """
    Read a run's result from its own suffix of the log.

    The flags of a live actor say only whether it was cancelled and why (RUN-5, RUN-6).
    """
    log, last = actor.log, actor.last
    own = () if log is None else log.own()
    # A crash stops a run as well; it is no cancel, and has no cause.
    cancelled = actor.life.is_stopping and actor.cause is not None
    crashed = last is not None and last.ending is Ending.ERROR and last.turn == 0
    if crashed:
        reason = ERROR
    elif actor.life.is_resident:
        reason = accounting.stop_reason_resident(own, cancelled=cancelled)
    else:
        reason = accounting.stop_reason_one_shot(own, cancelled=cancelled)
    reason = _refined(reason, last, actor.cause)
    structured = diagnostic = error = None
    if last is not None:
        structured, error = last.structured, last.error
        if last.diagnostic is not None:
            diagnostic = bounded_diagnostic(last.diagnostic)
    if diagnostic is None and cancelled and reason != COMPLETED and actor.ref.mark:
        diagnostic = bounded_diagnostic(actor.ref.mark)  # who stopped it said why
    return RunResult(
        actor.ref.run_id,
        reason,
        _output(own, reason),
        structured,
        diagnostic,
        accounting.usage_of(own) if own else NO_USAGE,
        0 if log is None else log.seed_turns,
        actor.live_children(),
        error,
        actor.ref.spent,
    )


def describe(ref: RunRef) -> RunInfo:
    """Say what a live run is doing; called in a handler, so nothing moves meanwhile."""
    actor, request = ref.actor, ref.request
    now = ref.dispatcher.clock.now()
    latest = ref.started_at
    if actor is not None and actor.log is not None:
        latest = actor.log.latest_time or latest
    return RunInfo(
        ref.run_id,
        request.provider,
        None if ref.parent is None else ref.parent.run_id,
        request.label,
        request.name,
        None if request.agent is None else request.agent.name,
        ref.depth,
        "ended" if actor is None else actor.life.phase.value,
        None,
        0 if actor is None else actor.open_turn,
        now - ref.started_at,
        now - latest,
        () if actor is None else waits_for(actor),
        0 if actor is None or actor.inbox is None else len(actor.inbox),
        NO_USAGE if actor is None or actor.log is None else usage_of(actor.log.own()),
        ref.spent,
        "" if actor is None else _tools(actor),
    )


def _tools(actor: RunActor) -> str:
    kept = None if actor.order is None else actor.order.tool_filter
    rules = actor.ref.request.features.tool_rules
    return "" if kept is None else f"{rules or CEILING}: {kept.words()}"


def waits_for(actor: RunActor) -> tuple[str, ...]:
    """Say what a run waits for, as far as the runtime can see (H22)."""
    phase = actor.life.phase
    if phase is Phase.IDLE:
        return ("inbox",)
    if phase is Phase.DRAINING:
        return ("children",)
    if phase in {Phase.OPENING, Phase.OPENED}:
        return (f"provider {actor.provider.name}",)
    if phase is Phase.RELEASING:
        return actor.live_children() or ("the driver to close",)
    targets = actor.ref.dispatcher.waits.targets_of(actor.ref)
    found = [*_tools_at_work(actor), *actor.waits_for_children()]
    found += [str(target.run_id) for target in targets]
    if actor.tickets:
        found.append(f"{len(actor.tickets)} starts" if len(actor.tickets) > 1 else "a start")
    agent = actor.ref.request.agent
    if not found and actor.open_turn and agent is not None and agent.kind is AgentKind.MODEL:
        found.append("the model")
    return tuple(found)


def _tools_at_work(actor: RunActor) -> list[str]:
    if actor.log is None or not actor.open_turn:
        return []
    calls = accounting.unanswered_calls(actor.log.open_events)
    return list(dict.fromkeys([f"tool {call.name}" for call, is_begun in calls if is_begun]))

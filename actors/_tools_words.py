"""
What models are told by the tools of delegation: what these do, and what came of a child.

Rule: wording is derived from what the provider is at that moment, and claims no more (TOOL-16).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, Final

import attrs

from retinue.protocol.content import Content, Data, Text, clip
from retinue.protocol.framing import as_text, framed, inert
from retinue.protocol.result import (
    ABORTED,
    BUDGET,
    COMPLETED,
    ERROR,
    HOST_GONE,
    MAX_TOKENS,
    MAX_TURNS,
    REFUSAL,
    SCHEMA,
    TIMEOUT,
    StopReason,
)

if TYPE_CHECKING:
    from retinue.protocol.result import RunResult

# JOB-5: what a wait may take, and what it takes when nobody says.
WAIT_SECONDS: Final = 30.0
LONGEST_WAIT: Final = 600.0

_HEADLINES: Final[Mapping[StopReason, str]] = {
    ABORTED: "was cancelled",
    ERROR: "failed",
    MAX_TOKENS: "came to the limit of its tokens",
    REFUSAL: "declined the task",
    TIMEOUT: "ran out of time",
    BUDGET: "used up its budget",
    MAX_TURNS: "used up its turns",
    SCHEMA: "gave no result that fits its schema",
    HOST_GONE: "lost its host",
}


@attrs.frozen
class Names:
    """The names of one set of tools: the one that starts, and those that look after it."""

    start: str

    @property
    def output(self) -> str:
        """What reads how a run stands, and what it left."""
        return f"{self.start}_output"

    @property
    def cancel(self) -> str:
        """What stops a run."""
        return f"{self.start}_cancel"

    @property
    def wait(self) -> str:
        """What waits for runs."""
        return f"{self.start}_wait"

    @property
    def companions(self) -> tuple[str, ...]:
        """What whoever may start in the background may use too (H03)."""
        return (self.output, self.cancel, self.wait)


@attrs.frozen
class Situation:
    """
    What wording depends on.

    Args:
        inherits: whether a child begins with its parent's completed turns.
        background: whether runs in the background are allowed.
        has_schema: whether the result is a value of a fixed schema.
        who: the name of the agent that works, where it is not the caller's own.
    """

    inherits: bool
    background: bool
    has_schema: bool
    who: str | None


def start_description(where: Situation, names: Names) -> str:
    """Say what the tool does that starts a child."""
    child = f"a child agent, {where.who}," if where.who else "a child agent"
    parts = [f"Delegate one task to {child} and get its result, which is all that you see of it."]
    if where.inherits:
        parts.append(
            "It begins with the completed turns of this conversation, so that the prompt may build"
            " on them; it does not see the turn that you are in."
        )
    else:
        parts.append(
            "It knows nothing of this conversation: the prompt has to say all that it needs."
        )
    if where.has_schema:
        parts.append("Its result is a JSON value of a fixed form.")
    parts.append("Calls in one step run side by side.")
    if where.background:
        parts.append(
            "The call waits for the result. With run_in_background it returns at once, with the"
            f" id of the run for {names.wait}, {names.output} and {names.cancel}."
        )
    return " ".join(parts)


def start_parameters(where: Situation) -> dict[str, Any]:
    """Return the JSON Schema of what starts a child (TOOL-2)."""
    prompt = "The task, on top of the turns so far." if where.inherits else "The whole task."
    properties: dict[str, Any] = {
        "description": {
            "type": "string",
            "description": "What it is to do, in three to five words, for people who watch.",
        },
        "prompt": {"type": "string", "minLength": 1, "description": prompt},
    }
    if where.background:
        properties["run_in_background"] = {
            "type": "boolean",
            "description": "Return at once, and go on with other work. By default false.",
        }
    # Others are let through, so that the tool itself says what is wrong with them (TOOL-3).
    return {"type": "object", "properties": properties, "required": ["description", "prompt"]}


_RUN_ID: Final = {"type": "string", "description": "as the start returned it"}


def control_parameters(names: Names) -> Mapping[str, tuple[str, dict[str, Any]]]:
    """Return description and JSON Schema of each tool that looks after background runs."""
    seconds = {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT}
    wait_for = {**seconds, "default": 0, "description": "how long to wait for its end"}
    default_wait = {**seconds, "default": WAIT_SECONDS}
    reason = {"type": "string", "description": "told to the run"}
    mode = {"enum": ["all", "any"], "default": "all"}
    run_ids = {"type": "array", "items": {"type": "string"}, "minItems": 1}
    return {
        names.output: (
            "Read how a background run of yours stands, and what it left if it has ended.",
            _object({"run_id": _RUN_ID, "seconds": wait_for}, "run_id"),
        ),
        names.cancel: (
            "Stop a background run of yours and everything below it.",
            _object({"run_id": _RUN_ID, "reason": reason}, "run_id"),
        ),
        names.wait: (
            "Wait until all, or any, of your background runs named here have ended.",
            _object({"run_ids": run_ids, "mode": mode, "seconds": default_wait}, "run_ids"),
        ),
    }


def _object(properties: dict[str, Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def guidance(where: Situation, names: Names, kept: Collection[str], *, is_resident: bool) -> str:
    """Say how to delegate, for the instructions of who can see the tool (TOOL-18)."""
    if names.start not in kept:
        return ""
    told = (
        f"You can delegate with {names.start}: one task each, with all that it takes to do it."
        " Start what does not depend on each other in one step. Do small things yourself, and"
        " judge what comes back: the result is yours to answer for."
    )
    if where.background:
        until = "" if is_resident else ", and your turn does not end before"
        told += (
            f" You are told when a run in the background has ended{until}: do not poll. What you"
            f" need no longer, stop with {names.cancel}."
        )
    return told


def started(run_id: str, label: str, names: Names) -> str:
    """Say that a background run has begun."""
    return (
        f"Started in the background: {inert(label)}, run {run_id}. You will be told when it has"
        f" ended; {names.wait} waits for it, {names.cancel} stops it."
    )


def still_running(run_id: str, label: str) -> str:
    """Say that a run has not ended."""
    return f"Run {run_id} ({inert(label)}) is still running."


def told_already(result: RunResult, label: str, names: Names) -> str:
    """Say in one line how a run ended whose text the model has read."""
    return (
        f"Run {result.run_id} ({inert(label)}) {headline(result)}; what it left you were given"
        f" before, and {names.output} reads it again."
    )


def headline(result: RunResult) -> str:
    """Say in a few words how a run ended (TOOL-6)."""
    if result.stop_reason == COMPLETED:
        if result.abandoned:
            return f"was cut short: its end cancelled {', '.join(result.abandoned)}"
        return "completed"
    known = _HEADLINES.get(result.stop_reason)
    return known or f"ended abnormally ({clip(inert(result.stop_reason), 60)})"


def outcome(result: RunResult, label: str, problem: str | None = None) -> str:
    """
    Write down how a run ended: headline, diagnostic, text as data, in this order (TOOL-6).

    Args:
        label: what it was to do.
        problem: what of it was not released, if anything.
    """
    run_id = result.run_id
    text = as_text(_said(result.output))
    if result.is_success and problem is None:
        if not text:
            return f"Run {run_id} completed and left no text."
        return framed(text, {"from": "child", "run": run_id})
    parts = [f"Run {run_id} ({inert(label)}) {headline(result)}."]
    if problem is not None:
        parts.append(f"It did not let go of everything: {inert(problem)}")
    if result.diagnostic:
        parts.append(f"Diagnostic: {inert(result.diagnostic)}")
    if text:
        said = "It said:" if result.is_success else "It is not done; it had said:"
        parts += [said, framed(text, {"from": "child", "run": run_id})]
    return "\n".join(parts)


def _said(output: Content) -> Content:
    return tuple([block for block in output if type(block) in {Text, Data}])

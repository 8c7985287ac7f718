"""What came of a question: exit code, one JSON object for machines, and words for people."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import attrs

from retinue.actors import NotStarted, RunResult
from retinue.actors.serve._foreground import BY_SIGNAL, FAILED, OUT_OF_TIME, REFUSED, Came
from retinue.protocol.content import Data, Text
from retinue.protocol.errors import (
    InvalidRequest,
    ModelFailed,
    Refused,
    RetinueError,
    StartCancelled,
    StartFailed,
    Transient,
)
from retinue.protocol.events import RunEnded
from retinue.protocol.result import COMPLETED, TIMEOUT


@attrs.frozen
class Answer:
    """What there is to give out: an answer, whether it is the whole one, and a code."""

    result: RunResult
    code: int
    notes: tuple[str, ...]
    children: tuple[RunEnded, ...] = ()

    @property
    def is_partial(self) -> bool:
        """Whether the run did not complete, so that this is what it had."""
        return self.code != 0

    @property
    def text(self) -> str:
        """The answer as text; a structured one as JSON."""
        said = [
            block.text
            if isinstance(block, Text)
            else json.dumps(block.value, ensure_ascii=False, indent=2)
            for block in self.result.output
            if isinstance(block, (Text, Data))
        ]
        return "".join(said)

    def as_json(self) -> str:
        """Return everything as one JSON object."""
        result = self.result
        values = [block.value for block in result.output if isinstance(block, Data)]
        return json.dumps(
            {
                "text": result.text,
                "structured": values[0] if values else None,
                "partial": self.is_partial,
                "stop_reason": result.stop_reason,
                "diagnostic": result.diagnostic,
                "run_id": result.run_id,
                "usage": attrs.asdict(result.usage),
                "total": attrs.asdict(result.total_usage),
                "abandoned": list(result.abandoned),
                "children": [_child(event) for event in self.children],
            },
            ensure_ascii=False,
        )


def _child(event: RunEnded) -> dict[str, Any]:
    result = event.result
    return {
        "run_id": event.run_id,
        "parent_id": event.parent_id,
        "label": event.label,
        "provider": event.provider,
        "stop_reason": result.stop_reason,
        "usage": attrs.asdict(result.usage),
        "total": attrs.asdict(result.total_usage),
    }


def answer_of(came: Came, ended: Iterable[RunEnded]) -> Answer:
    """
    Make an answer of what came.

    Raises:
        RetinueError: the run never was, and nobody had cancelled it.
    """
    outcome = came.outcome
    if isinstance(outcome, NotStarted):
        if not (came.code and isinstance(outcome.error, StartCancelled)):
            raise outcome.error
        outcome = RunResult("", outcome.stop_reason)
    notes = list(came.notes)
    code = came.code or _code(outcome)
    if code and code < BY_SIGNAL:
        notes.append(_why(outcome))
    children = [event for event in ended if event.parent_id is not None]
    return Answer(outcome, code, tuple(notes), tuple(children))


def _code(result: RunResult) -> int:
    if result.is_success:
        return 0
    return OUT_OF_TIME if result.stop_reason == TIMEOUT else FAILED


def _why(result: RunResult) -> str:
    partial = "what it had by then is given out" if result.output else "it has no answer"
    if result.stop_reason == COMPLETED:
        why = f"its end cancelled {', '.join(result.abandoned)}"
    else:
        why = f"it ended {result.stop_reason}"
    said = f": {result.diagnostic}" if result.diagnostic else ""
    return f"partial: {why}; {partial}{said}"


def words_of_refusal(error: BaseException) -> str:
    """Say what was wrong with what was asked for, without the run that there never was."""
    cause = error.__cause__ if isinstance(error, StartFailed) else None
    return str(cause if isinstance(cause, RetinueError) else error)


def code_of_refusal(error: BaseException) -> int:
    """Return the exit code of a start that failed: whose mistake it was."""
    cause = error.__cause__ if isinstance(error, StartFailed) else error
    mistakes = (InvalidRequest, Refused, ModelFailed)
    is_mistake = isinstance(cause, mistakes) and not isinstance(cause, Transient)
    return REFUSED if is_mistake else FAILED

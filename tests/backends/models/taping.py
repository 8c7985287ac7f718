"""Recording of a run, for tests of what is on the tape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from retinue.actors import Agent, RunResult, Runtime
from retinue.backends.models.recorded import RecordedModel
from retinue.backends.models.scripted import ScriptedModel
from tests.doubles import PATIENCE

CALL: Final = {"calls": [{"name": "look", "arguments": {"at": "sea"}}]}


def look(at: str) -> str:
    """Look at something."""
    return f"seen {at}"


def answered(runtime: Runtime, model: Any, prompt: str = "go", **fields: Any) -> RunResult:
    """Return the result of a run that *model* works for."""
    given = Agent(model=model, tools=[look], **fields)
    return (
        runtime.start("spawn", prompt, agent=given)
        .get(timeout=PATIENCE)
        .result.get(timeout=PATIENCE)
    )


def record(tape: Path, script: Any, prompt: str = "go") -> RunResult:
    """Record one run of a script."""
    with Runtime() as runtime:
        model = RecordedModel(tape, ScriptedModel(script), mode="record")
        return answered(runtime, model, prompt)


def lines(tape: Path) -> list[dict[str, Any]]:
    """Read the lines of a tape."""
    return [json.loads(line) for line in tape.read_text(encoding="utf-8").splitlines()]

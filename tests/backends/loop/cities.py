"""A schema, results that fit it and that do not, and runs that owe one."""

from __future__ import annotations

from typing import Any

from retinue.actors import Agent, Run, Runtime
from retinue.protocol.model import Answer
from tests.backends.loop.models import calls

CITY: dict[str, Any] = {
    "type": "object",
    "properties": {
        "name": {"type": "string"},
        "size": {"enum": ["small", "large"]},
    },
    "required": ["name", "size"],
    "additionalProperties": False,
}
GOOD = {"name": "Rome", "size": "large"}
BAD = {"size": "huge", "mayor": "?"}


def gives(*values: dict[str, Any], tool: str = "structured_output") -> Answer:
    """Return an answer that gives results."""
    return calls(*[(f"r{number}", tool, value) for number, value in enumerate(values)])


def city(model: Any, **fields: Any) -> Agent:
    """Return an agent with that model."""
    return Agent(model=model, **fields)


def started(runtime: Runtime, agent: Agent, schema: Any = CITY, **options: Any) -> Run:
    """Start a run that owes a structured result."""
    return runtime.start("spawn", "which?", agent=agent, output_schema=schema, **options).get()

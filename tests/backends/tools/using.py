"""Agents with tools, a model that calls them, and words for what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from retinue.actors import Run, RunResult, Runtime
from retinue.protocol.agent import Agent
from retinue.protocol.content import ToolResult
from retinue.protocol.invariants import violations
from retinue.protocol.log import ToolReturned
from tests.backends.loop.models import HOUR, Talker, calls, says
from tests.doubles import PATIENCE

DAY = 24 * HOUR


def caller(*named: tuple[str, dict[str, Any]]) -> Talker:
    """Return a model that makes each call in a step of its own, and then is done."""
    steps = [calls((f"c{number}", *call)) for number, call in enumerate(named, 1)]
    return Talker(*steps, says("done"))


def with_tools(model: Talker, tools: Sequence[Any], **fields: Any) -> Agent:
    """Return an agent that *model* works for."""
    return Agent(model=model, tools=tools, **fields)


def used(
    runtime: Runtime, tools: Sequence[Any], *named: tuple[str, dict[str, Any]], **fields: Any
) -> list[ToolResult]:
    """Have a model call tools one after the other; returns what it was told."""
    agent = with_tools(caller(*named), tools, **fields)
    run = runtime.start("spawn", "go", agent=agent).get(timeout=PATIENCE)
    result = ended(run)
    assert "done" == result.text, result
    return results(run)


def ended(run: Run) -> RunResult:
    """Wait for a run, and insist that its log is sound and balanced."""
    # In virtual time patience costs nothing.
    seconds = DAY if run.ref.dispatcher.is_deterministic else 4 * PATIENCE
    result: RunResult = run.result.get(timeout=seconds)
    assert () == violations(run.transcript())
    return result


def results(run: Run) -> list[ToolResult]:
    """Return what the tools of a run gave, in order."""
    return [event.result for event in run.own_transcript() if isinstance(event, ToolReturned)]


def texts(run: Run) -> list[str]:
    """Return the texts of that."""
    return [result.text for result in results(run)]


def offered(model: Talker, request: int = 0) -> list[str]:
    """Return the names of the tools that a request showed."""
    return [tool.name for tool in model.requests[request].tools]

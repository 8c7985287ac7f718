"""Models that need a number of steps, and runtimes in which one thing moves at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from retinue.actors import Agent, DeterministicDispatcher, Run, Runtime
from retinue.backends.models.scripted import ScriptedModel
from retinue.protocol.content import Form
from retinue.protocol.log import UserMessage
from retinue.protocol.model import ModelRequest
from retinue.protocol.result import Usage

ONE = Usage(3, 2, 1, 0.25)
"""What each request costs: five tokens and a quarter."""


@contextmanager
def virtual(seed: int = 0, **options: Any) -> Iterator[Runtime]:
    """Yield a runtime in virtual time, and close it."""
    with Runtime(dispatcher=DeterministicDispatcher(seed), **options) as runtime:
        yield runtime


def look() -> str:
    """Look."""
    return "seen"


def looking(steps: int, usage: Usage = ONE) -> Callable[[ModelRequest], dict[str, Any]]:
    """Return what replies as `working` does."""

    def reply(request: ModelRequest) -> dict[str, Any]:
        said: dict[str, Any] = {"text": f"step {request.step}", "usage": usage}
        if request.step < steps:
            said["calls"] = [{"name": "look", "arguments": {}}]
        return said

    return reply


def working(steps: int, usage: Usage = ONE) -> Agent:
    """Return an agent that looks until its last step, and says in each which it is."""
    return Agent(model=ScriptedModel(looking(steps, usage)), tools=[look])


def boss(work: Callable[[Any], Any]) -> Agent:
    """Return an agent whose turn does *work*, on a thread."""
    return Agent(work, name="boss")


def warnings(run: Run) -> list[str]:
    """Return what the run was told of its limits, as far as it took it."""
    return [
        event.message.text
        for event in run.own_transcript()
        if isinstance(event, UserMessage) and event.message.source.form is Form.WARNING
    ]

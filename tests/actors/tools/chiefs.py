"""Agents whose model delegates as a script says, and words for what came of that."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from retinue.actors import Agent, DeterministicDispatcher, Run, RunResult, Runtime
from retinue.actors.tools import subagent
from retinue.backends.models.scripted import ScriptedModel
from retinue.protocol.content import Form, Message, ToolResult
from retinue.protocol.log import ToolReturned, UserMessage
from retinue.protocol.model import ModelRequest


def call(tool: str, **arguments: Any) -> dict[str, Any]:
    """Return one call of a tool."""
    return {"name": tool, "arguments": arguments}


def calls(*made: dict[str, Any]) -> dict[str, Any]:
    """Return a reply that makes calls."""
    return {"calls": list(made)}


def unoffered(*made: dict[str, Any]) -> dict[str, Any]:
    """Return a reply that calls what its request does not offer."""
    return {"calls": list(made), "is_unoffered": True}


def delegate(prompt: str, tool: str = "subagent", **more: Any) -> dict[str, Any]:
    """Return a call that delegates; the description is the prompt's first words."""
    return call(tool, description=" ".join(prompt.split()[:3]), prompt=prompt, **more)


def later(prompt: str, tool: str = "subagent") -> dict[str, Any]:
    """Return a call that delegates in the background."""
    return delegate(prompt, tool, run_in_background=True)


async def worker(turn: Any) -> str:
    """Work for as many virtual seconds as the prompt says, and return what stands after them."""
    seconds, _, text = turn.text.partition(" ")
    turn.say(f"half of {text}")
    await asyncio.sleep(float(seconds))
    return str(text)


class Chief:
    """Runs agents that delegate, and keeps what their models were asked."""

    def __init__(self, runtime: Runtime, dispatcher: DeterministicDispatcher) -> None:
        self.runtime = runtime
        self.dispatcher = dispatcher
        self.requests: list[ModelRequest] = []

    def agent(self, script: Any, *tools: Any, **fields: Any) -> Agent:
        """Return an agent; by default its children are workers."""
        model = ScriptedModel(script, on_request=self.requests.append)
        return Agent(model=model, tools=tools or (subagent(agent=worker),), **fields)

    def start(self, script: Any, *tools: Any, **options: Any) -> Run:
        """Start a run."""
        agent = self.agent(script, *tools)
        return self.runtime.start("spawn", "go", agent=agent, **options).get()

    def open(self, script: Any, *tools: Any, **options: Any) -> Run:
        """Open a resident."""
        return self.runtime.open(self.agent(script, *tools), **options).get()

    def run(self, script: Any, *tools: Any, **options: Any) -> RunResult:
        """Run an agent to its end."""
        return self.start(script, *tools, **options).result.get()

    def of(self, run_id: str) -> list[ModelRequest]:
        """Return what one run asked its model."""
        return [request for request in self.requests if request.run_id == run_id]


def returned(run: Run) -> list[ToolResult]:
    """Return the results of a run's tools, in order."""
    return [event.result for event in run.own_transcript() if isinstance(event, ToolReturned)]


def heard(run: Run) -> list[Message]:
    """Return the notices that a run has taken."""
    return [
        event.message
        for event in run.own_transcript()
        if isinstance(event, UserMessage) and event.message.source.form is Form.NOTICE
    ]


def names(request: ModelRequest) -> list[str]:
    """Return the names of the tools that a request offers."""
    return [tool.name for tool in request.tools]


def read(messages: Sequence[Message]) -> str:
    """Return all that a model reads in messages, results of tools included."""
    return "\n".join(
        [getattr(block, "text", "") for message in messages for block in message.content]
    )


def child_of(run: Run, number: int = 1) -> str:
    """Return the id of a run's child, where nobody else starts runs."""
    own, _, last = run.id.rpartition("-")
    return f"{own}-{int(last) + number}"

"""One definition of an agent may work any number of times at once, and every end has an id."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from retinue.actors import Agent, Limits, Tool
from retinue.backends.models.scripted import Reply, ScriptedModel
from retinue.backends.scripted import Hold
from retinue.protocol.errors import ModelFailed, ModelRefused
from retinue.protocol.model import Finish, ModelRequest
from tests.actors.behaviours import Steps, opened, started
from tests.actors.budgets import virtual, working


def test_one_agent_in_eight_runs_has_eight_histories() -> None:
    """
    H41: what one run was told and did is in no other's requests, counters and totals.
    """
    seen: dict[str, list[list[str]]] = {}

    async def reply(request: ModelRequest) -> Any:
        await asyncio.sleep(1.0)
        seen.setdefault(request.run_id, []).append([one.text for one in request.messages])
        return f"{request.messages[-1].text}!"

    agent = Agent(model=ScriptedModel(reply))
    with virtual() as runtime:
        runs = [opened(runtime, agent) for _ in range(8)]
        for word in ("one", "two"):
            asked = [run.ask(f"{word} {number}") for number, run in enumerate(runs)]
            assert [f"{word} {number}!" for number in range(8)] == [one.get().text for one in asked]
        usages = [row.usage.requests for row in runtime.tree()]

    assert [2] * 8 == usages
    for number, run in enumerate(runs):
        first = f"one {number}"
        assert [[first], [first, f"{first}!", f"two {number}"]] == seen[run.id]


@pytest.mark.parametrize("is_concurrent", [False, True])
def test_one_delegating_tool_serves_calls_in_a_row_and_at_once(*, is_concurrent: bool) -> None:
    """
    H42: twice in a row and twice at once are four results, each of a child of its own.
    """
    worker = Agent(model=ScriptedModel(lambda request: f"did {request.messages[-1].text}"))

    async def ask_team(turn: Any, task: str) -> str:
        """Have the team do a task."""
        run = await turn.start("spawn", task, agent=worker)
        result = await run.result
        return f"{result.run_id} {result.text}"

    def call(*tasks: str) -> dict[str, Any]:
        return {"calls": [{"name": "ask_team", "arguments": {"task": task}} for task in tasks]}

    script = [call("a"), call("b"), call("c", "d"), "done"]
    tool = Tool("ask_team", ask_team, is_concurrent=is_concurrent)
    with virtual() as runtime:
        run = started(runtime, Agent(model=ScriptedModel(script), tools=[tool]))
        run.result.get()
        answers = [text for text in map(_returned, run.own_transcript()) if text]

    assert ["did a", "did b", "did c", "did d"] == [text.partition(" ")[2] for text in answers]
    assert 4 == len({text.partition(" ")[0] for text in answers})


def _returned(event: Any) -> str:
    return str(event.result.text) if type(event).__name__ == "ToolReturned" else ""


def _waits(turn: Any) -> Steps:
    yield turn.sleep(1e6)


def _model(*replies: Any) -> Agent:
    return Agent(model=ScriptedModel(list(replies)))


ENDS: dict[str, tuple[Agent, dict[str, Any]]] = {
    "completed": (_model("fine"), {}),
    "error": (_model(Reply(raises=ModelFailed("broken"))), {}),
    "refusal": (_model(Reply(raises=ModelRefused("no"))), {}),
    "max-tokens": (_model(Reply("long", finish=Finish.LENGTH)), {}),
    "schema": (_model("no object"), {"output_schema": {"type": "object"}}),
    "budget": (working(9), {"limits": Limits(requests=2)}),
    "max-turns": (working(9), {"limits": Limits(steps=2)}),
    "timeout": (Agent(_waits), {"deadline": 5.0}),
    "aborted": (_model(Reply("half", hold=Hold())), {}),
}


@pytest.mark.parametrize("reason", ENDS)
def test_every_end_of_a_child_names_it(reason: str) -> None:
    """
    H71: whatever became of a child that was published, its parent can tell which it was.
    """
    agent, options = ENDS[reason]

    def parent(turn: Any) -> Steps:
        run = yield from turn.start("spawn", "go", agent=agent, **options)
        if reason == "aborted":
            yield from turn.sleep(1.0)
            yield from run.cancel("enough")
        result = yield from run.result
        return [str(result.stop_reason), result.run_id, run.id]

    with virtual() as runtime:
        ended, told, known = started(runtime, parent).result.get().unwrap()

    assert (reason, known) == (ended, told)
    assert known

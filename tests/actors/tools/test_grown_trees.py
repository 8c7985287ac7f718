"""Whole trees that models grow: how deep, how many, from what, and on which dispatcher."""

from __future__ import annotations

import asyncio
from typing import Any

from retinue.actors import Agent, DeterministicDispatcher, Limits, Runtime
from retinue.actors.tools import subagent
from retinue.backends.models.scripted import ScriptedModel
from retinue.protocol.content import ToolResult
from retinue.protocol.events import RunStarted
from tests.actors.tools.chiefs import Chief, calls, delegate
from tests.doubles import Probe


def test_five_ways_to_delegate_stop_at_the_depth(chief: Chief) -> None:
    """H47: who always delegates five ways comes to the depth that nobody had to set."""
    probe = Probe()
    chief.runtime.subscribe(probe.tell)
    refused: list[str] = []

    def always(request: Any) -> Any:
        assert len(request.path) < 6, "nothing stops it"
        last = request.messages[-1].content[0]
        if request.step > 1:
            refused.extend([b.text for b in request.messages[-1].content if b.is_error])
            return "enough"
        return calls(*[delegate(f"part {n}") for n in range(5)]) if last else "never"

    assert chief.run(always, subagent()).is_success

    started = [letter for letter in probe.unread() if isinstance(letter, RunStarted)]
    assert 1 + 5 + 25 + 125 == len(started)
    assert 125 * 5 == len(refused)
    assert all("depth 4 is deeper than max_depth 3" in text for text in refused)


def test_a_total_stops_a_tree_at_its_number(chief: Chief) -> None:
    """H47, H49: with twenty runs the twenty-first is refused, in words that the model reads."""
    probe = Probe()
    chief.runtime.subscribe(probe.tell)

    def always(request: Any) -> Any:
        if request.step > 1:
            return "enough"
        return calls(*[delegate(f"part {n}") for n in range(5)])

    run = chief.start(always, subagent(), limits=Limits(total=20))

    assert "enough" == run.result.get().text
    assert 20 == sum(isinstance(letter, RunStarted) for letter in probe.unread())
    assert any(
        "all 20 runs of the tree have been started" in block.text
        for request in chief.requests
        for block in request.messages[-1].content
        if isinstance(block, ToolResult)
    )


def test_a_fork_reads_that_it_is_a_child_before_its_task(chief: Chief) -> None:
    """H45: between the seed and the task, in the runtime's own words and in no frame."""
    model = {"": ["hello", calls(delegate("sum up", "fork_self")), "done"], "0": ["the sum"]}
    resident = chief.open(model, subagent("fork", name="fork_self"))
    resident.ask("good morning").get()

    assert "done" == resident.ask("and now?").get().text

    (request,) = [request for request in chief.requests if request.path[1:]]
    said = [message.text for message in request.messages]
    assert ["good morning", "hello", "sum up"] == [said[0], said[1], said[-1]]
    assert said[2].startswith("You are a child of")
    assert "only task is the next message" in said[2]


def test_it_works_with_threads_and_the_machines_clock() -> None:
    """The same on the dispatcher that everybody uses."""

    def thread(turn: Any) -> str:
        return f"{turn.text} done"

    model = ScriptedModel([calls(delegate("a"), delegate("b")), {"text": "ok", "expect": "b done"}])
    with Runtime() as runtime:
        agent = Agent(model=model, tools=[subagent(agent=thread)])
        run = runtime.start("spawn", "go", agent=agent).get()

        assert "ok" == run.result.get(timeout=10).unwrap()


def test_the_same_seed_gives_the_same_tree() -> None:
    """Delegation leaves the deterministic dispatcher what it is."""

    def ids(seed: int) -> list[str]:
        async def napper(turn: Any) -> str:
            await asyncio.sleep(turn.random.random())
            return str(turn.run.id)

        script = [calls(*[delegate(f"{x}", run_in_background=True) for x in "abc"]), "ok"]
        model = ScriptedModel(lambda request: script[min(request.step - 1, 1)])
        with Runtime(dispatcher=DeterministicDispatcher(seed)) as runtime:
            agent = Agent(model=model, tools=[subagent(agent=napper)])
            run = runtime.start("spawn", "go", agent=agent).get()
            run.result.get()
            return [str(event) for event in run.own_transcript()]

    assert ids(3) == ids(3)

"""Trees of models repeat: the same seed gives the same log of every run, byte for byte."""

from __future__ import annotations

import asyncio
from typing import Any

from retinue.actors import Agent, DeterministicDispatcher, Runtime, Tool
from retinue.backends._inprocess.turn import Turn
from retinue.protocol.content import text_of
from retinue.protocol.errors import Transient
from retinue.protocol.export import export
from retinue.protocol.model import Answer, ModelRequest
from tests.backends.loop.models import Talker, calls, says


async def ask_child(turn: Turn, prompt: str) -> str:
    """Delegate to a child of the same kind."""
    run = await turn.start("spawn", prompt, agent=turn.agent, max_depth=2)
    result = await run.result
    return str(result.text)


async def roll(turn: Turn) -> int:
    """Take a while, and draw a number."""
    await asyncio.sleep(turn.random.random())
    return turn.random.randrange(1_000)


def talk(request: ModelRequest) -> Answer:
    """Roll, delegate while that goes, and stumble now and then."""
    if request.step == 1 and "deep" not in request.messages[0].text:
        prompt = request.messages[0].text + " deep" * (len(request.path) - 1)
        return calls(
            ("a", "roll", {}),
            ("b", "ask_child", {"prompt": prompt}),
            ("c", "ask_child", {"prompt": "deep"}),
            ("d", "roll", {}),
        )
    return says(" ".join(text_of(message.content) for message in request.messages))


def told(seed: int) -> dict[str, str]:
    """Run the tree under a seed, and return the log of every run by its id."""
    tools = [
        Tool("roll", roll, is_concurrent=True),
        Tool("ask_child", ask_child, is_concurrent=True),
    ]
    model = Talker(Transient("busy", 1.0), *[talk] * 60)
    logs: dict[str, str] = {}
    runs: list[Any] = []
    with Runtime(dispatcher=DeterministicDispatcher(seed)) as runtime:

        def keep(event: Any) -> None:
            if type(event).__name__ == "RunStarted":
                runs.append(runtime.find(event.run_id))

        runtime.subscribe(keep)
        run = runtime.start("spawn", "go", agent=Agent(model=model, tools=tools)).get()
        assert run.result.get().is_success
        for found in runs:
            child = found.get()
            logs[child.id] = export(child.log)
    return logs


def test_the_same_seed_gives_the_same_tree() -> None:
    """
    Promise 9: requests, retries, overlapping tools and delegation, over twenty seeds; and
    seeds differ from each other.
    """
    first = [told(seed) for seed in range(20)]

    assert first == [told(seed) for seed in range(20)]
    assert all(len(logs) >= 3 for logs in first)
    assert 20 == len({tuple(logs.values()) for logs in first})

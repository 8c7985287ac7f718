"""What a model's run held is let go of when it has ended and nobody asks for it."""

from __future__ import annotations

import gc
import weakref
from typing import Any

from retinue.actors import Agent, Runtime, Tool
from retinue.actors.tools import subagent
from tests.backends.loop.models import Talker, calls, says

DELEGATE = {"description": "part", "prompt": "do the part"}


class Held:
    """What the user's tools keep, as an open file or a session."""

    def __init__(self, held: weakref.WeakSet[Any]) -> None:
        held.add(self)

    async def use(self) -> str:
        """Use it, and say more than is shown at once."""
        return "x" * 50_000


def holder(held: weakref.WeakSet[Any]) -> Tool:
    """Return a tool that holds something."""
    return Tool("use", Held(held).use)


def delegate(runtime: Runtime, held: weakref.WeakSet[Any]) -> None:
    """Have a model and its two children use what they hold, one in the background."""
    used = calls(("x", "use", {}))
    child = Agent(model=Talker(used, used, says("a"), says("b")), tools=[holder(held)])
    both = (("a", "subagent", DELEGATE), ("b", "subagent", {**DELEGATE, "run_in_background": True}))
    model = Talker(calls(*both, ("c", "use", {})), says("so far"), says("done"))
    agent = Agent(model=model, tools=[subagent(agent=child), holder(held)])
    run = runtime.start("spawn", "go", agent=agent).get()
    assert run.result.get().is_success
    run.dispose().get()


def test_a_tree_of_models_holds_nothing_once_it_has_ended(runtime: Runtime) -> None:
    """
    H60: neither the runtime nor what it shares between runs keeps agents, tools or answers.
    """
    held: weakref.WeakSet[Any] = weakref.WeakSet()
    for _ in range(3):
        delegate(runtime, held)
    gc.collect()

    assert 0 == len(held)

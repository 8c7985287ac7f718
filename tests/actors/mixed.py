"""One tree with every kind of behaviour in it, and all that can be said of how it ran."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Generator
from typing import Any

from retinue.actors import DeterministicDispatcher, Run, Runtime, agent
from retinue.protocol.export import export

Steps = Generator[Any, Any, Any]


@agent
def draws(turn: Any) -> Steps:
    """Draw, wait, and draw again."""
    first = turn.random.random()
    yield turn.sleep(first)
    yield from turn.step()
    return [first, turn.random.random()]


@agent
async def waits(turn: Any) -> str:
    """Wait in asyncio's way for a child."""
    run = await turn.start("spawn", "draw", agent=draws)
    _, result = await asyncio.gather(asyncio.sleep(0.5), run.result)
    return f"{await asyncio.to_thread(str, result.structured)}"


@agent
def blocks(turn: Any) -> str:
    """Block on two children at once, and steer one of them."""
    runs = [turn.start("spawn", str(number), agent=draws) for number in range(2)]
    turn.steer(runs[1], "faster")
    turn.delta("half")
    return " ".join(outcome.text for outcome in turn.wait(runs))


@agent
def root(turn: Any) -> Steps:
    """Start one of each, and ask a resident."""
    resident: Run = yield from turn.open(draws, name=turn.text)
    starts = [turn.start("spawn", kind.name, agent=kind) for kind in (draws, waits, blocks)]
    starts.append(turn.start("fork", "again", agent=draws))
    asked = yield from turn.ask(resident, "now")
    outcomes = yield from turn.wait(starts)
    return " | ".join([asked.text, *(outcome.text for outcome in outcomes)])


def grow(seed: object) -> tuple[list[str], dict[str, str]]:
    """Grow the tree twice in one resident; returns what moved, and every log by run id."""
    dispatcher = DeterministicDispatcher(seed, record=True)
    logs: dict[str, Any] = {}
    with Runtime(dispatcher=dispatcher) as runtime:

        def keep(event: Any) -> None:
            run_id = getattr(event, "run_id", None)
            if run_id is not None and run_id not in logs:
                logs[run_id] = runtime.find(run_id)

        runtime.subscribe(keep)
        top = runtime.open(root).get()
        for prompt in ("first", "second"):
            top.ask(prompt).get().unwrap()
    return dispatcher.trace, {run_id: export(found.get().log) for run_id, found in logs.items()}


def digest(seed: object) -> str:
    """Return what tells one growth of the tree from another."""
    return hashlib.sha256(json.dumps(grow(seed)).encode()).hexdigest()


if __name__ == "__main__":
    import sys

    sys.stdout.write(digest(sys.argv[1]))

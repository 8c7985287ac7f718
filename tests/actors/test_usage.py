"""What was spent is known at every node of a tree: its own, and with all below it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from retinue.actors import Agent, Run, Runtime
from retinue.backends.models.scripted import Reply, ScriptedModel
from retinue.backends.scripted import Hold, Item, Return, Say, Scripted, Spend
from retinue.protocol.errors import ModelFailed
from retinue.protocol.events import RunEnded
from retinue.protocol.model import ModelRequest
from retinue.protocol.result import ABORTED, COMPLETED, ERROR, NO_USAGE, Usage
from retinue.protocol.tree import RunInfo
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.actors.budgets import ONE, boss, virtual, working
from tests.doubles import PATIENCE

FATES = ("answers", "fails", "raises", "is cancelled", "is in the background")


def summed(usages: list[Usage]) -> Usage:
    """Add up."""
    total = NO_USAGE
    for usage in usages:
        total += usage
    return total


class Grown:
    """A random tree of agents, each with usage of its own and a fate of its own."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.left = 14

    def agent(self, depth: int = 0) -> Agent:
        """Return the agent of one node; its children are started by its tool."""
        drawn = self.random
        fate = "answers" if depth == 0 else drawn.choice(FATES)
        children: list[Agent] = []
        while self.left and drawn.random() < 0.6 and depth < 4:
            self.left -= 1
            children.append(self.agent(depth + 1))
        usage = Usage(drawn.randrange(9), drawn.randrange(9), drawn.randrange(1, 3), 0.25)
        model = ScriptedModel(_reply(usage, fate))
        return Agent(model=model, tools=[_fan(children)], name=fate, options={"fate": fate})


def _reply(usage: Usage, fate: str) -> Callable[[ModelRequest], Reply]:
    def reply(request: ModelRequest) -> Reply:
        if request.step == 1:
            return Reply("begun", calls=[{"name": "fan", "arguments": {}}], usage=usage)
        if fate == "fails":
            return Reply("half", raises=ModelFailed("it fails"))
        if fate == "raises":
            return Reply("half", raises=RuntimeError("a bug"))
        if fate == "is cancelled":
            return Reply("half", hold=Hold())
        return Reply("whole", usage=usage)

    return reply


def _fan(children: list[Agent]) -> Any:
    async def fan(turn: Any) -> str:
        """Start the children, wait for those that end, and cancel the others."""
        runs = [
            await turn.start(
                "spawn", "go", agent=child, background=child.name == "is in the background"
            )
            for child in children
        ]
        for run, child in zip(runs, children, strict=True):
            if child.name == "is cancelled":
                await turn.sleep(1.0)
                await run.cancel("enough")
            await run.result
        return "done"

    return fan


@pytest.mark.parametrize("seed", range(30))
def test_totals_agree_at_every_node_of_any_tree(seed: int) -> None:
    """
    H80: own and the children's totals make the total of each, for tokens, requests and
    cost, whatever became of it; counted once.
    """
    events: list[RunEnded] = []
    with virtual(seed) as runtime:
        runtime.subscribe(lambda event: events.append(event) if _is_end(event) else None)
        root = runtime.start("spawn", "go", agent=Grown(seed).agent()).get()
        result = root.result.get()
        root.dispose().get()
        rows = list(runtime.tree())

    assert COMPLETED == result.stop_reason
    for row in rows:
        below = [one.total_usage for one in rows if one.parent_id == row.run_id]
        assert summed([row.usage, *below]) == row.total_usage
    assert {row.run_id: row.total_usage for row in rows} == {
        event.run_id: event.total_usage for event in events
    }
    assert {row.run_id: row.usage for row in rows} == {
        event.run_id: event.result.usage for event in events
    }
    assert summed([row.usage for row in rows]) == _of(rows, root).total_usage


def _is_end(event: object) -> bool:
    return isinstance(event, RunEnded)


def _of(rows: list[RunInfo], run: Run) -> RunInfo:
    return next(row for row in rows if row.run_id == run.id)


def test_trees_of_the_test_have_every_fate() -> None:
    """
    The random trees are trees, and hold runs that fail and that are cancelled.
    """
    reasons: set[str] = set()
    sizes: list[int] = []
    for seed in range(30):
        with virtual(seed) as runtime:
            runtime.start("spawn", "go", agent=Grown(seed).agent()).get().result.get()
            rows = list(runtime.tree())
        sizes.append(len(rows))
        reasons |= {str(row.stop_reason) for row in rows}

    assert {str(COMPLETED), str(ABORTED), str(ERROR)} <= reasons
    assert max(sizes) >= 8


def test_a_result_has_what_was_spent_by_then_and_the_end_has_all() -> None:
    """
    What the end of a run cancels is counted too: as soon as it is known, in RunEnded.
    """
    ends: dict[str, Usage] = {}
    with virtual() as runtime:
        runtime.subscribe(
            lambda event: (
                ends.update({event.run_id: event.total_usage})
                if isinstance(event, RunEnded)
                else None
            )
        )
        hold = Hold()
        child = Agent(model=ScriptedModel([Reply("half", hold=hold)]))

        def work(turn: Any) -> Steps:
            yield from ended_of((yield from turn.start("spawn", "go", agent=working(1))))
            yield from turn.start("spawn", "go", agent=child, background=True)
            yield turn.sleep(1.0)
            return "left it"

        run = started(runtime, work)
        result = run.result.get()
        run.dispose().get()

        assert (NO_USAGE, ONE) == (result.usage, result.total_usage)
        row = next(iter(runtime.tree()))
        assert (run.id, ends[run.id]) == (row.run_id, row.total_usage)
        assert ONE + Usage(requests=1) == ends[run.id]


def ended_of(run: Run) -> Any:
    """Wait for a run in a generator."""
    return (yield from run.result)


def test_a_live_tree_shows_what_has_been_spent() -> None:
    """
    Each row its own, and where more was spent below it the total; with cost.
    """
    with virtual() as runtime:

        def work(turn: Any) -> str:
            ended(turn.start("spawn", "go", agent=working(2)))
            root = next(iter(runtime.tree()))
            assert (NO_USAGE, ONE + ONE) == (root.usage, root.total_usage)
            return str(runtime.tree())

        drawn = started(runtime, boss(work)).result.get().text.splitlines()

        assert drawn[0].endswith("0 tokens (10 in all), cost 0.0000 (0.5000 in all)")
        assert drawn[1].endswith("10 tokens, cost 0.5000")


def test_usage_of_any_provider_counts(runtime: Runtime) -> None:
    """
    H80: what a driver says with words and what it says apart.
    """
    script: list[Item] = [Say("one", ONE), Spend(ONE), Say("two"), Return("three")]
    runtime.register(Scripted(script)).get(timeout=PATIENCE)

    result = ended(runtime.start("scripted", "go").get(timeout=PATIENCE))

    assert (ONE + ONE, ONE + ONE) == (result.usage, result.total_usage)


def test_a_resumed_run_counts_what_it_spends_itself() -> None:
    """
    What stands in its seed was spent, and counted, by another.
    """
    with virtual() as runtime:
        first: Any = started(runtime, working(2))
        first.result.get()
        second = first.resume("go on").get()

        assert ONE + ONE == second.result.get().total_usage


def test_what_was_spent_after_the_end_of_a_turn_is_not_lost_on_the_way(
    runtime: Runtime,
) -> None:
    """
    A resident's total grows with its turns, and with those of its residents.
    """
    root = opened(runtime, working(1))
    child = opened(runtime, working(1), parent=root)
    for run in (root, child, child):
        run.ask("go").get(timeout=PATIENCE)

    rows = {row.run_id: row for row in runtime.tree()}
    assert (ONE, ONE + ONE + ONE) == (rows[root.id].usage, rows[root.id].total_usage)
    assert ONE + ONE == rows[child.id].total_usage
    assert NO_USAGE == ended(started(runtime, echo)).total_usage

"""A run that goes on from another is bound as that one was (promise 7)."""

from __future__ import annotations

from typing import Any

import pytest

from retinue.actors import Agent, Run, Runtime, Tool
from retinue.protocol.errors import DeadRun, DepthExceeded, InvalidToolFilter
from retinue.protocol.log import PolicySet
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate


def standing(turn: Any) -> dict[str, Any]:
    """Tell what the turn may do."""
    return {
        "tools": sorted(turn.tools),
        "persona": turn.instructions,
        "options": dict(turn.options),
        "depth": turn.depth,
        "cap": turn.max_depth,
        "live": turn.limits.live,
    }


TOOLS = (Tool("read", str.upper), Tool("write", str.lower), Tool("remove", str.title))
AGENT = Agent(standing, instructions="Be kind.", tools=TOOLS, options={"model": "m"})


def resumed(run: Run, prompt: str = "go on", **options: Any) -> Run:
    """Go on from *run*."""
    after: Run = run.resume(prompt, **options).get(timeout=PATIENCE)  # type: ignore[attr-defined]
    return after


def settled(run: Run) -> Run:
    """Wait for the run and return it."""
    ended(run)
    return run


@pytest.fixture(name="bound")
def make_bound(runtime: Runtime) -> Run:
    """Give a run at depth 1, of which little is allowed."""
    runs: list[Run] = []

    def parent(turn: Any) -> None:
        run = turn.start(
            "spawn",
            "go",
            agent=AGENT,
            label="bound",
            tool_filter={"deny": ("remove",)},
            persona="Be brief.",
            max_depth=2,
            options={"cap": 3},
        )
        runs.append(run)
        ended(run)

    ended(started(runtime, parent))
    return runs[0]


def test_what_bound_a_run_binds_the_next_one(bound: Run) -> None:
    """
    PER-12, DEP-4: tools, persona, options, depth and cap, through any number of resumes
    from outside of every turn.
    """
    first = settled(resumed(bound))
    second = resumed(first)

    assert ended(bound).unwrap() == ended(first).unwrap() == ended(second).unwrap()
    assert ["read", "write"] == ended(second).unwrap()["tools"]
    assert (1, 2, "bound") == (second.depth, ended(second).unwrap()["cap"], second.label)
    assert 2 == second.seed_turns


def test_what_is_given_narrows(bound: Run) -> None:
    """
    PER-4: a filter cannot give back what the one before took; neither can a cap.
    """
    after = settled(resumed(bound, tool_filter={"allow": ("read", "remove")}, max_depth=9))
    least = resumed(after, tool_filter=None, max_depth=1)

    assert (["read"], 2) == (ended(after).unwrap()["tools"], ended(after).unwrap()["cap"])
    assert (["read"], 1) == (ended(least).unwrap()["tools"], ended(least).unwrap()["cap"])
    with pytest.raises(InvalidToolFilter):
        resumed(bound, tool_filter={"allow": ("unknown",)})


def test_persona_options_and_agent_may_be_replaced(bound: Run) -> None:
    """
    They are no permissions: the holder of a run may go on in another voice.
    """
    after = resumed(bound, persona="Be a pirate.", options={"cap": 4})

    told = ended(after).unwrap()
    assert ("Be a pirate.", {"model": "m", "cap": 4}) == (told["persona"], told["options"])
    assert "other" == ended(resumed(settled(after), "other", agent=echo)).text


def test_the_depth_cap_holds_below_a_resumed_run(runtime: Runtime) -> None:
    """
    DEP-3, DEP-4: a resume is no way around the cap of the tree that it came from.
    """

    def delegating(turn: Any) -> str:
        try:
            return str(ended(turn.start("spawn", "deeper", agent=echo)).text)
        except DepthExceeded as error:
            return str(error)

    run = started(runtime, delegating, max_depth=0)

    assert "a child at depth 1 is deeper than max_depth 0" in ended(run).text
    assert "a child at depth 1 is deeper than max_depth 0" in ended(resumed(run)).text


def test_policies_hold_for_the_children_of_a_resumed_run(runtime: Runtime) -> None:
    """
    POL-4: they are read from the log that it goes on from, and not written anew.
    """
    children: list[Run] = []

    def behaviour(turn: Any) -> None:
        if turn.text == "set":
            turn.set_policy("sandbox", "off")
            turn.set_policy("sandbox", "strict")
        else:
            children.append(turn.start("spawn", "x", agent=echo))
            ended(children[-1])

    after = resumed(settled(started(runtime, behaviour, "set")), "delegate")
    ended(after)

    assert [] == [event for event in after.own_transcript() if isinstance(event, PolicySet)]
    inherited = [e for e in children[0].own_transcript() if isinstance(e, PolicySet)]
    assert [("sandbox", "strict", "delegation")] == [(e.name, e.value, e.source) for e in inherited]


@pytest.mark.parametrize("provider", ["spawn", "fork"])
def test_a_run_resumed_inside_a_turn_is_that_turns_child(runtime: Runtime, provider: str) -> None:
    """
    Its history is the resumed run's and not its parent's; it is told nothing of a fork, and
    is as deep as the deeper of the two.
    """

    def listing(turn: Any) -> list[str]:
        return [message.text for message in (*turn.history, *turn.messages)]

    before = runtime.start(provider, "task", agent=listing).get(timeout=PATIENCE)
    ended(before)

    def parent(turn: Any) -> Steps:
        if turn.number == 1:
            return "the parent's words"
        run = yield from before.resume("go on")  # type: ignore[attr-defined]
        result = yield from run.result
        return [run.depth, *result.unwrap()]

    root = opened(runtime, parent)
    root.ask("one").get(timeout=PATIENCE)

    assert [1, "task", "", "go on"] == root.ask("two").get(timeout=PATIENCE).unwrap()


def test_a_run_with_a_turn_open_is_not_gone_on_from(runtime: Runtime) -> None:
    """
    Its log is not balanced yet, and the caller is told so.
    """
    gate = Gate()
    run = started(runtime, lambda _: gate.wait())
    assert gate.reached.wait(PATIENCE)

    with pytest.raises(DeadRun, match="has a turn open"):
        resumed(run)
    gate.open()
    ended(run)
    assert resumed(run).seed_turns == 1


def test_a_deep_run_stays_deep_wherever_it_is_resumed(runtime: Runtime) -> None:
    """
    DEP-5: inside the turn of a shallow run, depth and cap are the deeper run's own.
    """
    bottom: list[Run] = []

    def descending(turn: Any) -> list[Any]:
        if turn.depth < 3 and turn.text == "go":
            ended(turn.start("spawn", "go", agent=descending, max_depth=3))
        elif turn.text == "go":
            bottom.append(turn.run)
        return [turn.depth, turn.max_depth]

    def shallow(_: Any) -> Steps:
        run = yield from bottom[0].resume("go on")  # type: ignore[attr-defined]
        return (yield from run.result).structured

    ended(started(runtime, descending))

    assert [3, 3] == ended(started(runtime, shallow)).unwrap()

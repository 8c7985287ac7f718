"""What a child has of its parent's options, its agent's and its start's; personas."""

from __future__ import annotations

import math
from typing import Any

import pytest

from retinue.actors import Agent, Limits, Runtime
from retinue.backends.models.scripted import ScriptedModel
from retinue.backends.scripted import Scripted
from retinue.protocol.delegation import Capabilities
from retinue.protocol.errors import (
    DepthExceeded,
    InvalidLimit,
    InvalidSchema,
    InvalidToolFilter,
    LimitReached,
    NoProvider,
    RetinueError,
    UnsupportedCapability,
)
from retinue.protocol.model import ModelRequest
from retinue.protocol.result import COMPLETED, ERROR
from tests.actors.behaviours import Steps, echo, ended, started
from tests.actors.budgets import boss, virtual


def answering(name: str) -> ScriptedModel:
    """Return a model that answers with its name and the options that it got."""

    def reply(request: ModelRequest) -> str:
        return f"{name} {dict(sorted(request.options.items()))}"

    return ScriptedModel(reply, name=name)


def starting(agent: Any, **options: Any) -> Any:
    """Return a generator that answers as its one child does."""

    def behaviour(turn: Any) -> Steps:
        run = yield from turn.start("spawn", "go", agent=agent, **options)
        result = yield from run.result
        return result.text or str(result.diagnostic)

    return behaviour


A, B, C = answering("a"), answering("b"), answering("c")
ROUTES = [
    # the parent's options, the child's agent, the child's start, what the child then has
    ({"model": A}, Agent(), None, "a {}"),
    ({"model": A, "max_tokens": 9}, Agent(), None, "a {'max_tokens': 9}"),
    ({"max_tokens": 9}, Agent(model=B), None, "b {'max_tokens': 9}"),
    ({"model": A, "max_tokens": 9}, Agent(model=B), {"max_tokens": 7}, "b {'max_tokens': 7}"),
    ({"model": A}, Agent(model=B), {"model": C}, "c {}"),
    ({"model": A}, Agent(options={"model": C, "max_tokens": 3}), None, "c {'max_tokens': 3}"),
    ({"model": A}, Agent(model=B, options={"model": C}), None, "c {}"),
    ({"model": A, "temperature": 1, "seed": 4}, Agent(), {"seed": 5}, "a {'seed': 5}"),
]


@pytest.mark.parametrize(("parent", "agent", "given", "expected"), ROUTES)
def test_a_child_has_its_parents_route_field_by_field(
    parent: dict[str, Any], agent: Agent, given: dict[str, Any] | None, expected: str
) -> None:
    """
    VAL-9: model and token cap, only where the parent has them; then the agent's, then the
    start's. Nothing else is the parent's to give.
    """
    with virtual() as runtime:
        root = Agent(starting(agent, options=given), options=parent)

        assert expected == started(runtime, root).result.get().text


def test_a_route_reaches_everything_below() -> None:
    """
    VAL-9: through agents that are no models, and each step may change one field of it.
    """
    with virtual() as runtime:
        leaf = starting(Agent())
        middle = Agent(starting(leaf), options={"max_tokens": 5})
        root = Agent(starting(middle), options={"model": A, "max_tokens": 9})

        assert "a {'max_tokens': 5}" == started(runtime, root).result.get().text


def test_what_a_start_gave_a_parent_is_its_childrens_too() -> None:
    """
    VAL-9: what counts is what the parent has in effect, and not what its agent says.
    """
    with virtual() as runtime:
        root = Agent(starting(Agent()), options={"model": A})
        options = {"model": B, "max_tokens": 2}

        result = started(runtime, root, options=options).result.get()
        assert "b {'max_tokens': 2}" == result.text


def test_without_any_model_the_turn_fails_and_the_start_does_not() -> None:
    """
    VAL-9: nothing is invented; the run exists, and ends with an ordinary error.
    """
    with virtual() as runtime:
        run = started(runtime, Agent())
        result = run.result.get()

        assert (ERROR, run.id) == (result.stop_reason, result.run_id)
        assert "has neither behaviour nor model" in str(result.diagnostic)


@pytest.mark.parametrize("value", [0, -1, True, 1.0, "9", None, math.inf, 2**53])
def test_a_token_cap_is_a_whole_number_from_one(runtime: Runtime, value: Any) -> None:
    """
    VAL-9: refused at the start wherever it stands, before a run exists.
    """
    wrong = {"max_tokens": value}

    with pytest.raises(InvalidLimit, match="max_tokens is a whole number from 1"):
        started(runtime, echo, options=wrong)
    with pytest.raises(InvalidLimit, match="leave it out"):
        started(runtime, Agent(echo, options=wrong))
    assert 0 == len(runtime.tree())
    assert "go" == ended(started(runtime, echo, options={"max_tokens": 2**53 - 1})).text


def test_a_run_that_goes_on_keeps_its_route() -> None:
    """
    VAL-9: also what it had of a parent that is gone; an option of its own comes first.
    """
    kept: list[Any] = []

    def work(turn: Any) -> str:
        run = turn.start("spawn", "go", agent=Agent(), options={"max_tokens": 4})
        kept.append(run)
        return str(ended(run).text)

    def beside(turn: Any) -> str:
        return str(kept[0].resume("again", parent=turn.run).get().result.get().text)

    with virtual() as runtime:
        root = Agent(boss(work).behaviour, options={"model": A, "max_tokens": 9})
        started(runtime, root).result.get()
        again = kept[0].resume("again").get()
        shorter = again.resume("again", options={"max_tokens": 2}).get()
        other = started(runtime, Agent(beside, options={"model": B, "max_tokens": 1}))

        assert "a {'max_tokens': 4}" == again.result.get().text
        assert "a {'max_tokens': 2}" == shorter.result.get().text
        assert "a {'max_tokens': 4}" == other.result.get().text, "its own before its new parent's"


def instructed(request: ModelRequest) -> str:
    """Answer with the first section of the instructions."""
    return request.instructions.partition("\n\n")[0] or "-"


PIRATE = Agent(model=ScriptedModel(instructed), instructions="You are a pirate.")


@pytest.mark.parametrize(
    ("persona", "expected"),
    [("You are a nun.", "You are a nun."), (None, "You are a pirate."), ("", "You work for")],
)
def test_a_persona_shadows_for_one_child_alone(persona: str | None, expected: str) -> None:
    """
    PER-3: it replaces the instructions, an empty one with nothing; without one they are the
    agent's own. Siblings and parent never see it.
    """

    async def delegate(turn: Any) -> str:
        """Start one child with the persona and one without."""
        runs = [
            await turn.start("spawn", "go", agent=PIRATE, persona=one) for one in (persona, None)
        ]
        return "|".join([(await run.result).text for run in runs])

    seen: list[str] = []

    def reply(request: ModelRequest) -> Any:
        seen.append(instructed(request))
        if request.step == 1:
            return {"calls": [{"name": "delegate", "arguments": {}}]}
        return request.messages[-1].content[0].text  # type: ignore[union-attr]

    with virtual() as runtime:
        root = Agent(model=ScriptedModel(reply), tools=[delegate], instructions="You are a boss.")
        child, sibling = started(runtime, root).result.get().text.split("|")

        assert child.startswith(expected)
        assert "You are a pirate." == sibling
        assert ["You are a boss.", "You are a boss."] == seen


WRONG: list[tuple[dict[str, Any], type[RetinueError]]] = [
    ({"provider": "none"}, NoProvider),
    ({"provider": "bare", "persona": "p"}, UnsupportedCapability),
    ({"max_depth": 0}, DepthExceeded),
    ({"output_schema": {"type": "odd"}}, InvalidSchema),
    ({}, LimitReached),
    ({"tool_filter": {"allow": ("unknown",)}}, InvalidToolFilter),
]


@pytest.mark.parametrize("position", range(len(WRONG)))
def test_of_several_mistakes_the_first_in_the_order_is_told(position: int) -> None:
    """
    REG-10: provider, capability flags, depth, schema, limits of the tree, what describes it.
    """
    wrong: dict[str, Any] = {"agent": echo}
    for mistakes, _ in reversed(WRONG[position:]):
        wrong.update(mistakes)
    expected = WRONG[position][1]
    full = None if position == len(WRONG) - 1 else Limits(total=1)

    def work(turn: Any) -> str:
        provider = wrong.pop("provider", "spawn")
        with pytest.raises(expected) as caught:
            turn.start(provider, "go", **wrong)
        return type(caught.value).__name__

    with virtual(
        providers=[Scripted(name="bare", capabilities=Capabilities())], limits=full
    ) as runtime:
        result = started(runtime, boss(work)).result.get()

        assert COMPLETED == result.stop_reason, result.diagnostic

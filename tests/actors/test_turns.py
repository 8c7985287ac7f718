"""The types of turns say what behaviours really get."""

from __future__ import annotations

import inspect
from collections.abc import Generator
from typing import Any

import pytest

from retinue.actors import BlockingTurn, Runtime, Turn, agent
from retinue.actors.turns import AnyTurn
from retinue.backends._inprocess import turn as inprocess
from tests.doubles import PATIENCE


@agent
def plain(turn: BlockingTurn) -> str:
    """Delegate to a coroutine, typed all the way."""
    run = turn.start("spawn", turn.text, agent=awaiting)
    (outcome,) = turn.wait([run])
    return turn.call(str.title, outcome.text)


@agent
async def awaiting(turn: Turn) -> str:
    """Delegate to a generator, typed all the way."""
    notes = await turn.step()
    run = await turn.start("spawn", turn.text, agent=stepped)
    return (await run.result).text + "!" * len(notes)


@agent
def stepped(turn: Turn) -> Generator[Any, Any, str]:
    """Work in steps, typed all the way."""
    notes = yield from turn.step()
    shouted: str = yield from turn.call(str.upper, turn.text)
    return shouted + "!" * len(notes)


def test_a_behaviour_may_be_typed_with_the_public_names(runtime: Runtime) -> None:
    """All three kinds of behaviour have types for their turn, results included."""
    run = runtime.start("spawn", "hello there", agent=plain).get(timeout=PATIENCE)

    assert "Hello There" == run.result.get(timeout=PATIENCE).text


@pytest.mark.parametrize(
    ("shown", "real"),
    [
        (AnyTurn, inprocess.Turn),
        (AnyTurn, inprocess.BlockingTurn),
        (Turn, inprocess.Turn),
        (BlockingTurn, inprocess.BlockingTurn),
    ],
)
def test_every_member_of_the_type_is_there(shown: type, real: type) -> None:
    """A type promises nothing that a turn has not, under the same parameters."""
    for name, member in vars(shown).items():
        if name.startswith("_"):
            continue
        if isinstance(member, property):
            assert isinstance(inspect.getattr_static(real, name), property), name
            continue
        expected = list(inspect.signature(member).parameters)
        assert expected == list(inspect.signature(getattr(real, name)).parameters), name


def test_a_reply_that_was_not_waited_for_says_so(runtime: Runtime) -> None:
    """What a forgotten await reaches for is named, with the ways to wait."""

    async def hasty(turn: Any) -> Any:
        return turn.start("spawn", turn.text, agent=plain).result

    result = runtime.start("spawn", "go", agent=hasty).get(timeout=PATIENCE).result

    words = "a Reply has no 'result'; 'await' it, 'yield from' it or .get() it first"
    assert words in (result.get(timeout=PATIENCE).diagnostic or "")

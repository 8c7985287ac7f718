"""Behaviours of every form are run, and what they hold is one run's alone."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from retinue.actors import Agent, Runtime
from retinue.protocol.content import Data, Text
from retinue.protocol.result import COMPLETED, ERROR
from tests.actors.behaviours import FORMS, WAYS, Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate

KINDS = pytest.mark.parametrize("make", WAYS)


@pytest.mark.parametrize("make", FORMS)
def test_every_form_of_behaviour_answers(runtime: Runtime, make: Any) -> None:
    """
    Function, coroutine, generator, partial, callable object and classes of each kind: the
    prompt reaches them byte for byte, and what they return is the output (H26).
    """
    prompt = "two\r\nlines, \x00 and é\U0001f600 "
    run = started(runtime, make(echo), prompt)

    result = ended(run)

    assert (COMPLETED, prompt) == (result.stop_reason, result.text)
    assert run.id == result.run_id


@KINDS
def test_a_resident_takes_turn_after_turn(runtime: Runtime, make: Any) -> None:
    """
    Turns are numbered from 1, and each has its own prompt and result.
    """
    run = opened(runtime, make(lambda turn: f"{turn.number}: {turn.text}"))

    texts = [run.ask(text).get(timeout=PATIENCE).text for text in ("a", "b", "a")]

    assert ["1: a", "2: b", "3: a"] == texts


class Counter:
    """Counts its turns."""

    def __init__(self) -> None:
        self.turns = 0

    def turn(self, turn: Any) -> str:
        """Answer with the count."""
        self.turns += 1
        return f"{turn.text}{self.turns}"


class SteppedCounter(Counter):
    """Counts its turns, step by step."""

    def turn(self, turn: Any) -> Steps:  # type: ignore[override]
        """Answer with the count."""
        yield from turn.step()
        return super().turn(turn)


class AwaitedCounter(Counter):
    """Counts its turns on the loop."""

    async def turn(self, turn: Any) -> str:  # type: ignore[override]
        """Answer with the count."""
        await turn.step()
        return super().turn(turn)


@pytest.mark.parametrize("counter", [Counter, SteppedCounter, AwaitedCounter])
def test_each_run_of_a_class_has_one_instance(runtime: Runtime, counter: type[Counter]) -> None:
    """
    H41: it keeps its state from turn to turn, and another run has another one.
    """
    one, two = (opened(runtime, counter) for _ in range(2))

    texts = [run.ask("n").get(timeout=PATIENCE).text for run in (one, one, two, one)]

    assert ["n1", "n2", "n1", "n3"] == texts


@KINDS
def test_one_agent_run_many_times_at_once_is_many_runs(runtime: Runtime, make: Any) -> None:
    """
    H41, H42: eight histories, eight outputs, each run's own.
    """
    agent = Agent(make(lambda turn: f"{len(turn.history)} {turn.text}"))
    runs = [started(runtime, agent, f"task {number}") for number in range(8)]

    assert [f"0 task {number}" for number in range(8)] == [ended(run).text for run in runs]
    assert 8 == len({run.id for run in runs})


def test_a_later_run_sees_nothing_of_an_earlier_one(runtime: Runtime) -> None:
    """
    H43: the same agent twice in a row has no memory but what its own run gave it.
    """
    agent = Agent(lambda turn: [message.text for message in turn.history])

    for _ in range(2):
        run = started(runtime, agent, "secret")
        assert [] == ended(run).unwrap()


@KINDS
def test_history_is_the_turns_before_this_one(runtime: Runtime, make: Any) -> None:
    """
    Prompts and answers, oldest first; the open turn's prompt is not among them.
    """
    run = opened(runtime, make(lambda turn: [m.text for m in turn.history]))

    first = run.ask("one").get(timeout=PATIENCE)
    second = run.ask("two").get(timeout=PATIENCE)

    assert [] == first.structured
    assert ["one", ""] == second.structured


@KINDS
@pytest.mark.parametrize(
    ("value", "output", "structured"),
    [
        ("", (Text(""),), None),
        (None, (), None),
        (Text("a block"), (Text("a block"),), None),
        ([Text("two "), Text("blocks")], (Text("two "), Text("blocks")), None),
        ({"n": [1, None]}, (Data({"n": [1, None]}),), {"n": [1, None]}),
        (0, (Data(0),), 0),
        (False, (Data(False),), False),
        ([], (Data([]),), []),
        (["a", "b"], (Data(["a", "b"]),), ["a", "b"]),
    ],
)
def test_what_a_behaviour_returns_is_its_output(
    runtime: Runtime, make: Any, value: Any, output: Any, structured: Any
) -> None:
    """
    Text and blocks as they are; any other JSON value is data, and the structured result.
    """
    run = started(runtime, make(lambda _: value))

    result = ended(run)

    assert (COMPLETED, output, structured) == (
        result.stop_reason,
        result.output,
        result.structured,
    )


@pytest.mark.parametrize("make", FORMS[-3:])
def test_a_class_that_cannot_be_made_is_an_error_of_its_run(runtime: Runtime, make: Any) -> None:
    """
    The constructor runs where the turn does; what it raises is the run's diagnostic.
    """

    class Broken(make(echo)):  # type: ignore[misc]
        def __init__(self) -> None:
            raise ValueError("no key")

    result = ended(started(runtime, Broken))

    assert ERROR == result.stop_reason
    assert "Broken raised ValueError('no key')" == result.diagnostic
    assert isinstance(result.error, ValueError)


def test_blocking_behaviours_run_side_by_side(runtime: Runtime) -> None:
    """
    H83: fifty that block at once are all blocked at once, and nothing else waits for them.
    """
    everybody = threading.Barrier(51)

    def behaviour(turn: Any) -> str:
        everybody.wait(PATIENCE)
        return str(turn.text)

    runs = [started(runtime, behaviour, str(number)) for number in range(50)]
    quick = started(runtime, echo, "quick")
    assert "quick" == ended(quick).text

    everybody.wait(PATIENCE)

    assert [str(number) for number in range(50)] == [ended(run).text for run in runs]


def test_nested_waits_do_not_starve(runtime: Runtime) -> None:
    """
    A function that waits for its child, forty deep, has a thread for every one of them.
    """

    def behaviour(turn: Any) -> str:
        if turn.depth == 40:
            return "bottom"
        return str(turn.start("spawn", "deeper", agent=behaviour).result.get(timeout=PATIENCE).text)

    assert "bottom" == ended(started(runtime, behaviour)).text


def test_blocking_code_is_called_beside_the_turn(runtime: Runtime) -> None:
    """
    `turn.call` holds up neither the loop nor the actors: others work meanwhile.
    """
    gates = [Gate(), Gate()]

    def stepped(turn: Any) -> Steps:
        yield from turn.call(gates[0].wait)
        return (yield from turn.call(str.upper, "stepped"))

    async def awaited(turn: Any) -> Any:
        await turn.call(gates[1].wait)
        return await turn.call(str.upper, "awaited")

    runs = [started(runtime, behaviour) for behaviour in (stepped, awaited)]
    for gate in gates:
        assert gate.reached.wait(PATIENCE)
    for way in WAYS:
        quick = started(runtime, way(echo), "quick")
        assert "quick" == ended(quick).text

    for gate in gates:
        gate.open()

    assert ["STEPPED", "AWAITED"] == [ended(run).text for run in runs]

"""Generators are stepped inside their actors, and hold nobody up."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from retinue.actors import Runtime
from retinue.protocol.content import Text
from retinue.protocol.errors import Cancelled
from retinue.protocol.result import ABORTED, ERROR
from tests.actors.behaviours import Steps, echo, ended, opened, started
from tests.doubles import PATIENCE, Gate


def steps() -> Steps:
    """Be a generator that was called and not yielded from."""
    yield


@pytest.mark.parametrize("garbage", [1, "text", object(), (1, 2), Text("x"), steps])
def test_a_generator_that_yields_garbage_hears_of_it(runtime: Runtime, garbage: Any) -> None:
    """
    It is thrown into the generator where it stands, so that the traceback says which line.
    """
    heard: list[BaseException] = []

    def behaviour(_: Any) -> Steps:
        try:
            yield garbage
        except TypeError as error:
            heard.append(error)
            raise

    result = ended(started(runtime, behaviour))

    assert ERROR == result.stop_reason
    assert heard == [result.error]
    assert f"it yielded {type(garbage).__name__}" in str(result.diagnostic)


@pytest.mark.parametrize("depth", [0, 1, 2, 3])
def test_derived_replies_are_waited_for(runtime: Runtime, depth: int) -> None:
    """
    With `yield from` and with a bare `yield`, however often a Reply was mapped; joined with
    another one too.
    """

    def behaviour(turn: Any) -> Steps:
        def reply() -> Any:
            derived = turn.call(str, "x")
            for _ in range(depth):
                derived = derived.map(lambda text: text + "y")
            return derived

        one = yield from reply()
        two = yield reply()
        three = yield from reply().join(reply())
        return [one, two, *three]

    assert ["x" + "y" * depth] * 4 == ended(started(runtime, behaviour)).unwrap()


def test_an_error_is_thrown_in_where_it_was_waited_for(runtime: Runtime) -> None:
    """
    A generator can handle what its wait came to.
    """

    def behaviour(turn: Any) -> Steps:
        try:
            yield from turn.call(int, "no number")
        except ValueError:
            return "handled"

    assert "handled" == ended(started(runtime, behaviour)).text


def test_a_cancel_closes_the_generator(runtime: Runtime) -> None:
    """
    Every `finally` in it runs, in the actor, before the run is over.
    """
    gate, cleaned = Gate(), list[str]()

    def behaviour(turn: Any) -> Steps:
        try:
            yield from turn.call(gate.wait)
        except GeneratorExit:
            cleaned.append("exit")
            raise
        finally:
            cleaned.append("finally")

    run = started(runtime, behaviour)
    assert gate.reached.wait(PATIENCE)
    run.cancel("enough").get(timeout=PATIENCE)

    assert ABORTED == ended(run).stop_reason
    assert ["exit", "finally"] == cleaned
    gate.open()


@pytest.mark.parametrize("answer", ["yields", "raises", "returns"])
def test_a_clean_up_of_any_kind_ends_the_turn(runtime: Runtime, answer: str) -> None:
    """
    A generator that ignores its close, or fails in it, is aborted like any other; a
    neighbour does not notice.
    """
    neighbour, begun = opened(runtime, echo), threading.Event()

    def behaviour(turn: Any) -> Steps:
        begun.set()
        try:
            yield turn.sleep(3600)
        except GeneratorExit:
            if answer == "yields":
                yield
            if answer == "raises":
                raise ValueError("odd") from None

    run = started(runtime, behaviour)
    assert begun.wait(PATIENCE)
    run.dispose().get(timeout=PATIENCE)

    assert ABORTED == ended(run).stop_reason
    assert "fine" == neighbour.ask("fine").get(timeout=PATIENCE).text


def test_a_turn_can_be_cancelled_from_inside(runtime: Runtime) -> None:
    """
    The cancel is a message like any other; the next step edge or wait ends the turn.
    """

    def behaviour(turn: Any) -> Steps:
        yield from turn.run.cancel("changed my mind")
        yield from turn.step()
        return "not reached"

    result = ended(started(runtime, behaviour))

    assert (ABORTED, "") == (result.stop_reason, result.text)


def test_after_the_turn_every_operation_raises(runtime: Runtime) -> None:
    """
    A turn that somebody kept is over, and says so.
    """
    begun, refused = threading.Event(), list[str]()

    def behaviour(turn: Any) -> Steps:
        begun.set()
        try:
            yield turn.sleep(3600)
        finally:
            for operation in (turn.step, lambda: turn.say("late"), lambda: turn.sleep(1)):
                with pytest.raises(Cancelled, match="enough"):
                    operation()
                refused.append("refused")

    run = started(runtime, behaviour)
    assert begun.wait(PATIENCE)
    run.cancel("enough").get(timeout=PATIENCE)

    assert ABORTED == ended(run).stop_reason
    assert ["refused"] * 3 == refused

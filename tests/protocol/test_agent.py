"""Agents: every kind of behaviour is told apart once, when its agent is made."""

from __future__ import annotations

import functools
import gc
import weakref
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, Final

import attrs
import pytest

from retinue.protocol.agent import Agent, Kind, Tool, agent, as_agent, behaviour_kind
from retinue.protocol.errors import InvalidAgent


def plain(turn: Any) -> Any:
    """Answer with the prompt."""
    return turn


async def coroutine(turn: Any) -> Any:
    """Answer with the prompt."""
    return turn


def generator(turn: Any) -> Iterator[Any]:
    """Answer with the prompt."""
    yield turn


async def async_generator(turn: Any) -> AsyncIterator[Any]:
    """Be something that no turn can be."""
    yield turn


class Plain:
    """Holds a state, and a method of each kind."""

    def __init__(self, start: int = 0) -> None:
        self.start = start

    def turn(self, turn: Any) -> Any:
        """Answer with the prompt."""
        return turn


class Waiting:
    """Awaits in its turn."""

    async def turn(self, turn: Any) -> Any:
        """Answer with the prompt."""
        return turn


class Stepping:
    """Steps through its turn."""

    def turn(self, turn: Any) -> Iterator[Any]:
        """Answer with the prompt."""
        yield turn


class Called:
    """Is called like a function."""

    def __call__(self, turn: Any) -> Any:
        """Answer with the prompt."""
        return turn


class CalledLater:
    """Is called like a coroutine function."""

    async def __call__(self, turn: Any) -> Any:
        """Answer with the prompt."""
        return turn


@attrs.define  # compares by value, and has no hash therefore
class Unhashable:
    """Is called like a function, and fits into no cache."""

    def __call__(self, turn: Any) -> Any:
        """Answer with the prompt."""
        return turn


BEHAVIOURS: Final[list[tuple[Any, Kind]]] = [
    (plain, Kind.BLOCKING),
    (lambda turn: turn, Kind.BLOCKING),
    (str.upper, Kind.BLOCKING),
    (len, Kind.BLOCKING),
    (Plain().turn, Kind.BLOCKING),
    (Called(), Kind.BLOCKING),
    (Unhashable(), Kind.BLOCKING),
    (coroutine, Kind.COROUTINE),
    (Waiting().turn, Kind.COROUTINE),
    (CalledLater(), Kind.COROUTINE),
    (generator, Kind.GENERATOR),
    (Stepping().turn, Kind.GENERATOR),
]


@pytest.mark.parametrize(("behaviour", "kind"), BEHAVIOURS)
def test_the_kind_of_a_behaviour_is_what_it_is(behaviour: Callable[..., Any], kind: Kind) -> None:
    """
    Functions, methods and callable objects alike; an argument bound by `partial`, any
    number of times, changes nothing.
    """
    bound = functools.partial(functools.partial(behaviour), option=1)

    assert kind is behaviour_kind(behaviour)
    assert kind is Agent(bound).kind
    assert kind is as_agent(behaviour).kind
    assert not Agent(bound).is_class


@pytest.mark.parametrize(
    ("made", "kind"),
    [(Plain, Kind.BLOCKING), (Waiting, Kind.COROUTINE), (Stepping, Kind.GENERATOR)],
)
def test_a_class_is_as_its_turn_method_is(made: type[Any], kind: Kind) -> None:
    """
    The class itself is kept, since each run makes an instance of its own; so is a partial
    that gives its constructor arguments.
    """
    make: Callable[..., Any] = made
    for behaviour in (make, functools.partial(make)):
        one = Agent(behaviour)

        assert (kind, True, made.__name__) == (one.kind, one.is_class, one.name)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (async_generator, "async_generator is an async generator; use 'async def'"),
        (functools.partial(async_generator), "is an async generator"),
        ("a name", "not str"),
        (object(), "not object"),
        (Plain(), "not tests.protocol.test_agent.Plain"),
        (int, "class int has no turn method"),
        (type("Odd", (), {"turn": 5}), "not int"),
    ],
)
def test_what_cannot_be_run_is_refused(value: Any, message: str) -> None:
    """
    Before anything exists, with what would be right instead.
    """
    makers: list[Callable[[Any], Agent]] = [Agent, as_agent]
    for make in makers:
        with pytest.raises(InvalidAgent, match=message) as caught:
            make(value)
        assert isinstance(caught.value, TypeError)


def test_an_absent_agent_is_asked_for() -> None:
    """
    A provider that runs behaviours needs one.
    """
    with pytest.raises(InvalidAgent, match="needs an agent"):
        as_agent(None)


def test_an_agent_stays_itself() -> None:
    """
    What is an agent already is not wrapped again.
    """
    one = Agent(plain)

    assert one is as_agent(one)
    assert "answer" == one("answer")


def test_a_name_is_found_for_every_behaviour() -> None:
    """
    It is shown in trees: the function's, the class's, or the object's class's.
    """
    names = [as_agent(value).name for value in (plain, Plain, Called(), functools.partial(plain))]

    assert ["plain", "Plain", "Called", "plain"] == names
    assert "Zoe" == Agent(plain, name="Zoe").name


def test_the_decorator_is_used_bare_and_with_arguments() -> None:
    """
    Both give an agent whose behaviour can still be called, as a test of it would.
    """

    @agent
    def bare(turn: Any) -> Any:
        return turn

    @agent(
        name="Zoe",
        instructions="Be brief.",
        tools=(Tool("read", plain, "reads"),),
        options={"model": "m"},
        is_open=True,
        gate=lambda _: "no",
    )
    async def given(turn: Any) -> Any:
        return turn

    assert (Kind.BLOCKING, "bare", "answer") == (bare.kind, bare.name, bare("answer"))
    assert (Kind.COROUTINE, "Zoe", "Be brief.") == (given.kind, given.name, given.instructions)
    assert (["read"], {"model": "m"}) == ([tool.name for tool in given.tools], given.options)
    assert given.is_open
    assert given.gate is not None


@pytest.mark.parametrize("decorate", [agent, agent()])
def test_the_decorator_refuses_what_cannot_be_run(decorate: Callable[[Any], Agent]) -> None:
    """
    The mistake is found where it is made.
    """
    with pytest.raises(InvalidAgent):
        decorate(async_generator)


def test_nothing_keeps_a_behaviour_alive() -> None:
    """
    H60: a closure may hold a whole session; when its run is gone, so is the closure.
    """

    def make() -> tuple[Callable[[Any], Any], weakref.ref[Any]]:
        session = Plain()

        def closure(turn: Any) -> Any:
            return session.turn(turn)

        return closure, weakref.ref(session)

    closure, session = make()
    as_agent(closure)
    del closure
    gc.collect()

    assert session() is None

"""Behaviours of every kind that do the same, so that a test says a thing once for all."""

from __future__ import annotations

import functools
from collections.abc import Callable, Generator
from typing import Any, Final

from retinue.actors import Run, RunResult, Runtime
from tests.doubles import PATIENCE, Gate

Steps = Generator[Any, Any, Any]
Work = Callable[[Any], Any]


def plain(work: Work) -> Any:
    """Return a function that returns what *work* makes of its turn."""

    def behaviour(turn: Any) -> Any:
        return work(turn)

    return behaviour


def coroutine(work: Work) -> Any:
    """Return a coroutine function that does."""

    async def behaviour(turn: Any) -> Any:
        return work(turn)

    return behaviour


def generator(work: Work) -> Any:
    """Return a generator function that does, after one pause."""

    def behaviour(turn: Any) -> Steps:
        yield
        return work(turn)

    return behaviour


def bound(work: Work) -> Any:
    """Return a partial that does."""

    def behaviour(option: str, turn: Any) -> Any:
        assert "option" == option
        return work(turn)

    return functools.partial(behaviour, "option")


def called(work: Work) -> Any:
    """Return an object that is called."""

    class Behaviour:
        def __call__(self, turn: Any) -> Any:
            return work(turn)

    return Behaviour()


def plain_class(work: Work) -> Any:
    """Return a class whose turns do."""

    class Behaviour:
        def turn(self, turn: Any) -> Any:
            return work(turn)

    return Behaviour


def coroutine_class(work: Work) -> Any:
    """Return a class whose turns await."""

    class Behaviour:
        async def turn(self, turn: Any) -> Any:
            return work(turn)

    return Behaviour


def generator_class(work: Work) -> Any:
    """Return a class whose turns are stepped."""

    class Behaviour:
        def turn(self, turn: Any) -> Steps:
            yield
            return work(turn)

    return Behaviour


# The three ways in which work is run, and every form that it can be given in.
WAYS: Final[tuple[Callable[[Work], Any], ...]] = (plain, coroutine, generator)
FORMS: Final[tuple[Callable[[Work], Any], ...]] = (
    *WAYS,
    bound,
    called,
    plain_class,
    coroutine_class,
    generator_class,
)


def echo(turn: Any) -> str:
    """Answer with the prompt's text."""
    return str(turn.text)


def started(runtime: Runtime, agent: Any, prompt: str = "go", **options: Any) -> Run:
    """Start a run of *agent* and wait until it exists."""
    return runtime.start("spawn", prompt, agent=agent, **options).get(timeout=PATIENCE)


def opened(runtime: Runtime, agent: Any, **options: Any) -> Run:
    """Open a resident and wait until it exists."""
    return runtime.open(agent, **options).get(timeout=PATIENCE)


def ended(run: Run) -> RunResult:
    """Wait for the run's result."""
    return run.result.get(timeout=PATIENCE)


class Gates:
    """Runs that answer when the test lets them."""

    def __init__(self, runtime: Runtime, names: str) -> None:
        self._gates = {name: Gate() for name in names}
        self.runs = [started(runtime, self._turn, name) for name in names]

    def _turn(self, turn: Any) -> str:
        self._gates[turn.text].wait()
        return str(turn.text)

    def open(self, names: str) -> None:
        """Let runs go, one after another has ended."""
        for name in names:
            self._gates[name].open()
            ended(self.runs["abcdef".index(name)])

"""
The contract's cast: every provider, and how to have a run on it do what a script says.

A script is the same list of items everywhere. The scripted provider plays it itself; for
the in-process providers a behaviour of each kind does. So the double is held to what the
real ones do, and they to what the double does.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from itertools import count
from typing import Any, Final, cast

import attrs
import pytest

from retinue.actors import Agent, Reply, Run, RunResult, Runtime
from retinue.backends.inprocess import InProcess
from retinue.backends.scripted import (
    Delta,
    Echo,
    Hold,
    Item,
    Raise,
    Return,
    Say,
    Scripted,
    StepEdge,
)
from retinue.protocol.agent import Kind
from retinue.protocol.content import Message
from retinue.protocol.events import ProviderAdded
from retinue.protocol.messages import ReadLog
from retinue.protocol.provider import OpenOrder, Provider
from tests.backends.overheard import Overheard
from tests.doubles import PATIENCE, Gate, Probe

_numbers = count()


@attrs.frozen
class _Over:
    """What a behaviour is to return."""

    value: Any


def _play(turn: Any, item: Item) -> _Over | None:
    """Do what every kind of behaviour does alike; returns what ends the turn."""
    match item:
        case Say(content):
            turn.say(content)
        case Delta(text):
            turn.delta(text)
        case Echo():
            return _Over(turn.prompt)
        case Return(value):
            return _Over(value)
        case Raise(error):
            raise error
        case _:
            raise AssertionError(f"no behaviour can play {item}")
    return None


def _standing_at(hold: Hold) -> Reply[Any]:
    reply: Reply[Any] = Reply()
    hold.park(reply.resolve)
    return reply


def playing_function(turn: Any) -> Any:
    """Play the script of the run's options on a thread."""
    for item in turn.options["script"]:
        if isinstance(item, Hold):
            _standing_at(item).get()
        elif isinstance(item, StepEdge):
            for note in turn.step():
                turn.say(note.content)
        elif (over := _play(turn, item)) is not None:
            return over.value
    return None


async def playing_coroutine(turn: Any) -> Any:
    """Play the script of the run's options on the loop."""
    for item in turn.options["script"]:
        if isinstance(item, Hold):
            await _standing_at(item)
        elif isinstance(item, StepEdge):
            for note in await turn.step():
                turn.say(note.content)
        elif (over := _play(turn, item)) is not None:
            return over.value
    return None


def playing_generator(turn: Any) -> Generator[Any, Any, Any]:
    """Play the script of the run's options in steps of its actor."""
    for item in turn.options["script"]:
        if isinstance(item, Hold):
            yield from _standing_at(item)
        elif isinstance(item, StepEdge):
            for note in cast("tuple[Message, ...]", (yield from turn.step())):
                turn.say(note.content)
        elif (over := _play(turn, item)) is not None:
            return over.value
    return None


class PlayingClass:
    """Plays the script of the run's options, with an instance of its own for each run."""

    def turn(self, turn: Any) -> Any:
        """Take one turn."""
        return playing_function(turn)


def script_of_options(order: OpenOrder) -> Iterable[Item]:
    """Take a run's script from its options, as the behaviours do."""
    script: Iterable[Item] = order.options["script"]
    return script


@attrs.frozen
class Case:
    """
    One provider and the agent that its runs are started with.

    ``works_elsewhere`` says that a turn's work is done outside of the run's actor, so that
    its end is a letter that a cancel can overtake.
    """

    name: str
    provider: Provider
    agent: Agent | None = None
    works_elsewhere: bool = False

    def __str__(self) -> str:
        return self.name

    @property
    def kind(self) -> Kind | None:
        """The kind of the agent's behaviour, where there is an agent."""
        return None if self.agent is None else self.agent.kind

    def start(
        self, runtime: Runtime, script: Iterable[Item], prompt: object = "go", **options: Any
    ) -> Reply[Run]:
        """Start a one-shot run that plays *script*."""
        return runtime.start(
            self.provider.name, prompt, agent=self.agent, **self._with(script, options)
        )

    def open(self, runtime: Runtime, script: Iterable[Item], **options: Any) -> Reply[Run]:
        """Open a resident that plays *script*, one turn after the other."""
        return runtime.open(self.agent, provider=self.provider.name, **self._with(script, options))

    @staticmethod
    def _with(script: Iterable[Item], options: dict[str, Any]) -> dict[str, Any]:
        more = options.pop("options", {})
        # An iterator, so that the turns of a resident go on where the last one ended.
        return {**options, "options": {"script": iter(script), **more}}


def _in_process(name: str, behaviour: Any, *, inherits_context: bool = False) -> Case:
    agent = Agent(behaviour)
    provider = InProcess("fork" if inherits_context else "spawn", inherits_context=inherits_context)
    return Case(name, provider, agent, agent.kind is not Kind.GENERATOR)


CASES: Final = (
    _in_process("spawned function", playing_function),
    _in_process("spawned coroutine", playing_coroutine),
    _in_process("spawned generator", playing_generator),
    _in_process("spawned class", PlayingClass),
    _in_process("forked generator", playing_generator, inherits_context=True),
    Case("scripted", Scripted(script_of_options)),
    Case(
        "scripted, opened on a thread",
        Scripted(script_of_options, name="threaded", is_immediate=False),
    ),
)


class UnprintableError(Exception):
    """An error that raises whenever somebody looks at it."""

    def __str__(self) -> str:
        raise RuntimeError("not even this")

    __repr__ = __str__


@contextmanager
def standstill(runtime: Runtime) -> Generator[None]:
    """
    Hold the runtime's dispatcher: inside the block letters pile up, and none is handled.

    What is sent inside is therefore handled in the order of lanes and queues alone.
    """
    gate, name = Gate(), f"standstill-{next(_numbers)}"

    def hold(event: object) -> None:
        if event == ProviderAdded(name):
            gate.wait()

    unsubscribe = runtime.subscribe(hold)
    added = runtime.register(Scripted(name=name))
    assert gate.reached.wait(PATIENCE)
    try:
        yield
    finally:
        gate.open()
        added.get(timeout=PATIENCE)
        unsubscribe()


def overheard(runtime: Runtime, case: Case) -> tuple[Case, Overheard]:
    """Return the case again, on a provider whose drivers' reports can be heard."""
    name = f"overheard-{next(_numbers)}"
    ear = Overheard(case.provider, name)
    runtime.register(ear).get(timeout=PATIENCE)
    return attrs.evolve(case, provider=ear), ear


def started(runtime: Runtime, case: Case, *script: Item, **options: Any) -> Run:
    """Start a run that plays *script*, and wait until it exists."""
    return case.start(runtime, script, **options).get(timeout=PATIENCE)


def scripted_run(runtime: Runtime, *script: Item, **options: Any) -> Run:
    """Start a run that plays *script* on a scripted provider of its own."""
    provider = Scripted(script, name=f"scripted-{next(_numbers)}")
    runtime.register(provider).get(timeout=PATIENCE)
    return runtime.start(provider.name, "go", **options).get(timeout=PATIENCE)


def scripted_resident(runtime: Runtime, *script: Item) -> Run:
    """Open a resident that plays *script* on a scripted provider of its own."""
    provider = Scripted(script, name=f"scripted-{next(_numbers)}")
    runtime.register(provider).get(timeout=PATIENCE)
    return runtime.open(None, provider=provider.name).get(timeout=PATIENCE)


def result_of(run: Run) -> RunResult:
    """Wait for a run's result."""
    return run.result.get(timeout=PATIENCE)


def cancelled_at(hold: Hold, run: Run, reason: str = "enough") -> RunResult:
    """Cancel a run that stands at *hold*, and wait for its result."""
    assert hold.reached.wait(PATIENCE)
    run.cancel(reason).get(timeout=PATIENCE)
    return result_of(run)


def refusal(start: Reply[Run]) -> BaseException:
    """Wait for a start that is refused, and return why."""
    with pytest.raises(Exception) as caught:  # noqa: PT011 - the test looks at it
        start.get(timeout=PATIENCE)
    return caught.value


def barrier(run: Run) -> None:
    """Wait until everything that was sent to the run before is handled."""
    run.ref.ask(ReadLog(), timeout=PATIENCE)


def only(probe: Probe, *kinds: type) -> Callable[[object], None]:
    """Return an observer that passes events of those kinds on to *probe*."""

    def observe(event: object) -> None:
        if isinstance(event, kinds):
            probe.tell(event)

    return observe


def told(runtime: Runtime, probe: Probe) -> list[object]:
    """Return what a subscriber was told by now: a question to the registry is the barrier."""
    runtime.children()
    return probe.unread()

"""
The seams: what a provider, a driver and the place where they work have to offer.

A provider opens runs, a driver does the work of one run and reports facts, and the
workplace is all that a driver may touch of the runtime.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Generator, Hashable, Mapping, Sequence
from typing import Any, Final, Protocol, runtime_checkable
from weakref import WeakSet

import attrs

from retinue.protocol.agent import Agent, ToolFilter
from retinue.protocol.content import Message
from retinue.protocol.delegation import Capabilities, StartRequest
from retinue.protocol.errors import ProviderFault
from retinue.protocol.log import Cause, Seed


@attrs.frozen
class Outcome:
    """How a piece of work ended: a value, or the error that it raised."""

    value: Any = None
    error: BaseException | None = None


class Work(Protocol):
    """A piece of work under way."""

    def cancel(self, reason: str) -> None:
        """
        Ask it to stop: close a generator, cancel a task, wake a thread out of every wait
        for a Reply. A thread that does not look can not be stopped.
        """
        ...

    @property
    def is_done(self) -> bool:
        """Whether it has ended, clean-up included."""
        ...


class Alarm(Protocol):
    """Something that is to happen at a time."""

    def cancel(self) -> None:
        """Let it not happen; harmless when it has."""
        ...


@attrs.frozen
class OpenOrder:
    """What a provider is asked to open."""

    run_id: str
    agent: Agent | None
    request: StartRequest
    depth: int
    cap: int | None
    seed: Seed
    options: Mapping[str, Any]
    tool_filter: ToolFilter | None
    schema: Any


@attrs.frozen
class TurnOrder:
    """One turn to work on: its number and the messages that it answers."""

    turn: int
    messages: tuple[Message, ...]


class Workplace(Protocol):
    """
    What a driver may use of the runtime; every method may be called from any thread.

    Work runs where its name says, never on a caller's thread, and ``done`` is called
    exactly once, where the work ended. *turn* is the number of the turn that it is part of.
    """

    @property
    def run_id(self) -> str:
        """The id of the run."""
        ...

    @property
    def run(self) -> Any:
        """The run, as its callers hold it."""
        ...

    @property
    def stop_reason(self) -> str | None:
        """Why the run is marked to end, or None."""
        ...

    @property
    def has_mail(self) -> bool:
        """Whether something was sent to the run that the next step edge takes."""
        ...

    @property
    def has_children(self) -> bool:
        """Whether the run has live children or starts under way."""
        ...

    @property
    def is_metered(self) -> bool:
        """Whether a limit above the run counts requests, tokens, cost, turns or steps."""
        ...

    @property
    def random(self) -> random.Random:
        """The run's own random numbers, keyed by the runtime's seed and its place in the tree."""
        ...

    @property
    def path(self) -> tuple[int, ...]:
        """The run's place in its tree, the same whenever the same program runs."""
        ...

    def now(self) -> float:
        """Return the runtime's clock, in seconds."""
        ...

    def report(self, fact: object) -> None:
        """Tell the run's actor a fact; facts for a run that is gone are dropped."""
        ...

    def ask(self, message: object) -> Any:
        """Ask the run's actor; returns a Reply."""
        ...

    def on_thread(
        self, function: Callable[[], Any], done: Callable[[Outcome], None], turn: int
    ) -> Work:
        """Run a blocking function on a thread of its own; the pool grows as needed."""
        ...

    def on_loop(
        self, coroutine: Coroutine[Any, Any, Any], done: Callable[[Outcome], None], turn: int
    ) -> Work:
        """Run a coroutine as a task on the runtime's loop."""
        ...

    def step(
        self, generator: Generator[Any, Any, Any], done: Callable[[Outcome], None], turn: int
    ) -> Work:
        """Step a generator inside the run's actor; what it yields are Replies to wait for."""
        ...

    def after(self, seconds: float, fact: object) -> Alarm:
        """Tell the run's actor *fact* in *seconds* of the runtime's clock."""
        ...

    def call(self, function: Callable[[], Any], *, is_bounded: bool = True) -> Any:
        """
        Run a blocking function on the bounded pool; returns a Reply.

        What may wait for other runs is not bounded: it gets a thread, and nested waits
        cannot starve each other. Abandoning the Reply wakes it out of every wait.
        """
        ...

    def sleep(self, seconds: float) -> Any:
        """Return a Reply that resolves in *seconds* of the runtime's clock."""
        ...

    def start(self, provider: str, prompt: object, turn: int, options: Mapping[str, Any]) -> Any:
        """Start a child of the run; returns a Reply that resolves with its Run."""
        ...

    def open(self, agent: object, turn: int, options: Mapping[str, Any]) -> Any:
        """Open a resident child of the run; returns a Reply that resolves with its Run."""
        ...

    def promise(self) -> Any:
        """Return a Reply that its holder resolves or fails; from any thread."""
        ...

    def shared(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """
        Return what this runtime keeps under *key*, made by the first who asks.

        What has an ``aclose`` coroutine method is closed on the loop when the runtime is.
        """
        ...

    def say(self, verb: str, run: Any, content: object) -> Any:
        """Tell, ask, steer or inject another run as this one; returns a Reply."""
        ...

    def report_up(self, content: object) -> Any:
        """Send *content* to the parent as a report; returns a Reply that it was accepted."""
        ...

    def wait(self, runs: Sequence[Any], timeout: float | None, return_when: str) -> Any:
        """Wait for runs; returns a Reply with one outcome per input, in order."""
        ...

    def peer(self, name: str) -> Any:
        """Find a resident by name; returns a Reply with its Run."""
        ...

    def history(self) -> tuple[Message, ...]:
        """Return the messages of the completed turns, the seed's included."""
        ...


@runtime_checkable
class Driver(Protocol):
    """
    Does the work of one run. Methods are called by the run's actor and must not block.

    Optional methods, whose presence is the capability: ``steer()`` (something waits for
    the next step edge), ``wrap_up()``. An optional attribute ``reserves`` that is true says
    that it asks with ``Reserve`` before it spends anything; any other driver is stopped when
    it reports usage that reaches a limit.
    """

    def begin(self, order: TurnOrder) -> None:
        """Start the turn; a TurnEnded with its number must follow, exactly one."""
        ...

    def stop(self, cause: Cause) -> None:
        """End the current turn soon; its TurnEnded says aborted unless it completed first."""
        ...

    def close(self) -> None:
        """Release everything; a Closed must follow when nothing is left."""
        ...


@runtime_checkable
class Provider(Protocol):
    """
    A named backend that can open runs.

    ``inherits_context`` describes whether a child starts with its parent's completed
    turns; it grants nothing (REG-13). ``is_immediate`` says that ``open`` does no work
    worth a thread. ``accepts_seed`` says that a run can be opened on a seed.
    """

    name: str
    capabilities: Capabilities
    inherits_context: bool
    accepts_seed: bool
    is_immediate: bool

    def open(self, order: OpenOrder, workplace: Workplace) -> Driver:
        """
        Make the driver of one run.

        Runs in the actor when ``is_immediate``, else on a thread of its own.

        Raises:
            Exception: the run cannot be opened; the start is refused with it.
        """
        ...


# Classes whose instances have been found to be drivers; most runs share a few.
_SOUND: Final[WeakSet[type]] = WeakSet()


def opens_at_once(provider: Provider, order: OpenOrder) -> bool:
    """
    Whether this run may be opened inside a handler.

    A provider that is immediate may have runs that are not: it then has a method
    ``takes_time`` that says so of an order.
    """
    takes_time = getattr(provider, "takes_time", None)
    return provider.is_immediate and not (takes_time is not None and takes_time(order))


def check_driver(driver: object, provider: str) -> None:
    """
    Take what has a driver's shape.

    Raises:
        ProviderFault: a method is missing, named in the message.
    """
    kind = type(driver)
    if kind in _SOUND:
        return
    lacking = [name for name in ("begin", "stop", "close") if not hasattr(driver, name)]
    if lacking:
        what = ", ".join(f"{name}()" for name in lacking)
        raise ProviderFault(f"provider {provider!r} opened no driver: {kind.__name__} lacks {what}")
    _SOUND.add(kind)

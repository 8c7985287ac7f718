"""The place where a driver works: all that it may touch of the runtime."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Generator, Hashable, Mapping, Sequence
from typing import Any, Protocol

import attrs

from retinue.protocol.content import Message


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
    def is_delegated(self) -> bool:
        """Whether another run delegated to this one; a host's runs are its user's own."""
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

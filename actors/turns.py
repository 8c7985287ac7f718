"""
What behaviours see, as types: annotate the turn with these, and editors know the rest.

    >>> from retinue.actors import BlockingTurn, Runtime, Turn, agent
    >>> @agent
    ... def loud(turn: BlockingTurn) -> str:
    ...     return turn.text.upper()
    >>> @agent
    ... async def asker(turn: Turn) -> str:
    ...     run = await turn.start("spawn", turn.text, agent=loud)
    ...     return (await run.result).text
    >>> with Runtime() as runtime:
    ...     print(runtime.start("spawn", "so it is typed", agent=asker).get().result.get().text)
    SO IT IS TYPED
"""

from __future__ import annotations

import random as random_numbers
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, TypeVarTuple

from retinue.actors._reply import Reply
from retinue.actors.handle import Run, StepTaken
from retinue.protocol.agent import Agent
from retinue.protocol.content import Content, Message
from retinue.protocol.limits import Limits
from retinue.protocol.result import Outcome, TurnResult

__all__ = ["AnyTurn", "BlockingTurn", "Edge", "Turn"]

_Wanted: TypeAlias = Sequence[Run | Reply[Run]]
_Args = TypeVarTuple("_Args")
_T = TypeVar("_T")


class Edge(Awaitable[tuple[Message, ...]], Protocol):
    """A step edge; ``await`` or ``yield from`` it for what was steered meanwhile."""

    def __iter__(self) -> Generator[Any, Any, tuple[Message, ...]]:
        """Stand at the edge, in a generator."""
        ...


class AnyTurn(Protocol):
    """
    What both kinds of turn show, for functions that take either.

    Whatever is done in a turn that was stopped raises Cancelled.
    """

    @property
    def text(self) -> str:
        """The text of the prompt."""
        ...

    @property
    def prompt(self) -> Content:
        """The content of the message that the turn answers, as it was sent."""
        ...

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the turn answers, each with its source."""
        ...

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages of the completed turns before this one, a seed's included."""
        ...

    @property
    def number(self) -> int:
        """The turn's number; a fork's first turn follows its seed's last."""
        ...

    @property
    def wrapping_up(self) -> bool:
        """Whether the turn is to finish with what it has."""
        ...

    @property
    def run(self) -> Run:
        """The turn's own run."""
        ...

    @property
    def agent(self) -> Agent | None:
        """The agent whose turn it is."""
        ...

    @property
    def instructions(self) -> str:
        """The agent's instructions, or the persona that shadows them."""
        ...

    @property
    def options(self) -> Mapping[str, Any]:
        """The agent's options, overridden field by field by the start's."""
        ...

    @property
    def tools(self) -> Mapping[str, Callable[..., Any]]:
        """The functions of the tools that the run's filter keeps, by name."""
        ...

    @property
    def depth(self) -> int:
        """How many delegations lie above the run."""
        ...

    @property
    def max_depth(self) -> int | None:
        """The deepest that a run of this tree may be, or None."""
        ...

    @property
    def limits(self) -> Limits:
        """The limits that the run was started with."""
        ...

    @property
    def random(self) -> random_numbers.Random:
        """The run's own random numbers: the same seed and place give the same draws."""
        ...

    def check(self) -> None:
        """Raise Cancelled if the turn was stopped."""
        ...

    def say(self, content: object) -> None:
        """Say something that is part of the output; the last thing said counts."""
        ...

    def delta(self, text: str) -> None:
        """Give out a piece of text as it comes."""
        ...


class Turn(AnyTurn, Protocol):
    """A turn of a coroutine or a generator: ``await`` or ``yield from`` what it returns."""

    def step(self) -> Edge:
        """Stand at a step edge, which gives what was steered meanwhile."""
        ...

    def start(self, provider: str, prompt: object, **options: Any) -> Reply[Run]:
        """Start a child of this turn; *options* are those of ``Runtime.start``."""
        ...

    def open(self, agent: object, **options: Any) -> Reply[Run]:
        """Open a resident child of this run; *options* are those of ``Runtime.open``."""
        ...

    def wait(
        self, runs: _Wanted, timeout: float | None = None, return_when: str = "all"
    ) -> Reply[list[Outcome]]:
        """Wait *timeout* seconds for ``all`` or the ``first``: one outcome per input, in order."""
        ...

    def ask(self, run: Run, content: object) -> Reply[TurnResult]:
        """Prompt a resident, for the result of that turn."""
        ...

    def tell(self, run: Run, content: object) -> Reply[bool]:
        """Prompt a resident."""
        ...

    def steer(self, run: Run, content: object) -> Reply[StepTaken]:
        """Send *content* to another run's next step, for a receipt."""
        ...

    def peer(self, name: str) -> Reply[Run]:
        """Find an open resident by name."""
        ...

    def report(self, content: object) -> Reply[bool]:
        """Send words to the parent."""
        ...

    def sleep(self, seconds: float) -> Reply[None]:
        """Let *seconds* of the runtime's clock pass."""
        ...

    def call(self, function: Callable[[*_Args], _T], *args: *_Args) -> Reply[_T]:
        """Run blocking code on the bounded pool."""
        ...

    def set_policy(self, name: str, value: Any) -> Reply[Any]:
        """Set one policy that later children inherit."""
        ...


class BlockingTurn(AnyTurn, Protocol):
    """A turn of a plain function, which has a thread of its own and may block."""

    def step(self) -> tuple[Message, ...]:
        """Stand at a step edge: return what was steered meanwhile."""
        ...

    def start(self, provider: str, prompt: object, **options: Any) -> Run:
        """Start a child of this turn; *options* are those of ``Runtime.start``."""
        ...

    def open(self, agent: object, **options: Any) -> Run:
        """Open a resident child of this run; *options* are those of ``Runtime.open``."""
        ...

    def wait(
        self, runs: _Wanted, timeout: float | None = None, return_when: str = "all"
    ) -> list[Outcome]:
        """Wait *timeout* seconds for ``all`` or the ``first``: one outcome per input, in order."""
        ...

    def ask(self, run: Run, content: object) -> TurnResult:
        """Prompt a resident and return the result of that turn."""
        ...

    def tell(self, run: Run, content: object) -> None:
        """Prompt a resident; returns when it is accepted."""
        ...

    def steer(self, run: Run, content: object) -> StepTaken:
        """Send *content* to another run's next step; return the receipt."""
        ...

    def peer(self, name: str) -> Run:
        """Find an open resident by name."""
        ...

    def report(self, content: object) -> None:
        """Send words to the parent; returns when they are accepted."""
        ...

    def sleep(self, seconds: float) -> None:
        """Let *seconds* of the runtime's clock pass; a cancel ends it at once."""
        ...

    def call(self, function: Callable[[*_Args], _T], *args: *_Args) -> _T:
        """Call *function* here: a plain function may block."""
        ...

    def set_policy(self, name: str, value: Any) -> None:
        """Set one policy that later children inherit."""
        ...

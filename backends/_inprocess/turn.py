"""
What a behaviour sees: a Turn, whose methods return Replies, or a BlockingTurn, whose
methods return plain values.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, Final, TypeAlias, cast

from retinue.backends._inprocess.view import TurnView
from retinue.protocol import messages
from retinue.protocol.content import Message

Notes: TypeAlias = tuple[Message, ...]
_NOTHING: Final[Notes] = ()


class Edge:
    """A step edge: lets others run, then gives the messages that wait; await or yield from it."""

    __slots__ = ("_turn",)

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def __iter__(self) -> Generator[Any, Any, tuple[Message, ...]]:
        yield
        reply = self._turn.claim_waiting()
        return _NOTHING if reply is None else cast("Notes", (yield from reply))

    def __await__(self) -> Generator[Any, Any, tuple[Message, ...]]:
        yield
        reply = self._turn.claim_waiting()
        return _NOTHING if reply is None else cast("Notes", (yield from reply.__await__()))


class Turn(TurnView):
    """A turn of a coroutine or a generator: ``await`` or ``yield from`` what it returns."""

    __slots__ = ()

    def step(self) -> Edge:
        """Stand at a step edge: gives what was steered meanwhile; raises Cancelled."""
        self.check_step()
        return Edge(self)

    def claim_waiting(self) -> Any:
        """Ask for what waits, where something does; raises Cancelled."""
        self.check()
        return self._claim() if self.has_mail else None

    def start(self, provider: str, prompt: object, **options: Any) -> Any:
        """Start a child of this turn; a Reply of its Run."""
        return self._start(provider, prompt, options)

    def open(self, agent: object, **options: Any) -> Any:
        """Open a resident child of this run; a Reply of its Run."""
        return self._open_resident(agent, options)

    def wait(
        self, runs: Sequence[Any], timeout: float | None = None, return_when: str = "all"
    ) -> Any:
        """Wait for runs; a Reply of one outcome per input, in order."""
        self.check()
        return self._workplace.wait(runs, timeout, return_when)

    def ask(self, run: Any, content: object) -> Any:
        """Prompt a resident; a Reply of its TurnResult."""
        return self._say_to("ask", run, content)

    def tell(self, run: Any, content: object) -> Any:
        """Prompt a resident; a Reply that it was accepted."""
        return self._say_to("tell", run, content)

    def steer(self, run: Any, content: object) -> Any:
        """Steer another run; a Reply of the receipt."""
        return self._say_to("steer", run, content)

    def peer(self, name: str) -> Any:
        """Find an open resident by name; a Reply of its Run."""
        self.check()
        return self._workplace.peer(name)

    def report(self, content: object) -> Any:
        """Send words to the parent; a Reply that they were accepted."""
        self.check()
        return self._workplace.report_up(content)

    def sleep(self, seconds: float) -> Any:
        """Let *seconds* of the runtime's clock pass; a Reply."""
        self.check()
        return self._workplace.sleep(seconds)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run blocking code on the bounded pool; a Reply of what it returns."""
        self.check()
        return self._workplace.call(lambda: function(*args))

    def set_policy(self, name: str, value: Any) -> Any:
        """Set one policy that later children inherit; a Reply."""
        return self._ask(messages.SetPolicy(name, value))


class BlockingTurn(TurnView):
    """A turn of a plain function: it has a thread of its own and may block."""

    __slots__ = ()

    def step(self) -> tuple[Message, ...]:
        """Stand at a step edge: return what was steered meanwhile; raises Cancelled."""
        self.check_step()
        if not self.has_mail:
            return ()
        notes: tuple[Message, ...] = self._claim().get()
        return notes

    def start(self, provider: str, prompt: object, **options: Any) -> Any:
        """Start a child of this turn and return its Run; its result is awaited apart."""
        return self._start(provider, prompt, options).get()

    def open(self, agent: object, **options: Any) -> Any:
        """Open a resident child of this run and return its Run."""
        return self._open_resident(agent, options).get()

    def wait(
        self, runs: Sequence[Any], timeout: float | None = None, return_when: str = "all"
    ) -> list[Any]:
        """Wait for runs; return one outcome per input, in order."""
        self.check()
        outcomes: list[Any] = self._workplace.wait(runs, timeout, return_when).get()
        return outcomes

    def ask(self, run: Any, content: object) -> Any:
        """Prompt a resident and return its TurnResult."""
        return self._say_to("ask", run, content).get()

    def tell(self, run: Any, content: object) -> None:
        """Prompt a resident; returns when it is accepted."""
        self._say_to("tell", run, content).get()

    def steer(self, run: Any, content: object) -> Any:
        """Steer another run and return the receipt."""
        return self._say_to("steer", run, content).get()

    def peer(self, name: str) -> Any:
        """Find an open resident by name and return its Run."""
        self.check()
        return self._workplace.peer(name).get()

    def report(self, content: object) -> None:
        """Send words to the parent; returns when they are accepted."""
        self.check()
        self._workplace.report_up(content).get()

    def sleep(self, seconds: float) -> None:
        """Let *seconds* of the runtime's clock pass; a cancel ends it at once."""
        self.check()
        self._workplace.sleep(seconds).get()

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Call *function* here: a plain function may block."""
        self.check()
        return function(*args)

    def set_policy(self, name: str, value: Any) -> None:
        """Set one policy that later children inherit."""
        self._ask(messages.SetPolicy(name, value)).get()


class CallTurn(BlockingTurn):
    """The turn as one call of a sync tool sees it: what the turn is told, the call knows too."""

    __slots__ = ("_turn",)

    def __init__(self, turn: Turn) -> None:
        super().__init__(turn._open, turn._order, turn._workplace)  # noqa: SLF001
        self._turn = turn

    @property
    def wrapping_up(self) -> bool:
        """Whether the turn is to finish with what it has."""
        return self._turn.wrapping_up

    @property
    def has_mail(self) -> bool:
        """Whether the next step edge has something to take."""
        return self._turn.has_mail

    def _why_stopped(self) -> str | None:
        return self._stopped or self._turn._why_stopped()  # noqa: SLF001

"""
What a behaviour sees: a Turn, whose methods return Replies, or a BlockingTurn, whose
methods return plain values.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

from retinue.protocol import messages
from retinue.protocol.content import Content, Message, as_content, text_of
from retinue.protocol.delegation import NO_LIMITS, Limits
from retinue.protocol.errors import Cancelled
from retinue.protocol.provider import OpenOrder, TurnOrder, Workplace


class TurnView:
    """What both kinds of turn share; one per turn, and no other turn's."""

    __slots__ = ("_is_waiting", "_open", "_order", "_stopped", "_workplace", "wrapping_up")

    def __init__(self, opened: OpenOrder, order: TurnOrder, workplace: Workplace) -> None:
        self._open = opened
        self._order = order
        self._workplace = workplace
        self._is_waiting = False
        self._stopped: str | None = None
        self.wrapping_up = False

    def __repr__(self) -> str:
        return f"<turn {self._order.turn} of {self._workplace.run_id}>"

    # Called by the driver, in the run's actor.

    def note_waiting(self) -> None:
        """Note that something waits for the next step edge."""
        self._is_waiting = True

    def note_wrap_up(self) -> None:
        """Note that the turn is to finish with what it has."""
        self.wrapping_up = True

    def note_stopped(self, reason: str) -> None:
        """Note that the turn is over; every later operation raises Cancelled."""
        self._stopped = reason

    # Facts about the turn.

    @property
    def number(self) -> int:
        """The turn's number; a fork's first turn follows its seed's last."""
        return self._order.turn

    @property
    def messages(self) -> tuple[Message, ...]:
        """What the turn answers, each with its source."""
        return self._order.messages

    @property
    def prompt(self) -> Content:
        """The content of the message that the turn answers, as it was sent."""
        return self._order.messages[-1].content

    @property
    def text(self) -> str:
        """The text of the prompt."""
        return text_of(self.prompt)

    @property
    def history(self) -> tuple[Message, ...]:
        """The messages of the completed turns before this one, a seed's included."""
        return self._workplace.history()

    @property
    def run(self) -> Any:
        """The turn's own run."""
        return self._workplace.run

    @property
    def depth(self) -> int:
        """How many delegations lie above the run."""
        return self._open.depth

    @property
    def max_depth(self) -> int | None:
        """The deepest that a run of this tree may be, or None."""
        return self._open.cap

    @property
    def limits(self) -> Limits:
        """The limits that the run was started with."""
        return self._open.request.features.limits or NO_LIMITS

    @property
    def instructions(self) -> str:
        """The agent's instructions, or the persona that shadows them."""
        persona = self._open.request.features.persona
        if persona is not None:
            return persona
        return "" if self._open.agent is None else self._open.agent.instructions

    @property
    def options(self) -> Mapping[str, Any]:
        """The agent's options, overridden field by field by the start's."""
        return self._open.options

    @property
    def tools(self) -> Mapping[str, Callable[..., Any]]:
        """The agent's tools that the run's filter keeps, by name."""
        agent, kept = self._open.agent, self._open.tool_filter
        tools = () if agent is None else agent.tools
        return {tool.name: tool.function for tool in tools if kept is None or kept.keeps(tool.name)}

    @property
    def random(self) -> random.Random:
        """The run's own random numbers: the same seed and place give the same draws."""
        return self._workplace.random

    def check(self) -> None:
        """
        Look whether the turn still is wanted.

        Raises:
            Cancelled: it was stopped.
        """
        reason = self._stopped or self._workplace.stop_reason
        if reason is not None:
            raise Cancelled(f"{self._workplace.run_id}: {reason}")

    def say(self, content: object) -> None:
        """Say something that is part of the output; the last thing said counts."""
        self.check()
        blocks = as_content(content, "say()")
        self._workplace.report(messages.Said(self.number, blocks))

    def delta(self, text: str) -> None:
        """Give out a piece of text as it comes."""
        self.check()
        self._workplace.report(messages.Streamed(self.number, text))

    def _ask(self, message: object) -> Any:
        self.check()
        return self._workplace.ask(message)

    def _claim(self) -> Any:
        self._is_waiting = False
        return self._ask(messages.StepEdge(self.number))

    def _start(self, provider: str, prompt: object, options: Mapping[str, Any]) -> Any:
        self.check()
        return self._workplace.start(provider, prompt, self.number, options)

    def _open_resident(self, agent: object, options: Mapping[str, Any]) -> Any:
        self.check()
        return self._workplace.open(agent, self.number, options)

    def _say_to(self, verb: str, run: Any, content: object) -> Any:
        self.check()
        return self._workplace.say(verb, run, content)


class Edge:
    """A step edge: lets others run, then gives the messages that wait; await or yield from it."""

    __slots__ = ("_turn",)

    def __init__(self, turn: Turn) -> None:
        self._turn = turn

    def __iter__(self) -> Generator[Any, Any, tuple[Message, ...]]:
        yield
        reply = self._turn.claim_waiting()
        return () if reply is None else (yield from reply)

    def __await__(self) -> Generator[Any, Any, tuple[Message, ...]]:
        yield
        reply = self._turn.claim_waiting()
        return () if reply is None else (yield from reply.__await__())


class Turn(TurnView):
    """A turn of a coroutine or a generator: ``await`` or ``yield from`` what it returns."""

    __slots__ = ()

    def step(self) -> Edge:
        """Stand at a step edge: gives what was steered meanwhile; raises Cancelled."""
        self.check()
        return Edge(self)

    def claim_waiting(self) -> Any:
        """Ask for what waits, where something does; raises Cancelled."""
        self.check()
        return self._claim() if self._is_waiting else None

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
        self.check()
        if not self._is_waiting:
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

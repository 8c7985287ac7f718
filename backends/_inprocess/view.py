"""What every turn shows of itself, whatever kind of behaviour works on it."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from typing import Any

from retinue.protocol import messages
from retinue.protocol.agent import Agent, Kind, Tool
from retinue.protocol.content import Content, Message, as_content, text_of
from retinue.protocol.delegation import NO_LIMITS, Limits
from retinue.protocol.errors import Cancelled, InvalidContent, InvalidRequest
from retinue.protocol.provider import OpenOrder, TurnOrder, Workplace


class TurnView:
    """What both kinds of turn share; one per turn, and no other turn's."""

    __slots__ = ("_is_waiting", "_is_wrapping_up", "_open", "_order", "_stopped", "_workplace")

    def __init__(self, opened: OpenOrder, order: TurnOrder, workplace: Workplace) -> None:
        self._open = opened
        self._order = order
        self._workplace = workplace
        self._is_waiting = False
        self._stopped: str | None = None
        self._is_wrapping_up = False

    def __repr__(self) -> str:
        return f"<turn {self._order.turn} of {self._workplace.run_id}>"

    # Called by the driver, in the run's actor.

    def note_waiting(self) -> None:
        """Note that something waits for the next step edge."""
        self._is_waiting = True

    def note_wrap_up(self) -> None:
        """Note that the turn is to finish with what it has."""
        self._is_wrapping_up = True

    def note_stopped(self, reason: str) -> None:
        """Note that the turn is over; every later operation raises Cancelled."""
        self._stopped = reason

    # Facts about the turn.

    @property
    def wrapping_up(self) -> bool:
        """Whether the turn is to finish with what it has."""
        return self._is_wrapping_up

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
    def agent(self) -> Agent | None:
        """The agent whose turn it is."""
        return self._open.agent

    @property
    def workplace(self) -> Workplace:
        """What the run may use of the runtime; for sources of tools, not for behaviours."""
        return self._workplace

    @property
    def agent_name(self) -> str:
        """The agent's name, for words about it."""
        return "" if self._open.agent is None else self._open.agent.name

    @property
    def is_child(self) -> bool:
        """Whether another run delegated to this one."""
        return self._workplace.is_delegated

    @property
    def is_resident(self) -> bool:
        """Whether the run lives on after this turn, and wakes for what comes."""
        return self._open.request.is_resident

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
        return {
            tool.name: tool.function
            for tool in tools
            if isinstance(tool, Tool) and (kept is None or kept.keeps(tool.name))
        }

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
        reason = self._why_stopped()
        if reason is not None:
            raise Cancelled(f"{self._workplace.run_id}: {reason}")

    def check_step(self) -> None:
        """
        Look whether a step may end here.

        Raises:
            Cancelled: the turn was stopped.
            InvalidRequest: a model works on it, whose steps end when its tools have.
        """
        self.check()
        if self._open.agent is not None and self._open.agent.kind is Kind.MODEL:
            raise InvalidRequest(
                "turn.step(): a tool is a part of its model's step, and what is steered goes to"
                " the model; look at turn.check() and turn.wrapping_up instead"
            )

    def _why_stopped(self) -> str | None:
        return self._stopped or self._workplace.stop_reason

    def say(self, content: object) -> None:
        """Say something that is part of the output; the last thing said counts."""
        self.check()
        blocks = as_content(content, "say()")
        self._workplace.report(messages.Said(self.number, blocks))

    def delta(self, text: str) -> None:
        """Give out a piece of text as it comes."""
        self.check()
        if not isinstance(text, str):
            raise InvalidContent(f"delta(): expected text, got {type(text).__name__}")
        self._workplace.report(messages.Streamed(self.number, text))

    def _ask(self, message: object) -> Any:
        self.check()
        return self._workplace.ask(message)

    @property
    def has_mail(self) -> bool:
        """Whether the next step edge has something to take."""
        return self._is_waiting or self._workplace.has_mail

    def _claim(self) -> Any:
        return self.edge()

    def edge(
        self, *, is_last: bool = False, add: tuple[Message, ...] = (), is_patient: bool = False
    ) -> Any:
        """Ask for what waits and for a new step; see StepEdge for what the fields mean."""
        self._is_waiting = False
        return self._ask(messages.StepEdge(self.number, is_last, add, is_patient))

    def _start(self, provider: str, prompt: object, options: Mapping[str, Any]) -> Any:
        self.check()
        return self._workplace.start(provider, prompt, self.number, options)

    def _open_resident(self, agent: object, options: Mapping[str, Any]) -> Any:
        self.check()
        return self._workplace.open(agent, self.number, options)

    def _say_to(self, verb: str, run: Any, content: object) -> Any:
        self.check()
        return self._workplace.say(verb, run, content)

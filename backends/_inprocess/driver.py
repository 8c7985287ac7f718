"""The driver of in-process runs: one behaviour, run in the way of its kind."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Final

from retinue.backends._inprocess.capture import capture
from retinue.backends._inprocess.turn import BlockingTurn, Turn
from retinue.backends._inprocess.view import TurnView
from retinue.protocol import messages
from retinue.protocol.agent import Kind
from retinue.protocol.errors import BudgetSpent, InvalidAgent, RetinueError, ordinary, printable
from retinue.protocol.log import Cause, Ending
from retinue.protocol.provider import OpenOrder, Outcome, TurnOrder, Work, Workplace
from retinue.protocol.result import SCHEMA

# How long a cancelled coroutine may take to clean up before its run settles without it.
# Plain functions get no such time: a thread that does not look cannot be told to hurry.
CLEAN_UP_SECONDS: Final = 1.0


class BehaviourDriver:
    """
    Runs the turns of one behaviour.

    Called in the run's actor, but for ``_ended``, which comes from where the work ended.
    """

    __slots__ = ("_closing", "_instance", "_left", "_live", "_open", "_workplace")

    # It asks before each request to a model, and spends nothing otherwise.
    reserves = True

    def __init__(self, opened: OpenOrder, workplace: Workplace) -> None:
        if opened.agent is None:
            raise InvalidAgent("this provider needs an agent: start(..., agent=my_function)")
        self._open = opened
        self._workplace = workplace
        self._instance: Any = None
        self._live: _Live | None = None
        # Turns that were stopped and whose thread or task has not ended.
        self._left: list[_Live] | None = None
        self._closing = False

    def begin(self, order: TurnOrder) -> None:
        """Start the turn."""
        agent = self._open.agent
        assert agent is not None
        kind = BlockingTurn if agent.kind is Kind.BLOCKING else Turn
        view = kind(self._open, order, self._workplace)
        live = _Live(self, view)
        if self._live is not None:
            self._left = [*(self._left or ()), self._live]
        self._live = live
        try:
            self._start(agent.kind, view, live)
        except Exception:
            self._live = None  # no thread is to be had, say: nothing works, and nothing ends
            raise

    def _start(self, kind: Kind, view: TurnView, live: _Live) -> None:
        if kind is Kind.BLOCKING:
            live.work = self._workplace.on_thread(
                lambda: self._behaviour()(view), live.ended, view.number
            )
        elif kind in {Kind.COROUTINE, Kind.MODEL}:
            live.work = self._workplace.on_loop(self._await(view), live.ended, view.number)
        else:
            self._step(view, live)

    def _behaviour(self) -> Any:
        """Return what takes a turn: the function, or the run's own instance of a class."""
        agent = self._open.agent
        assert agent is not None
        if not agent.is_class:
            return agent.behaviour
        if self._instance is None:
            assert agent.behaviour is not None
            self._instance = agent.behaviour()
        return self._instance.turn

    async def _await(self, view: TurnView) -> Any:
        return await self._behaviour()(view)

    def _step(self, view: TurnView, live: _Live) -> None:
        agent = self._open.agent
        try:
            # A constructor is part of the first step, which is watched.
            made = self._build(view) if agent and agent.is_class else self._behaviour()(view)
        except BaseException as error:  # noqa: BLE001 - the user's function
            live.ended(Outcome(error=error))
            return
        live.work = self._workplace.step(made, live.ended, view.number)

    def _build(self, view: TurnView) -> Generator[Any, Any, Any]:
        return (yield from self._behaviour()(view))  # pyright: ignore[reportUnknownVariableType]

    def steer(self) -> None:
        """Tell the turn that something waits for its next step edge."""
        if self._live is not None:
            self._live.view.note_waiting()

    def wrap_up(self) -> None:
        """Tell the turn to finish with what it has."""
        if self._live is not None:
            self._live.view.note_wrap_up()

    def stop(self, cause: Cause) -> None:
        """Stop the turn; one whose end is already reported keeps that end (RUN-5)."""
        live = self._live
        if live is None or live.is_finished:
            return
        live.is_stopped = True
        reason = self._workplace.stop_reason or f"interrupted ({cause.value})"
        live.view.note_stopped(reason)
        kind = self._open.agent.kind if self._open.agent is not None else None
        if live.work is not None:
            live.work.cancel(reason)
        if kind is not Kind.GENERATOR:
            # A thread gets no time, but its end goes behind what it has said already.
            seconds = 0.0 if kind is Kind.BLOCKING else CLEAN_UP_SECONDS
            aborted = messages.TurnEnded(live.view.number, Ending.ABORTED)
            live.timer = self._workplace.after(seconds, aborted)

    def ended(self, live: _Live, fact: messages.TurnEnded) -> None:
        """Report a turn's end, and closed when it was the last that close waited for."""
        if self._live is live:
            self._live = None
        elif self._left is not None and live in self._left:
            self._left.remove(live)
        self._workplace.report(fact)
        if self._closing and not self._works():
            self._released()

    def _works(self) -> list[_Live]:
        """Return the turns whose work has not ended."""
        left = list(self._left) if self._left else []
        return left if self._live is None else [*left, self._live]

    def close(self) -> None:
        """Report closed when no thread, task or generator of the run is left."""
        self._closing = True
        works = self._works()
        for live in works:
            if live.work is not None and not live.is_finished:
                live.view.note_stopped("the run has ended")
                live.work.cancel("the run has ended")
        if not self._works():
            self._released()

    def _released(self) -> None:
        """Report that nothing is left; a run's last turn has ended, and it is to close."""
        self._workplace.report(messages.Closed())

    def outcome(self, view: TurnView, outcome: Outcome, *, is_stopped: bool) -> messages.TurnEnded:
        """Say how a turn ended, of what its behaviour returned or raised."""
        turn, error = view.number, outcome.error
        agent = self._open.agent
        name = "" if agent is None else agent.name
        if error is None:
            try:
                captured = capture(outcome.value, self._open.schema, name)
            except RetinueError as problem:
                return messages.TurnEnded(turn, Ending.ERROR, (), None, str(problem), problem)
            except BaseException as problem:  # noqa: BLE001 - the value's own code (H85)
                text = f"what {name} returned cannot be read: {printable(problem)}"
                return messages.TurnEnded(turn, Ending.ERROR, (), None, text, ordinary(problem))
            if captured.violations:
                text = "\n".join((f"{name} did not meet its schema:", *captured.violations))
                return messages.TurnEnded(
                    turn, Ending.ERROR, captured.output, None, text, None, SCHEMA
                )
            return messages.TurnEnded(turn, Ending.COMPLETED, captured.output, captured.structured)
        if is_stopped or self._workplace.stop_reason is not None:
            return messages.TurnEnded(turn, Ending.ABORTED)
        if isinstance(error, BudgetSpent):
            return messages.TurnEnded(turn, Ending.ERROR, (), None, str(error), error, error.reason)
        return messages.TurnEnded(
            turn, Ending.ERROR, (), None, f"{name} raised {printable(error)}", ordinary(error)
        )


class _Live:
    """The work of one turn, until its thread, task or generator has ended."""

    __slots__ = ("driver", "is_finished", "is_stopped", "timer", "view", "work")

    def __init__(self, driver: BehaviourDriver, view: TurnView) -> None:
        self.driver = driver
        self.view = view
        self.work: Work | None = None
        self.timer: Any = None
        self.is_finished = False
        self.is_stopped = False

    def ended(self, outcome: Outcome) -> None:
        """Report the turn's end; from whichever thread the work ended on."""
        self.is_finished = True
        if self.timer is not None:
            self.timer.cancel()
        fact = self.driver.outcome(self.view, outcome, is_stopped=self.is_stopped)
        self.view.note_stopped(f"turn {self.view.number} is over")
        self.driver.ended(self, fact)

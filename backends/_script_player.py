"""The driver of scripted runs: plays a script inside the run's actor."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import Any, assert_never, cast

from retinue.backends._inprocess.capture import capture
from retinue.backends._script import (
    CloseFails,
    Crash,
    Delta,
    Echo,
    End,
    Hold,
    InATurn,
    NeverClose,
    Raise,
    Refuse,
    Return,
    Say,
    Spend,
    StepEdge,
    Use,
)
from retinue.protocol import messages
from retinue.protocol.content import Message
from retinue.protocol.errors import ordinary, printable
from retinue.protocol.log import Cause, Ending
from retinue.protocol.provider import OpenOrder, Outcome, TurnOrder, Work, Workplace
from retinue.protocol.result import SCHEMA


class ScriptedDriver:
    """
    Plays one run's script, a generator that is stepped in the run's actor.

    It needs no thread. A turn that is stopped ends where it stands, aborted.
    """

    def __init__(self, name: str, opened: OpenOrder, workplace: Workplace) -> None:
        self.script: Iterator[InATurn] = iter(())
        self.at_close: CloseFails | NeverClose | None = None
        self._name = name
        self._schema = opened.schema
        self._workplace = workplace
        self._work: Work | None = None
        self._held: Hold | None = None
        self._is_stopped = False
        self._is_closing = False

    def begin(self, order: TurnOrder) -> None:
        """Play the script up to where the turn ends."""
        self._is_stopped = False

        def ended(outcome: Outcome) -> None:
            self._ended(order.turn, outcome)

        self._work = self._workplace.step(self._play(order), ended, order.turn)

    def stop(self, cause: Cause) -> None:
        """End the turn aborted where it stands; one that ended before keeps its end (RUN-5)."""
        self._is_stopped = True
        ignores = self._held is not None and self._held.ignores_stop
        if self._work is not None and not ignores:
            self._work.cancel(f"stopped ({cause.value})")

    def close(self) -> None:
        """Report closed, unless the script has something against it."""
        self.stop(Cause.DISPOSED)
        self._is_closing = True
        if self._work is None or self._work.is_done:
            self._closed()

    def _closed(self) -> None:
        match self.at_close:
            case None:
                self._workplace.report(messages.Closed())
            case CloseFails(error):
                self._workplace.report(messages.Closed(error))
            case NeverClose():
                pass
            case _ as never:
                assert_never(never)

    def _ended(self, turn: int, outcome: Outcome) -> None:
        fact, error = outcome.value, outcome.error
        if error is not None and self._is_stopped:
            fact = messages.TurnEnded(turn, Ending.ABORTED)
        elif error is not None:
            said = f"{self._name} raised {printable(error)}"
            fact = messages.TurnEnded(turn, Ending.ERROR, (), None, said, ordinary(error))
        if fact is not None:
            self._workplace.report(fact)
        if self._is_closing:
            self._closed()

    def _play(self, order: TurnOrder) -> Generator[Any, Any, messages.TurnEnded | None]:
        """Play items until one ends the turn; returns its end, or None when there is none."""
        turn, report = order.turn, self._workplace.report
        has_played = False
        for item in self.script:
            has_played = True
            match item:
                case Say(content, usage):
                    report(messages.Said(turn, content, usage))
                case Delta(text):
                    report(messages.Streamed(turn, text))
                case Use(call, result):
                    report(messages.ToolUsed(turn, call))
                    if result is not None:
                        report(messages.ToolUsed(turn, call, result))
                case Spend(usage):
                    report(messages.UsageRecorded(turn, usage))
                case StepEdge():
                    asked = self._workplace.ask(messages.StepEdge(turn))
                    for taken in cast("tuple[Message, ...]", (yield from asked)):
                        report(messages.Said(turn, taken.content))
                case Hold():
                    if self._is_stopped:
                        break
                    yield from self._held_at(item)
                case Raise(error):
                    raise error
                case Crash(error):
                    report(messages.Crashed(error))
                    return None
                case Echo() | Return() | Refuse() | End():
                    return self._end(order, item)
                case _ as never:
                    assert_never(never)
        if not has_played:
            raise AssertionError(f"the script has ended, and turn {turn} wants more of it")
        ending = Ending.ABORTED if self._is_stopped else Ending.COMPLETED
        return messages.TurnEnded(turn, ending)

    def _held_at(self, hold: Hold) -> Generator[Any, Any, None]:
        released = self._workplace.promise()
        self._held = hold
        hold.park(released.resolve)
        try:
            yield from released
        finally:
            hold.leave(released.resolve)
            self._held = None

    def _end(self, order: TurnOrder, item: Echo | Return | Refuse | End) -> messages.TurnEnded:
        turn = order.turn
        match item:
            case Echo():
                return messages.TurnEnded(turn, Ending.COMPLETED, order.messages[-1].content)
            case Refuse(reason):
                return messages.TurnEnded(turn, Ending.BLOCKED, (), None, reason)
            case End(ending, output, diagnostic, reason):
                return messages.TurnEnded(turn, ending, output, None, diagnostic, reason=reason)
            case Return(value):
                captured = capture(value, self._schema, self._name)
                if captured.violations:
                    said = "\n".join(("the script did not meet the schema:", *captured.violations))
                    return messages.TurnEnded(
                        turn, Ending.ERROR, captured.output, None, said, reason=SCHEMA
                    )
                return messages.TurnEnded(
                    turn, Ending.COMPLETED, captured.output, captured.structured
                )
            case _ as never:
                assert_never(never)


class SteerableScriptedDriver(ScriptedDriver):
    """A scripted driver whose run can be steered: the script's step edges take it."""

    def steer(self) -> None:
        """Do nothing: what was steered waits for the script's next step edge."""

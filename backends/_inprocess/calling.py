"""
One tool call: looked at, checked, run, and answered in words that the model can use.

Guards stand around a tool like the layers of an onion: asked from the outermost before the
call, and from the innermost after it, so that the outermost has the last word (STR-5). A
guard that raises denies.
"""

from __future__ import annotations

import asyncio
import inspect
from typing import Any, Final

import attrs

from retinue.backends._inprocess.answers import answer_text, error_text
from retinue.backends._inprocess.approval import Approval
from retinue.backends._inprocess.batch import CANCELLED, Called
from retinue.backends._inprocess.capture import capture
from retinue.backends._inprocess.containing import called as call_of
from retinue.backends._inprocess.containing import contained, within
from retinue.backends._inprocess.long_results import LongResults
from retinue.backends._inprocess.turn import CallTurn, Turn
from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.errors import Cancelled, InvalidContent, ToolFailed
from retinue.protocol.provider import Workplace
from retinue.protocol.tool import Ask, Conclude, Guard, Tool

_LATE: Final = "timed out: {name} had {seconds:g} s, and was cancelled"
_NO_ANSWER: Final = "a guard of {name!r} answered with a {kind}: text denies, None does not"


class Calling:
    """Executes the tool calls of one turn, on the runtime's loop."""

    def __init__(self, turn: Turn, workplace: Workplace, long: LongResults) -> None:
        self._turn = turn
        self._workplace = workplace
        self._long = long
        self._approval = Approval(turn, workplace)

    async def execute(self, tool: Tool, call: ToolCall) -> Called:
        """Execute one call; whatever goes wrong is the result's text (TOOL-31)."""
        agent = self._turn.agent
        guards = (*tool.guards, *(() if agent is None else agent.guards))
        denied_by, called = await self._before(guards, call)
        if called is None:
            called = await self._made(tool, call)
        for guard in guards[denied_by:]:
            called = await self._after(guard, call, called)
        text = self._long.shown(called.result.text, tool.result_limit)
        return attrs.evolve(called, result=attrs.evolve(called.result, text=text))

    async def _before(self, guards: tuple[Guard, ...], call: ToolCall) -> tuple[int, Called | None]:
        """Ask the guards; returns behind which one a denial came up, and the denial."""
        for number in range(len(guards) - 1, -1, -1):
            look = guards[number].before
            if look is None:
                continue
            outcome = await contained(call_of(look, call, self._turn))
            said = outcome.value
            if type(said) is Ask:
                outcome = await contained(self._approval.denial(said.question, call))
                said = outcome.value
            if outcome.error is not None:
                said = f"not run: its guard failed: {error_text(outcome.error)}"
            elif said is not None and not isinstance(said, str):
                said = _NO_ANSWER.format(name=call.name, kind=type(said).__name__)
            if said is not None:
                return number + 1, _failed(call, said)
        return 0, None

    async def _after(self, guard: Guard, call: ToolCall, called: Called) -> Called:
        if guard.after is None:
            return called
        outcome = await contained(call_of(guard.after, call, called.result, self._turn))
        said = outcome.value
        if outcome.error is not None:
            return _failed(call, f"its guard failed: {error_text(outcome.error)}")
        if said is None:
            return called
        if isinstance(said, str):
            return _failed(call, said)
        if type(said) is not ToolResult:
            return _failed(call, _NO_ANSWER.format(name=call.name, kind=type(said).__name__))
        if said.is_error:
            return _failed(call, said.text)
        # Another text for the same call; what it concludes with stays what it was.
        return attrs.evolve(called, result=attrs.evolve(said, call_id=call.call_id))

    async def _made(self, tool: Tool, call: ToolCall) -> Called:
        try:
            arguments = self._arguments(tool, call)
            outcome = await within(self._workplace, tool.timeout, self._run(tool, arguments))
            if outcome is None:
                return _failed(call, _LATE.format(name=tool.name, seconds=tool.timeout or 0.0))
            if outcome.error is not None:
                return _failed(call, error_text(outcome.error))
        except asyncio.CancelledError:
            raise  # the turn's own: what a tool raises comes as an outcome
        except BaseException as error:  # noqa: BLE001 - the value's own code (H85)
            return _failed(call, error_text(error))
        spoken: _Spoken = outcome.value
        return Called(ToolResult(call.call_id, spoken.text), spoken.conclude)

    def _arguments(self, tool: Tool, call: ToolCall) -> dict[str, Any]:
        taken = tool.arguments
        arguments = taken.taken(call.arguments)
        if taken.turn is not None:
            arguments[taken.turn] = self._turn if taken.is_async else CallTurn(self._turn)
        return arguments

    async def _run(self, tool: Tool, arguments: dict[str, Any]) -> _Spoken:
        try:
            self._turn.check()  # LOG-23: a stop that came after the call was logged still counts
        except Cancelled as error:
            raise ToolFailed(CANCELLED) from error
        if tool.arguments.is_async:
            return _spoken(tool.name, await tool.function(**arguments))

        def made() -> Any:
            value = tool.function(**arguments)
            # Put into words here, and not on the loop: a long list of records takes a while.
            return value if inspect.isawaitable(value) else _spoken(tool.name, value)

        try:
            value = await self._workplace.call(made, is_bounded=False)
        except asyncio.CancelledError:
            view = arguments.get(tool.arguments.turn or "")
            if isinstance(view, CallTurn):  # its thread looks there, and may go on for long
                view.note_stopped(f"the call of {tool.name} was cancelled")
            raise
        return value if type(value) is _Spoken else _spoken(tool.name, await value)


@attrs.frozen
class _Spoken:
    """What a tool returned, in words."""

    text: str
    conclude: Conclude | None


def _spoken(name: str, value: Any) -> _Spoken:
    if isinstance(value, Conclude):
        try:
            capture(value.output, None, name)  # as good as what a behaviour returns, or no end
        except InvalidContent as error:
            raise ToolFailed(f"Conclude(output=...): {error}") from error
        return _Spoken(answer_text(name, value.value), value)
    return _Spoken(answer_text(name, value), None)


def _failed(call: ToolCall, text: str) -> Called:
    return Called(ToolResult(call.call_id, text, is_error=True))

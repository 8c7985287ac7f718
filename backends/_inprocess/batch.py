"""
The tool calls of one step: ordered starts, overlapping bodies, ordered ends (LOG-13).

A call that may not overlap is a barrier. When the turn is stopped, what has begun settles
and is logged in order; what has not begun is accounted for by the run (LOG-14).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, Final, TypeAlias

import attrs

from retinue.backends._inprocess.containing import let_go
from retinue.protocol import messages
from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.provider import Workplace
from retinue.protocol.tool import Conclude, Tool

# How many calls of one step run at once, from LOG-13.
WIDTH: Final = 10

# What the model reads of a call that the end of its turn cut off, or came before.
CANCELLED: Final = "cancelled before it was done"


@attrs.frozen
class Called:
    """What came of one call; with *conclude* the turn is to end with this step."""

    result: ToolResult
    conclude: Conclude | None = None


Execute: TypeAlias = Callable[[Tool | None, ToolCall], Coroutine[Any, Any, Called]]
_Running: TypeAlias = list[tuple[ToolCall, asyncio.Task[Called]]]


class Batch:
    """Runs the calls of one step."""

    __slots__ = ("_check", "_execute", "_tools", "_turn", "_workplace")

    def __init__(
        self,
        turn: int,
        workplace: Workplace,
        tools: dict[str, Tool],
        execute: Execute,
        check: Callable[[], None],
    ) -> None:
        self._turn = turn
        self._workplace = workplace
        self._tools = tools
        self._execute = execute
        self._check = check

    async def run(self, calls: Sequence[ToolCall]) -> list[Called]:
        """
        Run *calls* and return what came of each, in their order.

        Raises:
            CancelledError: the turn was stopped; what had begun is settled and logged.
        """
        running: _Running = []
        done: list[Called] = []
        try:
            for call in calls:
                tool = self._tools.get(call.name)
                overlaps = tool is None or tool.is_concurrent
                await self._room(running, done, 1 if not overlaps else WIDTH)
                self._check()
                self._workplace.report(messages.ToolUsed(self._turn, call))
                running.append((call, asyncio.ensure_future(self._execute(tool, call))))
                if not overlaps:
                    await self._room(running, done, 1)
            await self._room(running, done, 1)
        except BaseException:
            await self._settle(running)
            raise
        return done

    async def _room(self, running: _Running, done: list[Called], width: int) -> None:
        """Wait until fewer than *width* calls are under way, and log results in order."""
        while True:
            while running and running[0][1].done():
                call, task = running[0]
                called = task.result()
                del running[0]
                self._workplace.report(messages.ToolUsed(self._turn, call, called.result))
                done.append(called)
            active = [task for _, task in running if not task.done()]
            if len(active) < width:
                return
            await asyncio.wait(active, return_when=asyncio.FIRST_COMPLETED)

    async def _settle(self, running: _Running) -> None:
        """Cancel what is under way, wait for its clean-up, and log it in order."""
        try:
            await let_go([task for _, task in running])
        finally:
            self._log(running)

    def _log(self, running: _Running) -> None:
        """Log what came of calls that are over, whatever became of them."""
        for call, task in running:
            if task.cancelled():
                result = ToolResult(call.call_id, CANCELLED, is_error=True)
            elif (error := task.exception()) is not None:
                result = ToolResult(call.call_id, f"failed when cancelled: {error}", is_error=True)
            else:
                result = task.result().result
            self._workplace.report(messages.ToolUsed(self._turn, call, result))

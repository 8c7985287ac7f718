"""One tool call: looked at, checked, run, and answered in words that the model can use."""

from __future__ import annotations

import asyncio
import inspect
import json
from typing import Any

from retinue.backends._inprocess.batch import Called
from retinue.backends._inprocess.turn import BlockingTurn, Turn
from retinue.protocol.content import ToolCall, ToolResult
from retinue.protocol.errors import RetinueError, printable
from retinue.protocol.provider import Workplace
from retinue.protocol.tool import Conclude, Tool


class Calling:
    """Executes the tool calls of one turn, on the runtime's loop."""

    def __init__(self, turn: Turn, blocking: BlockingTurn, workplace: Workplace) -> None:
        self._turn = turn
        self._blocking = blocking
        self._workplace = workplace

    async def execute(self, tool: Tool, call: ToolCall) -> Called:
        """Execute one call; whatever goes wrong is the result's text (TOOL-31)."""
        try:
            value = await self._run(tool, dict(call.arguments))
        except asyncio.CancelledError:
            raise
        except RetinueError as error:
            return Called(ToolResult(call.call_id, f"{type(error).__name__}: {error}", True))
        except BaseException as error:  # noqa: BLE001 - the tool's own code (H85)
            return Called(ToolResult(call.call_id, printable(error), True))
        conclude = value if isinstance(value, Conclude) else None
        shown = value.value if isinstance(value, Conclude) else value
        text = shown if isinstance(shown, str) else json.dumps(shown)
        return Called(ToolResult(call.call_id, text), conclude)

    async def _run(self, tool: Tool, arguments: dict[str, Any]) -> Any:
        if inspect.iscoroutinefunction(tool.function):
            return await tool.function(**arguments)
        return await self._workplace.call(lambda: tool.function(**arguments), is_bounded=False)

"""
A tool by which an agent asks the person that it works for.

A delegated child works for its parent, and has no person to ask (POL-6).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from retinue.protocol.errors import Cancelled, InvalidAgent, ToolFailed
from retinue.protocol.tool import Tool

_DELEGATED = (
    "DELEGATED_CALLER: you work for another agent and nobody is there to ask; decide for"
    " yourself, or say in your result what you would have asked"
)


def ask_user(answer: Callable[[str], Any], *, name: str = "ask_user") -> Tool:
    """
    Make a tool that asks *answer*, and gives its answer to the model.

    In a run that was delegated it is refused, however deep the run once was: what counts is
    whether it has a parent now.

    Args:
        answer: takes the question and returns text. A function has a thread of its own and
            may wait for a person; a coroutine function runs on the runtime's loop.
        name: what the model calls it.

    Raises:
        InvalidAgent: *answer* cannot be called.
    """
    if not callable(answer):
        raise InvalidAgent(f"ask_user: expected a function, got {type(answer).__name__}")

    async def ask(turn: Any, question: str) -> Any:
        """Ask the person that you work for, when only they can know or decide."""
        workplace = turn.workplace
        try:
            turn.check()
        except Cancelled as error:
            raise ToolFailed(f"CALLER_NOT_LIVE: {error}") from error
        if workplace.is_delegated:
            raise ToolFailed(_DELEGATED)
        if inspect.iscoroutinefunction(answer):
            return await answer(question)
        return await workplace.call(lambda: answer(question), is_bounded=False)

    return Tool(name, ask)

"""What stands above a model's conversation: the agent's part, and what the runtime adds."""

from __future__ import annotations

from typing import Any, Final

from retinue.backends._inprocess.structured import SECTION
from retinue.protocol.content import Message

# PER-10: what every delegated child is told of its situation.
DELEGATED: Final = (
    "You work for another agent, which gave you your task and reads only your result. Your"
    " scope is fixed. Nobody can approve anything for you: what needs approval is rejected at"
    " once. When you meet a limit, say so in your result instead of trying again."
)


def instructions(turn: Any, sections: tuple[str, ...], *, is_structured: bool) -> str:
    """
    Put the sections together, always in one order, so that prompts stay the same byte by byte.

    Order: persona or instructions, what tools say of themselves, the delegation statement,
    the demand for a structured result.
    """
    parts = [turn.instructions, *sections]
    if turn.is_child:
        parts.append(DELEGATED)
    if is_structured:
        parts.append(SECTION)
    return "\n\n".join([part for part in parts if part])


def shown(message: Message) -> Message:
    """Return a message as a model reads it; called for each message of each request."""
    return message

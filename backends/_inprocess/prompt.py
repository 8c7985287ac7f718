"""What a model reads: the agent's part, what the runtime adds, and messages as it sees them."""

from __future__ import annotations

import weakref
from typing import Any, Final

from retinue.backends._inprocess.structured import SECTION
from retinue.protocol import framing
from retinue.protocol.content import Message
from retinue.protocol.framing import EXPLAINED

# PER-10: what every delegated child is told of its situation.
DELEGATED: Final = (
    "You work for another agent, which gave you your task and reads only your result. Your"
    " scope is fixed. Nobody can approve anything for you: what needs approval is rejected at"
    " once. When you meet a limit, say so in your result instead of trying again."
)


def instructions(turn: Any, sections: tuple[str, ...], *, is_structured: bool) -> str:
    """
    Put the sections together, always in one order, so that prompts stay the same byte by byte.

    Order: persona or instructions, what tools say of themselves, what messages of others
    are, the delegation statement, the demand for a structured result (PER-10, STR-13).
    """
    parts = [turn.instructions, *sections]
    if sections or turn.agent.is_open:  # who has children or peers may hear of them
        parts.append(EXPLAINED)
    if turn.is_child:
        parts.append(DELEGATED)
    if is_structured:
        parts.append(SECTION)
    return "\n\n".join([part for part in parts if part])


# What framed messages read like, for as long as these live; by identity, since content may
# be unhashable. A conversation is sent with every request, and most of it was sent before.
_SHOWN: Final[dict[int, tuple[weakref.ref[Message], Message]]] = {}


def shown(message: Message) -> Message:
    """Return a message as a model reads it; called for each message of each request."""
    key = id(message)
    known = _SHOWN.get(key)
    if known is not None and known[0]() is message:
        return known[1]
    framed = framing.shown(message)
    if framed is not message:
        _SHOWN[key] = (weakref.ref(message, lambda _: _SHOWN.pop(key, None)), framed)
    return framed

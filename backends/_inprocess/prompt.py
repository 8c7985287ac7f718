"""What a model reads: the agent's part, what the runtime adds, and messages as it sees them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from retinue.backends._inprocess.structured import SECTION
from retinue.protocol.content import Message
from retinue.protocol.framing import EXPLAINED, shown
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


class Shown:
    """A conversation as its model sees it; each message is looked at once."""

    __slots__ = ("_latest", "_shown")

    def __init__(self) -> None:
        self._latest: Message | None = None
        self._shown: list[Message] = []

    def of(self, conversation: Sequence[Message]) -> tuple[Message, ...]:
        """Return the messages to send; looks at those alone that came since the last call."""
        known = len(self._shown)
        if known and (len(conversation) < known or conversation[known - 1] is not self._latest):
            known = 0  # it was rewritten
            self._shown.clear()
        self._shown.extend([shown(message) for message in conversation[known:]])
        self._latest = conversation[-1] if conversation else None
        return tuple(self._shown)

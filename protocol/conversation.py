"""
A conversation as a model is shown it: a shared beginning, and what has come since.

A thousand forks of one parent share the ten thousand messages that they begin with; what
each holds of its own is its tail.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import cast, overload

from retinue.protocol.content import Message


def as_it_is(message: Message) -> Message:
    """Show a message as it stands in the log."""
    return message


class Conversation(Sequence[Message]):
    """
    Messages, oldest first; a value that never changes.

    Args:
        head: the beginning, kept by reference.
        tail: what follows it.
        shown: how a message is shown; called whenever it is read, and cheap.
    """

    __slots__ = ("_head", "_shown", "_tail")

    def __init__(
        self,
        head: tuple[Message, ...] = (),
        tail: Sequence[Message] = (),
        shown: Callable[[Message], Message] = as_it_is,
    ) -> None:
        self._head = head
        self._tail = tuple(tail)
        self._shown = shown

    def __len__(self) -> int:
        return len(self._head) + len(self._tail)

    def __iter__(self) -> Iterator[Message]:
        return map(self._shown, chain(self._head, self._tail))

    @overload
    def __getitem__(self, index: int) -> Message: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...
    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        if isinstance(index, slice):
            return tuple([self[at] for at in range(*index.indices(len(self)))])
        at = index + len(self) if index < 0 else index
        if not 0 <= at < len(self):
            raise IndexError(f"message {index} of {len(self)}")
        first = len(self._head)
        return self._shown(self._head[at] if at < first else self._tail[at - first])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, (Conversation, tuple)):
            return NotImplemented
        return tuple(self) == tuple(cast("Sequence[object]", other))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"<{len(self)} messages, {len(self._head)} of them from before>"

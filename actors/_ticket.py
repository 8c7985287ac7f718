"""Cancellation tokens, and the ticket of a start that is under way."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from loguru import logger

from retinue.protocol.errors import InvalidRequest, StartCancelled, printable
from retinue.protocol.log import Cause
from retinue.protocol.messages import CancelStart

if TYPE_CHECKING:
    from retinue.actors._mailbox import Mailbox
    from retinue.actors._reply import Reply
    from retinue.actors.handle import Run


class Cancellation:
    """
    A token: whoever holds it can cancel everything that was started with it, once.

    Any thread may cancel. Runs that have settled have left the token (RUN-11).
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reason: str | None = None
        self._listeners: list[Callable[[str], None]] = []

    def __repr__(self) -> str:
        state = "open" if self._reason is None else f"cancelled: {self._reason}"
        return f"<Cancellation {state} [{len(self._listeners)} listening]>"

    @property
    def cancelled(self) -> bool:
        """Whether the token was tripped."""
        return self._reason is not None

    @property
    def reason(self) -> str | None:
        """Why, or None while it is open."""
        return self._reason

    def cancel(self, reason: str = "cancelled") -> bool:
        """Trip the token; the first reason stays. Returns whether this call did it."""
        text = str(reason)
        with self._lock:
            if self._reason is not None:
                return False
            self._reason = text
            listeners, self._listeners = self._listeners, []
        for listener in listeners:
            _call(listener, text)
        return True

    def listen(self, listener: Callable[[str], None]) -> None:
        """Call *listener* with the reason when the token trips; at once if it has (VAL-6)."""
        with self._lock:
            if self._reason is None:
                self._listeners.append(listener)
                return
        _call(listener, self._reason)

    def leave(self, listener: Callable[[str], None]) -> None:
        """Call *listener* no more."""
        with self._lock:
            if listener in self._listeners:
                self._listeners.remove(listener)


def _call(listener: Callable[[str], None], reason: str) -> None:
    try:
        listener(reason)
    except BaseException as error:  # noqa: BLE001 - one listener costs no other its cancel (H85)
        logger.error("a listener of a Cancellation raised {}", printable(error))


def check_open(token: object) -> None:
    """
    Refuse a token that is none, or that was tripped before the start (VAL-4).

    Raises:
        InvalidRequest: it is no Cancellation.
        StartCancelled: it was tripped.
    """
    if not isinstance(token, Cancellation):
        raise InvalidRequest(f"cancel: expected a Cancellation, got {type(token).__name__}")
    if token.cancelled:
        raise StartCancelled(f"{token.reason}: cancelled before the run existed")


class Ticket:
    """
    A start that is under way: made by the caller, seen by everyone on the start's path.

    A cancel can overtake the very start that it cancels. It therefore writes into the
    ticket first; whoever handles the start next looks there.
    """

    __slots__ = ("cancelled", "cause", "number", "registry")

    def __init__(self, number: int, registry: Mailbox) -> None:
        self.number = number
        self.registry = registry
        self.cancelled: str | None = None
        self.cause = Cause.PARENT

    def cancel(self, reason: str, cause: Cause = Cause.PARENT) -> None:
        """Cancel the start, or the run that came of it; safe from any thread, the first wins."""
        if self.cancelled is None:
            self.cause = cause
            self.cancelled = reason
            self.registry.dispatcher.put(self.registry, CancelStart(self, reason, cause), None)


def follow(cancel: Cancellation, ticket: Ticket, reply: Reply[Run]) -> None:
    """Have a token cancel a start and the run that comes of it, until that has settled."""

    def tripped(reason: str) -> None:
        ticket.cancel(reason)

    def settled(_: Reply[Any]) -> None:
        cancel.leave(tripped)

    def started(answer: Reply[Run]) -> None:
        if answer.error is not None:
            cancel.leave(tripped)
        else:
            answer.outcome().result.on_done(settled)

    cancel.listen(tripped)
    reply.on_done(started)

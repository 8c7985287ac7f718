"""What the runs of one runtime share: made by the first that asks, closed with the runtime."""

from __future__ import annotations

import contextvars
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from retinue.actors._reply import Reply
from retinue.protocol.errors import printable

if TYPE_CHECKING:
    from retinue.actors._dispatcher import Dispatcher
    from retinue.protocol.provider import Outcome


class Shared:
    """Things under keys; any thread may ask for one."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self._dispatcher = dispatcher
        self._things: dict[Hashable, Any] = {}

    def get(self, key: Hashable, make: Callable[[], Any]) -> Any:
        """Return what is kept under *key*; *make* is called at most once, and must be quick."""
        with self._dispatcher.lock:
            if key not in self._things:
                self._things[key] = make()
            return self._things[key]

    def close(self) -> Reply[tuple[str, ...]]:
        """
        Close what has an ``aclose``, on the loop, all at once.

        The Reply resolves with a line for each that failed; who waits sets the deadline.
        """
        with self._dispatcher.lock:
            things, self._things = self._things, {}
        closers = [thing.aclose for thing in things.values() if hasattr(thing, "aclose")]
        reply: Reply[tuple[str, ...]] = Reply(self._dispatcher.pump)
        left = len(closers)
        failed: list[str] = []

        def ended(outcome: Outcome) -> None:
            # Only ever on the loop, one at a time.
            nonlocal left
            left -= 1
            if outcome.error is not None:
                failed.append(f"closing failed: {printable(outcome.error)}")
            if not left:
                reply.resolve(tuple(failed))

        for close in closers:
            self._dispatcher.on_loop(close(), ended, contextvars.Context())
        if not closers:
            reply.resolve(())
        return reply

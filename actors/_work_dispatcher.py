"""Where the work of behaviours runs beside the dispatcher's thread: workers and a loop."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Final

from retinue.actors._clock import Clock
from retinue.actors._dispatcher import Dispatcher
from retinue.actors._threads import ThreadWork, WorkerPool
from retinue.protocol.provider import Outcome

# How many threads `turn.call` may use at once, as in concurrent.futures' default.
POOL_LIMIT: Final = 32


class WorkDispatcher(Dispatcher):
    """The part of a ThreadDispatcher that runs no handlers."""

    def __init__(self, clock: Clock) -> None:
        super().__init__(clock)
        self._workers = WorkerPool(None, "retinue-work")
        self._pool = WorkerPool(POOL_LIMIT, "retinue-call")
        self._port: Any = None

    def on_thread(self, function: Callable[[], None], name: str) -> ThreadWork:
        """Run a blocking function on a thread of its own."""
        return self._workers.run(function, name)

    def on_pool(self, function: Callable[[], None], name: str) -> ThreadWork:
        """Run a blocking function on the bounded pool."""
        return self._pool.run(function, name)

    def on_loop(
        self,
        coroutine: Coroutine[Any, Any, Any],
        done: Callable[[Outcome], None],
        context: Context,
    ) -> Any:
        """Run a coroutine on the loop that was entered, or on one of the runtime's own."""
        if self._port is None:
            from retinue.actors._loop import LoopPort

            self._port = LoopPort()
        return self._port.run(coroutine, done, context)

    def use_running_loop(self) -> None:
        """Run coroutines on the loop that runs here, from now on."""
        import asyncio

        from retinue.actors._loop import LoopPort

        self._port = LoopPort(asyncio.get_running_loop())

    def _close_work(self, timeout: float) -> list[str]:
        """Stop the loop and the workers; name what would not stop."""
        stuck: list[str] = []
        if self._port is not None:
            name = self._port.close(timeout)
            if name is not None:
                stuck.append(name)
        return stuck + self._workers.close(timeout) + self._pool.close(timeout)

    def forked(self) -> None:
        """Have, in the child of a fork, neither the parent's threads nor their locks."""
        super().forked()
        self._port = None
        self._workers = WorkerPool(None, "retinue-work")
        self._pool = WorkerPool(POOL_LIMIT, "retinue-call")

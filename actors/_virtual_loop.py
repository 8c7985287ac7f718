"""An asyncio loop without a selector and with virtual time, run one callback at a time."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from contextvars import Context
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from retinue.actors._clock import Timer
    from retinue.actors._deterministic import DeterministicDispatcher


class _VirtualTimerHandle(asyncio.TimerHandle):
    __slots__ = ("timer",)

    timer: Timer


class VirtualLoop(asyncio.BaseEventLoop):
    """
    The loop of a deterministic dispatcher.

    Callbacks run in the order in which they were registered, as asyncio promises; when
    the next one runs is up to the dispatcher. There are no sockets and no processes: what
    comes from outside cannot be repeated.
    """

    def __init__(self, dispatcher: DeterministicDispatcher) -> None:
        super().__init__()
        self._dispatcher = dispatcher
        self.waiting: deque[asyncio.Handle] = deque()

    def time(self) -> float:
        """Return the virtual time."""
        return self._dispatcher.clock.now()

    def call_soon(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Call *callback* as the next but those that wait already."""
        handle = asyncio.Handle(callback, args, self, context)
        self.waiting.append(handle)
        return handle

    def call_soon_threadsafe(  # type: ignore[override]
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        """Do the same from any thread."""
        return self.call_soon(callback, *args, context=context)

    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call *callback* at the virtual time *when*."""
        handle = _VirtualTimerHandle(when, callback, args, self, context)
        handle.timer = self._dispatcher.timers.add(when, lambda: self.waiting.append(handle))
        return handle

    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call *callback* after *delay* virtual seconds."""
        return self.call_at(self.time() + delay, callback, *args, context=context)

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        # A timer that nobody waits for any more must not move time.
        if isinstance(handle, _VirtualTimerHandle):
            handle.timer.cancel()

    def run_in_executor(self, executor: Any, func: Callable[..., Any], *args: Any) -> Any:  # type: ignore[override]
        """Run *func* on a thread that takes its turns like everything else."""
        del executor
        future = self.create_future()

        def settle(value: Any, error: BaseException | None) -> None:
            if future.cancelled():
                return
            if error is None:
                future.set_result(value)
            else:
                future.set_exception(error)

        def work() -> None:
            try:
                value = func(*args)
            except Exception as error:  # noqa: BLE001 - the error is the answer
                self.call_soon(settle, None, error)
            else:
                self.call_soon(settle, value, None)

        self._dispatcher.on_thread(work, "executor")
        return future

    def run_one(self) -> None:
        """Run the callback that waits longest."""
        handle = self.waiting.popleft()
        if handle.cancelled():
            return
        asyncio._set_running_loop(self)  # noqa: SLF001 - documented for loops
        try:
            handle._run()  # noqa: SLF001 - documented for loops
        finally:
            asyncio._set_running_loop(None)  # noqa: SLF001

    def shut(self) -> None:
        """Cancel what is left, let it clean up without moving time, and close."""
        for task in asyncio.all_tasks(self):
            task.cancel()
        for _ in range(100_000):
            if not self.waiting:
                break
            self.run_one()
        self.waiting.clear()
        self.close()

"""Where Replies meet asyncio: awaiting without blocking, and the runtime's own loop."""

from __future__ import annotations

import asyncio
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any

from retinue.actors import _context
from retinue.actors._derived import Derived
from retinue.actors._reply import Reply
from retinue.actors._threads import WAKE_SECONDS
from retinue.actors._wait_graph import WaitEdge
from retinue.protocol.provider import Outcome


def wait_on_loop(reply: Reply[Any]) -> Generator[Any, None, None]:
    """Wait for *reply* inside a task, leaving the loop to everybody else."""
    if isinstance(reply, Derived):
        for source in reply.sources:
            if isinstance(source, Reply):
                if not source.is_done:
                    yield from wait_on_loop(source)
            else:
                yield from asyncio.to_thread(source.get).__await__()
        reply.compute()
        return
    hook = getattr(reply, "_get_hook", None)
    if hook is not None:
        value = yield from asyncio.to_thread(hook, None).__await__()
        reply.resolve(value)
        return
    loop = asyncio.get_running_loop()
    pump: Any = reply.pump
    if pump is not None and not pump.owns(loop):
        # A deterministic runtime awaited from somebody else's loop: that loop stands
        # still while the waiting thread drives the runtime.
        pump.wait_for(reply, None)
        return
    with WaitEdge(reply):
        yield from _suspend(reply, loop)


def _suspend(reply: Reply[Any], loop: asyncio.AbstractEventLoop) -> Generator[Any, None, None]:
    future = loop.create_future()
    thread = threading.get_ident()

    def wake() -> None:
        if not future.done():
            future.set_result(None)

    def resolved(_: Reply[Any]) -> None:
        if threading.get_ident() == thread:
            wake()
            return
        with suppress(RuntimeError):  # the loop was closed; nobody waits any more
            loop.call_soon_threadsafe(wake)

    reply.on_done(resolved)
    try:
        yield from future.__await__()
    except asyncio.CancelledError:
        reply.forget(resolved)
        reply.abandon()
        raise
    scope, task = _context.CURRENT.get(), asyncio.current_task(loop)
    if scope is not None and task is not None and not task.cancelling():
        scope.check()  # as on a thread; a clean-up after the cancel may wait for what it likes


class LoopWork:
    """A coroutine that runs as a task; any thread may cancel it."""

    __slots__ = ("_cancelled", "_coroutine", "_done", "_port", "is_done", "task")

    def __init__(
        self,
        port: LoopPort,
        coroutine: Coroutine[Any, Any, Any],
        done: Callable[[Outcome], None],
    ) -> None:
        self._port = port
        self._coroutine = coroutine
        self._done = done
        self._cancelled = False
        self.is_done = False
        self.task: asyncio.Task[Any] | None = None

    def cancel(self) -> None:
        """Cancel the task; before it has begun, it does not begin."""
        self._cancelled = True
        self._port.post(self._cancel_task)

    def _cancel_task(self) -> None:
        if self.task is not None:
            self.task.cancel()

    def refuse(self, error: BaseException) -> None:
        """End without having begun."""
        self._coroutine.close()
        self._end(Outcome(error=error))

    async def run(self) -> None:
        """Run to the end and say how it ended."""
        try:
            if self._cancelled:
                self._coroutine.close()
                outcome = Outcome(error=asyncio.CancelledError())
            else:
                outcome = Outcome(await self._coroutine)
        except BaseException as error:  # noqa: BLE001 - nothing leaves a task (H85)
            outcome = Outcome(error=error)
        self._end(outcome)

    def ended(self, _: asyncio.Task[Any]) -> None:
        """Say so where a task was cancelled before its first step: then ``run`` never ran."""
        if not self.is_done:
            self._coroutine.close()
            self._end(Outcome(error=asyncio.CancelledError()))

    def _end(self, outcome: Outcome) -> None:
        self.is_done = True
        self._done(outcome)


class LoopPort:
    """
    The way from any thread onto one loop: many posts, one wake-up.

    Without a loop of a caller's it owns one, on a daemon thread made at the first post.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop | None = None, *, is_entered: bool = True
    ) -> None:
        self._lock = threading.Lock()
        self._posts: deque[Callable[[], None]] = deque()
        self._is_woken = False
        self._is_closing = False
        self._loop = loop
        self._thread: threading.Thread | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_entered = loop is not None and is_entered
        if loop is not None and is_entered:
            _context.enter_loop(loop)

    def owns(self, loop: asyncio.AbstractEventLoop) -> bool:
        """Whether *loop* is the one that coroutines of this runtime run on."""
        return loop is self._loop

    def run(
        self,
        coroutine: Coroutine[Any, Any, Any],
        done: Callable[[Outcome], None],
        context: Any,
    ) -> LoopWork:
        """Run *coroutine* as a task in *context*; ``done`` is called on the loop."""
        work = LoopWork(self, coroutine, done)

        def start() -> None:
            loop = asyncio.get_running_loop()
            task = loop.create_task(work.run(), context=context)
            work.task = task
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            task.add_done_callback(work.ended)

        if not self.post(start):
            work.refuse(RuntimeError("the loop that the runtime works on is closed"))
        return work

    def post(self, function: Callable[[], None]) -> bool:
        """Call *function* on the loop, soon, in order of the posts; False when it is closed."""
        with self._lock:
            if self._loop is not None and self._loop.is_closed():
                return False
            self._posts.append(function)
            if self._is_woken:
                return True
            self._is_woken = True
            if self._loop is None:
                self._start()
            loop = self._loop
        assert loop is not None
        try:
            loop.call_soon_threadsafe(self._take_posts)
        except RuntimeError:  # closed under us
            return False
        return True

    def _take_posts(self) -> None:
        with self._lock:
            self._is_woken = False
            posts = list(self._posts)
            self._posts.clear()
        for function in posts:
            function()

    def _start(self) -> None:
        loop = asyncio.new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(
            target=self._serve, args=(loop,), name="retinue-loop", daemon=True
        )
        self._thread.start()

    def _serve(self, loop: asyncio.AbstractEventLoop) -> None:
        _context.forbid_waiting("the runtime's loop")
        asyncio.set_event_loop(loop)
        try:
            while not self._is_closing:  # a behaviour may have stopped it, which serves others
                loop.run_forever()
        finally:
            loop.run_until_complete(loop.shutdown_asyncgens())
            loop.close()
            _context.allow_waiting()

    def close(self, timeout: float) -> str | None:
        """Stop the own loop; returns what would not stop, by name."""
        thread, loop = self._thread, self._loop
        if loop is not None and self._is_entered:
            self._is_entered = False
            _context.leave_loop(loop)
            return None
        if thread is None or loop is None:
            return None
        for task in list(self._tasks):
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)
        self._is_closing = True
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(loop.stop)
        if thread is not threading.current_thread():
            thread.join(max(timeout, WAKE_SECONDS))
        return thread.name if thread.is_alive() else None

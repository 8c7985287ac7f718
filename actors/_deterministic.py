"""
The deterministic dispatcher: one thing moves at a time, and the seed says which.

Mailboxes with letters, callbacks of an own asyncio loop and threads that may go on are
the things that can move. Time is virtual: it jumps to the next timer when nothing else
can move. When nothing can move and no timer is due, the wait raises Deadlock.
"""

from __future__ import annotations

import random
import threading
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context
from typing import Any, Final

from retinue.actors import _context
from retinue.actors._baton import BatonThread
from retinue.actors._clock import VirtualClock
from retinue.actors._dispatcher import Dispatcher
from retinue.actors._mailbox import CONTROL, Letter, Mailbox
from retinue.actors._reply import Reply
from retinue.protocol.errors import Deadlock
from retinue.protocol.provider import Outcome

# What ``patience`` is by default: longer than any blocking call of a sane test takes.
REAL_PATIENCE: Final = 30.0


class DeterministicDispatcher(Dispatcher):
    """
    Runs everything of a runtime on the threads that wait for it, in an order from *seed*.

    The same seed and the same program give the same order, byte-identical logs included.

    Args:
        seed: what the order is drawn from.
        record: whether to keep a trace of what moved, for comparing two runs.
        patience: real seconds that a blocking function may run without waiting for
            something of the runtime's; one that takes longer is reported.

    Attributes:
        steps: how many things have moved.
        trace: what moved, in order, if that is recorded.
    """

    is_deterministic = True

    def __init__(
        self, seed: object = 0, *, record: bool = False, patience: float = REAL_PATIENCE
    ) -> None:
        self._time = VirtualClock()
        super().__init__(self._time)
        self.pump = self
        self.seed = seed
        self.steps = 0
        self.trace: list[str] = []
        self._record = record
        self._patience = patience
        self._draw = random.Random(f"dispatch/{seed}").random
        self._ready: list[Mailbox] = []
        self._urgent: dict[Mailbox, deque[Letter]] = {}
        self._runnable: list[BatonThread] = []
        self._threads: dict[int, BatonThread] = {}
        self._injected: dict[int, Callable[[], object]] = {}
        self._pumping = threading.RLock()
        self._loop: Any = None
        self._port: Any = None
        self._calling_back: int | None = None

    def put(self, ref: Mailbox, message: Any, reply: Reply[Any] | None) -> bool:
        """Queue a letter; False when the mailbox is sealed."""
        with self.lock:
            if ref.is_sealed:
                return False
            if ref.queue is None and ref not in self._urgent:
                self._ready.append(ref)
            if type(message) in CONTROL:
                self._urgent.setdefault(ref, deque()).append((message, reply))
            elif ref.queue is None:
                ref.queue = deque(((message, reply),))
            else:
                ref.queue.append((message, reply))  # type: ignore[union-attr]
        return True

    def take_rest(self, ref: Mailbox) -> list[Letter]:
        """Take every letter, control first: nobody may drive the runtime once it is closed."""
        return [*self._urgent.pop(ref, ()), *super().take_rest(ref)]

    def inject(self, step: int, action: Callable[[], object]) -> None:
        """Do *action* right before the thing number *step*, from 1, moves; for fault tests."""
        self._injected[step] = action

    def _move(self) -> bool:
        """Let one thing move; False when nothing can."""
        if not self._movable():
            return False
        self.steps += 1
        if self._injected:
            action = self._injected.pop(self.steps, None)
            if action is not None:
                action()
        ready, runnable = self._ready, self._runnable
        drawn = int(self._draw() * self._movable())
        if drawn < len(ready):
            self._deliver_one(drawn)
        elif drawn < len(ready) + len(runnable):
            self._run_thread(runnable.pop(drawn - len(ready)))
        elif self._movable():  # an injected action may have closed everything
            self._run_callback()
        return True

    def _movable(self) -> int:
        """Count what can move; the loop's callbacks keep their order and count as one."""
        callbacks = self._loop is not None and bool(self._loop.waiting)
        return len(self._ready) + len(self._runnable) + callbacks

    def _deliver_one(self, index: int) -> None:
        ready = self._ready
        with self.lock:
            ref = ready[index]
            urgent = self._urgent.get(ref)
            queue: Any = ref.queue
            if urgent:
                message, reply = urgent.popleft()
                if not urgent:
                    del self._urgent[ref]
            elif queue:
                message, reply = queue.popleft()
            else:
                message, reply = None, None  # sealed meanwhile
            if not queue:
                ref.queue = None
            if ref.queue is None and ref not in self._urgent:
                ready[index] = ready[-1]
                ready.pop()
        if message is None:
            return
        if self._record:
            self.trace.append(f"{ref.number} {type(message).__name__}")
        self.runner = threading.get_ident()
        before = _context.forbid_waiting("a handler")
        try:
            self.deliver(ref, message, reply)
        finally:
            _context.allow_waiting(before)
            self.runner = None

    def _run_thread(self, thread: BatonThread) -> None:
        if self._record:
            self.trace.append(f"thread {thread.number}")
        if not thread.run_slice(self._patience):
            raise Deadlock(
                f"{thread.name}: has run for {self._patience:g} s of real time without a wait of"
                " the runtime's; what blocks on something else cannot be made deterministic"
            )

    def _run_callback(self) -> None:
        if self._record:
            self.trace.append("loop")
        before = _context.forbid_waiting("the runtime's loop")
        self._calling_back = threading.get_ident()
        try:
            self._loop.run_one()
        finally:
            self._calling_back = None
            _context.allow_waiting(before)

    def is_inside(self) -> bool:
        """Whether this very thread is inside a handler or a callback: nothing else moves then."""
        return self._calling_back == threading.get_ident() or super().is_inside()

    def _advance(self, limit: float | None = None) -> bool:
        """Jump to the next timer, not beyond *limit*; False when there is none."""
        due = self.timers.next_time()
        if due is None or (limit is not None and due > limit):
            return False
        self._time.time = max(self._time.time, due)
        self.timers.fire(self._time.time)
        return True

    # Who waits.

    def wait_for(self, reply: Reply[Any], timeout: float | None) -> bool:
        """
        Drive the runtime, on this thread, until *reply* is resolved.

        Returns:
            False when *timeout*, in seconds of virtual time, came first.

        Raises:
            Deadlock: nothing can move any more.
        """
        thread = self._threads.get(threading.get_ident())
        if thread is not None:
            return self._wait_in_thread(thread, reply, timeout)
        over: list[None] = []
        timer = None if timeout is None else self.after(timeout, lambda: over.append(None))
        with self._pumping, _context.OuterLoopAside():
            while not reply.is_done and not over:
                if not self._move() and not self._advance():
                    raise Deadlock("nothing can move and no timer is due", self._who_waits())
        if timer is not None:
            timer.cancel()
        return reply.is_done

    def _wait_in_thread(
        self, thread: BatonThread, reply: Reply[Any], timeout: float | None
    ) -> bool:
        def go_on(_: Reply[Any] | None = None) -> None:
            if thread.wake():
                self._runnable.append(thread)

        timer = None if timeout is None else self.after(timeout, go_on)
        reply.on_done(go_on)
        thread.pause()
        reply.forget(go_on)
        if timer is not None:
            timer.cancel()
        return reply.is_done

    def _who_waits(self) -> list[str]:
        paused = [thread for thread in self._threads.values() if thread.is_paused]
        return self.waits.lines() + [f"{thread.name} is paused in a wait" for thread in paused]

    def run_until_idle(self) -> int:
        """Let everything move that can, without moving time; returns how much did."""
        before = self.steps
        with self._pumping, _context.OuterLoopAside():
            while self._move():
                pass
        return self.steps - before

    def advance(self, seconds: float) -> None:
        """Let *seconds* of virtual time pass, and everything in them happen."""
        until = self._time.time + seconds
        with self._pumping, _context.OuterLoopAside():
            while self._move() or self._advance(until):
                pass
        self._time.time = max(self._time.time, until)

    # Where work runs.

    def on_thread(self, function: Callable[[], None], name: str) -> Any:
        """Run a blocking function on a thread that moves only when it has the baton."""
        thread = BatonThread(function, name, len(self._threads) + self.steps, self._thread_ended)
        self._threads[thread.start()] = thread
        thread.wake()
        self._runnable.append(thread)
        return thread

    def _thread_ended(self, ident: int) -> None:
        self._threads.pop(ident, None)

    on_pool = on_thread  # the baton is the bound

    def on_loop(
        self,
        coroutine: Coroutine[Any, Any, Any],
        done: Callable[[Outcome], None],
        context: Context,
    ) -> Any:
        """Run a coroutine on the virtual loop."""
        if self._port is None:
            from retinue.actors._loop import LoopPort
            from retinue.actors._virtual_loop import VirtualLoop

            self._loop = VirtualLoop(self)  # pyright: ignore[reportArgumentType]
            self._port = LoopPort(self._loop, is_entered=False)
        return self._port.run(coroutine, done, context)

    def owns(self, loop: Any) -> bool:
        """Whether *loop* is the virtual loop."""
        return loop is self._loop

    def use_running_loop(self) -> None:
        """Do nothing: coroutines run on the virtual loop."""

    def close(self, timeout: float) -> list[str]:
        """End every thread that waits, and the loop; name what would not end."""
        del timeout
        with self._pumping, _context.OuterLoopAside():
            stuck = self._end_threads()
            if self._loop is not None and not self._loop.is_closed():
                self._loop.shut()
                stuck += self._end_threads()  # those that a clean-up on the loop has made
        self.is_closed = True
        return stuck

    def _end_threads(self) -> list[str]:
        stuck: list[str] = []
        while self._threads:
            ident, thread = next(iter(self._threads.items()))
            if not thread.end(self._patience):
                stuck.append(thread.name)
                self._threads.pop(ident, None)
        self._runnable.clear()
        return stuck

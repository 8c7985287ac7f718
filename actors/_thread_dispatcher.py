"""
The dispatcher of threads: handlers of many actors on one daemon thread.

The right to run handlers is a role, a lock that the dispatcher's thread holds while there
is work. Actors with work take turns, one message each.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any, Final

from retinue.actors import _context
from retinue.actors._clock import Clock, ManualClock, RealClock, Timer, Timers
from retinue.actors._mailbox import CONTROL, Mailbox
from retinue.actors._reply import Reply
from retinue.actors._threads import WAKE_SECONDS
from retinue.actors._watchdog import Evicted, Watchdog
from retinue.actors._work_dispatcher import WorkDispatcher
from retinue.protocol.limits import check_time

# Timers are looked at after so many messages while there is no rest: a clock read costs
# as much as a small handler.
_MESSAGES_PER_CLOCK_READ: Final = 32

# A step of 100 ms is reported; one that takes this long is taken to be blocked for good.
EVICT_SECONDS: Final = 5.0

# A lock takes no time-out above `threading.TIMEOUT_MAX`, and a deadline may be infinite.
LONGEST_PARK: Final = 3600.0


class ThreadDispatcher(WorkDispatcher):
    """
    Runs the handlers of many actors on one daemon thread, made at the first message.

    Args:
        clock: real by default; a ManualClock makes timers wait for its ``advance``.
        evict_after: seconds after which a generator that blocks inside a step is left
            behind on the old thread, its turn ended ``error``, and a new thread goes on.
    """

    def __init__(self, clock: Clock | None = None, *, evict_after: float = EVICT_SECONDS) -> None:
        super().__init__(RealClock() if clock is None else clock)
        check_time(evict_after, "evict_after")
        self._watchdog = Watchdog(evict_after, self._evict)
        self._left_behind: list[tuple[threading.Thread, str]] = []
        self._control: deque[tuple[Mailbox, Any, Reply[Any] | None]] = deque()
        self._ready: deque[Mailbox] = deque()
        self._role = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._is_parked = False
        self._is_closing = False
        self._thread: threading.Thread | None = None
        self._main = threading.main_thread().ident
        self._remove_listener: Callable[[], object] | None = None
        if isinstance(self.clock, ManualClock):
            self._remove_listener = self.clock.on_advance(self._wake)

    def put(self, ref: Mailbox, message: Any, reply: Reply[Any] | None) -> bool:
        """Queue a letter; False when the mailbox is sealed. Safe from any thread."""
        with self.lock:
            if ref.is_sealed:
                return False
            if type(message) in CONTROL:
                self._control.append((ref, message, reply))
            else:
                queue = ref.queue
                if queue is None:
                    ref.queue = (message, reply)
                    self._ready.append(ref)
                elif type(queue) is deque:
                    queue.append((message, reply))
                else:
                    ref.queue = deque((queue, (message, reply)))  # type: ignore[arg-type]
            if self._is_parked:
                self._is_parked = False
                self._bell.release()
        return self._thread is not None or self._start(ref)

    def after(self, seconds: float, action: Callable[[], object]) -> Timer:
        """Do *action* in *seconds* of the clock; it must not block."""
        timer = super().after(seconds, action)
        if self.runner != threading.get_ident():
            self._wake()
        return timer

    def run_direct(self, ref: Mailbox, message: Any) -> Reply[Any] | None:
        """
        Run an asker's own message, and nothing else, on the asker's thread.

        Only when nothing is queued, the role is free, and the thread is neither the main
        one (where a signal could strike inside a handler) nor one with a running loop.
        """
        ident = threading.get_ident()
        on_loop = _context.running_loop() is not None
        if self._ready or self._control or ident == self._main or on_loop:
            return None
        if not self._role.acquire(blocking=False):
            return None
        before = _context.forbid_waiting("a handler")
        self.runner = ident
        reply: Reply[Any] = Reply()
        try:
            if self._ready or self._control or ref.is_sealed:
                return None
            self.deliver(ref, ref.accepts(message), reply)
        finally:
            self.runner = None
            _context.allow_waiting(before)
            self._role.release()
        return reply

    def _start(self, ref: Mailbox | None = None) -> bool:
        """Start the thread if there is none; False, and *ref* sealed, when it has ended."""
        with self.lock:
            if self._thread is not None:
                return True
            if not self.is_closed:
                self._thread = threading.Thread(
                    target=self._serve, name="retinue-dispatch", daemon=True
                )
                self._thread.start()  # here, since a close may join it at once
                return True
        if ref is not None:
            self.seal(ref, run_hook=False)
        return False

    def _serve(self) -> None:
        _context.forbid_waiting("the dispatcher's thread")
        try:
            while True:
                with self._role:
                    self.runner = threading.get_ident()
                    self._work()
                    self.runner = None
                if not self._park():
                    return
        except Evicted:
            pass
        finally:
            _context.allow_waiting()

    def enter_step(self, step: Any) -> None:
        """Note that a generator begins a step."""
        self._watchdog.enter(step)

    def leave_step(self, step: Any) -> float:
        """Note that the step is over; returns how long it took; raises Evicted."""
        return self._watchdog.leave(step)

    def hurry(self, grace: float) -> None:
        """Leave a step behind after *grace* seconds, if it would have had longer."""
        self._watchdog.limit = min(self._watchdog.limit, grace)

    def _evict(self, step: Any, taken: float) -> None:
        """Leave the thread inside *step* behind and go on with a new one."""
        with self.lock:
            if self.is_closed or self._watchdog.step is not step:
                return
            step.is_evicted = True
            self._watchdog.step = None
            if self._thread is not None:
                self._left_behind.append((self._thread, step.workplace.run_id))
            self._role = threading.Lock()
            self._thread = None
            reply = self.take_reply()
        if reply is not None:
            reply.resolve(True)  # what had it step was taken; all that can be is answered so
        step.blocked(taken)
        self._wake()

    def _work(self) -> None:
        control, ready, lock = self._control, self._ready, self.lock
        left = _MESSAGES_PER_CLOCK_READ
        self.timers.fire(self.clock.now())
        while True:
            if control:
                self.deliver(*control.popleft())
            elif ready:
                with lock:
                    ref = ready.popleft()
                    queue: Any = ref.queue
                    letter: Any = queue
                    if queue is None:  # sealed meanwhile, its letters handed back
                        continue
                    if type(queue) is deque:
                        letter = letter.popleft()
                        if queue:
                            ready.append(ref)
                        else:
                            ref.queue = None
                    else:
                        ref.queue = None
                self.deliver(ref, letter[0], letter[1])
            else:
                return
            left -= 1
            if left == 0:
                left = _MESSAGES_PER_CLOCK_READ
                self.timers.fire(self.clock.now())

    def _park(self) -> bool:
        """Sleep until there is work or a timer is due; False when closed."""
        timeout = -1.0
        with self.lock:
            if self._control or self._ready:
                return True
            if self._is_closing:
                return False
            # Looked at under the lock: a timer set, or a manual clock moved, after this
            # finds the thread parked and rings.
            due = self.timers.next_time()
            if due is not None:
                timeout = min(due - self.clock.now(), LONGEST_PARK)
                if timeout <= 0.0:
                    return True
                if isinstance(self.clock, ManualClock):
                    timeout = -1.0
            self._is_parked = True
        if not self._bell.acquire(timeout=timeout):
            with self.lock:
                if self._is_parked:
                    self._is_parked = False
                    return True
            self._bell.acquire()  # rung between the time-out and the lock
        return True

    def _wake(self) -> None:
        self._ring()
        if self._thread is None:
            self._start()

    def _ring(self) -> None:
        with self.lock:
            if self._is_parked:
                self._is_parked = False
                self._bell.release()

    def close(self, timeout: float) -> list[str]:
        """Stop loop, pools and the dispatcher's thread; name what would not stop."""
        stuck = self._close_work(timeout)
        with self.lock:
            self._is_closing = True
            thread = self._thread
            remove, self._remove_listener = self._remove_listener, None
        if remove is not None:
            remove()
        self._ring()
        if thread is not None and thread is not threading.current_thread():
            # It works off what is queued, or only has to wake up, so it gets time to.
            thread.join(max(timeout, WAKE_SECONDS))
            if thread.is_alive():
                stuck.append(thread.name)
        with self.lock:
            self.is_closed = True
            self._thread = None
        self._watchdog.close()
        return stuck + [run_id for left, run_id in self._left_behind if left.is_alive()]

    def forked(self) -> None:
        """Be closed, in the child of a fork: no thread of it is there, and no lock is free."""
        super().forked()
        self._is_closing = True
        self._thread = None
        self._control.clear()
        self._ready.clear()
        self.timers = Timers()
        self._watchdog = Watchdog(self._watchdog.limit, self._evict)

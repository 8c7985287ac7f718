"""
The watchdog: a generator that blocks inside a step must not take the runtime with it.

It looks, from a thread of its own, whether one step has held the dispatcher too long.
Then the dispatcher goes on with a new thread; the old one is left inside the step, and
ends when that returns. An idle runtime has no such thread awake.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, Final

# How often it looks while there are steps, and how many looks without one send it to sleep.
POLL_SECONDS: Final = 0.05
_POLLS_TO_SLEEP: Final = 10


class Evicted(BaseException):
    """Raised on a thread that was left behind: it may touch nothing any more."""


class Watchdog:
    """
    Watches the steps of one dispatcher.

    Args:
        limit: seconds that one step may take.
        on_overdue: called with the step that took longer; on the watchdog's thread.
    """

    def __init__(self, limit: float, on_overdue: Callable[[Any, float], None]) -> None:
        self.limit = limit
        self._on_overdue = on_overdue
        self._lock = threading.Lock()
        self._bell = threading.Lock()
        self._bell.acquire()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self.is_asleep = True
        self.step: Any = None
        self.since = 0.0

    def enter(self, step: Any) -> None:
        """Note that *step* begins; called by the holder of the role."""
        self.since = time.perf_counter()
        self.step = step
        if self.is_asleep:
            self._wake()

    def leave(self, step: Any) -> float:
        """
        Note that *step* is over; returns how long it took, in seconds.

        Raises:
            Evicted: the thread was left behind meanwhile.
        """
        if step.is_evicted:
            raise Evicted
        self.step = None
        return time.perf_counter() - self.since

    def _wake(self) -> None:
        with self._lock:
            if not self.is_asleep or self._is_closed:
                return
            self.is_asleep = False
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._serve, name="retinue-watchdog", daemon=True
                )
                self._thread.start()
            else:
                self._bell.release()

    def _serve(self) -> None:
        quiet = 0
        while not self._is_closed:
            time_is_up = not self._bell.acquire(timeout=POLL_SECONDS)
            step, since = self.step, self.since
            quiet = quiet + 1 if step is None else 0
            if step is not None and time_is_up:
                taken = time.perf_counter() - since
                if taken > self.limit and step is self.step and since == self.since:
                    self._on_overdue(step, taken)
            if quiet >= _POLLS_TO_SLEEP:
                quiet = 0
                self._sleep()

    def _sleep(self) -> None:
        with self._lock:
            if self._is_closed or self.step is not None:
                return
            self.is_asleep = True
        self._bell.acquire()

    def close(self) -> None:
        """End the thread."""
        with self._lock:
            self._is_closed = True
            thread, self._thread = self._thread, None
            if thread is not None and self._bell.locked():
                self._bell.release()
        if thread is not None and thread is not threading.current_thread():
            thread.join(1.0)

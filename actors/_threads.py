"""
Worker threads for what may block: one pool that grows, one that is bounded.

The threads are daemons, since a behaviour that never returns must not hold up the
interpreter's exit, and they are gone after ``close``.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from itertools import count
from typing import Final

# A worker without work goes away after so many seconds: long enough to be reused by the
# next of a series of children, short enough that an idle program has no threads of ours.
IDLE_SECONDS: Final = 5.0

# What our own threads, which have nothing left to do, may take to notice that on a busy
# machine.
WAKE_SECONDS: Final = 2.0

_numbers = count(1)


class ThreadWork:
    """A blocking function under way; a thread cannot be stopped, only waited for."""

    __slots__ = ("function", "is_done", "name")

    def __init__(self, function: Callable[[], None], name: str) -> None:
        self.function: Callable[[], None] | None = function
        self.name = name
        self.is_done = False

    def cancel(self) -> None:
        """Do nothing: what runs on a thread ends when it returns."""


class WorkerPool:
    """
    Threads that run functions.

    Args:
        limit: the most threads at once; None grows as needed, so that functions that
            wait for one another can not starve.
        name: how the threads are called.

    A function given to a pool must contain its own errors.
    """

    def __init__(self, limit: int | None, name: str) -> None:
        self._limit = limit
        self._name = name
        self._lock = threading.Lock()
        self._work: deque[ThreadWork] = deque()
        self._idle: deque[threading.Lock] = deque()
        self._threads: dict[threading.Thread, ThreadWork | None] = {}
        self._is_closed = False

    def run(self, function: Callable[[], None], name: str = "") -> ThreadWork:
        """
        Run *function* on an idle thread, a new one, or, over the limit, when one is free.

        Raises:
            RuntimeError: the system has no more threads, and no other will be free.
        """
        work = ThreadWork(function, name)
        with self._lock:
            self._work.append(work)
            if self._idle:
                self._idle.popleft().release()
            elif self._limit is None or len(self._threads) < self._limit:
                self._start(work)
        return work

    def _start(self, work: ThreadWork) -> None:
        """Start one more thread, under the lock: ``close`` can join none that has not begun."""
        thread = threading.Thread(
            target=self._serve, name=f"{self._name}-{next(_numbers)}", daemon=True
        )
        self._threads[thread] = None
        try:
            thread.start()
        except RuntimeError:
            # The system has no more threads. A bounded pool goes on with those that it has.
            del self._threads[thread]
            if self._limit is None or not self._threads:
                self._work.remove(work)
                raise

    def _serve(self) -> None:
        me = threading.current_thread()
        bell = threading.Lock()
        bell.acquire()
        while True:
            with self._lock:
                if self._work:
                    work = self._work.popleft()
                    self._threads[me] = work
                elif self._is_closed:
                    del self._threads[me]
                    return
                else:
                    work = None
                    self._threads[me] = None
                    self._idle.append(bell)
            if work is not None:
                self._do(work)
            elif not bell.acquire(timeout=IDLE_SECONDS):
                with self._lock:
                    if bell in self._idle:
                        self._idle.remove(bell)
                        del self._threads[me]
                        return
                bell.acquire()  # rung between the time-out and the lock

    @staticmethod
    def _do(work: ThreadWork) -> None:
        function, work.function = work.function, None
        try:
            if function is not None:
                function()
        finally:
            work.is_done = True

    def close(self, timeout: float) -> list[str]:
        """
        Let idle threads go, wait for busy ones, and name what would not end.

        Args:
            timeout: seconds for all of them together.
        """
        with self._lock:
            self._is_closed = True
            idle = list(self._idle)
            self._idle.clear()
            threads = list(self._threads)
        for bell in idle:
            bell.release()
        deadline = time.monotonic() + timeout
        for thread in threads:
            if thread is not threading.current_thread():
                thread.join(max(0.0, deadline - time.monotonic()))
        with self._lock:
            return [
                work.name or thread.name
                for thread, work in self._threads.items()
                if work is not None and thread.is_alive()
            ]

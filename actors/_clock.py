"""Clocks: real, and one that a test moves by hand; and the timers that hang on them."""

from __future__ import annotations

import heapq
import math
import threading
import time
from collections.abc import Callable
from itertools import count
from typing import Protocol

from loguru import logger

from retinue.protocol.errors import InvalidLimit, printable


class Clock(Protocol):
    """Tells the time in seconds; only differences mean anything."""

    def now(self) -> float:
        """Return the time."""
        ...


class RealClock:
    """The machine's monotonic clock."""

    def now(self) -> float:
        """Return ``time.monotonic()``."""
        return time.monotonic()


class ManualClock:
    """
    A clock that moves only when it is told to: a shipped double.

    Timers that come due by ``advance`` fire before it returns from the point of view of
    the runtime's queue: their messages are posted, in the order of their times.
    """

    def __init__(self, start: float = 0.0) -> None:
        self._now = start
        self._lock = threading.Lock()
        self._listeners: list[Callable[[], object]] = []

    def now(self) -> float:
        """Return the time that was set."""
        return self._now

    def advance(self, seconds: float) -> None:
        """Move the time on by *seconds*, from 0, and let due timers fire."""
        if not seconds >= 0:
            raise ValueError(f"a clock moves forward: expected seconds from 0, got {seconds!r}")
        with self._lock:
            self._now += seconds
            listeners = list(self._listeners)
        for listener in listeners:
            listener()

    def on_advance(self, listener: Callable[[], object]) -> Callable[[], object]:
        """Call *listener* after every advance; returns what takes it back."""
        with self._lock:
            self._listeners.append(listener)

        def remove() -> None:
            with self._lock:
                self._listeners.remove(listener)

        return remove


class VirtualClock:
    """The clock of a deterministic dispatcher; it moves when nothing else can."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        """Return the virtual time, in seconds since the dispatcher was made."""
        return self.time


class Timer:
    """One thing to do at a time; cancelling it is O(1)."""

    __slots__ = ("_timers", "action", "is_done", "when")

    def __init__(self, timers: Timers, when: float, action: Callable[[], object]) -> None:
        self._timers = timers
        self.when = when
        self.action: Callable[[], object] | None = action
        self.is_done = False

    def cancel(self) -> None:
        """Do not do it; harmless when it was done."""
        if not self.is_done:
            self.is_done = True
            self.action = None
            self._timers.dropped()


def _contained(action: Callable[[], object]) -> None:
    try:
        action()
    except BaseException as error:  # noqa: BLE001 - the thread that fires serves everybody (H85)
        logger.error("a timer raised {}", printable(error))


class Timers:
    """
    What is to be done when, soonest first; equal times in order of their setting.

    Any thread may add; actions run on the thread that calls ``fire``, and must not block.
    """

    # Cancelled timers are swept out when they are most of a heap of this size, so that a
    # million short runs with long deadlines do not pile up.
    SWEEP_FROM = 64

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._numbers = count()
        self._lock = threading.Lock()
        self._dropped = 0

    def add(self, when: float, action: Callable[[], object]) -> Timer:
        """Do *action* at the time *when*; raises InvalidLimit when that is no time."""
        if math.isnan(when):  # neither before nor after anything: it would disorder the heap
            raise InvalidLimit("a time is a number of seconds, not NaN")
        timer = Timer(self, when, action)
        with self._lock:
            heapq.heappush(self._heap, (when, next(self._numbers), timer))
        return timer

    def dropped(self) -> None:
        """Note that one timer was cancelled, and sweep when most were."""
        with self._lock:
            self._dropped += 1
            if self._dropped > self.SWEEP_FROM and self._dropped * 2 > len(self._heap):
                self._heap = [entry for entry in self._heap if not entry[2].is_done]
                heapq.heapify(self._heap)
                self._dropped = 0

    def next_time(self) -> float | None:
        """Return the time of the soonest timer, or None."""
        with self._lock:
            while self._heap and self._heap[0][2].is_done:
                heapq.heappop(self._heap)
                self._dropped = max(0, self._dropped - 1)
            return self._heap[0][0] if self._heap else None

    def fire(self, now: float) -> int:
        """Do what is due, and return how many timers that were."""
        fired = 0
        while True:
            with self._lock:
                if not self._heap or self._heap[0][0] > now:
                    return fired
                timer = heapq.heappop(self._heap)[2]
                action, timer.action = timer.action, None
                if timer.is_done:
                    self._dropped = max(0, self._dropped - 1)
                timer.is_done = True
            if action is not None:
                _contained(action)
                fired += 1

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._heap.clear()
            self._dropped = 0

    def __len__(self) -> int:
        with self._lock:
            return sum(not entry[2].is_done for entry in self._heap)

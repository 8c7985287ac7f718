"""
A run in the foreground: what the main thread does while the runtime works.

It waits on one queue, for the end, for a signal and for the time to show something. A
signal handler may strike anywhere, inside a lock too; all that it does is to put a number
into that queue, which is made for it.
"""

from __future__ import annotations

import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, Self, TypeVar

import attrs

from retinue.actors import Cancellation, NotStarted, Reply, Run, RunResult, Runtime
from retinue.protocol.errors import NotQuiescent

P = TypeVar("P", bound=Callable[[Any], None])
P_contra = TypeVar("P_contra", contravariant=True)

# Exit codes. A signal's is 128 and its number, as shells have it.
FAILED: Final = 1
REFUSED: Final = 2
OUT_OF_TIME: Final = 3
BY_SIGNAL: Final = 128


class View(Protocol[P_contra]):
    """Shows how far a run has come."""

    period: float

    def show(self, progress: P_contra, seconds: float) -> None:
        """Show it; *seconds* have passed since the start."""
        ...

    def hide(self) -> None:
        """Take away what is shown, for good."""
        ...

    def abandon(self) -> None:
        """Leave the terminal usable: the process ends here; called in a signal handler."""
        ...


@attrs.frozen
class Came:
    """What came of a run: how it ended, the code of what stopped it, and what there is to say."""

    outcome: RunResult | NotStarted
    code: int = 0
    notes: tuple[str, ...] = ()


@attrs.frozen
class Foreground(Generic[P]):
    """
    One run in the foreground.

    Args:
        begin: starts it, with a token that cancels it.
        progress: is told every event of the runtime.
        view: shows the progress.
        cancel_after: seconds after which it is cancelled, or None.
        seed: the runtime's.
    """

    begin: Callable[[Runtime, Cancellation], Reply[Run]]
    progress: P
    view: View[P]
    cancel_after: float | None = None
    seed: object = None

    def run(self) -> Came:
        """
        Run it to its end and show the progress; call this on the main thread.

        SIGINT and SIGTERM cancel the run, and what it has is its partial result. A second
        one ends the process at once. Afterwards the handlers are those from before.
        """
        events: queue.SimpleQueue[Any] = queue.SimpleQueue()
        cancellation = Cancellation()
        notes: list[str] = []
        with Signals(events.put, self.view.abandon):
            runtime = Runtime(seed=self.seed)
            try:
                runtime.subscribe(self.progress)
                start = self.begin(runtime, cancellation)
                runtime.wait([start]).on_done(events.put)
                outcome, code = self._watch(events, cancellation)
            finally:
                self.view.hide()
                try:
                    runtime.close()
                except NotQuiescent as stuck:
                    notes.append(f"would not stop: {', '.join(stuck.stuck)}")
        if cancellation.reason is not None:
            notes.insert(0, cancellation.reason)
        return Came(outcome, code, tuple(notes))

    def _watch(
        self, events: queue.SimpleQueue[Any], cancellation: Cancellation
    ) -> tuple[RunResult | NotStarted, int]:
        """Wait for the outcome, cancelling and showing on the way; returns it and a code."""
        started = time.monotonic()
        code = 0
        left = self.cancel_after
        view = self.view
        while True:
            period = view.period if left is None else min(view.period, max(left, 0.0))
            try:
                event = events.get(timeout=period)
            except queue.Empty:
                event = None
            seconds = time.monotonic() - started
            if isinstance(event, int):
                code = BY_SIGNAL + event
                left = None
                cancellation.cancel(f"cancelled by {signal.Signals(event).name}")
            elif event is not None:
                view.show(self.progress, seconds)
                (outcome,) = event.outcome()
                return outcome, code
            elif left is not None:
                left = (self.cancel_after or 0.0) - seconds
                if left <= 0.0:
                    code = OUT_OF_TIME
                    left = None
                    cancellation.cancel(f"cancelled after {self.cancel_after:g} s")
            view.show(self.progress, seconds)


class Signals:
    """
    While open, a SIGINT or SIGTERM is put into a queue, and a second ends the process.

    Args:
        put: takes the number of the first signal; safe to call in a signal handler.
        last_words: called before the process is ended.

    Only the main thread of a process hears of signals; on another this does nothing.
    """

    def __init__(self, put: Callable[[int], None], last_words: Callable[[], None]) -> None:
        self._put = put
        self._last_words = last_words
        self._came = False
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._take)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _: object) -> None:
        if self._came:
            self._last_words()
            os._exit(BY_SIGNAL + number)
        self._came = True
        self._put(number)

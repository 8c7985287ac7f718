"""
A survey in the foreground: what the main thread does while the runtime works.

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
from typing import Any, Final, Protocol, Self

import attrs

from retinue.actors import Cancellation, NotStarted, RunResult, Runtime
from retinue.actors.serve._survey_progress import Progress
from retinue.actors.serve._survey_tally import Tally, from_json
from retinue.actors.serve.survey import Plan, start_survey
from retinue.protocol.errors import NotQuiescent, StartCancelled

# Exit codes. A signal's is 128 and its number, as shells have it.
FAILED: Final = 1
REFUSED: Final = 2
OUT_OF_TIME: Final = 3
BY_SIGNAL: Final = 128


class View(Protocol):
    """Shows how far a survey has come."""

    period: float

    def show(self, progress: Progress, seconds: float) -> None:
        """Show it; *seconds* have passed since the start."""
        ...

    def hide(self) -> None:
        """Take away what is shown, for good."""
        ...

    def abandon(self) -> None:
        """Leave the terminal usable: the process ends here; called in a signal handler."""
        ...


@attrs.frozen
class Order:
    """What is to be surveyed, and how long."""

    path: str
    plan: Plan = attrs.field(factory=Plan)
    max_live: int | None = None
    cancel_after: float | None = None


@attrs.frozen
class Ending:
    """What came of a survey: the tally, the exit code, and what there is to say about it."""

    tally: Tally
    code: int = 0
    notes: tuple[str, ...] = ()


def survey_in_foreground(order: Order, view: View) -> Ending:
    """
    Survey a directory and show the progress; call this on the main thread.

    SIGINT and SIGTERM cancel the survey, and what was counted is its partial result. A
    second one ends the process at once. Afterwards the handlers are those from before.

    Raises:
        RetinueError: the survey could not be started.
    """
    events: queue.SimpleQueue[Any] = queue.SimpleQueue()
    progress, cancellation = Progress(), Cancellation()
    notes: list[str] = []
    with Signals(events.put, view.abandon):
        runtime = Runtime()
        try:
            runtime.subscribe(progress)
            start = start_survey(
                runtime, order.path, order.plan, max_live=order.max_live, cancel=cancellation
            )
            runtime.wait([start]).on_done(events.put)
            outcome, code = _watch(events, order, view, progress, cancellation)
        finally:
            view.hide()
            try:
                runtime.close()
            except NotQuiescent as stuck:
                notes.append(f"would not stop: {', '.join(stuck.stuck)}")
    if cancellation.reason is not None:
        notes.insert(0, cancellation.reason)
    return _ending(outcome, code, progress.total, order.plan.provider, notes)


def _watch(
    events: queue.SimpleQueue[Any],
    order: Order,
    view: View,
    progress: Progress,
    cancellation: Cancellation,
) -> tuple[RunResult | NotStarted, int]:
    """Wait for the outcome, cancelling and showing on the way; returns it and a code."""
    started = time.monotonic()
    code = 0
    left = order.cancel_after
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
            (outcome,) = event.outcome()
            return outcome, code
        elif left is not None:
            left = (order.cancel_after or 0.0) - seconds
            if left <= 0.0:
                code = OUT_OF_TIME
                left = None
                cancellation.cancel(f"cancelled after {order.cancel_after:g} s")
        view.show(progress, seconds)


def _ending(
    outcome: RunResult | NotStarted, code: int, pieces: Tally, provider: str, notes: list[str]
) -> Ending:
    """Make the best of what came: the root's own tally, or else the sum of the pieces."""
    if isinstance(outcome, NotStarted):
        if not (code and isinstance(outcome.error, StartCancelled)):
            raise outcome.error
    else:
        try:
            tally = from_json(outcome.structured)
        except ValueError:
            if not code:
                why = outcome.diagnostic or "what it returned is no tally"
                notes.append(f"provider {provider!r} did not survey it: {why}")
        else:
            if outcome.is_success and not tally.is_partial:
                return Ending(tally, code, tuple(notes))
    return Ending(attrs.evolve(pieces, is_partial=True), code or FAILED, tuple(notes))


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

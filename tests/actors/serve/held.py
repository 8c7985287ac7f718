"""
Providers that hold a survey up at a place that a test chooses.

They run behaviours as ``spawn`` does, but for directories called "held": the run of one
works until it is cancelled. Nobody waits for time to pass: when such a run begins, the
line "held" is written to stderr.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any

from retinue.backends.inprocess import InProcess
from retinue.protocol import messages
from retinue.protocol.log import Cause, Ending
from retinue.protocol.provider import OpenOrder, TurnOrder

STDERR = 2


class HeldDriver:
    """A driver whose turn ends when it is stopped, and not before."""

    def __init__(self, workplace: Any, reached: Callable[[], object]) -> None:
        self._workplace = workplace
        self._reached = reached
        self._turn = 0

    def begin(self, order: TurnOrder) -> None:
        """Say that the turn has begun."""
        self._turn = order.turn
        self._reached()

    def stop(self, cause: Cause) -> None:
        """End the turn."""
        self._workplace.report(messages.TurnEnded(self._turn, Ending.ABORTED))

    def close(self) -> None:
        """Report that nothing is held."""
        self._workplace.report(messages.Closed())


class StubbornDriver(HeldDriver):
    """A driver that says that it is to stop, and never comes back."""

    def stop(self, cause: Cause) -> None:
        """Block the runtime's own thread for good."""
        os.write(STDERR, b"stopping\n")
        threading.Event().wait()


class Holding(InProcess):
    """
    Runs behaviours in this process, but for directories called "held".

    Args:
        reached: called when the run of such a directory begins.
        before: called with the path of a directory before its run is opened.
    """

    def __init__(
        self,
        name: str = "holding",
        reached: Callable[[], object] = lambda: os.write(STDERR, b"held\n"),
        before: Callable[[str], object] = lambda _: None,
        driver: type[HeldDriver] = HeldDriver,
    ) -> None:
        super().__init__(name)
        self._reached = reached
        self._before = before
        self._driver = driver

    def open(self, order: OpenOrder, workplace: Any) -> Any:
        """Open a run."""
        assert order.request.prompt is not None
        path = order.request.prompt.text
        self._before(path)
        if path.endswith("/held"):
            return self._driver(workplace, self._reached)
        return super().open(order, workplace)


def holding() -> Holding:
    """Return the provider that an entry point names."""
    return Holding()


def stubborn() -> Holding:
    """Return the provider whose held runs cannot be stopped."""
    return Holding("stubborn", driver=StubbornDriver)

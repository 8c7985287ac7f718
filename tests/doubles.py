"""Doubles and waits that tests share; nothing here sleeps."""

from __future__ import annotations

import queue
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, TypeVar

PATIENCE: Final = 5.0
"""Seconds to wait for what must come; a test that passes never waits this long."""

T = TypeVar("T")


class Probe:
    """
    A recipient that a test reads from.

    `tell` may be called on any thread; letters are kept in the order of their arrival.
    """

    def __init__(self) -> None:
        self._letters: queue.SimpleQueue[object] = queue.SimpleQueue()

    def tell(self, message: object, /) -> None:
        """Take a letter."""
        self._letters.put(message)

    def expect(self, kind: type[T]) -> T:
        """
        Wait for the next letter and return it.

        Raises:
            AssertionError: no letter came, or one of another kind.
        """
        try:
            letter = self._letters.get(timeout=PATIENCE)
        except queue.Empty:
            raise AssertionError(f"no letter came, expected {kind.__name__}") from None
        assert isinstance(letter, kind), f"expected {kind.__name__}, got {letter!r}"
        return letter

    def unread(self) -> list[object]:
        """
        Take out what has come and was not expected.

        An empty list means something only behind a barrier, such as an ask in the same lane.
        """
        letters: list[object] = []
        while True:
            try:
                letters.append(self._letters.get_nowait())
            except queue.Empty:
                return letters


class Gate:
    """
    A place where one thread is held until the test lets it go on.

    `reached` is set once somebody waits at the gate, so that a test knows and need not guess.
    """

    def __init__(self) -> None:
        self.reached = threading.Event()
        self._opened = threading.Event()

    def wait(self) -> None:
        """
        Stop here until the gate is open.

        Raises:
            AssertionError: nobody opened it.
        """
        self.reached.set()
        assert self._opened.wait(PATIENCE), "nobody opened the gate"

    def open(self) -> None:
        """Let everybody through, now and later."""
        self._opened.set()


class Sequencer:
    """
    Numbered blocks, in whatever threads they stand, run in the order of their numbers.

    `with sequencer(0): ...` comes first, `with sequencer(1): ...` when that block is done:
    an interleaving is written down, and dice are not rolled for it.
    """

    def __init__(self) -> None:
        self._next = 0
        self._moved = threading.Condition()

    @contextmanager
    def __call__(self, position: int) -> Generator[None]:
        """
        Run the block when its turn has come.

        Raises:
            AssertionError: an earlier block never ran.
        """
        with self._moved:
            is_due = self._moved.wait_for(lambda: self._next == position, PATIENCE)
            assert is_due, f"block {position} waits for block {self._next}"
        try:
            yield
        finally:
            with self._moved:
                self._next = position + 1
                self._moved.notify_all()

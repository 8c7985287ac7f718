"""Threads that pass one baton: a blocking function moves only when it is its turn."""

from __future__ import annotations

import threading
from collections.abc import Callable

from retinue.protocol.errors import Closing


class BatonThread:
    """
    A blocking function on a real thread that runs in slices, from wait to wait.

    The dispatcher calls ``run_slice`` and stands still until the thread gives the baton
    back: by waiting for a Reply, or by ending.
    """

    def __init__(
        self,
        function: Callable[[], None],
        name: str,
        number: int,
        on_end: Callable[[int], None],
    ) -> None:
        self.name = name
        self.number = number
        self.is_done = False
        self.is_paused = True
        self._function = function
        self._on_end = on_end
        self._is_woken = False
        self._is_ending = False
        self._go = threading.Semaphore(0)
        self._back = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._serve, name=f"retinue-{name}", daemon=True)

    def start(self) -> int:
        """Start the thread, which waits for its first slice; returns its ident."""
        self._thread.start()
        ident = self._thread.ident
        assert ident is not None
        return ident

    def _serve(self) -> None:
        self._go.acquire()
        try:
            if not self._is_ending:
                self._function()
        finally:
            self.is_done = True
            self.is_paused = False
            self._on_end(threading.get_ident())
            self._back.release()

    def wake(self) -> bool:
        """Mark it as able to move; False when it was already."""
        if self._is_woken or self.is_done:
            return False
        self._is_woken = True
        return True

    def run_slice(self, patience: float) -> bool:
        """Give it the baton; False when it does not give it back in *patience* real seconds."""
        self._is_woken = False
        self.is_paused = False
        self._go.release()
        return self._back.acquire(timeout=patience)

    def pause(self) -> None:
        """
        Give the baton back and wait for the next slice; called on the thread itself.

        Raises:
            Closing: the dispatcher is being closed, and no slice will come.
        """
        self.is_paused = True
        self._back.release()
        self._go.acquire()
        if self._is_ending:
            raise Closing(f"{self.name}: the dispatcher was closed during a wait")

    def cancel(self) -> None:
        """Do nothing: what runs on a thread ends when it returns."""

    def end(self, patience: float) -> bool:
        """Have every wait of the thread raise until it has ended; False when it does not end."""
        self._is_ending = True
        for _ in range(100):  # a function that swallows the error a hundred times is stuck
            if self.is_done:
                break
            if not self.run_slice(patience):
                return False
        if self.is_done:
            self._thread.join(patience)
        return self.is_done and not self._thread.is_alive()

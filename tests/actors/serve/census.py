"""An observer that counts what lives."""

from __future__ import annotations

import threading

from retinue.protocol.events import RunEnded, RunStarted


class Census:
    """An observer that counts the runs and the threads that are alive at once."""

    def __init__(self) -> None:
        self.live = self.most = self.threads = self.started = 0

    def __call__(self, event: object) -> None:
        """Count."""
        if isinstance(event, RunStarted):
            self.live += 1
            self.started += 1
        elif isinstance(event, RunEnded):
            self.live -= 1
        self.most = max(self.most, self.live)
        self.threads = max(self.threads, threading.active_count())

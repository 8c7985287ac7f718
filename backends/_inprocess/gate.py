"""
One gate per model and runtime: when a model says wait, all of its children wait.

Everything here runs on the runtime's loop, so that nothing needs a lock.
"""

from __future__ import annotations

import math
from typing import Final

from retinue.protocol.errors import Transient
from retinue.protocol.provider import Workplace

# Seconds before the second try where the model names none; doubled for each further one.
BACK_OFF: Final = 0.5
LONGEST_BACK_OFF: Final = 60.0

# How far apart those who waited at a gate go on, in seconds for each of them: a hundred
# children are spread over ten seconds, and not sent off on one beat (H76).
SPREAD: Final = 0.1
# Limits are counted by the minute as a rule, so that nobody gains by waiting for longer.
LONGEST_SPREAD: Final = 60.0


class Gate:
    """Holds requests back while a model has asked for a pause."""

    __slots__ = ("_closed_until", "_waiting")

    def __init__(self) -> None:
        self._closed_until = 0.0
        self._waiting = 0

    async def passed(self, workplace: Workplace) -> None:
        """Wait until requests may go out; spread over time with all others that waited."""
        while (left := self._closed_until - workplace.now()) > 0:
            self._waiting += 1
            try:
                jitter = workplace.random.uniform(0.0, min(SPREAD * self._waiting, LONGEST_SPREAD))
                await workplace.sleep(left + jitter)
            finally:
                self._waiting -= 1

    def close(self, problem: Transient, attempt: int, workplace: Workplace) -> None:
        """Hold everybody back for as long as the model asks for, or a growing while."""
        seconds = problem.retry_after
        # A model may hand on what a server wrote; what is no time would close the gate for good.
        if not isinstance(seconds, (int, float)) or not math.isfinite(seconds):
            seconds = min(BACK_OFF * 2 ** (attempt - 1), LONGEST_BACK_OFF)
            seconds *= workplace.random.uniform(0.5, 1.5)
        self._closed_until = max(self._closed_until, workplace.now() + seconds)

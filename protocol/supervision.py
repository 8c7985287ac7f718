"""
Whether a child that ended is started again.

Rule: a cancelled child is never started again, not even under ``ALWAYS``. In delegation
a cancel is the decision of a person or of a parent.
"""

from __future__ import annotations

import enum
from typing import TypeAlias

import attrs

from retinue.protocol.errors import InvalidLimit


class Restart(enum.Enum):
    """When a child is started again."""

    NEVER = "never"
    ON_FAILURE = "on-failure"
    ALWAYS = "always"


class Exit(enum.Enum):
    """How a child ended."""

    NORMAL = "normal"
    FAILED = "failed"
    CANCELLED = "cancelled"
    CRASHED = "crashed"


@attrs.frozen
class RestartBudget:
    """
    At most *limit* restarts in any *window* seconds.

    Args:
        limit: a whole number from 0.
        window: seconds, more than 0; infinity counts every restart there ever was.
        spent: the times of the restarts that still count.

    Raises:
        InvalidLimit: *limit* or *window* makes no sense.
    """

    limit: int
    window: float
    spent: tuple[float, ...] = ()

    def __attrs_post_init__(self) -> None:
        if type(self.limit) is not int or self.limit < 0:
            raise InvalidLimit(f"a restart limit is a whole number from 0, not {self.limit!r}")
        # Written so that NaN is refused too.
        if not self.window > 0:
            raise InvalidLimit(f"a restart window is a time above 0 s, not {self.window!r}")

    def spend(self, now: float) -> RestartBudget | None:
        """Return the budget after one more restart at *now*; None when it is used up."""
        recent = (*(time for time in self.spent if now - time <= self.window), now)
        if len(recent) > self.limit:
            return None
        return attrs.evolve(self, spent=recent)


@attrs.frozen
class StartAgain:
    """Start the child again; *budget* is what is left."""

    budget: RestartBudget


@attrs.frozen
class Forget:
    """The child is done with."""


@attrs.frozen
class GiveUp:
    """The child fails too often: the supervisor ends and says why."""

    reason: str


Verdict: TypeAlias = StartAgain | Forget | GiveUp


def verdict(restart: Restart, exit_: Exit, budget: RestartBudget, now: float) -> Verdict:
    """Read top to bottom: the first case that fits decides."""
    match restart, exit_:
        case Restart.NEVER, _:
            return Forget()
        case _, Exit.CANCELLED:
            return Forget()
        case Restart.ON_FAILURE, Exit.NORMAL:
            return Forget()
        case _:
            after = budget.spend(now)
            if after is not None:
                return StartAgain(after)
            return GiveUp(f"more than {budget.limit} restarts in {budget.window:g} s")

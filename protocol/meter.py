"""
What a tree may spend, what it has spent, and when a run is to hear that little is left.

Rule: tokens and cost are known after an answer only. What is under way beside each other
when a limit is reached is let finish, and may go over it.
"""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from retinue.protocol.result import BUDGET, MAX_TURNS, StopReason, Usage


class Unit(enum.Enum):
    """What is counted; the value is the name of the limit."""

    __hash__ = object.__hash__

    TURNS = "turns"
    STEPS = "steps"
    REQUESTS = "requests"
    TOKENS = "tokens"
    COST = "cost"


REASONS: Final[Mapping[Unit, StopReason]] = {
    Unit.TURNS: MAX_TURNS,
    Unit.STEPS: MAX_TURNS,
    Unit.REQUESTS: BUDGET,
    Unit.TOKENS: BUDGET,
    Unit.COST: BUDGET,
}

# What an agent spends as it works, turn and step aside.
SPENDABLE: Final = (Unit.REQUESTS, Unit.TOKENS, Unit.COST)

# The part of a limit that is left when a run is told of it.
NEAR_END: Final = 0.2
# What is missing to a sum of costs that should be a whole limit, relative to it.
_ROUNDING: Final = 1e-9


class Spent(NamedTuple):
    """A limit that is used up."""

    unit: Unit
    most: float
    used: float

    @property
    def reason(self) -> StopReason:
        """Why a run that needs more of it ends."""
        return REASONS[self.unit]

    def __str__(self) -> str:
        name = self.unit.value
        limit = f"{name} of {self.most:g}" if self.unit is Unit.COST else f"{self.most} {name}"
        return f"the limit of {limit} is reached ({self.used:g} used)"


class Allowance(NamedTuple):
    """What the registry says of what was taken or spent."""

    # What is used up, so that nothing was taken.
    spent: Spent | None = None
    # What the run has to hear.
    news: tuple[str, ...] = ()


class Meter:
    """
    The count of one level of a tree against its limits.

    Owned by the registry: only its handlers change one.
    """

    __slots__ = ("_told", "most", "used")

    def __init__(self, most: Mapping[Unit, float]) -> None:
        self.most = most
        self.used: dict[Unit, float] = dict.fromkeys(most, 0)
        # Which runs have heard that little is left, and of what.
        self._told: set[tuple[Unit, int]] = set()

    def add(self, unit: Unit, amount: float) -> None:
        """Count *amount* more of *unit*, where that is limited."""
        if unit in self.used:
            self.used[unit] += amount

    def spent(self, units: Sequence[Unit]) -> Spent | None:
        """Return the first of *units* that is used up."""
        for unit in units:
            most = self.most.get(unit)
            if most is None:
                continue
            used = self.used[unit]
            enough = most * (1 - _ROUNDING) if unit is Unit.COST else most
            if used >= enough:
                return Spent(unit, most, used)
        return None

    def news(self, number: int) -> Iterator[str]:
        """Yield, once for each run and limit, what that run has to hear: little is left."""
        for unit in self.most:
            if self._is_low(unit) and (unit, number) not in self._told:
                self._told.add((unit, number))
                yield self._left(unit)

    def _is_low(self, unit: Unit) -> bool:
        most, used = self.most[unit], self.used[unit]
        left, enough = most - used, most * NEAR_END
        if unit in _COUNTED_ONE_BY_ONE:
            enough = max(1, enough)
        return used > 0 and 0 < left <= enough and self.spent((unit,)) is None

    def _left(self, unit: Unit) -> str:
        most = self.most[unit]
        return low(f"{most - self.used[unit]:g} of {most:g}", unit.value)

    def forget(self, number: int) -> None:
        """Keep nothing of a run that has ended."""
        if self._told:
            self._told.difference_update([(unit, number) for unit in self.most])


_COUNTED_ONE_BY_ONE: Final = frozenset((Unit.TURNS, Unit.STEPS, Unit.REQUESTS))


def low(left: str, what: str) -> str:
    """Say to a run that little is left of something, and what to do about it."""
    return (
        f"Near a limit: {left} {what} left, for you and what works under the same limit. Hand"
        " over what you have: give your result now, and say what is not done."
    )


def meter_of(limits: Any) -> Meter | None:
    """Return the meter that *limits* need, or None where nothing is to be counted."""
    most = {unit: most for unit in Unit if (most := getattr(limits, unit.value)) is not None}
    return Meter(most) if most else None


def amounts(usage: Usage) -> tuple[tuple[Unit, float], ...]:
    """
    Return what *usage* adds to the units that come after the fact.

    What is no amount, NaN or below nothing, adds nothing: it would be in no order to a
    limit, or would widen it.
    """
    tokens, cost = usage.input_tokens + usage.output_tokens, usage.cost
    return tuple(
        [
            (unit, amount)
            for unit, amount in ((Unit.TOKENS, tokens), (Unit.COST, cost))
            if amount > 0
        ]
    )

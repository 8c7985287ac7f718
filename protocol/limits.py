"""Limits of a tree, and the count of its runs and of what they use against them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from retinue.protocol.errors import InvalidLimit
from retinue.protocol.meter import Meter, Spent, Unit, meter_of


def check_seconds(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    """Refuse, as a validator, what is neither None nor seconds above 0."""
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value > 0:
        raise InvalidLimit(f"{attribute.name}: expected seconds above 0, got {value!r}")


def check_time(value: object, what: str) -> None:
    """
    Take seconds from 0, without an end where they have none.

    Raises:
        InvalidLimit: no number, a negative one, or NaN, which would be in no order to others.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not value >= 0:
        raise InvalidLimit(f"{what}: expected seconds from 0, got {value!r}")


def _check_count(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise InvalidLimit(f"{attribute.name}: expected a whole number from 0, got {value!r}")


def _check_cost(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if value is None:
        return
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if not is_number or not 0 <= value < math.inf:  # type: ignore[operator]
        raise InvalidLimit(f"{attribute.name}: expected a number from 0, got {value!r}")


def _check_flag(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidLimit(f"{attribute.name}: expected True or False, got {value!r}")


@attrs.frozen(kw_only=True)
class Limits:
    """
    What a run and everything below it may use; None for no limit.

    Counts are shared by the whole tree below, and limits further up hold as well. A run
    that comes to one ends with the reason ``max-turns`` (turns, steps) or ``budget``
    (requests, tokens, cost) and with the text that it has; near the end it is told, once
    for each limit, in its next step. A start is refused while any of them is used up.

    Args:
        live: runs alive at once, the run itself included.
        total: runs ever started, the run itself included.
        queue: whether a start over ``live`` waits its turn instead of being refused.
        start: seconds that a provider has to open a run.
        run: seconds that a run may take from its start.
        turns: turns begun.
        steps: steps begun, the first of each turn included.
        requests: requests sent to models, those that are sent again included.
        tokens: input and output together. Known after an answer only, as is the cost: the
            answers that are under way when the limit is reached come on top.
        cost: in the currency that the models count in.

    Raises:
        InvalidLimit: a number that makes no sense.
    """

    live: int | None = attrs.field(default=None, validator=_check_count)
    total: int | None = attrs.field(default=None, validator=_check_count)
    queue: bool = attrs.field(default=False, validator=_check_flag)
    start: float | None = attrs.field(default=None, validator=check_seconds)
    run: float | None = attrs.field(default=None, validator=check_seconds)
    turns: int | None = attrs.field(default=None, validator=_check_count)
    steps: int | None = attrs.field(default=None, validator=_check_count)
    requests: int | None = attrs.field(default=None, validator=_check_count)
    tokens: int | None = attrs.field(default=None, validator=_check_count)
    cost: float | None = attrs.field(default=None, validator=_check_cost)

    def within(self, outer: Limits) -> Limits:
        """Narrow the times of *self* by those of *outer*; counts are kept per tree."""
        return attrs.evolve(
            self, start=_least(self.start, outer.start), run=_least(self.run, outer.run)
        )


def _least(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)


NO_LIMITS: Final = Limits()
_ALL: Final = tuple(Unit)
_USED_UP: Final = "; do the work here, or raise the limit"


class Quota:
    """
    The count of one tree's runs, and of what they use, against its limits.

    Owned by the registry: only its handlers change one. Quotas form a chain towards the
    root, so that a subtree's limit narrows and never widens.

    ``meters`` are those of the whole chain, the nearest first; empty where nothing but
    runs is limited, so that such runs pay one look.
    """

    __slots__ = ("limits", "live", "meters", "outer", "total")

    def __init__(self, limits: Limits, outer: Quota | None = None) -> None:
        self.limits = limits
        self.outer = outer
        self.live = 0
        self.total = 0
        own, above = meter_of(limits), () if outer is None else outer.meters
        self.meters: tuple[Meter, ...] = above if own is None else (own, *above)

    def limits_any(self, *units: Unit) -> bool:
        """Whether a limit of the chain is on one of *units*."""
        return any(unit in meter.most for meter in self.meters for unit in units)

    def spent(self, units: Sequence[Unit]) -> Spent | None:
        """Return the first limit of the chain on *units* that is used up."""
        for meter in self.meters:
            spent = meter.spent(units)
            if spent is not None:
                return spent
        return None

    def use(self, unit: Unit, amount: float = 1) -> None:
        """Count *amount* of *unit*, up the whole chain."""
        for meter in self.meters:
            meter.add(unit, amount)

    def shortage(self) -> tuple[str, bool] | None:
        """Say which limit forbids one more run and what to do, and whether waiting helps."""
        spent = self.spent(_ALL) if self.meters else None
        if spent is not None:
            return (f"{spent}{_USED_UP}", False)
        quota: Quota | None = self
        queued: tuple[str, bool] | None = None
        while quota is not None:
            limits = quota.limits
            if limits.total is not None and quota.total >= limits.total:
                return (f"all {limits.total} runs of the tree have been started{_USED_UP}", False)
            if limits.live is not None and quota.live >= limits.live:
                text = (
                    f"{limits.live} runs of the tree are alive, as many as it may have; wait for"
                    " one to end, or raise the limit"
                )
                if not limits.queue:
                    return (text, False)
                queued = (text, True)
            quota = quota.outer
        return queued

    def full_levels(self) -> Iterator[Quota]:
        """Iterate over the quotas of the chain that have no room for one more live run."""
        quota: Quota | None = self
        while quota is not None:
            if quota.limits.live is not None and quota.live >= quota.limits.live:
                yield quota
            quota = quota.outer

    def is_within(self, other: Quota) -> bool:
        """Whether what counts here counts in *other* as well."""
        quota: Quota | None = self
        while quota is not None and quota is not other:
            quota = quota.outer
        return quota is not None

    def take(self) -> None:
        """Count one more run, up the whole chain."""
        quota: Quota | None = self
        while quota is not None:
            quota.live += 1
            quota.total += 1
            quota = quota.outer

    def total_back(self) -> None:
        """A start that was counted came to nothing: it was no run."""
        quota: Quota | None = self
        while quota is not None:
            quota.total -= 1
            quota = quota.outer

    def give_back(self) -> None:
        """A run has settled: it is alive no more, and stays counted in the total (H50)."""
        quota: Quota | None = self
        while quota is not None:
            quota.live -= 1
            quota = quota.outer

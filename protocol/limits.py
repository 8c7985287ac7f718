"""Limits of a tree, and the count of its runs against them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import attrs

from retinue.protocol.errors import InvalidLimit


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


def _check_flag(_: object, attribute: attrs.Attribute[Any], value: object) -> None:
    if not isinstance(value, bool):
        raise InvalidLimit(f"{attribute.name}: expected True or False, got {value!r}")


@attrs.frozen(kw_only=True)
class Limits:
    """
    What a run and everything below it may use.

    Args:
        live: runs alive at once, the run itself included.
        total: runs ever started, the run itself included.
        queue: whether a start over ``live`` waits its turn instead of being refused.
        start: seconds that a provider has to open a run; None for no limit.
        run: seconds that a run may take from its start; None for no limit.

    Raises:
        InvalidLimit: a number that makes no sense.
    """

    live: int | None = attrs.field(default=None, validator=_check_count)
    total: int | None = attrs.field(default=None, validator=_check_count)
    queue: bool = attrs.field(default=False, validator=_check_flag)
    start: float | None = attrs.field(default=None, validator=check_seconds)
    run: float | None = attrs.field(default=None, validator=check_seconds)

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


class Quota:
    """
    The count of one tree's runs against its limits.

    Owned by the registry: only its handlers read or change one. Quotas form a chain
    towards the root, so that a subtree's limit narrows and never widens.
    """

    __slots__ = ("limits", "live", "outer", "total")

    def __init__(self, limits: Limits, outer: Quota | None = None) -> None:
        self.limits = limits
        self.outer = outer
        self.live = 0
        self.total = 0

    def shortage(self) -> tuple[str, bool] | None:
        """Say which limit of the chain forbids one more run, and whether waiting helps."""
        quota: Quota | None = self
        queued: tuple[str, bool] | None = None
        while quota is not None:
            limits = quota.limits
            if limits.total is not None and quota.total >= limits.total:
                return (f"all {limits.total} runs of the tree have been started", False)
            if limits.live is not None and quota.live >= limits.live:
                text = f"{limits.live} runs of the tree are alive, as many as it may have"
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

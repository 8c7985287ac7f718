"""What a tree may spend is counted at every level, and little being left is said once."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.delegation import check_quota
from retinue.protocol.errors import LimitReached
from retinue.protocol.limits import NO_LIMITS, Limits, Quota
from retinue.protocol.meter import REASONS, Unit, amounts
from retinue.protocol.result import BUDGET, MAX_TURNS, Usage

ALL = tuple(Unit)


@pytest.mark.parametrize("unit", Unit)
def test_a_limit_that_is_used_up_refuses_with_its_reason(unit: Unit) -> None:
    """
    Turns and steps end max-turns, what costs money ends budget; a start is refused.
    """
    most: dict[str, Any] = {unit.value: 2}
    quota = Quota(Limits(**most))
    quota.use(unit)
    assert (None, True) == (quota.spent(ALL), check_quota(quota))
    quota.use(unit)

    spent = quota.spent(ALL)

    expected = MAX_TURNS if unit in {Unit.TURNS, Unit.STEPS} else BUDGET
    assert spent is not None
    assert (expected, expected) == (spent.reason, REASONS[unit])
    with pytest.raises(LimitReached, match=r"of 2.* is reached \(2 used\); do the work here"):
        check_quota(quota)


def test_what_a_child_uses_is_used_of_every_limit_above_it() -> None:
    """
    Promise 7: the nearest limit that is used up is named, and the child's never widens one.
    """
    outer = Quota(Limits(requests=5))
    inner = Quota(Limits(requests=9, steps=1), Quota(NO_LIMITS, outer))
    beside = Quota(Limits(steps=1), outer)
    for _ in range(5):
        inner.use(Unit.REQUESTS)

    spent = inner.spent((Unit.REQUESTS,))

    assert spent is not None
    assert 5 == spent.most
    assert spent == beside.spent((Unit.REQUESTS,)) == outer.spent(ALL)
    assert None is inner.spent((Unit.STEPS,))


def test_a_tree_that_limits_no_use_has_nothing_to_count() -> None:
    """
    Such a run pays one look; limits on runs and times need no meter.
    """
    quota = Quota(Limits(live=3, run=1.0), Quota(NO_LIMITS))

    quota.use(Unit.TURNS, 1000)

    assert ((), None, False) == (quota.meters, quota.spent(ALL), quota.limits_any(*ALL))


@given(st.integers(1, 60))
def test_little_is_left_once_and_before_the_end(most: int) -> None:
    """
    A run hears once that at most a fifth is left, at least one, and never that none is.
    """
    quota = Quota(Limits(requests=most))
    meter = quota.meters[0]
    said: list[tuple[int, str]] = []
    for used in range(most + 1):
        said += [(used, text) for text in meter.news(1)]
        meter.add(Unit.REQUESTS, 1)

    near = min((used for used in range(1, most) if most - used <= max(1, most / 5)), default=None)
    assert [near] * (near is not None) == [used for used, _ in said]
    if near is not None:
        assert f"{most - near} of {most} requests left" in said[0][1]


@given(st.floats(0.001, 100), st.floats(0, 1.2))
def test_a_cost_is_near_its_end_at_four_fifths(most: float, part: float) -> None:
    """
    A cost has no smallest piece: of a limit below 1 a run is not told from the start.
    """
    quota = Quota(Limits(cost=most))
    quota.use(Unit.COST, most * part)

    said = list(quota.meters[0].news(1))

    if part < 0.799 or part >= 1:
        assert [] == said
    elif 0.801 < part < 0.999:
        assert 1 == len(said)


def test_each_run_under_a_limit_hears_of_it_once() -> None:
    """
    Who has heard is not told again, until it is forgotten; another run still is.
    """
    meter = Quota(Limits(turns=5, steps=5)).meters[0]
    meter.add(Unit.TURNS, 4)
    meter.add(Unit.STEPS, 4)

    assert [2, 0, 2] == [len(list(meter.news(number))) for number in (1, 1, 2)]
    meter.forget(1)
    assert [2, 0] == [len(list(meter.news(number))) for number in (1, 2)]


def test_costs_that_add_up_to_a_limit_reach_it() -> None:
    """
    Ten times 0.1 is the whole of 1, whatever floating point makes of it.
    """
    quota = Quota(Limits(cost=1.0))
    for _ in range(10):
        assert None is quota.spent(ALL)
        quota.use(Unit.COST, 0.1)

    assert quota.spent(ALL) is not None


@pytest.mark.parametrize(
    "usage", [Usage(cost=math.nan), Usage(-5, 2, cost=-1.0), Usage(requests=3)]
)
def test_what_is_no_amount_widens_no_limit(usage: Usage) -> None:
    """
    NaN is in no order to a limit, and what is negative would give something back.
    """
    assert () == amounts(usage)
    assert ((Unit.TOKENS, 3), (Unit.COST, 0.5)) == amounts(Usage(1, 2, 1, 0.5))

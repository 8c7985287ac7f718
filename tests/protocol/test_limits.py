"""Limits of a tree are counted at admission, and only narrow on the way down."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.delegation import check_quota
from retinue.protocol.errors import InvalidLimit, LimitReached
from retinue.protocol.limits import NO_LIMITS, Limits, Quota

seconds = st.none() | st.floats(min_value=0, exclude_min=True)


@pytest.mark.parametrize("name", ["live", "total", "turns", "steps", "requests", "tokens"])
@pytest.mark.parametrize("value", [-1, 1.0, 1.5, True, "3", math.nan])
def test_a_count_is_a_whole_number(name: str, value: Any) -> None:
    """
    What compares silently or not at all is no limit.
    """
    with pytest.raises(InvalidLimit, match=f"{name}: expected a whole number from 0"):
        Limits(**{name: value})


@pytest.mark.parametrize("value", [-0.1, math.nan, math.inf, True, "3", 1j])
def test_a_cost_is_a_number_from_zero(value: Any) -> None:
    """
    What is no number is no limit, and None says that there is none.
    """
    with pytest.raises(InvalidLimit, match="cost: expected a number from 0"):
        Limits(cost=value)
    assert (0, 0.5) == (Limits(cost=0).cost, Limits(cost=0.5).cost)


@pytest.mark.parametrize("name", ["start", "run"])
@pytest.mark.parametrize("value", [0, -1, math.nan, -math.inf, True, "3"])
def test_a_time_is_above_zero(name: str, value: Any) -> None:
    """
    A time of nothing is a mistake; None says that there is no limit.
    """
    with pytest.raises(InvalidLimit, match=f"{name}: expected seconds above 0"):
        Limits(**{name: value})


@given(seconds, seconds, seconds, seconds)
def test_times_only_narrow(
    start: float | None, run: float | None, outer_start: float | None, outer_run: float | None
) -> None:
    """
    Promise 7: the smaller of two times holds, and an absent one is no limit.
    """
    inner = Limits(live=1, total=2, queue=True, start=start, run=run)

    both = inner.within(Limits(start=outer_start, run=outer_run))

    assert min(_or_inf(start), _or_inf(outer_start)) == _or_inf(both.start)
    assert min(_or_inf(run), _or_inf(outer_run)) == _or_inf(both.run)
    assert (1, 2, True) == (both.live, both.total, both.queue)


def _or_inf(value: float | None) -> float:
    return math.inf if value is None else value


def test_a_tree_without_limits_never_runs_short() -> None:
    """
    No quota, and a quota that limits nothing, let everything in.
    """
    quota = Quota(NO_LIMITS)
    for _ in range(1000):
        quota.take()

    assert check_quota(None)
    assert check_quota(quota)


def test_the_total_counts_what_has_ended_too() -> None:
    """
    H49: the start after the last is refused, also when the first ones are gone; a place
    among the living came free (H50), one in the total did not.
    """
    quota = Quota(Limits(live=2, total=3))
    for _ in range(3):
        assert check_quota(quota)
        quota.take()
        quota.give_back()

    with pytest.raises(LimitReached, match="all 3 runs of the tree have been started"):
        check_quota(quota)


def test_an_ended_run_holds_no_place() -> None:
    """
    H50: with two places, two that end let two more in.
    """
    quota = Quota(Limits(live=2))
    for _ in range(2):
        quota.take()
    with pytest.raises(LimitReached, match="2 runs of the tree are alive"):
        check_quota(quota)

    for _ in range(2):
        quota.give_back()

    assert check_quota(quota)


def test_a_start_that_came_to_nothing_is_no_run() -> None:
    """
    RUN-2: a failed start is unwound, its count in the total included.
    """
    quota = Quota(Limits(total=1))
    quota.take()
    quota.give_back()
    quota.total_back()

    assert check_quota(quota)


def test_a_full_tree_queues_where_that_is_asked_for() -> None:
    """
    H48: over the live limit a start waits if the tree says so; a used-up total is final.
    """
    full = Quota(Limits(live=1, queue=True))
    full.take()
    used_up = Quota(Limits(total=1, queue=True))
    used_up.take()

    assert not check_quota(full)
    with pytest.raises(LimitReached):
        check_quota(used_up)


def test_whoever_refuses_wins_over_whoever_queues() -> None:
    """
    Waiting helps only if no limit further up forbids the start for good.
    """
    outer = Quota(Limits(live=1))
    inner = Quota(Limits(live=1, queue=True), outer)
    inner.take()

    with pytest.raises(LimitReached):
        check_quota(inner)


@pytest.mark.parametrize("limits", [Limits(live=0), Limits(total=0)])
def test_zero_is_a_limit(limits: Limits) -> None:
    """
    Promise 1: nothing is honoured as nothing, and not ignored as if it were absent.
    """
    with pytest.raises(LimitReached):
        check_quota(Quota(limits))


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from(["take", "end", "undo"])), max_size=40)
)
def test_a_quota_counts_everything_below_it(moves: list[tuple[int, str]]) -> None:
    """
    Each quota holds the sums of what was taken and given back at or below it.
    """
    chain = [Quota(NO_LIMITS)]
    for _ in range(3):
        chain.append(Quota(NO_LIMITS, chain[-1]))
    live, total = [0] * 4, [0] * 4

    for place, move in moves:
        if move == "take":
            chain[place].take()
        else:
            chain[place].give_back()
        if move == "undo":
            chain[place].total_back()
        live[place] += 1 if move == "take" else -1
        total[place] += {"take": 1, "end": 0, "undo": -1}[move]

    assert [sum(live[n:]) for n in range(4)] == [quota.live for quota in chain]
    assert [sum(total[n:]) for n in range(4)] == [quota.total for quota in chain]

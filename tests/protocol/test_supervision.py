"""The supervisor's judgement."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retinue.protocol.errors import InvalidLimit
from retinue.protocol.supervision import (
    Exit,
    Forget,
    GiveUp,
    Restart,
    RestartBudget,
    StartAgain,
    verdict,
)

BUDGET = RestartBudget(limit=2, window=10.0)
AGAIN = {
    (Restart.ON_FAILURE, Exit.FAILED),
    (Restart.ON_FAILURE, Exit.CRASHED),
    (Restart.ALWAYS, Exit.NORMAL),
    (Restart.ALWAYS, Exit.FAILED),
    (Restart.ALWAYS, Exit.CRASHED),
}


@pytest.mark.parametrize(("restart", "exit_"), [*itertools.product(Restart, Exit)])
def test_who_is_started_again(restart: Restart, exit_: Exit) -> None:
    """
    A child is started again if it is to be always, or on a failure that it had; a cancelled
    one never is.
    """
    decided = verdict(restart, exit_, BUDGET, 3.0)

    if (restart, exit_) in AGAIN:
        assert StartAgain(RestartBudget(2, 10.0, (3.0,))) == decided
    else:
        assert Forget() == decided


@pytest.mark.parametrize(("restart", "exit_"), sorted(AGAIN, key=str))
def test_a_child_that_fails_too_often_is_given_up(restart: Restart, exit_: Exit) -> None:
    """
    With its budget used up a supervisor gives up, and says what the budget was.
    """
    spent = RestartBudget(2, 10.0, (1.0, 2.0))

    assert GiveUp("more than 2 restarts in 10 s") == verdict(restart, exit_, spent, 3.0)


def test_a_budget_without_restarts_gives_up_at_once() -> None:
    """
    A limit of 0 allows no restart at all.
    """
    assert RestartBudget(0, 1.0).spend(5.0) is None


def test_what_is_older_than_the_window_does_not_count() -> None:
    """
    A restart counts for *window* seconds, the last instant included.
    """
    budget = RestartBudget(1, 10.0, (5.0,))

    assert budget.spend(15.0) is None
    assert RestartBudget(1, 10.0, (15.5,)) == budget.spend(15.5)


def test_a_budget_for_ever_forgets_nothing() -> None:
    """
    A window of infinity limits the restarts of a whole life.
    """
    assert RestartBudget(1, math.inf, (0.0,)).spend(1e9) is None


def test_spending_changes_nothing() -> None:
    """
    A budget is a value: what was spent is in the new one alone.
    """
    BUDGET.spend(1.0)

    assert () == BUDGET.spent


@pytest.mark.parametrize("limit", [-1, 1.5, True, math.nan, None])
def test_a_limit_is_a_whole_number(limit: int) -> None:
    """
    A restart limit that makes no sense is refused when it is made.
    """
    with pytest.raises(InvalidLimit, match="whole number"):
        RestartBudget(limit, 1.0)


@pytest.mark.parametrize("window", [0.0, -1.0, math.nan])
def test_a_window_is_a_time(window: float) -> None:
    """
    A restart window that makes no sense, NaN included, is refused when it is made.
    """
    with pytest.raises(InvalidLimit, match="above 0 s"):
        RestartBudget(1, window)


@given(
    st.integers(0, 4),
    st.floats(0.5, 20),
    st.lists(st.floats(0, 100), max_size=30).map(sorted),
)
def test_no_window_ever_holds_more_restarts_than_the_limit(
    limit: int, window: float, times: list[float]
) -> None:
    """
    Whenever children fail, no stretch of *window* seconds sees more than *limit* restarts.
    """
    budget = RestartBudget(limit, window)
    started: list[float] = []
    for now in times:
        after = budget.spend(now)
        if after is not None:
            budget = after
            started.append(now)

    for now in started:
        assert limit >= sum(0 <= now - time <= window for time in started)

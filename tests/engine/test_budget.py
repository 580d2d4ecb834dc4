"""What was spent within a minute or an hour: never more than the limit in any window, and nothing held for ever."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftcritic.engine._budget import HOUR, MINUTE, HourlyBudget, SlidingSum

STEPS = st.lists(st.floats(0, 90, allow_nan=False), min_size=1, max_size=60)


@settings(deadline=None)
@given(STEPS, st.integers(1, 5))
def test_no_window_of_any_position_holds_more_than_the_limit(steps: list[float], limit: int) -> None:
    spent, now, taken = SlidingSum(MINUTE), 1000.0, []
    for step in steps:
        now += step
        if spent.total(now) + 1 <= limit:
            spent.add(1, now)
            taken.append(now)
    for start in taken:
        assert sum(start <= time < start + MINUTE for time in taken) <= limit


@settings(deadline=None)
@given(STEPS)
def test_what_is_older_than_the_window_and_a_slice_counts_no_more(steps: list[float]) -> None:
    spent, now = SlidingSum(MINUTE), 1000.0
    for step in steps:
        now += step
        spent.add(0.1, now)
    assert spent.total(now) >= 0.1
    assert spent.total(now + MINUTE + 2 * MINUTE / 60) == 0


def test_a_clock_that_goes_backwards_loses_nothing() -> None:
    spent = SlidingSum(MINUTE)
    spent.add(2, 100.0)
    spent.add(3, 50.0)
    assert spent.total(100.0) == 5


def test_a_budget_holds_for_its_sku_and_the_star_for_the_others() -> None:
    budget = HourlyBudget({"gpt-4o": 100, "*": 10})
    budget.spend("gpt-4o", 99, 0.0)
    budget.spend("claude-haiku-4-5", 11, 0.0)
    assert budget.allows("gpt-4o", 0, 1.0)
    assert not budget.allows("claude-haiku-4-5", 0, 1.0)
    assert budget.allows("gpt-4.1-nano", 0, 1.0)
    assert budget.allows("claude-haiku-4-5", 0, HOUR + 120)


def test_calls_under_way_count_as_much_as_recent_ones_did() -> None:
    budget = HourlyBudget({"*": 100})
    assert budget.allows("m", 50, 0.0)  # nothing is known yet
    budget.spend("m", 30, 0.0)
    assert budget.allows("m", 2, 1.0)
    assert not budget.allows("m", 3, 1.0)


@pytest.mark.parametrize("amount", [None, 5])
def test_what_is_unknown_or_has_no_budget_is_not_counted(amount: int | None) -> None:
    budget = HourlyBudget({"other": 1})
    budget.spend("other", None, 0.0)
    budget.spend("m", amount, 0.0)
    assert budget.allows("m", 100, 1.0)
    assert budget.allows("other", 100, 1.0)

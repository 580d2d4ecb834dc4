"""What was spent within a minute or an hour: never more than the limit in any window, and nothing held for ever."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftcritic.review._budget import HOUR, MINUTE, HourlyBudget, SlidingSum

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
    assert budget.allows("gpt-4o", 1, 1.0)
    assert not budget.allows("gpt-4o", 2, 1.0)
    assert not budget.allows("claude-haiku-4-5", 0, 1.0)
    assert budget.allows("gpt-4.1-nano", 0, 1.0)
    assert budget.allows("claude-haiku-4-5", 0, HOUR + 120)


def test_what_is_reserved_counts_until_it_is_released_and_leaves_nothing_behind() -> None:
    budget = HourlyBudget({"*": 1})
    for _ in range(3):
        assert budget.allows("m", 0.3, 0.0)
        budget.reserve("m", 0.3)
    assert not budget.allows("m", 0.3, 0.0)
    assert budget.allows("another", 0.3, 0.0)
    for _ in range(4):  # once too often, as after a fork
        budget.release("m", 0.3)
    assert budget.allows("m", 1, 0.0)


def test_the_only_call_of_an_hour_is_let_through_whatever_its_estimate() -> None:
    budget = HourlyBudget({"*": 100})
    assert budget.allows("m", 5000, 0.0)
    budget.reserve("m", 5000)
    assert not budget.allows("m", 1, 0.0)
    budget.release("m", 5000)
    budget.spend("m", 60, 0.0)
    assert not budget.allows("m", 5000, 0.0)
    assert budget.allows("m", 40, 0.0)


def test_estimates_follow_what_came_of_the_last_guesses() -> None:
    budget = HourlyBudget({"*": 100})
    assert budget.estimate("m", 1000) is None
    budget.learn("m", 1000, 200)
    assert budget.estimate("m", 500) == 100
    for _ in range(100):
        budget.learn("m", 1000, 400)
    assert budget.estimate("m", 1000) == pytest.approx(400, rel=0.01)


def test_what_has_no_budget_is_not_counted() -> None:
    budget = HourlyBudget({"other": 1})
    budget.spend("m", 5, 0.0)
    budget.limits = {"*": 1}
    assert budget.allows("m", 1, 1.0)


def test_names_from_outside_are_bounded() -> None:
    budget = HourlyBudget({"*": 10})
    for number in range(1000):
        budget.spend(f"m{number}", 11, 0.0)
        budget.learn(f"m{number}", 1, 1)
    assert (len(budget._spent), len(budget._factor)) == (256, 256)
    assert not budget.allows("m999", 0, 1.0)

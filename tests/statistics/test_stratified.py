"""Shares of a population from a stratified sample."""

from __future__ import annotations

import math

import pytest

from benchmarks.intervals import coverage
from draftcritic.statistics import (
    Stratum,
    clopper_pearson,
    labels_needed,
    stratified_share,
    stratified_upper_bound,
    upper_bound,
)


def test_each_label_counts_for_the_cases_of_its_stratum() -> None:
    estimate = stratified_share([Stratum(9000, 90, 1), Stratum(1000, 100, 20)])
    assert estimate.share == pytest.approx((9000 / 90 * 1 + 1000 / 100 * 20) / 10_000)
    assert estimate.covered == 1.0
    assert estimate.interval.low < estimate.share < estimate.interval.high


def test_one_large_stratum_gives_the_exact_interval() -> None:
    estimate = stratified_share([Stratum(10**9, 500, 10)])
    assert estimate.interval == pytest.approx(clopper_pearson(10, 500), rel=1e-5)
    assert stratified_upper_bound([Stratum(10**9, 299, 0)]) == upper_bound(0, 299) <= 0.01


def test_a_census_has_no_uncertainty() -> None:
    estimate = stratified_share([Stratum(40, 40, 3), Stratum(10, 10, 0)])
    assert estimate.share == estimate.interval.low == estimate.interval.high == pytest.approx(3 / 50)
    assert stratified_upper_bound([Stratum(40, 40, 3)]) == pytest.approx(3 / 40)


def test_a_census_leaves_the_cases_to_come_uncertain() -> None:
    for strata in ([Stratum(40, 40, 3)], [Stratum(40_000, 40, 3)]):
        assert stratified_upper_bound(strata, to_come=True) == upper_bound(3, 40)
    two = [Stratum(40, 40, 0), Stratum(10, 10, 0)]
    assert stratified_upper_bound(two) == 0
    assert stratified_upper_bound(two, to_come=True) > upper_bound(0, 50)


def test_a_stratum_without_any_hit_still_widens_the_interval() -> None:
    estimate = stratified_share([Stratum(10_000, 50, 0), Stratum(100, 100, 10)])
    assert estimate.share == pytest.approx(10 / 10_100)
    assert estimate.interval.high > 0.05


def test_a_stratum_without_labels_widens_the_interval_by_all_that_it_may_be() -> None:
    estimate = stratified_share([Stratum(900, 900, 0), Stratum(100, 0, 0)])
    assert estimate.covered == pytest.approx(0.9)
    assert estimate.interval == pytest.approx((0.0, 0.1))
    assert stratified_upper_bound([Stratum(900, 900, 0), Stratum(100, 0, 0)]) == pytest.approx(0.1)


def test_without_any_label_nothing_is_known() -> None:
    for strata in ([], [Stratum(5, 0, 0)]):
        estimate = stratified_share(strata)
        assert (estimate.interval, estimate.covered) == ((0.0, 1.0), 0.0)
        assert stratified_upper_bound(strata) == 1.0


def test_numbers_that_do_not_fit_are_rejected() -> None:
    for size, sampled, hits in ((5, 6, 0), (5, 2, 3), (5, 2, -1)):
        with pytest.raises(ValueError, match="0 <= hits <= sampled <= size"):
            Stratum(size, sampled, hits)


@pytest.mark.parametrize("by_verdict", [False, True])
def test_the_interval_contains_the_truth_in_93_of_100_runs(by_verdict: bool) -> None:
    found = coverage(runs=100, drafts=20_000, labels=500, by_verdict=by_verdict)
    assert found.contained >= 0.93


def test_labels_of_each_verdict_make_the_error_smaller_than_random_labels() -> None:
    random_labels = coverage(runs=100, drafts=20_000, labels=500, by_verdict=False)
    by_verdict = coverage(runs=100, drafts=20_000, labels=500, by_verdict=True)
    assert by_verdict.error < random_labels.error < 0.014


def test_as_many_labels_as_are_needed_show_the_bound() -> None:
    labels = labels_needed(0.01, 1)
    assert stratified_upper_bound([Stratum(10**6, labels, 1)]) <= 0.01
    assert not math.isclose(stratified_upper_bound([Stratum(10**6, labels // 2, 1)]), 0.01)

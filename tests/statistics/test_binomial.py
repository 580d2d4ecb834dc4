"""Intervals of one share, against scipy and statsmodels."""

from __future__ import annotations

import pytest

from draftcritic.statistics import clopper_pearson, labels_needed, upper_bound, wilson

stats = pytest.importorskip("scipy.stats")
proportion = pytest.importorskip("statsmodels.stats.proportion")

CASES = [(0, 1), (1, 1), (0, 299), (1, 473), (10, 500), (250, 500), (499, 500), (500, 500), (3, 20_000), (77, 12_345)]


@pytest.mark.parametrize(("hits", "total"), CASES)
@pytest.mark.parametrize("level", [0.8, 0.95, 0.999])
def test_both_intervals_equal_those_of_statsmodels(hits: int, total: int, level: float) -> None:
    exact = proportion.proportion_confint(hits, total, 1 - level, method="beta")
    assert clopper_pearson(hits, total, level) == pytest.approx(exact, abs=1e-12, rel=1e-9)
    score = proportion.proportion_confint(hits, total, 1 - level, method="wilson")
    assert wilson(hits, total, level) == pytest.approx(score, abs=1e-12, rel=1e-9)


@pytest.mark.parametrize(("hits", "total"), CASES)
def test_the_one_sided_bound_equals_that_of_scipy(hits: int, total: int) -> None:
    if hits == total:
        assert upper_bound(hits, total) == 1.0
        return
    exact = stats.binomtest(hits, total).proportion_ci(0.9, method="exact").high
    assert upper_bound(hits, total) == pytest.approx(exact, rel=1e-9)


@pytest.mark.parametrize(
    ("bound", "needed"),
    [(0.01, (299, 473, 628)), (0.015, (199, 315, 418)), (0.03, (99, 157, 208)), (0.05, (59, 93, 124))],
)
def test_labels_needed_for_zero_one_and_two_hits(bound: float, needed: tuple[int, ...]) -> None:
    assert tuple(labels_needed(bound, hits) for hits in range(3)) == needed
    for hits, total in enumerate(needed):
        assert upper_bound(hits, total) <= bound < upper_bound(hits, total - 1)


def test_nothing_counted_gives_the_whole_range() -> None:
    assert wilson(0, 0) == clopper_pearson(0, 0) == (0.0, 1.0)
    assert upper_bound(0, 0) == 1.0


@pytest.mark.parametrize(("hits", "total", "level"), [(2, 1, 0.95), (-1, 5, 0.95), (1, 5, 0), (1, 5, 1)])
def test_numbers_that_do_not_fit_are_rejected(hits: int, total: int, level: float) -> None:
    for interval in (wilson, clopper_pearson, upper_bound):
        with pytest.raises(ValueError, match="must be"):
            interval(hits, total, level)


def test_a_bound_that_is_no_share_is_rejected() -> None:
    for bound in (0, 1, -0.1):
        with pytest.raises(ValueError, match="between 0 and 1"):
            labels_needed(bound)

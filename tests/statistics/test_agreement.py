"""Agreement of raters, against scikit-learn, statsmodels and krippendorff."""

from __future__ import annotations

import math
import random

import pytest

from draftcritic.statistics import cohen_kappa, krippendorff_alpha

metrics = pytest.importorskip("sklearn.metrics")
inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
krippendorff = pytest.importorskip("krippendorff")

WORDS = ("approve", "revise", "refuse")


def labels(seed: int, raters: int, cases: int, missing: float = 0.0) -> list[list[str | None]]:
    """Labels by several raters who agree more often than not."""
    chance = random.Random(seed)
    rows = []
    for _ in range(cases):
        truth = chance.choice(WORDS)
        row = [truth if chance.random() < 0.7 else chance.choice(WORDS) for _ in range(raters)]
        rows.append([None if chance.random() < missing else label for label in row])
    return rows


@pytest.mark.parametrize("seed", range(5))
def test_kappa_equals_that_of_scikit_learn_and_its_interval_that_of_statsmodels(seed: int) -> None:
    pairs = [(str(one), str(other)) for one, other in labels(seed, 2, 120)]
    kappa = cohen_kappa(pairs)
    assert kappa.value == pytest.approx(metrics.cohen_kappa_score(*zip(*pairs, strict=True)), abs=1e-12)
    table = [[pairs.count((one, other)) for other in WORDS] for one in WORDS]
    peer = inter_rater.cohens_kappa(table)
    assert kappa.interval == pytest.approx((peer.kappa_low, peer.kappa_upp), abs=1e-9)
    assert kappa.agreed == pytest.approx(sum(one == other for one, other in pairs) / len(pairs))


def test_kappa_without_pairs_or_with_one_label_only_is_not_defined() -> None:
    assert math.isnan(cohen_kappa([]).value)
    alike = cohen_kappa([("approve", "approve")] * 4)
    assert math.isnan(alike.value)
    assert (alike.agreed, alike.pairs, alike.interval) == (1.0, 4, (-1.0, 1.0))


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("raters", "missing"), [(2, 0.0), (4, 0.4)])
@pytest.mark.parametrize("scale", ["nominal", "ordinal"])
def test_alpha_equals_that_of_krippendorff(seed: int, raters: int, missing: float, scale: str) -> None:
    rows = labels(seed, raters, 80, missing)
    units = [[label for label in row if label is not None] for row in rows]
    data = [[math.nan if row[rater] is None else WORDS.index(row[rater]) for row in rows] for rater in range(raters)]
    expected = krippendorff.alpha(reliability_data=data, level_of_measurement=scale)
    found = krippendorff_alpha(units, "ordinal" if scale == "ordinal" else "nominal", WORDS)
    assert found == pytest.approx(expected, abs=1e-12)


def test_alpha_is_not_defined_without_two_labels_or_two_words() -> None:
    assert math.isnan(krippendorff_alpha([["approve"], []]))
    assert math.isnan(krippendorff_alpha([["approve", "approve"]]))


def test_an_order_that_lacks_a_label_is_rejected() -> None:
    with pytest.raises(ValueError, match="lacks"):
        krippendorff_alpha([["approve", "unsure"]], "ordinal", WORDS)

"""How far several people agree, beyond what chance would give."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, TypeVar

from draftcritic.statistics._binomial import Interval

Label = TypeVar("Label", bound=Hashable)


@dataclass(frozen=True)
class Kappa:
    """Cohen's kappa of two raters.

    Attributes:
        value: 1 for full agreement, 0 for what chance gives; NaN when it is not defined.
        interval: the large-sample interval.
        agreed: the plain share of equal labels.
        pairs: how many cases both labelled.
    """

    value: float
    interval: Interval
    agreed: float
    pairs: int


def cohen_kappa(pairs: Iterable[tuple[Label, Label]], level: float = 0.95) -> Kappa:
    """Return Cohen's kappa of the labels that two raters gave to the same cases.

    It is not defined when there is no pair, or when both raters gave one and the same label throughout.

    Args:
        pairs: the two labels of each case.
        level: the confidence level of the interval.
    """
    cells = Counter(pairs)
    count = sum(cells.values())
    if not count:
        return Kappa(math.nan, Interval(-1.0, 1.0), math.nan, 0)
    first: Counter[Label] = Counter()
    second: Counter[Label] = Counter()
    for (one, other), number in cells.items():
        first[one] += number
        second[other] += number
    agreed = sum(number for (one, other), number in cells.items() if one == other) / count
    chance = sum(first[label] * second[label] for label in first) / count**2
    if chance == 1.0:
        return Kappa(math.nan, Interval(-1.0, 1.0), agreed, count)
    value = (agreed - chance) / (1 - chance)
    spread = NormalDist().inv_cdf((1 + level) / 2) * _deviation(cells, first, second, value)
    return Kappa(value, Interval(max(-1.0, value - spread), min(1.0, value + spread)), agreed, count)


def _deviation(
    cells: Mapping[tuple[Label, Label], int], first: Mapping[Label, int], second: Mapping[Label, int], kappa: float
) -> float:
    """Return the large-sample standard error of kappa (Fleiss, Cohen and Everitt, 1969)."""
    count = sum(cells.values())
    chance = sum(first[label] * second.get(label, 0) for label in first) / count**2
    on, off = 0.0, 0.0
    for (one, other), number in cells.items():
        share = number / count
        if one == other:
            on += share * (1 - (first[one] + second[one]) / count * (1 - kappa)) ** 2
        else:
            off += share * ((second.get(one, 0) + first.get(other, 0)) / count) ** 2
    variance = on + (1 - kappa) ** 2 * off - (kappa - chance * (1 - kappa)) ** 2
    return math.sqrt(max(0.0, variance) / count) / (1 - chance)


def krippendorff_alpha(
    units: Iterable[Sequence[Label]],
    scale: Literal["nominal", "ordinal"] = "nominal",
    order: Sequence[Label] = (),
) -> float:
    """Return Krippendorff's alpha; NaN when it is not defined.

    Args:
        units: the labels of each case, by however many raters; a case with fewer than two labels says nothing.
        scale: `ordinal` weighs a disagreement by how far apart the labels are in `order`.
        order: the labels from the lowest to the highest, for `ordinal`.

    Raises:
        ValueError: `ordinal` without an `order` that has every label.
    """
    together: defaultdict[tuple[Label, Label], float] = defaultdict(float)
    for labels in units:
        counts = Counter(labels)
        raters = sum(counts.values())
        if raters < 2:
            continue
        for one, number in counts.items():
            for other, others in counts.items():
                together[one, other] += number * (others - (one == other)) / (raters - 1)
    totals: defaultdict[Label, float] = defaultdict(float)
    for (one, _), weight in together.items():
        totals[one] += weight
    count = sum(totals.values())
    distance = _distances(totals, scale, order)
    observed = sum(weight * distance[one, other] for (one, other), weight in together.items())
    expected = sum(totals[one] * totals[other] * distance[one, other] for one in totals for other in totals)
    return math.nan if expected == 0 else 1 - (count - 1) * observed / expected


def _distances(
    totals: Mapping[Label, float], scale: Literal["nominal", "ordinal"], order: Sequence[Label]
) -> dict[tuple[Label, Label], float]:
    if scale == "nominal":
        return {(one, other): float(one != other) for one in totals for other in totals}
    unknown = [label for label in totals if label not in order]
    if unknown:
        raise ValueError(f"the order {list(order)} lacks {unknown}")
    ranked = [label for label in order if label in totals]
    distances = {}
    for at, one in enumerate(ranked):
        for up, other in enumerate(ranked[at:], at):
            between = sum(totals[label] for label in ranked[at : up + 1]) - (totals[one] + totals[other]) / 2
            distances[one, other] = distances[other, one] = between**2
    return distances

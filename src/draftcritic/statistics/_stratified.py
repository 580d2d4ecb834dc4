"""Shares of a whole population from a sample that was drawn by strata."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from draftcritic.statistics._binomial import Interval, clopper_pearson, upper_bound


@dataclass(frozen=True)
class Stratum:
    """One stratum of the population and what its sample showed.

    Attributes:
        size: how many cases the population has in it.
        sampled: how many of them were looked at.
        hits: how many of those were hits.

    Raises:
        ValueError: the numbers do not fit each other.
    """

    size: int
    sampled: int
    hits: int

    def __post_init__(self) -> None:
        if not 0 <= self.hits <= self.sampled <= self.size:
            raise ValueError(f"a stratum needs 0 <= hits <= sampled <= size; got {self}")

    @property
    def unseen(self) -> float:
        """The finite-population factor of a standard deviation: 0 when every case was looked at."""
        if self.size <= 1:
            return 0.0 if self.sampled else 1.0
        return math.sqrt((self.size - self.sampled) / (self.size - 1))


@dataclass(frozen=True)
class Estimate:
    """A share with its interval.

    Attributes:
        share: the Horvitz-Thompson estimate: each hit counts for as many cases as its stratum has for each label.
        interval: the two-sided interval.
        covered: the share of the population that lies in strata with at least one label.
    """

    share: float
    interval: Interval
    covered: float


def stratified_share(strata: Sequence[Stratum], level: float = 0.95) -> Estimate:
    """Return the share of hits in the whole population.

    The interval combines the exact interval of each stratum by the method of variance estimates recovery, which
    stays honest where a stratum shows no hit at all. The estimate is that of the strata with labels; a stratum
    without any widens the interval by all that it may be.

    Args:
        strata: the strata, which do not overlap.
        level: the confidence level.
    """
    population = sum(stratum.size for stratum in strata)
    seen = [stratum for stratum in strata if stratum.sampled]
    labelled = sum(stratum.size for stratum in seen)
    if not labelled:
        return Estimate(0.0, Interval(0.0, 1.0), 0.0)
    share, below, above = 0.0, 0.0, 0.0
    for stratum in seen:
        weight = stratum.size / labelled
        own = stratum.hits / stratum.sampled
        low, high = clopper_pearson(stratum.hits, stratum.sampled, level)
        share += weight * own
        below += (weight * stratum.unseen * (own - low)) ** 2
        above += (weight * stratum.unseen * (high - own)) ** 2
    covered = labelled / population
    low = max(0.0, share - math.sqrt(below)) * covered
    high = min(1.0, share + math.sqrt(above)) * covered + (1 - covered)
    return Estimate(min(1.0, share), Interval(low, high), covered)


def stratified_upper_bound(strata: Sequence[Stratum], level: float = 0.95, *, to_come: bool = False) -> float:
    """Return the one-sided bound: with confidence `level` the share in the whole population is at most this.

    With one stratum it is the exact binomial bound.

    Args:
        strata: the strata, which do not overlap.
        level: the confidence level.
        to_come: the bound is for the cases to come, of which the population is itself a sample: a stratum that was
            looked at as a whole still leaves them uncertain.
    """
    population = sum(stratum.size for stratum in strata)
    if not population:
        return 1.0
    if len(strata) == 1 and strata[0].sampled and (to_come or strata[0].sampled < strata[0].size):
        return upper_bound(strata[0].hits, strata[0].sampled, level)
    share, above, unknown = 0.0, 0.0, 0.0
    for stratum in strata:
        weight = stratum.size / population
        if not stratum.sampled:
            unknown += weight
            continue
        own = stratum.hits / stratum.sampled
        share += weight * own
        unseen = 1.0 if to_come else stratum.unseen
        above += (weight * unseen * (upper_bound(stratum.hits, stratum.sampled, level) - own)) ** 2
    return min(1.0, share + math.sqrt(above) + unknown)

"""Intervals of a share that was counted: `hits` of `total`."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import NamedTuple

_TINY = 1e-300
_PRECISION = 1e-15
_MAX_TERMS = 10_000
_MAX_LABELS = 10_000_000


class Interval(NamedTuple):
    """The two ends of an interval."""

    low: float
    high: float


def wilson(hits: float, total: float, level: float = 0.95) -> Interval:
    """Return the Wilson score interval; (0, 1) when nothing was counted.

    Args:
        hits: how often it was so; a weighted count may be no whole number.
        total: how many cases there were.
        level: the confidence level of the two-sided interval.

    Raises:
        ValueError: `hits` is not within 0 and `total`, or `level` not within 0 and 1.
    """
    _check(hits, total, level)
    if total == 0:
        return Interval(0.0, 1.0)
    z = NormalDist().inv_cdf((1 + level) / 2)
    share = hits / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    low = 0.0 if hits == 0 else max(0.0, (centre - spread) / scale)
    high = 1.0 if hits == total else min(1.0, (centre + spread) / scale)
    return Interval(low, high)


def clopper_pearson(hits: float, total: float, level: float = 0.95) -> Interval:
    """Return the exact two-sided interval: each end leaves out at most half of `1 - level`.

    Args:
        hits: how often it was so.
        total: how many cases there were.
        level: the confidence level.

    Raises:
        ValueError: see `wilson`.
    """
    _check(hits, total, level)
    tail = (1 - level) / 2
    low = 0.0 if hits == 0 else 1.0 - _upper(total - hits, total, tail)
    return Interval(low, _upper(hits, total, tail))


def upper_bound(hits: float, total: float, level: float = 0.95) -> float:
    """Return the exact one-sided bound: with confidence `level` the share is at most this.

    Raises:
        ValueError: see `wilson`.
    """
    _check(hits, total, level)
    return _upper(hits, total, 1 - level)


def labels_needed(bound: float, hits: int = 0, level: float = 0.95) -> int:
    """Return how many labels show that a share is at most `bound` when `hits` of them are hits.

    Args:
        bound: the share to show, between 0 and 1.
        hits: labels among them that count against the bound.
        level: the one-sided confidence level.

    Raises:
        ValueError: `bound` or `level` is not between 0 and 1, `hits` is negative, or it takes over ten million labels.
    """
    if not 0 < bound < 1 or not 0 < level < 1 or hits < 0:
        raise ValueError(f"bound and level must be between 0 and 1, hits at least 0; got {bound}, {level}, {hits}")
    low, high = hits, max(1, 2 * hits)
    while not _shows(bound, hits, high, level):
        low, high = high, 2 * high
        if high > _MAX_LABELS:
            raise ValueError(f"to show {bound} takes more than {_MAX_LABELS} labels")
    while high - low > 1:
        middle = (low + high) // 2
        if _shows(bound, hits, middle, level):
            high = middle
        else:
            low = middle
    return high


def _shows(bound: float, hits: int, total: int, level: float) -> bool:
    """Whether so few hits among `total` would be rarer than `1 - level` at that share."""
    if hits >= total:
        return False
    return 1.0 - beta_share(bound, hits + 1, total - hits) <= 1 - level


def _check(hits: float, total: float, level: float) -> None:
    if not 0 <= hits <= total or not math.isfinite(total):
        raise ValueError(f"hits must be within 0 and total; got {hits} of {total}")
    if not 0 < level < 1:
        raise ValueError(f"level must be between 0 and 1; got {level}")


@lru_cache(maxsize=4096)
def _upper(hits: float, total: float, tail: float) -> float:
    """Return the share at which `hits` or fewer have the probability `tail`."""
    if hits >= total:
        return 1.0
    low, high = 0.0, 1.0
    while high - low > _PRECISION * max(high, 1e-3):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if 1.0 - beta_share(middle, hits + 1, total - hits) > tail:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def beta_share(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function: the probability that a beta variable is at most `x`."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    if x > (a + 1) / (a + b + 2):
        return 1.0 - beta_share(1 - x, b, a)
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) * _continued_fraction(x, a, b) / a


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Evaluate the continued fraction of the incomplete beta function by Lentz's method."""
    c, d = 1.0, 1.0 / _not_zero(1.0 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, _MAX_TERMS):
        for term in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1.0 / _not_zero(1.0 + term * d)
            c = _not_zero(1.0 + term / c)
            value *= c * d
        if abs(c * d - 1.0) < _PRECISION:
            break
    return value


def _not_zero(value: float) -> float:
    return value if abs(value) > _TINY else _TINY

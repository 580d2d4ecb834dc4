"""Tests that may be looked at after every case, without more false alarms for looking often."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from statistics import NormalDist

_STAKE = 0.5
"""The largest part of the capital that is ever staked: a single case cannot ruin the process."""


class BettingProcess:
    """An e-process against the claim that a mean is at most `baseline`.

    It stakes capital on each value being above the baseline. While the claim is true the capital does not grow on
    average, so that it ever exceeds 1 / alpha with probability at most alpha, however often one looks.

    Args:
        baseline: the mean that is claimed not to be exceeded, between 0 and 1.
        alpha: the probability of a false alarm over the whole life of the process.

    Attributes:
        count: the values so far.
        peak: the largest capital so far; its inverse is a p-value that is valid at any time.

    Raises:
        ValueError: `baseline` or `alpha` is not between 0 and 1.
    """

    def __init__(self, baseline: float, alpha: float = 0.05) -> None:
        if not 0 < baseline < 1 or not 0 < alpha < 1:
            raise ValueError(f"baseline and alpha must be between 0 and 1; got {baseline}, {alpha}")
        self._baseline = baseline
        self._alpha = alpha
        self._log_capital = 0.0
        self._log_peak = 0.0
        self._sum = baseline
        self._squares = baseline * (1 - baseline)
        self.count = 0

    @property
    def capital(self) -> float:
        """The capital now: the evidence against the claim."""
        return math.exp(min(700.0, self._log_capital))

    @property
    def peak(self) -> float:
        """The largest capital so far."""
        return math.exp(min(700.0, self._log_peak))

    @property
    def alarmed(self) -> bool:
        """Whether the claim was rejected at some time."""
        return self._log_peak >= -math.log(self._alpha)

    def add(self, value: float) -> bool:
        """Take the next value and return whether the claim is rejected by now.

        Raises:
            ValueError: the value is not within 0 and 1.
        """
        if not 0 <= value <= 1:
            raise ValueError(f"a value must be within 0 and 1; got {value}")
        gain = self._stake() * (value - self._baseline)
        self._log_capital += math.log1p(gain)
        self._log_peak = max(self._log_peak, self._log_capital)
        self.count += 1
        self._sum += value
        self._squares += (value - self._mean()) ** 2
        return self.alarmed

    def _mean(self) -> float:
        return self._sum / (self.count + 1)

    def _stake(self) -> float:
        """Return the stake by what was seen before: the approximate maximum of the growth rate."""
        above = self._mean() - self._baseline
        if above <= 0:
            return 0.0
        variance = self._squares / (self.count + 1)
        return min(above / (variance + above**2), _STAKE / self._baseline)


def rolling_z(values: Iterable[float], baseline: float, window: int = 50, level: float = 0.95) -> Iterator[bool]:
    """Yield after each value whether a one-sided z-test of the last `window` values rejects `mean <= baseline`.

    It is what many dashboards do, and here only for comparison: looked at often, it raises false alarms.
    """
    limit = NormalDist().inv_cdf(level)
    error = math.sqrt(baseline * (1 - baseline) / window)
    last: list[float] = []
    for value in values:
        last.append(value)
        if len(last) > window:
            del last[0]
        yield len(last) == window and (sum(last) / window - baseline) / error > limit

"""Counts what was spent within the last minute or hour. Pure: every call is told the time. Needs a lock around it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping

from draftcritic.core import ANY_SKU

_SLICES = 60
MINUTE = 60.0
HOUR = 3600.0
_RECENT = 8
"""Calls that the average of a SKU remembers, roughly."""


class SlidingSum:
    """The sum of what was added within a window that ends now.

    The window is counted in 60 slices, and a slice counts until all of it has passed: what is older than the window
    counts for up to a sixtieth of the window longer, so that no window of any position ever holds more than a limit.

    Args:
        window: seconds.
    """

    def __init__(self, window: float) -> None:
        self._width = window / _SLICES
        self._slices: deque[tuple[int, float]] = deque()
        self._total = 0.0

    def add(self, amount: float, now: float) -> None:
        """Count something."""
        number = int(now // self._width)
        if self._slices and self._slices[-1][0] >= number:
            # The same slice; or the clock went backwards, and the latest one takes it.
            last, so_far = self._slices[-1]
            self._slices[-1] = (last, so_far + amount)
        else:
            self._slices.append((number, amount))
        self._total += amount

    def total(self, now: float) -> float:
        """Return the sum of what counts now."""
        oldest = int(now // self._width) - _SLICES
        while self._slices and self._slices[0][0] < oldest:
            self._slices.popleft()
            # Anew instead of by difference: fractions would add up to a remainder that never goes.
            self._total = sum(amount for _, amount in self._slices)
        return self._total


class HourlyBudget:
    """What each SKU may spend within an hour.

    What a call spends is known when it has ended. A call under way therefore counts as much as the SKU's recent calls
    did on average, and only the difference can be overspent.

    Args:
        limits: the budget by SKU, under `*` that of every other SKU; a SKU without one spends freely.
    """

    def __init__(self, limits: Mapping[str, float]) -> None:
        self.limits = limits
        self._spent: dict[str, SlidingSum] = {}
        self._average: dict[str, float] = {}

    def limit(self, sku: str) -> float | None:
        """Return the budget of a SKU."""
        return self.limits.get(sku, self.limits.get(ANY_SKU))

    def allows(self, sku: str, under_way: int, now: float) -> bool:
        """Whether one more call fits, beside so many that have not ended."""
        limit = self.limit(sku)
        if limit is None:
            return True
        spent = self._spent.get(sku)
        so_far = 0.0 if spent is None else spent.total(now)
        return so_far + under_way * self._average.get(sku, 0.0) < limit

    def spend(self, sku: str, amount: float | None, now: float) -> None:
        """Count what a call has spent; None is unknown."""
        if amount is None or self.limit(sku) is None:
            return
        if sku not in self._spent:
            self._spent[sku] = SlidingSum(HOUR)
        self._spent[sku].add(amount, now)
        average = self._average.get(sku, amount)
        self._average[sku] = average + (amount - average) / _RECENT

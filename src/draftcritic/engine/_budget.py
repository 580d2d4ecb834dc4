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
_MAX_SKUS = 256
"""SKUs that are told apart; more than an agent uses, and a bound where names come from outside."""


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

    What a call spends is known when it has ended. An estimate of it is therefore reserved while it is under way, and
    only the difference can be overspent. Estimates are made of a guess, in any unit, and of what came of the guesses
    for the last calls of the SKU.

    Args:
        limits: the budget by SKU, under `*` that of every other SKU; a SKU without one spends freely.
    """

    def __init__(self, limits: Mapping[str, float]) -> None:
        self.limits = limits
        self._spent: dict[str, SlidingSum] = {}
        self._reserved: dict[str, tuple[int, float]] = {}
        self._factor: dict[str, float] = {}

    def limit(self, sku: str) -> float | None:
        """Return the budget of a SKU."""
        return self.limits.get(sku, self.limits.get(ANY_SKU))

    def estimate(self, sku: str, guess: float) -> float | None:
        """Return what a call will spend; None before the first call of the SKU has ended."""
        factor = self._factor.get(sku)
        return None if factor is None else factor * guess

    def allows(self, sku: str, estimate: float, now: float) -> bool:
        """Whether one more call fits beside those that have not ended; the only one always does."""
        limit = self.limit(sku)
        if limit is None:
            return True
        spent = self._spent.get(sku)
        so_far = self._reserved.get(sku, (0, 0.0))[1] + (0.0 if spent is None else spent.total(now))
        return so_far == 0 or (so_far < limit and so_far + estimate <= limit)

    def reserve(self, sku: str, estimate: float) -> None:
        """Count what a call will spend, until `release`."""
        calls, reserved = self._reserved.get(sku, (0, 0.0))
        self._reserved[sku] = calls + 1, reserved + estimate

    def release(self, sku: str, estimate: float) -> None:
        """Take back what `reserve` has counted."""
        calls, reserved = self._reserved.pop(sku, (1, 0.0))
        if calls > 1:  # without calls nothing is left, also of the fractions
            self._reserved[sku] = calls - 1, reserved - estimate

    def spend(self, sku: str, amount: float, now: float) -> None:
        """Count what a call has spent."""
        if self.limit(sku) is None:
            return
        spent = self._spent.pop(sku, None) or SlidingSum(HOUR)
        self._spent[sku] = spent
        spent.add(amount, now)
        if len(self._spent) > _MAX_SKUS:
            del self._spent[next(iter(self._spent))]

    def learn(self, sku: str, guess: float, amount: float) -> None:
        """Remember what came of a guess."""
        factor = self._factor.pop(sku, amount / guess)
        self._factor[sku] = factor + (amount / guess - factor) / _RECENT
        if len(self._factor) > _MAX_SKUS:
            del self._factor[next(iter(self._factor))]

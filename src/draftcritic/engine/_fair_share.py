"""Bounds what one user or conversation takes of a budget. Pure: calls are told the time. Needs a lock around it."""

from __future__ import annotations

from collections.abc import Sequence

from draftcritic.core import LimitRules
from draftcritic.engine._budget import HOUR, MINUTE, SlidingSum
from draftcritic.engine._spending import Booked, Expected, Spending

LEAST_CALLS = 3
"""Calls in a window that everyone may make, however small the budget."""
_MOST = 4096
"""Users and conversations that are counted at once; the one seen longest ago is forgotten first."""


class _Taken:
    """What one user or conversation has taken lately. Estimates count until the call has ended."""

    def __init__(self) -> None:
        self.calls_of_minute = SlidingSum(MINUTE)
        self.calls_of_hour = SlidingSum(HOUR)
        self.tokens: dict[str, SlidingSum] = {}
        self.usd: dict[str, SlidingSum] = {}


class FairShares:
    """Counts for each id what it takes of the budgets.

    Args:
        rules: hold the budgets and the share.
        spending: knows the budget of each SKU.
    """

    def __init__(self, rules: LimitRules, spending: Spending) -> None:
        self.rules = rules
        self._spending = spending
        self._taken: dict[str, _Taken] = {}

    def allows(self, ids: Sequence[str], expected: Expected, now: float) -> bool:
        """Whether one more call leaves each of `ids` within its share."""
        return all(self._allows(taken, expected, now) for key in ids if (taken := self._taken.get(key)) is not None)

    def _allows(self, taken: _Taken, expected: Expected, now: float) -> bool:
        share, rate = self.rules.fair_share, self.rules.reviews_per_minute
        if rate is not None and taken.calls_of_minute.total(now) >= max(LEAST_CALLS, int(share * rate)):
            return False
        if taken.calls_of_hour.total(now) < LEAST_CALLS:
            return True
        for sku in expected.skus:
            tokens, usd = self._spending.budgets_of(sku)
            if tokens is not None and _sum(taken.tokens, sku, now) + expected.tokens > share * tokens:
                return False
            if usd is not None and _sum(taken.usd, sku, now) + expected.usd > share * usd:
                return False
        return True

    def begin(self, ids: Sequence[str], expected: Expected, now: float) -> None:
        """Count a call with its estimate."""
        self._add(ids, expected, Booked(expected.tokens, expected.usd), now, calls=1)

    def end(self, ids: Sequence[str], expected: Expected, booked: Booked, now: float, *, made: bool) -> None:
        """Count what was booked for a call in place of its estimate."""
        more = Booked(booked.tokens - expected.tokens, booked.usd - expected.usd)
        self._add(ids, expected, more, now, calls=0 if made else -1)

    def _add(self, ids: Sequence[str], expected: Expected, more: Booked, now: float, *, calls: int) -> None:
        if self.rules.fair_share >= 1:
            return
        for key in ids:
            taken = self._taken.pop(key, None) or _Taken()
            self._taken[key] = taken
            if calls:
                taken.calls_of_minute.add(calls, now)
                taken.calls_of_hour.add(calls, now)
            for sku in expected.skus:
                taken.tokens.setdefault(sku, SlidingSum(HOUR)).add(more.tokens, now)
                taken.usd.setdefault(sku, SlidingSum(HOUR)).add(more.usd, now)
        while len(self._taken) > _MOST:
            del self._taken[next(iter(self._taken))]


def _sum(sums: dict[str, SlidingSum], sku: str, now: float) -> float:
    found = sums.get(sku)
    return 0.0 if found is None else found.total(now)

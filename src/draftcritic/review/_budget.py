"""Counts what was spent within the last minute or hour. Pure: every call gets the time. Needs a lock around it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from draftcritic.core._policy import ANY_SKU, LimitRules
from draftcritic.core._prices import price_usd
from draftcritic.core._review import ModelCall

_SLICES = 60
MINUTE = 60.0
HOUR = 3600.0
_RECENT = 8
"""Calls that the average of a SKU remembers, roughly."""
_MAX_SKUS = 256
"""SKUs that are counted separately; more than an agent uses, and a bound where names come from outside."""


class SlidingSum:
    """The sum of what was added within a window that ends now.

    The window is counted in 60 slices, and a slice counts until all of it has passed: what is older than the window
    counts for up to a sixtieth of the window longer, so that no window, wherever it starts, ever exceeds a limit.

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
            # Sum again: subtracting fractions would leave a remainder that never disappears.
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
        """Whether one more call fits in addition to those under way; a single call always does."""
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


_CHARACTERS = 4
"""Characters of a prompt to a token, as English has them."""
_ANSWER = 500
"""Tokens of an answer before the first one is known: a verdict with its reason, or a rewritten draft of a page."""
_MAX_NAMES = 256
"""Names that are remembered; more than an agent uses, and a bound where names come from outside."""


class Booked(NamedTuple):
    """What was booked for one call.

    Attributes:
        tokens, usd: the amounts.
        missed: what a budget misses, as a line for the log; once for each model.
    """

    tokens: float
    usd: float
    missed: str | None = None


@dataclass(frozen=True)
class Expected:
    """What one call will spend, as far as can be said before it.

    Attributes:
        skus: those whose budgets it must fit in: the one that is asked, and the one that answered last when it was
            asked. The last of them is the most likely to answer.
        guess: tokens, by the size of the prompt alone.
        tokens: the estimate.
        usd: the estimate; 0 where the price is not known.
    """

    skus: tuple[str, ...]
    guess: float
    tokens: float
    usd: float


class Spending:
    """The budgets of an hour. A call is booked on the SKU that answered, whichever was asked.

    Args:
        rules: hold the budgets.
    """

    def __init__(self, rules: LimitRules) -> None:
        self._tokens = HourlyBudget(rules.tokens_per_hour)
        self._usd = HourlyBudget(rules.usd_per_hour)
        self._answers_as: dict[str, str] = {}
        """What a name was last answered by when that was another one: a deployment, a router, a fallback."""
        self._reported: set[str] = set()

    def use(self, rules: LimitRules) -> None:
        """Go by other budgets; what was spent stays spent."""
        self._tokens.limits = rules.tokens_per_hour
        self._usd.limits = rules.usd_per_hour

    def budgets_of(self, sku: str) -> tuple[float | None, float | None]:
        """Return the budgets of a SKU, in tokens and in US dollars an hour."""
        return self._tokens.limit(sku), self._usd.limit(sku)

    def expect(self, asked: str, size: int) -> Expected:
        """Return what a call with a prompt of `size` characters will spend. May be called without the lock."""
        likely = self._answers_as.get(asked, asked)
        skus = (asked,) if likely == asked else (asked, likely)
        guess = size / _CHARACTERS + _ANSWER
        tokens, usd = self._tokens.estimate(likely, guess), None
        if any(self._usd.limit(sku) is not None for sku in skus):
            usd = self._usd.estimate(likely, guess)
            if usd is None:
                usd = price_usd(likely, input_tokens=size // _CHARACTERS, output_tokens=_ANSWER)
        return Expected(skus, guess, guess if tokens is None else tokens, usd or 0.0)

    def allows(self, expected: Expected, now: float) -> bool:
        """Whether a call fits in all its budgets."""
        return all(
            self._tokens.allows(sku, expected.tokens, now) and self._usd.allows(sku, expected.usd, now)
            for sku in expected.skus
        )

    def reserve(self, expected: Expected) -> None:
        """Count a call that is under way, until `release`."""
        for sku in expected.skus:
            self._tokens.reserve(sku, expected.tokens)
            self._usd.reserve(sku, expected.usd)

    def release(self, expected: Expected) -> None:
        """Take back what was reserved for a call: it has ended, or was not made."""
        for sku in expected.skus:
            self._tokens.release(sku, expected.tokens)
            self._usd.release(sku, expected.usd)

    def book_failed(self, expected: Expected, now: float) -> Booked:
        """Book a call without an answer: a provider goes on, and bills, where the caller has given up."""
        self._tokens.spend(expected.skus[-1], expected.tokens, now)
        self._usd.spend(expected.skus[-1], expected.usd, now)
        return Booked(expected.tokens, expected.usd)

    def book(self, expected: Expected, call: ModelCall, now: float) -> Booked:
        """Book an answer."""
        sku, usage = call.sku, call.usage
        self._answered(expected.skus[0], sku)
        counts = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
        # What the provider does not tell stays an estimate.
        tokens = float(sum(counts)) if counts else expected.tokens
        usd = usage.cost_usd
        if usd is None and not counts and sku == expected.skus[-1]:
            usd = expected.usd or None
        self._tokens.spend(sku, tokens, now)
        self._usd.spend(sku, usd or 0.0, now)
        if counts:
            self._tokens.learn(sku, expected.guess, tokens)
        if usage.cost_usd is not None:
            self._usd.learn(sku, expected.guess, usage.cost_usd)
        return Booked(tokens, usd or 0.0, self._missed(sku, reported=bool(counts), priced=usd is not None))

    def _answered(self, asked: str, sku: str) -> None:
        self._answers_as.pop(asked, None)
        if sku != asked:
            self._answers_as[asked] = sku
            if len(self._answers_as) > _MAX_NAMES:
                del self._answers_as[next(iter(self._answers_as))]

    def _missed(self, sku: str, *, reported: bool, priced: bool) -> str | None:
        if self._usd.limit(sku) is not None and not priced:
            missed = f"the price of {sku} is unknown: its hourly budget cannot be enforced"
        elif not reported and not (self._tokens.limit(sku) is None and self._usd.limit(sku) is None):
            missed = f"the token usage of {sku} is not reported: its hourly budget counts estimates"
        else:
            return None
        if sku in self._reported or len(self._reported) >= _MAX_NAMES:
            return None
        self._reported.add(sku)
        return missed


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

"""Which SKU spends what a call of the critic's model costs. Pure: calls are told the time. Needs a lock around it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from draftcritic.core import LimitRules, ModelCall, price_usd
from draftcritic.engine._budget import HourlyBudget

_CHARACTERS = 4
"""Characters of a prompt to a token, as English has them."""
_ANSWER = 500
"""Tokens of an answer before the first one is known: a verdict with its reason, or a draft of a page written anew."""
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
        return Booked(tokens, usd or 0.0, self._missed(sku, told=bool(counts), priced=usd is not None))

    def _answered(self, asked: str, sku: str) -> None:
        self._answers_as.pop(asked, None)
        if sku != asked:
            self._answers_as[asked] = sku
            if len(self._answers_as) > _MAX_NAMES:
                del self._answers_as[next(iter(self._answers_as))]

    def _missed(self, sku: str, *, told: bool, priced: bool) -> str | None:
        if self._usd.limit(sku) is not None and not priced:
            missed = f"the price of {sku} is not known: its budget of an hour cannot hold"
        elif not told and not (self._tokens.limit(sku) is None and self._usd.limit(sku) is None):
            missed = f"the use of {sku} is not told: its budget of an hour counts estimates"
        else:
            return None
        if sku in self._reported or len(self._reported) >= _MAX_NAMES:
            return None
        self._reported.add(sku)
        return missed

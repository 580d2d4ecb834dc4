"""What an honest agent works out of grounded numbers: sums, differences, products, shares, roundings, unit changes.

The search is bounded and narrow on purpose. Between enough numbers something always adds up, so a sum counts only
where the draft says that it is one, and only over numbers that stand together.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from decimal import Decimal

from draftcritic.core.fabrication._arithmetic import (
    COUNTS,
    OPERANDS,
    differences,
    is_average,
    near,
    pairs,
    products,
    runs,
    subsets,
    written_result,
)
from draftcritic.core.fabrication._cues import (
    AVERAGE,
    DIFFERENCE,
    EQUATION,
    IDENTIFIER,
    REMAINDER,
    SUM,
    SUM_OF_PRICES,
    TOTAL,
)
from draftcritic.core.fabrication._forms import Forms
from draftcritic.core.fabrication._grounding import Grounding
from draftcritic.core.fabrication._lazy import lazy
from draftcritic.core.fabrication._measures import is_approximate
from draftcritic.core.fabrication._prices import Prices
from draftcritic.core.fabrication._token import Token
from draftcritic.core.fabrication._totals import Totals
from draftcritic.core.fabrication._values import decimal_of

MOST_LABELS = 512
"""Numbers of a draft whose labels are looked at."""

_CUE_BEFORE, _CUE_AFTER = 72, 40
_PARTS = 6
"""Neighbouring prices that may be the other parts of a total."""
_ROW = re.compile(r"[ \t]*\|?[^|\n]*\|[^|\n]*\|")
_LONGEST_ROW, _LONGEST_TERM, _MOST_TERMS = 400, 160, 12
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f](?=\s|[^\x00-\x7f]|\Z)")
_LABEL = re.compile(r"[^\W\d_][^\d\n:]{1,40}:[^\w\n]*\Z")


def may_be_result(token: Token, text: str) -> bool:
    """Whether the draft says that the number is worked out: a total, a difference, a rounding."""
    low = max(0, token.start - _CUE_BEFORE)
    before = text[max(low, text.rfind("\n", low, token.start)) : token.start]
    return is_approximate(token, text) or SUM.search(before) is not None or DIFFERENCE.search(before) is not None


class Derivations:
    """What can be worked out for one draft; every part is made when it is first needed."""

    def __init__(self, text: str, numbers: Sequence[Token], grounding: Grounding) -> None:
        self._text = text
        self._numbers = numbers
        self._grounding = grounding
        self._forms = Forms(text, numbers, grounding)
        self._totals = Totals(grounding)
        self.open: set[int] = set()
        """Starts of the numbers that are not grounded: no number is worked out of them."""
        self._closed_at = -1
        self._closed_of: dict[str, tuple[list[Token], list[int]]] = {}

    def explains(self, token: Token) -> bool:
        """Whether the token follows from grounded numbers."""
        values = [value for value in map(decimal_of, token.value) if value is not None]
        if (
            not values
            or len(token.text) > 24
            or (token.kind == "number" and IDENTIFIER.search(self._text[max(0, token.start - 24) : token.start]))
        ):
            return False
        return any(self._forms.explain(value, token, self.open) or self._computed(value, token) for value in values)

    def _computed(self, value: Decimal, token: Token) -> bool:
        operands = self._operands(token)
        after = self._text[token.end : token.end + 3].lstrip()[:1]
        is_result = EQUATION.search(self._text[max(0, token.start - 12) : token.start]) or after in {"=", "("}
        if (
            self._is_written_result(value, token)
            or self._is_in_row(value, token)
            or value in self._totals.calculated
            or (is_result and any(value in set(results(operands)) for results in (pairs, runs, products)))
        ):
            return True
        cue = self._sentence_around(token)
        if (SUM_OF_PRICES if token.kind == "price" else SUM).search(cue) and (
            self._summed(value, operands, token) or value in self._sums_of_labels
        ):
            return True
        if DIFFERENCE.search(cue) and value in set(differences([*operands, *self._totals.sums_if_few(token, cue)])):
            return True
        if AVERAGE.search(cue) and is_average(value, operands):
            return True
        if token.kind == "number" and self._prices.tells_count(value, token, self.open):
            return True
        return token.kind == "price" and (
            self._prices.explain(value, token, operands, self.open)
            or (REMAINDER.search(cue) is not None and self._remains(value, operands))
            or self._completes_total(value, token)
        )

    def _is_written_result(self, value: Decimal, token: Token) -> bool:
        """Whether the calculation before the equals sign gives the value, with numbers that are grounded."""
        low = max(self._text.rfind("\n", 0, token.start) + 1, token.start - _LONGEST_TERM)
        sign = self._text.rfind("=", low, token.start)
        result = written_result(self._text[low:sign]) if sign > low else None
        if result is None:
            return False
        operands = [one for one in self._numbers if low <= one.start < sign]
        return near(value, result, 1) and not any(one.start in self.open for one in operands[-_MOST_TERMS:])

    def _is_in_row(self, value: Decimal, token: Token) -> bool:
        """Whether the token stands in a row of a table, and two grounded numbers of the row give it."""
        low = self._text.rfind("\n", 0, token.start) + 1
        high = self._text.find("\n", token.end)
        high = len(self._text) if high < 0 else high
        if high - low > _LONGEST_ROW or not _ROW.match(self._text, low, high):
            return False
        row = [one for one in self._numbers if low <= one.start < high and one.start != token.start]
        parts = [part for one in row[:_MOST_TERMS] if one.start not in self.open for part in _first_value(one)]
        return value in set(pairs(parts)) or value in set(runs(parts))

    def _sentence_around(self, token: Token) -> str:
        before = _SENTENCE_END.split(self._line_before(token, _CUE_BEFORE))[-1]
        after = _SENTENCE_END.split(self._text[token.end : token.end + _CUE_AFTER], 1)[0]
        return f"{before}{self._text[token.start : token.end]}{after}"

    def _line_before(self, token: Token, length: int) -> str:
        low = max(0, token.start - length)
        return self._text[max(low, self._text.rfind("\n", low, token.start)) : token.start]

    def _summed(self, value: Decimal, operands: Sequence[Decimal], token: Token) -> bool:
        if value in set(runs(operands)) or value in set(products(operands)):
            return True
        # With cents, a sum over some of many is hardly met by chance.
        if value != value.to_integral_value() and value in set(subsets(operands)):
            return True
        sums = self._totals.sums_for(token, self._sentence_around(token))
        return value in sums or any(value / count in sums for count in COUNTS)

    @lazy
    def _prices(self) -> Prices:
        return Prices(self._text, self._numbers, self._grounding)

    def _remains(self, value: Decimal, operands: Sequence[Decimal]) -> bool:
        """Whether the value is what is left of an amount that a source has."""
        known = self._totals.amounts
        if any(value + part in known or part - value in known for part in operands):
            return True
        return value in set(pairs(self._totals.last_amounts))

    def _completes_total(self, value: Decimal, token: Token) -> bool:
        """Whether this part and others make a total that the draft names."""
        near = sorted(self._operand_tokens(token), key=lambda other: abs(other.start - token.start))[:_PARTS]
        parts = {part for other in near for part in map(decimal_of, other.value[:1])}
        beside = [part for other in near[:2] for part in _first_value(other)]
        if any(value + part in self._totals.last_amounts for part in beside):
            return True
        for other in near:
            if TOTAL.search(self._line_before(other, 24)):
                total = decimal_of(other.value[0]) if other.value else None
                if total is not None and total - value in parts:
                    return True
        return False

    @lazy
    def _sums_of_labels(self) -> frozenset[Decimal]:
        """Sums of the grounded numbers of the draft that stand behind the same words: `Fare: $51 ... Fare: $55`."""
        labelled: dict[str, list[Decimal]] = {}
        for number in self._numbers[:MOST_LABELS]:
            label = _LABEL.search(self._line_before(number, _CUE_BEFORE))
            if label and number.start not in self.open:
                labelled.setdefault(label[0].lower(), []).extend(_first_value(number))
        sums = [sum(values, Decimal(0)) for values in labelled.values() if len(values) > 1]
        return frozenset(sums)

    def _operand_tokens(self, token: Token) -> list[Token]:
        """The grounded numbers of the draft that are of the token's kind, those just before the token first."""
        fit, ends = self._closed(token.kind)
        at = bisect_right(ends, token.start)
        before = fit[max(0, at - OPERANDS) : at]
        after = [n for n in fit[at : at + OPERANDS + 1] if n.start != token.start]
        return [*reversed(before), *after][:OPERANDS]

    def _closed(self, kind: str) -> tuple[list[Token], list[int]]:
        """Return the grounded numbers of a kind in their order, and their ends."""
        if self._closed_at != len(self.open):
            # Starts are only ever taken out of `open`.
            self._closed_at, self._closed_of = len(self.open), {}
        if kind not in self._closed_of:
            fit = [n for n in self._numbers if n.kind == kind and n.start not in self.open]
            self._closed_of[kind] = fit, [n.end for n in fit]
        return self._closed_of[kind]

    def _operands(self, token: Token) -> list[Decimal]:
        near = self._operand_tokens(token)
        values = [value for n in near for value in map(decimal_of, n.value[:1]) if value is not None]
        return [*values, *self._totals.asked]


def _first_value(token: Token) -> list[Decimal]:
    return [value for reading in token.value[:1] if (value := decimal_of(reading)) is not None]

"""Derived numbers: equivalent forms of a value (rounded, converted, counted) and results of calculations."""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from decimal import Decimal
from itertools import islice
from typing import Any

from draftcritic.grounding._amounts import (
    AVERAGE,
    COUNTS,
    DIFFERENCE,
    EQUATION,
    IDENTIFIER,
    OPERANDS,
    REMAINDER,
    SUM,
    SUM_OF_PRICES,
    TOTAL,
    Prices,
    Totals,
    differences,
    is_average,
    near,
    pairs,
    products,
    runs,
    subsets,
    written_result,
)
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._numbers import decimal_of
from draftcritic.grounding._temporal import TimeGaps
from draftcritic.grounding._token import Token, lazy
from draftcritic.grounding._units import DEGREES, UNITS, canonical, is_approximate, words_of

SCANNED = 4096
"""Numbers of the context that are compared with a rounded or converted one."""
_HOURS_BEFORE = re.compile(
    r"(\d{1,3})\s?(?:h|hrs?|hours?|horas?|heures?|stunden?|std\.?|ore|uur|\u0447(?:\u0430\u0441\w*)?|\u5c0f\u65f6|\u5c0f\u6642|\u6642\u9593|"
    r"\uc2dc\uac04),?\s?(?:and|y|et|und|e|en|\u0438)?\s?\Z",
    re.IGNORECASE,
)
_SCALE_OF_DEGREES = re.compile("(?<![^\\W_])[CFcf](?=elsius|ahrenheit|\\b)")
_FEW = 24
"""Numbers of a source among which one is hardly met by chance when it is given in another unit."""
_ROUNDED_BY_CHANCE = 0.1
_MINUTES = re.compile("m$|min|\u043c\u0438\u043d|\u5206|\ubd84")
_ABOUT_MINUTES = 30
"""Minutes to which a duration that the draft calls approximate is rounded."""
LONGEST_LIST = 512
"""Items of the longest list that a draft may count."""
_MOST_CONVERTED = 64
"""Numbers of the context near a converted one that are looked at."""
_STATED = 6
"""Numbers of the draft, nearest first, of which one is a share of another."""


class EquivalentValues:
    """The numbers of the sources in other forms, for one draft."""

    def __init__(self, text: str, numbers: Sequence[Token], grounding: Grounding) -> None:
        self._text = text
        self._numbers = numbers
        self._grounding = grounding
        self._time_gaps = TimeGaps(text, grounding)

    def explain(self, value: Decimal, token: Token, ungrounded: Collection[int]) -> bool:
        """Whether a source has the value in another form; `ungrounded` are the starts of numbers that prove nothing."""
        return (
            self._rounded(value, token)
            or self._counted(value, token)
            or self._converted(value, token, ungrounded)
            or self._spanned(value, token)
        )

    @lazy
    def _context(self) -> list[float]:
        numbers = sorted(self._grounding.numbers, key=len)[:SCANNED]
        return sorted(float(number) for number in numbers if len(number) < 18)

    def _about(self, wanted: float, width: float) -> list[float]:
        """Return the numbers of the context in a window around one, a little wider than asked."""
        width += 1e-6 + 1e-9 * abs(wanted)
        return self._context[bisect_left(self._context, wanted - width) : bisect_right(self._context, wanted + width)]

    def _rounded(self, value: Decimal, token: Token) -> bool:
        places = _places(value)
        wanted, half = float(value), 0.5 * 10.0**-places
        roughly = is_approximate(token, self._text)
        if roughly:
            digits = str(value).replace(".", "").rstrip("0")
            half *= 10 ** max(0, len(str(value).partition(".")[0]) - len(digits)) if not places else 1
            half = max(half, wanted * 0.01)
        elif not places and wanted < 10:
            return False
        # A number that is whole itself is not rounded to another whole one, unless the draft says so.
        found = any(
            abs(number - wanted) <= half + 1e-9 or (places and int(number * 10**places) == int(wanted * 10**places))
            for number in self._about(wanted, max(half, 10.0**-places))
            if roughly or number != int(number)
        )
        return found and (roughly or places > 0 or self._rounds_few(wanted))

    def _rounds_few(self, wanted: float) -> bool:
        """Whether so few broken numbers lie about here that one of them is hardly met by chance."""
        low, high = bisect_left(self._context, wanted / 2), bisect_right(self._context, 2 * wanted)
        about = sum(number != int(number) for number in self._context[low:high])
        return about <= _ROUNDED_BY_CHANCE * wanted

    def _converted(self, value: Decimal, token: Token, ungrounded: Collection[int]) -> bool:
        wanted = float(value)
        if token.kind == "percentage":
            half = 0.5 * 10.0 ** -_places(value) + 1e-9
            near = self._about(wanted / 100, half / 100)
            fractions = any(abs(100 * number - wanted) <= half for number in near if number != int(number))
            return fractions or self._share(wanted, token, ungrounded)
        unit = canonical(token.unit.lstrip("\u00b0").strip())
        if unit in DEGREES:
            scale = _SCALE_OF_DEGREES.search(unit) or _SCALE_OF_DEGREES.search(self._text, token.end, token.end + 24)
            celsius, kelvin = (wanted - 32) * 5 / 9, 273.15
            others = [wanted * 9 / 5 + 32, wanted + kelvin, celsius, celsius + kelvin]
            if scale:
                others = others[:2] if scale[0] in "cC" else others[2:]
        else:
            others = [wanted * factor for factor in UNITS.get(unit, ())]
        # The sources' numbers have lost their sign.
        # The result is rounded as it is written, and factors such as 1.61 are rounded, too.
        roughly = is_approximate(token, self._text)
        share = 0.02 if roughly else 0.002 + 0.5 * 10.0 ** -_places(value) / max(wanted, 1.0)
        degrees = (1.5 if roughly else 0.51) if unit in DEGREES else 0.0
        words, few = words_of(unit), len(self._context) <= _FEW
        return any(
            abs(number - abs(other)) <= (degrees or share * abs(other))
            and (words is None or few or self._grounding.has_number_near(f"{number:g}", words))
            for other in others
            for number in islice(self._about(abs(other), degrees or share * abs(other)), _MOST_CONVERTED)
        )

    def _share(self, wanted: float, token: Token, ungrounded: Collection[int]) -> bool:
        stated = self._stated_around(token, ungrounded)
        operands = [
            float(value) for n in stated[:_STATED] for value in map(decimal_of, n.value[:1]) if value is not None
        ]
        if len(self._context) <= _STATED:
            operands += [*self._context, sum(self._context)]
        half = 0.5 * 10.0 ** -len(token.value[0].partition(".")[2]) + 1e-9
        if any(is_approximate(number, self._text) for number in stated[:_STATED]):
            half = max(half, 0.02 * wanted)
        return any(
            other and min(abs(100 * one / other - wanted), abs(abs(100 * (other - one) / other) - wanted)) <= half
            for one in operands
            for other in operands
            if one != other
        )

    def _stated_around(self, token: Token, ungrounded: Collection[int]) -> list[Token]:
        """Return the grounded numbers around a percentage, the nearest first."""
        at = bisect_left(self._starts, token.start)
        sides = (reversed(self._numbers[:at]), self._numbers[at:])
        fit = [
            n
            for side in sides
            for n in islice((n for n in side if n.kind != "percentage" and n.start not in ungrounded), _STATED)
        ]
        return sorted(fit, key=lambda number: (abs(number.start - token.start), number.start))

    @lazy
    def _starts(self) -> list[int]:
        return [number.start for number in self._numbers]

    def _counted(self, value: Decimal, token: Token) -> bool:
        if token.kind != "number" or value != value.to_integral_value() or value > LONGEST_LIST:
            return False
        return int(value) in self._lengths

    @lazy
    def _lengths(self) -> frozenset[int]:
        lengths: set[int] = set()
        for value in self._grounding.values:
            _collect_lengths(_parsed(value), lengths, 0)
        return frozenset(lengths)

    def _spanned(self, value: Decimal, token: Token) -> bool:
        """Whether a duration lies between two times or dates of the context."""
        unit = canonical(token.unit)
        hours = _HOURS_BEFORE.search(self._text[max(0, token.start - 24) : token.start])
        if hours and _MINUTES.match(token.unit):
            return self._lasts(60 * int(hours[1]) + int(value))
        if unit[:4] in {"hour", "hr", "hrs", "minu", "min", "mins"}:
            minutes = float(value) * (60 if unit[0] == "h" else 1)
            return self._lies_between(minutes, roughly=is_approximate(token, self._text))
        if unit[:4] in {"day", "days", "nigh", "week"}:
            span = int(value) * (7 if unit[0] == "w" else 1)
            return not self._time_gaps.day_gaps.isdisjoint((span, span - 1))
        if unit[:4] == "year":
            years = self._grounding.all_day_years
            return any(year + int(value) in years or year + int(value) + 1 in years for year in years)
        return False

    def _lies_between(self, minutes: float, *, roughly: bool) -> bool:
        """Whether two times of the context are so far apart."""
        gaps = self._time_gaps.clock_gaps
        return minutes in gaps or (roughly and any(abs(gap - minutes) <= _ABOUT_MINUTES // 2 for gap in gaps))

    def _lasts(self, minutes: int) -> bool:
        """Whether a source has a duration of that many minutes, in any unit, or two times that far apart."""
        known, clocks = self._grounding.numbers, self._grounding.all_clocks
        if {str(minutes), str(minutes * 60), str(minutes * 60000), f"{minutes / 60:g}"} & known or minutes in clocks:
            return True
        return minutes in self._time_gaps.clock_gaps


def _places(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _parsed(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    at = min((place for place in (value.find("{"), value.find("[")) if place >= 0), default=-1)
    if at < 0:
        return value.count("\n") + 1 if "\n" in value else None
    try:
        return json.JSONDecoder().raw_decode(value, at)[0]
    except (ValueError, RecursionError):
        return None


def _collect_lengths(value: Any, lengths: set[int], depth: int) -> None:
    if isinstance(value, int) and not isinstance(value, bool) and depth == 0:
        lengths.add(value)  # lines of a text
    elif isinstance(value, (list, tuple, dict)) and depth < 12:
        # A mapping of ids to records is a list of them.
        if not isinstance(value, dict) or (len(value) > 1 and all(isinstance(item, dict) for item in value.values())):
            lengths.add(len(value))
        items: Iterable[Any] = value.values() if isinstance(value, dict) else value
        for item in items:
            if isinstance(item, (list, tuple, dict)):
                _collect_lengths(item, lengths, depth + 1)


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


_MOST_RESULTS = 16
"""Sets of results that are kept for the next number."""
_Results = Callable[[Sequence[Decimal]], Iterable[Decimal]]


class Derivations:
    """What can be worked out for one draft; every part is made when it is first needed."""

    def __init__(self, text: str, numbers: Sequence[Token], grounding: Grounding) -> None:
        self._text = text
        self._numbers = numbers
        self._grounding = grounding
        self._equivalents = EquivalentValues(text, numbers, grounding)
        self._totals = Totals(grounding)
        self._results: dict[tuple[_Results, tuple[Decimal, ...]], frozenset[Decimal]] = {}
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
        return any(
            self._equivalents.explain(value, token, self.open) or self._computed(value, token) for value in values
        )

    def _computed(self, value: Decimal, token: Token) -> bool:
        operands = self._operands(token)
        after = self._text[token.end : token.end + 3].lstrip()[:1]
        is_result = EQUATION.search(self._text[max(0, token.start - 12) : token.start]) or after in {"=", "("}
        if (
            self._is_written_result(value, token)
            or self._is_in_row(value, token)
            or value in self._totals.calculated
            or (is_result and any(value in self._given(results, operands) for results in (pairs, runs, products)))
        ):
            return True
        cue = self._sentence_around(token)
        if (SUM_OF_PRICES if token.kind == "price" else SUM).search(cue) and (
            self._summed(value, operands, token) or value in self._sums_of_labels
        ):
            return True
        if DIFFERENCE.search(cue):
            wholes = [*operands, *self._totals.sums_if_few(token, cue)]
            if value in self._given(differences, wholes):
                return True
        if AVERAGE.search(cue) and is_average(value, operands):
            return True
        if token.kind == "number" and self._prices.is_instalment_count(value, token, self.open):
            return True
        return token.kind == "price" and (
            self._prices.explain(value, token, operands, self.open)
            or (REMAINDER.search(cue) is not None and self._remains(value, operands))
            or self._completes_total(value, token)
        )

    def _given(self, results: _Results, operands: Sequence[Decimal]) -> frozenset[Decimal]:
        """Return what the operands give; the numbers of one place often share theirs."""
        key = results, tuple(operands)
        if key not in self._results:
            if len(self._results) == _MOST_RESULTS:
                self._results.clear()
            self._results[key] = frozenset(results(operands))
        return self._results[key]

    def _between(self, low: int, high: int) -> Sequence[Token]:
        """Return the numbers of the draft that begin between two places."""
        return self._numbers[bisect_left(self._starts, low) : bisect_left(self._starts, high)]

    @lazy
    def _starts(self) -> list[int]:
        return [number.start for number in self._numbers]

    def _is_written_result(self, value: Decimal, token: Token) -> bool:
        """Whether the calculation before the equals sign gives the value, with numbers that are grounded."""
        low = max(0, token.start - _LONGEST_TERM)
        low = max(low, self._text.rfind("\n", low, token.start) + 1)
        sign = self._text.rfind("=", low, token.start)
        result = written_result(self._text[low:sign]) if sign > low else None
        if result is None:
            return False
        operands = self._between(low, sign)[-_MOST_TERMS:]
        return near(value, result, 1) and not any(one.start in self.open for one in operands)

    def _is_in_row(self, value: Decimal, token: Token) -> bool:
        """Whether the token is in a row of a table, and grounded numbers of the row add up to it."""
        first, last = max(0, token.start - _LONGEST_ROW - 1), token.end + _LONGEST_ROW + 1
        low = max(first, self._text.rfind("\n", first, token.start) + 1)
        high = self._text.find("\n", token.end, last)
        high = min(len(self._text), last) if high < 0 else high
        if high - low > _LONGEST_ROW or not _ROW.match(self._text, low, high):
            return False
        row = [one for one in self._between(low, high) if one.start != token.start]
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
        if value in self._given(runs, operands) or value in self._given(products, operands):
            return True
        # With cents, a sum over some of many is hardly met by chance.
        if value != value.to_integral_value() and value in self._given(subsets, operands):
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
        nearest = [part for other in near[:2] for part in _first_value(other)]
        if any(value + part in self._totals.last_amounts for part in nearest):
            return True
        for other in near:
            if TOTAL.search(self._line_before(other, 24)):
                total = decimal_of(other.value[0]) if other.value else None
                if total is not None and total - value in parts:
                    return True
        return False

    @lazy
    def _sums_of_labels(self) -> frozenset[Decimal]:
        """Sums of the grounded numbers of the draft with the same label: `Fare: $51 ... Fare: $55`."""
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

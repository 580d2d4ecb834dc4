"""What an honest agent works out of grounded numbers: sums, differences, products, shares, roundings, unit changes.

The search is bounded and narrow on purpose. Between enough numbers something always adds up, so a sum counts only
where the draft says that it is one, and only over numbers that stand together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Any

from draftcritic.core.fabrication._arithmetic import (
    COUNTS,
    OPERANDS,
    TERM,
    differences,
    near,
    pairs,
    products,
    results_of,
    runs,
    subsets,
    totals,
)
from draftcritic.core.fabrication._cues import (
    AMOUNT,
    AVERAGE,
    DIFFERENCE,
    EQUATION,
    IDENTIFIER,
    MONEY,
    REMAINDER,
    SUM,
    SUM_OF_PRICES,
    TOTAL,
)
from draftcritic.core.fabrication._grounding import Grounding
from draftcritic.core.fabrication._lazy import lazy
from draftcritic.core.fabrication._lexer import Token, is_approximate
from draftcritic.core.fabrication._neighbours import Neighbours
from draftcritic.core.fabrication._prices import Prices
from draftcritic.core.fabrication._units import DEGREES, UNITS, canonical, words_of
from draftcritic.core.fabrication._values import decimal_of, readings

SCANNED = 4096
"""Numbers of the context that are compared with a rounded or converted one."""
LIST_LENGTHS = 512

_CUE_BEFORE, _CUE_AFTER = 72, 40
_KEYED = re.compile(r"""["']([A-Za-z_]\w{0,40})["']\s*:\s*["']?[$\u20ac]?(\d{1,9}(?:\.\d{1,4})?)(?![\d:\-/])""")
RECENT = 4000
"""Characters of the sources, from their end, in which the last amounts are looked for."""
_PARTS = 6
"""Neighbouring prices that may be the other parts of a total."""
_HOURS_BEFORE = re.compile(
    r"(\d{1,3})\s?(?:h|hrs?|hours?|horas?|heures?|stunden?|std\.?|ore|uur|\u0447(?:\u0430\u0441\w*)?|\u5c0f\u65f6|\u5c0f\u6642|\u6642\u9593|"
    r"\uc2dc\uac04),?\s?(?:and|y|et|und|e|en|\u0438)?\s?\Z",
    re.IGNORECASE,
)
_SCALE_OF_DEGREES = re.compile("[CFcf](?=elsius|ahrenheit|\\b)")
_FEW = 24
"""Numbers of a source among which one is hardly met by chance when it is given in another unit."""
_ROUNDED_BY_CHANCE = 0.1
_SENTENCE_END = re.compile(r"[.!?\u3002\uff01\uff1f](?=\s|[^\x00-\x7f]|\Z)")
_MINUTES = re.compile("m$|min|\u043c\u0438\u043d|\u5206|\ubd84")
_ABOUT_MINUTES = 30
"""Minutes to which a duration that the draft calls approximate is rounded."""
_LABEL = re.compile(r"[^\W\d_][^\d\n:]{1,40}:[^\w\n]*\Z")
_KEY_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SHORTEST_KEY_WORD, _KEY_STEM = 3, 6
_LONGEST_TERM = 400
_RUN_GAP = 250
_LONGEST_RUN = 8


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
        self._neighbours = Neighbours(text, grounding)
        self.open: set[int] = set()
        """Starts of the numbers that are not grounded: no number is worked out of them."""

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
            self._rounded(value, token)
            or self._counted(value, token)
            or self._converted(value, token)
            or self._spanned(value, token)
            or self._computed(value, token)
            for value in values
        )

    @lazy
    def _context(self) -> list[float]:
        numbers = sorted(self._grounding.numbers, key=len)[:SCANNED]
        return [float(number) for number in numbers if len(number) < 18]

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
            for number in self._context
            if roughly or number != int(number)
        )
        return found and (roughly or places > 0 or self._rounds_few(wanted))

    def _rounds_few(self, wanted: float) -> bool:
        """Whether so few broken numbers lie about here that one of them is hardly met by chance."""
        about = sum(wanted / 2 <= number <= 2 * wanted and number != int(number) for number in self._context)
        return about <= _ROUNDED_BY_CHANCE * wanted

    def _converted(self, value: Decimal, token: Token) -> bool:
        wanted = float(value)
        if token.kind == "percentage":
            half = 0.5 * 10.0 ** -_places(value) + 1e-9
            fractions = any(abs(100 * number - wanted) <= half for number in self._context if number != int(number))
            return fractions or self._share(wanted, token)
        unit = canonical(token.unit.lstrip("\u00b0").strip())
        if unit in DEGREES:
            scale = _SCALE_OF_DEGREES.search(unit) or _SCALE_OF_DEGREES.search(self._text, token.end, token.end + 16)
            celsius, kelvin = (wanted - 32) * 5 / 9, 273.15
            others = [wanted * 9 / 5 + 32, wanted + kelvin, celsius, celsius + kelvin]
            if scale:
                others = others[:2] if scale[0] in "cC" else others[2:]
        else:
            others = [wanted * factor for factor in UNITS.get(unit, ())]
        # The sources' numbers have lost their sign.
        # The result is rounded as it is written, and factors such as 1.61 are rounded, too.
        roughly = is_approximate(token, self._text)
        near = 0.02 if roughly else 0.002 + 0.5 * 10.0 ** -_places(value) / max(wanted, 1.0)
        degrees = (1.5 if roughly else 0.51) if unit in DEGREES else 0.0
        words, few = words_of(unit), len(self._context) <= _FEW
        return any(
            abs(number - abs(other)) <= (degrees or near * abs(other))
            and (words is None or few or self._grounding.stands_beside(f"{number:g}", words))
            for other in others
            for number in self._context
        )

    def _share(self, wanted: float, token: Token) -> bool:
        stated = [n for n in self._numbers if n.kind != "percentage" and n.start not in self.open]
        stated.sort(key=lambda number: abs(number.start - token.start))
        operands = [
            float(value) for n in stated[:_PARTS] for value in map(decimal_of, n.value[:1]) if value is not None
        ]
        if len(self._context) <= _PARTS:
            operands += [*self._context, sum(self._context)]
        half = 0.5 * 10.0 ** -len(token.value[0].partition(".")[2]) + 1e-9
        if any(is_approximate(number, self._text) for number in stated[:_PARTS]):
            half = max(half, 0.02 * wanted)
        return any(
            other and min(abs(100 * one / other - wanted), abs(abs(100 * (other - one) / other) - wanted)) <= half
            for one in operands
            for other in operands
            if one != other
        )

    def _counted(self, value: Decimal, token: Token) -> bool:
        if token.kind != "number" or value != value.to_integral_value() or value > LIST_LENGTHS:
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
            return not self._neighbours.day_gaps.isdisjoint((span, span - 1))
        if unit[:4] == "year":
            years = {day.year for day in self._grounding.all_days if day.year}
            return any(year + int(value) in years or year + int(value) + 1 in years for year in years)
        return False

    def _lies_between(self, minutes: float, *, roughly: bool) -> bool:
        """Whether two times of the context are so far apart."""
        gaps = self._neighbours.clock_gaps
        return minutes in gaps or (roughly and any(abs(gap - minutes) <= _ABOUT_MINUTES // 2 for gap in gaps))

    def _lasts(self, minutes: int) -> bool:
        """Whether some source holds a duration of that many minutes, in whatever unit, or two times so far apart."""
        known, clocks = self._grounding.numbers, self._grounding.all_clocks
        if {str(minutes), str(minutes * 60), str(minutes * 60000), f"{minutes / 60:g}"} & known or minutes in clocks:
            return True
        return minutes in self._neighbours.clock_gaps

    def _computed(self, value: Decimal, token: Token) -> bool:
        operands = self._operands(token)
        after = self._text[token.end : token.end + 3].lstrip()[:1]
        is_result = EQUATION.search(self._text[max(0, token.start - 12) : token.start]) or after in {"=", "("}
        if value in self._calculated or (
            is_result and any(value in set(results(operands)) for results in (pairs, runs, products))
        ):
            return True
        cue = self._sentence_around(token)
        if (SUM_OF_PRICES if token.kind == "price" else SUM).search(cue) and (
            self._summed(value, operands, token) or value in self._sums_of_labels
        ):
            return True
        if DIFFERENCE.search(cue) and value in set(differences([*operands, *self._sums_if_few(token)])):
            return True
        if AVERAGE.search(cue) and any(near(value, total, count) for total, count in totals(operands)):
            return True
        if token.kind == "number" and self._prices.tells_count(value, token, self.open):
            return True
        return token.kind == "price" and (
            self._prices.explain(value, token, operands, self.open)
            or (REMAINDER.search(cue) is not None and self._remains(value, operands))
            or self._completes_total(value, token)
        )

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
        sums = self._sums_for(token)
        return value in sums or any(value / count in sums for count in COUNTS)

    @lazy
    def _prices(self) -> Prices:
        return Prices(self._text, self._numbers, self._grounding)

    def _remains(self, value: Decimal, operands: Sequence[Decimal]) -> bool:
        """Whether the value is what is left of an amount that a source has."""
        known = self._amounts
        if any(value + part in known or part - value in known for part in operands):
            return True
        return value in set(pairs(self._last_amounts))

    def _completes_total(self, value: Decimal, token: Token) -> bool:
        """Whether this part and others make a total that the draft names."""
        near = sorted(self._operand_tokens(token), key=lambda other: abs(other.start - token.start))[:_PARTS]
        parts = {part for other in near for part in map(decimal_of, other.value[:1])}
        beside = [part for other in near[:2] for part in _first_value(other)]
        if any(value + part in self._last_amounts for part in beside):
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
        for number in self._numbers[:LIST_LENGTHS]:
            label = _LABEL.search(self._line_before(number, _CUE_BEFORE))
            if label and number.start not in self.open:
                labelled.setdefault(label[0].lower(), []).extend(_first_value(number))
        sums = [sum(values, Decimal(0)) for values in labelled.values() if len(values) > 1]
        return frozenset(sums)

    @lazy
    def _calculated(self) -> frozenset[Decimal]:
        """What the terms give that the tools were asked to work out: `364 + (210 + 370)`."""
        results: set[Decimal] = set()
        for written in self._grounding.value_texts:
            if len(written) <= _LONGEST_TERM:
                results.update(result for term in TERM.findall(written) for result in results_of(term))
        return frozenset(results)

    def _operand_tokens(self, token: Token) -> list[Token]:
        """The grounded numbers of the draft that are of the token's kind, those just before the token first."""
        fit = [n for n in self._numbers if n.kind == token.kind and n.start not in self.open and n.start != token.start]
        before = [n for n in fit if n.end <= token.start]
        return [*reversed(before), *fit[len(before) :]][:OPERANDS]

    def _operands(self, token: Token) -> list[Decimal]:
        near = self._operand_tokens(token)
        values = [value for n in near for value in map(decimal_of, n.value[:1]) if value is not None]
        return [*values, *self._asked]

    @lazy
    def _asked(self) -> list[Decimal]:
        texts = [self._grounding.user_text, *(text for text in self._grounding.value_texts if len(text) <= 200)]
        written = [number for text in texts for number in re.findall(r"(?<![\w\-:])\d+(?:[.,]\d+)*(?![\w\-:])", text)]
        return [
            value for number in written[:16] for value in map(decimal_of, readings(number)[:1]) if value is not None
        ]

    @lazy
    def _sums(self) -> dict[str, set[Decimal]]:
        """Key -> sums over its neighbouring values: the prices of the parts of one record."""
        sums: dict[str, set[Decimal]] = {}
        runs: dict[str, tuple[int, list[Decimal]]] = {}
        for found in _KEYED.finditer(self._grounding.text):
            value = decimal_of(found[2])
            if value is None:
                continue
            last, run = runs.get(found[1], (-_RUN_GAP, []))
            run = [*run, value] if found.start() - last < _RUN_GAP else [value]
            runs[found[1]] = (found.start(), run)
            if 1 < len(run) <= _LONGEST_RUN:
                sums.setdefault(found[1], set()).add(sum(run, Decimal(0)))
        return sums

    def _sums_for(self, token: Token) -> frozenset[Decimal]:
        """The sums over values of its kind: amounts of money, or what the draft calls as the key does."""
        if token.kind == "price":
            return self._sums_of_money
        sentence = self._sentence_around(token).lower()
        fit = [sums for words, sums in self._worded_sums if any(word in sentence for word in words)]
        return frozenset[Decimal]().union(*fit)

    @lazy
    def _sums_of_money(self) -> frozenset[Decimal]:
        return frozenset[Decimal]().union(*(sums for key, sums in self._sums.items() if MONEY.search(key)))

    @lazy
    def _worded_sums(self) -> list[tuple[list[str], set[Decimal]]]:
        return [(_key_words(key), sums) for key, sums in self._sums.items()]

    @lazy
    def _amounts(self) -> frozenset[Decimal]:
        """Amounts of money of the sources: balances, payments, limits."""
        return frozenset(value for found in AMOUNT.findall(self._grounding.text) for value in _first(found))

    @lazy
    def _last_amounts(self) -> list[Decimal]:
        """The prices that the conversation has named last."""
        written = re.findall(r"[$\u20ac\u00a3](\d[\d.,]*)", self._grounding.text[-RECENT:])
        return list(dict.fromkeys(value for found in written[-8:] for value in _first(found.rstrip(".,"))))

    def _sums_if_few(self, token: Token) -> frozenset[Decimal]:
        few = sum(map(len, self._sums.values())) <= _LONGEST_RUN
        return self._sums_for(token) if few else frozenset()


def _key_words(key: str) -> list[str]:
    return [word[:_KEY_STEM].lower() for word in _KEY_PARTS.findall(key) if len(word) >= _SHORTEST_KEY_WORD]


def _places(value: Decimal) -> int:
    exponent = value.as_tuple().exponent
    return max(0, -exponent) if isinstance(exponent, int) else 0


def _first_value(token: Token) -> list[Decimal]:
    return [value for reading in token.value[:1] if (value := decimal_of(reading)) is not None]


def _first(written: str) -> list[Decimal]:
    return [value for reading in readings(written)[:1] if (value := decimal_of(reading)) is not None]


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
        if not isinstance(value, dict):
            lengths.add(len(value))
        items: Iterable[Any] = value.values() if isinstance(value, dict) else value
        for item in items:
            if isinstance(item, (list, tuple, dict)):
                _collect_lengths(item, lengths, depth + 1)

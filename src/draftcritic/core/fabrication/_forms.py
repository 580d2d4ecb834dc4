"""The same value in another form: rounded, in another unit, as a share, the length of a list, the time between two."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable, Sequence
from decimal import Decimal
from typing import Any

from draftcritic.core.fabrication._grounding import Grounding
from draftcritic.core.fabrication._lazy import lazy
from draftcritic.core.fabrication._measures import is_approximate
from draftcritic.core.fabrication._neighbours import Neighbours
from draftcritic.core.fabrication._token import Token
from draftcritic.core.fabrication._units import DEGREES, UNITS, canonical, words_of
from draftcritic.core.fabrication._values import decimal_of

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
"""Items of a list whose number a draft tells."""
_STATED = 6
"""Numbers of the draft, nearest first, of which one is a share of another."""


class Forms:
    """The numbers of the sources in other forms, for one draft."""

    def __init__(self, text: str, numbers: Sequence[Token], grounding: Grounding) -> None:
        self._text = text
        self._numbers = numbers
        self._grounding = grounding
        self._neighbours = Neighbours(text, grounding)

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

    def _converted(self, value: Decimal, token: Token, ungrounded: Collection[int]) -> bool:
        wanted = float(value)
        if token.kind == "percentage":
            half = 0.5 * 10.0 ** -_places(value) + 1e-9
            fractions = any(abs(100 * number - wanted) <= half for number in self._context if number != int(number))
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
        near = 0.02 if roughly else 0.002 + 0.5 * 10.0 ** -_places(value) / max(wanted, 1.0)
        degrees = (1.5 if roughly else 0.51) if unit in DEGREES else 0.0
        words, few = words_of(unit), len(self._context) <= _FEW
        return any(
            abs(number - abs(other)) <= (degrees or near * abs(other))
            and (words is None or few or self._grounding.stands_beside(f"{number:g}", words))
            for other in others
            for number in self._context
        )

    def _share(self, wanted: float, token: Token, ungrounded: Collection[int]) -> bool:
        stated = [n for n in self._numbers if n.kind != "percentage" and n.start not in ungrounded]
        stated.sort(key=lambda number: abs(number.start - token.start))
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

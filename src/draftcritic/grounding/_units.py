"""Units of measure: their names, conversions, and numbers with a currency, percent sign or unit."""

from __future__ import annotations

import re

from draftcritic.grounding._dates import keyed
from draftcritic.grounding._numbers import LONGEST_NUMBER, SCALES, readings, scaled
from draftcritic.grounding._token import CUE_WINDOW, Token

_UNIT_WORDS = {word: unit for unit, word in keyed("units")}
DEGREES = frozenset(word for word, unit in _UNIT_WORDS.items() if unit == "degrees")
"""Words and signs for degrees of temperature; Celsius and Fahrenheit are tried."""
_FAMILIES = {
    "hours minutes seconds milliseconds days weeks months years": (
        r"h(?:ou)?rs?\b|m?[hms]\b|min|sec|day|week|month|year|dur|time|period|interval|age|stund|tag|hora|heure|jour|"
        r"d\u00eda|giorn|\u65f6|\u6642|\u5206|\u5929|\uc2dc|\ubd84"
    ),
    "km miles m cm feet inches": (
        r"km|mi\b|mile|mph|met(?:er|re)|[cm]?m\b|ft\b|feet|foot|inch|dist|length|height|width|depth|altitude|elevation|"
        r"range|visib|wind|speed|size|\u516c\u91cc|\u7c73"
    ),
    "kg g pounds": r"kg|kilo|gram|\bg\b|lbs?\b|pound|ounce|oz\b|weigh|mass",
    "litres": r"l\b|lit(?:er|re)|gal|volume|capacity|tank",
    "bytes": r"[kmgt]b|byte|size|storage|memory|ram|disk|data|usage|quota|limit",
}
_ANY_FIELD = frozenset({"hours"})
"""Words of units that fields with any name may be worked out to."""
_FAMILY_OF = {unit: re.compile(words) for units, words in _FAMILIES.items() for unit in units.split()}
_TEMPERATURES = re.compile(
    "temp|deg|\u00b0|feels|celsius|fahren|[cf]\\b|high|low|max|min|heat|dew|chill|warm|cold|\u6e29|\u6c14|\u6c17|\uae30\uc628|"
    "\u0442\u0435\u043c\u043f|grad|\u062d\u0631\u0627\u0631|\u0924\u093e\u092a"
)


_CANONICAL = {beginning: unit for unit, beginning in keyed("beginnings of units")}
_BEGINNINGS = re.compile("|".join(sorted(map(re.escape, _CANONICAL), key=len, reverse=True)))


def canonical(unit: str) -> str:
    """Return the English word for a unit that begins like one of another language; others as they are."""
    if unit in UNITS or unit in DEGREES:
        return unit
    found = _BEGINNINGS.match(unit)
    return _CANONICAL[found[0]] if found else unit


def words_of(unit: str) -> re.Pattern[str] | None:
    """Return what a source has, in lower case, around a number that can be one of the unit, or of one like it."""
    if unit in _ANY_FIELD:
        return None
    return _TEMPERATURES if unit in DEGREES else _FAMILY_OF.get(_UNIT_WORDS.get(unit, ""))


_FACTORS: dict[str, tuple[float, ...]] = {
    "hours": (60, 3600, 1 / 24),
    "minutes": (60, 1 / 60, 60000),
    "seconds": (1000, 1 / 60, 1 / 3600),
    "milliseconds": (1 / 1000,),
    "days": (24, 1 / 7, 1440, 86400),
    "weeks": (7,),
    "months": (1 / 12,),
    "years": (12, 365),
    "km": (1000, 0.621371, 1 / 3.6),
    "miles": (1.609344, 1609.344, 0.44704),
    "m": (1 / 1000, 100, 3.28084),
    "cm": (1 / 100, 10, 0.393701),
    "feet": (0.3048, 12),
    "inches": (2.54, 1 / 12),
    "kg": (1000, 2.204623),
    "g": (1 / 1000,),
    "pounds": (0.453592, 16),
    "litres": (1000, 0.264172),
    "bytes": (1000, 1024, 1000**2, 1024**2, 1000**3, 1024**3, 1 / 1000, 1 / 1024),
}
UNITS: dict[str, tuple[float, ...]] = {word: _FACTORS[unit] for word, unit in _UNIT_WORDS.items() if unit in _FACTORS}
"""Word or sign of a unit -> factors to others."""


_DIGIT = re.compile(r"\d")
_CURRENCY = "$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0e3f\u20a0-\u20cf\ufdfc\uff04\uffe0\uffe1\uffe5\uffe6"
_CURRENCY_BEFORE = re.compile(
    rf"(?:(?:US|CA|AU|NZ|HK|C|A|S|R)?[{_CURRENCY}]|\b(?:USD|EUR|GBP|JPY|CNY|RMB|INR|AUD|CAD|CHF|SEK|NOK|DKK|PLN|TRY|"
    r"KRW|BRL|MXN|SGD|HKD|NZD|RUB|UAH|ILS|ZAR|Rs\.?|kr))[ \u00a0\u202f]?[-\u2212+~]?\Z"
)
_CURRENCY_AFTER = re.compile(
    rf"[ \u00a0\u202f]?(?:[{_CURRENCY}]|(?:USD|EUR|GBP|JPY|CNY|RMB|INR|AUD|CAD|CHF|SEK|NOK|DKK|PLN|TRY|KRW|BRL|MXN|SGD|"
    r"HKD|NZD|RUB|UAH|ILS|ZAR|z\u0142|kr|TL)\b|(?:dollars?|d\u00f3lares|dollari|euros?|pounds|yen|cents?|rupees|pesos?|"
    r"reais|francs?|franken|yuans?|renminbi|won|baht|kronor|kroner|ruble?s?|riyals?|dirhams?)\b|\u0440\u0443\u0431|\u0433\u0440\u043d|\u5143|\u5186|\u5706|\u6b27\u5143|\u7f8e\u5143|"
    r"\uc6d0|\uc704\uc548|\uc5d4|\ub2ec\ub7ec|\u092f\u0941\u0906\u0928|\u0930\u0941\u092a|\u062f\u0648\u0644\u0627\u0631|\u0631\u064a\u0627\u0644|\u20aa)",
    re.IGNORECASE,
)
_CURRENCY_WIDTH = 8
# The last characters of what `_CURRENCY_BEFORE` finds, before a space and a sign.
_CURRENCY_ENDS = frozenset(
    (*"sr.BDFHKLNPRSWY", *_CURRENCY, *map(chr, range(0xA2, 0xA6)), *map(chr, range(0x20A0, 0x20D0)))
)
_SPACES, _SIGNS_BEFORE = frozenset(" \u00a0\u202f"), frozenset("-\u2212+~")
# Signs of ASCII with which no scale, currency, percent sign or unit begins.
_NO_UNITS = frozenset({"", *".,;:!?)(]['\"*|}{/\\=+<>~&@#^_`\n\t\r"})
_PERCENT = re.compile(
    r"[ \u00a0\u202f]?(?:[%\u066a]|per ?cent\b|pct\b|prozent\b|pour ?cents?\b|por ciento\b|por cento\b|per cento\b|"
    "procent\\b|\u043f\u0440\u043e\u0446\u0435\u043d\u0442)",
    re.IGNORECASE,
)
_SCALE = re.compile(
    r"([\u5343\u767e\u5341\u4e07\u842c]?[\u5343\u4e07\u842c\u4ebf\u5104\ub9cc\uc5b5\uc870\u5146]|[\ucc9c\ubc31]\ub9cc)"
    r"|[ \u00a0\u202f]?([^\W\d_]{1,9})(?![^\W\d_])"
)
_UNIT = re.compile(r"(?:[ \u00a0\u202f-]?([^\W\d_]{1,12}|\u00b0\s?[CF]|[\u2103\u2109]))")
_ABOUT = re.compile(
    r"(?:\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|over|under|more than|less than|up to|at least|"
    r"some|ca\.|circa|unos|unas|aproximadamente|environ|etwa|rund|ungef\u00e4hr|cerca de|ongeveer|"
    "\u043e\u043a\u043e\u043b\u043e|\u043f\u0440\u0438\u043c\u0435\u0440\u043d\u043e)|[~\u2248\u7ea6\u7d04\uc57d])"
    r"[\s$\u20ac\u00a3]*\Z",
    re.IGNORECASE,
)


def measured(text: str, at: int, stop: int) -> Token:
    """Return the number between two places of a draft as what it is: a price, a share, a number with its unit."""
    values = readings(text[at:stop]) if stop - at <= LONGEST_NUMBER else ()
    follows = text[stop : stop + 1] not in _NO_UNITS
    scale = _SCALE.match(text, stop) if follows else None
    power = SCALES.get((scale[1] or scale[2]).lower(), 0) if scale else 0
    is_scaled = False
    if scale and power and not (scale[2] in {"m", "M"} and not _money_before(text, at)):
        values, stop, is_scaled = tuple(scaled(value, power) for value in values), scale.end(), True
        follows = text[stop : stop + 1] not in _NO_UNITS
    sign = _currency_before(text, at)
    head = text[max(0, at - _CURRENCY_WIDTH) : at]
    if sign and not head[: sign.start()].rstrip()[-1:].isdigit():
        start = at - len(head) + sign.start()
        if text[start].isalpha():
            start = at
        return Token("price", start, stop, text[start:stop], values, is_scaled)
    if not follows and text[at - 1 : at] != "%":
        return Token("number", at, stop, text[at:stop], values, is_scaled)
    after = _CURRENCY_AFTER.match(text, stop)
    if after:
        end = after.end() if not after[0][-1].isalpha() else stop
        return Token("price", at, end, text[at:end], values, is_scaled)
    percent = _PERCENT.match(text, stop)
    if percent:
        end = percent.end() if percent[0][-1] in "%\u066a" else stop
        return Token("percentage", at, end, text[at:end], values, is_scaled)
    if text[at - 1 : at] == "%" and not text[at - 2 : at - 1].isdigit():
        return Token("percentage", at - 1, stop, text[at - 1 : stop], values, is_scaled)
    unit = _UNIT.match(text, stop)
    return Token("number", at, stop, text[at:stop], values, is_scaled, unit[1].lower() if unit else "")


def _money_before(text: str, at: int) -> bool:
    return _currency_before(text, at) is not None


def _currency_before(text: str, at: int) -> re.Match[str] | None:
    """Return the sign or code of a currency that ends before `at`, in the few characters before it."""
    last = at - 1
    if last > 0 and text[last] in _SIGNS_BEFORE:
        last -= 1
    if last > 0 and text[last] in _SPACES:
        last -= 1
    if last < 0 or text[last] not in _CURRENCY_ENDS:
        return None
    return _CURRENCY_BEFORE.search(text[max(0, at - _CURRENCY_WIDTH) : at])


def is_approximate(token: Token, text: str) -> bool:
    """Whether the draft says that the value is rounded."""
    if token.scaled:
        return True
    digit = _DIGIT.search(token.text)
    at = token.start + (digit.start() if digit else 0)
    return _ABOUT.search(text[max(0, at - CUE_WINDOW) : at]) is not None

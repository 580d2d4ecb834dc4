"""Reads tool calls, messages and results, and extracts numbers, dates and times from their text."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from typing import Any

from draftcritic.core._exception_place import described
from draftcritic.grounding._dates import Clock, Day, as_date, clock_at, day_at
from draftcritic.grounding._numbers import SCALES, FromDigit, readings, scaled

logger = logging.getLogger(__name__)


def calls_of(calls: Any) -> tuple[Any, ...]:
    """Return tool calls as a tuple; a single call becomes a tuple of one, anything else an empty one."""
    if isinstance(calls, (list, tuple)):
        return tuple(calls)
    if isinstance(calls, Mapping):
        return (calls,)
    if isinstance(calls, Iterable) and not isinstance(calls, (str, bytes)):
        return tuple(calls)
    return ()


def text_of(value: Any) -> str:
    """Return the value as text; the empty one when it cannot be written out."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception as error:
        # A tool's result is the application's own object, too.
        logger.debug("draftcritic: a %s cannot be turned into text: %s", type(value).__name__, described(error))
        return ""


DAY_MINUTES = 24 * 60
LONGEST_ENDING = 20
SHORTEST_ENDING = 4
"""Digits at the end of a longer number that people quote for all of it."""


_NUMBER = FromDigit(r"(?<![A-Za-z0-9_]\d)(?<!\d[-:/.,]\d)\d*(?:[.,'\u2019\u00a0\u202f]\d+)*(?![0-9_])(?![-:/]\d)")
_ARRAY = re.compile(r"\[\s?(\d{1,15}(?:\.\d{1,6})?(?:,\d{1,15}(?:\.\d{1,6})?){1,2000})\s?\]")
_NOISE = re.compile(r"(?<=\d)(?:0{5,}\d{0,4}|9{5,}\d{0,4})\Z|^(?:0{5,}\d{0,4}|9{5,}\d{0,4})\Z")
_NOISY, _LONGEST_FLOAT = 12, 24
_SCALED = re.compile(
    r"([0-9](?<![\w.]\d)\d{0,5}(?:[.,]\d{1,6})*)[ \u00a0]?"
    r"([\u5343\u767e\u5341\u4e07\u842c]?[\u4e07\u842c\u4ebf\u5104\ub9cc\uc5b5\uc870]|[^\W\d_]{4,9}(?![^\W\d_]))"
)
_SIGNS_OF_SCALES = (
    "illi",
    "housand",
    "crore",
    "lakh",
    "\u4e07",
    "\u4ebf",
    "\u5104",
    "\uc5b5",
    "\ub9cc",
    "\u043c\u043b",
)
"""Parts of the words that scale a number: without one there is nothing to find."""
_POWER = re.compile(r"[0-9](?<![\w.]\d)(?:\.\d{1,16})?[eE][+-]\d\d(?!\w)")
_DATE = FromDigit(
    r"(?:\d{3}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|\d?/\d{1,2}(?:/\d{2,4})?(?!\d)|\d?[-.]\d{1,2}[-.]\d{4}(?!\d))"
)
# The engine looks fast for what begins with the same signs.
_COMPACT_DATE = re.compile(r"20\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?<!\w\d{8})(?![\w.])")
_DAY = FromDigit(r"(?<![\w/:.\-]\d)\d?(?!\d)")
_CLOCK = FromDigit(
    r"(?<![0-9_:]\d)\d?(?::\d\d(?:\s?[aApP]\.?\s?[mM]\b)?|\s?[aApP]\.?\s?[mM]\b|\s?[hH]\s?\d\d|"
    r"\s?[\u70b9\u9ede\u65f6\u6642\uc2dc]| Uhr|: [0-5]\d(?![\d:]))"
)
_CLOCK_SIGNS = ("\u70b9", "\u9ede", "\u65f6", "\u6642", "\uc2dc")
_CJK_YEAR = FromDigit(r"\d{3}\s?[\u5e74\ub144]")
_LONG = FromDigit(r"\d{3,}")
_ISO_DURATION = re.compile(r"P(?<![A-Za-z0-9]P)(?:\d+[YMWD])*T(?:\d+(?:\.\d+)?[HMS])+(?![A-Za-z0-9])")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
# A date or a time as a record with a field for each part.
_RECORD = re.compile(r"\{([^{}]{1,240})\}")
_PART = re.compile(r"""["']([A-Za-z]{3,10})["']\s*:\s*["']?(\d{1,4})(?![\d.])""")
_DAY_SIGNS = frozenset("snrt\u00ba\u00aa\u6708\uc6d4")
_MONTH_SIGNS, _YEAR_SIGNS = frozenset("\u6708\uc6d4"), frozenset("\u5e74\ub144")


def numbers_in(text: str) -> frozenset[str]:
    """Return every number, in normal form; no parts of dates, times and codes."""
    numbers = {value for number in _NUMBER.all_of(text) for value in readings(number)}
    numbers.update(value for array in _ARRAY.findall(text) for part in array.split(",") for value in readings(part))
    numbers.update([rounded for number in numbers if len(number) > _NOISY and (rounded := _without_noise(number))])
    return frozenset(numbers)


def _without_noise(number: str) -> str:
    """Return what binary fractions blur: `23.42` for `23.419999999999987`; empty for other numbers."""
    whole, _, decimals = number.partition(".")
    noise = _NOISE.search(decimals)
    if noise is None or not whole.isdigit() or len(number) > _LONGEST_FLOAT:
        return ""
    return f"{round(Decimal(number), noise.start()).normalize():f}"


def scaled_numbers_in(text: str) -> frozenset[str]:
    """Return the numbers that are written with a power of ten, or with a word for one: 2.35e+12, 1.4 billion."""
    numbers: set[str] = set()
    if "e+" in text or "e-0" in text or "E+" in text:
        numbers.update(value for number in _POWER.findall(text) for value in readings(f"{Decimal(number):f}"))
    if any(sign in text for sign in _SIGNS_OF_SCALES):
        for number, word in _SCALED.findall(text):
            power = SCALES.get(word.lower(), 0)
            numbers.update(scaled(value, power) for value in readings(number) if power)
    return frozenset(numbers)


def duration_parts_in(text: str) -> frozenset[str]:
    """Return the numbers of durations such as PT1H30M."""
    if "PT" not in text:
        return frozenset()
    return frozenset(part for found in set(_ISO_DURATION.findall(text)) for part in _DIGITS.findall(found))


def days_in(text: str) -> frozenset[Day]:
    """Return every date in every way to read it; a part that is not written is 0."""
    days = {day for written in _DATE.all_of(text) for day in _days_at(written, 0)}
    for found in _DAY.find(text):
        start, end = found.span()
        if text[end : end + 1] in _MONTH_SIGNS and text[start - 2 : start].rstrip()[-1:] in _YEAR_SIGNS:
            continue  # with its year, below
        # Next to a word, or followed by a sign for year or month.
        if (
            text[end : end + 1] in _DAY_SIGNS
            or text[end + 1 : end + 2].isalpha()
            or text[start - 2 : start].strip(" .,-").isalpha()
        ):
            days.update(_days_at(text, start))
    for found in _CJK_YEAR.find(text) if "\u5e74" in text or "\ub144" in text else ():
        days.update(_days_at(text, found.start()))
    return frozenset(days)


def recorded_days_in(text: str) -> frozenset[Day]:
    """Return the dates without signs between their parts: 20241105, or a field for each."""
    days = set()
    for written in _COMPACT_DATE.findall(text):
        if as_date(day := Day(int(written[:4]), int(written[4:6]), int(written[6:]))):
            days.add(day)
    for parts in _records_in(text, "month"):
        if "day" in parts and as_date(day := Day(parts.get("year", 0), parts["month"], parts["day"])):
            days.add(day)
    return frozenset(days)


def _records_in(text: str, field: str) -> Iterator[dict[str, int]]:
    """Yield the numbers of every flat record with that field, by their names in lower case."""
    if f'"{field}"' in text or f"'{field}'" in text:
        for record in set(_RECORD.findall(text)):
            parts = {name.lower(): int(number) for name, number in _PART.findall(record)}
            if field in parts:
                yield parts


def _days_at(text: str, start: int) -> tuple[Day, ...]:
    dated = day_at(text, start, len(text))
    return dated[0] if dated else ()


def clocks_in(text: str) -> frozenset[int]:
    """Return every time of day, in minutes since midnight."""
    clocks = set()
    for clock in _read_clocks(text):
        clocks.add(clock.minutes % DAY_MINUTES)
        if clock.either:
            clocks.add((clock.minutes + DAY_MINUTES // 2) % DAY_MINUTES)
    return frozenset(clocks)


def recorded_clocks_in(text: str) -> frozenset[int]:
    """Return the times of day with a field for each part, in minutes since midnight."""
    clocks = set()
    for parts in _records_in(text, "hour"):
        minute = next((parts[name] for name in ("minute", "minutes", "min") if name in parts), 0)
        clocks.add((60 * parts["hour"] + minute) % DAY_MINUTES)
    return frozenset(clocks)


def clocks_in_order(text: str) -> Iterator[tuple[int, int]]:
    """Yield the position of each time of day, with its minutes since midnight."""
    for found in _CLOCK.find(text):
        clock = clock_at(text, found.start())
        if clock:
            yield found.start(), clock[0].minutes % DAY_MINUTES
            if clock[0].either:
                yield found.start(), (clock[0].minutes + DAY_MINUTES // 2) % DAY_MINUTES


def days_in_order(text: str) -> Iterator[Day]:
    """Yield the dates that are written in digits, in the order of the text."""
    for found in _DATE.find(text):
        yield from _days_at(text, found.start())[:1]


def _read_clocks(text: str) -> Iterator[Clock]:
    read = (
        clock_at(written.replace(": ", ":"), 0) for written in _CLOCK.all_of(text) if written[-1] not in _CLOCK_SIGNS
    )
    yield from (clock[0] for clock in read if clock)
    if not text.isascii() and any(sign in text for sign in _CLOCK_SIGNS):
        # The word for the half of the day comes before the number.
        placed = (clock_at(text, found.start()) for found in _CLOCK.find(text) if found[0][-1] in _CLOCK_SIGNS)
        yield from (clock[0] for clock in placed if clock)


_ALNUM = re.compile("[A-Za-z0-9]+")
_LOWER_ALNUM = re.compile("[a-z0-9]+")
_HAS_DIGIT = re.compile("[0-9]")
_LONGEST_CODE = 128
_SHAPES = str.maketrans(
    dict.fromkeys("0123456789", "0") | dict.fromkeys("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ", "a")
)


def shape_of(code: str) -> str:
    """Return the code with `0` for each digit and `a` for each letter."""
    return code.translate(_SHAPES)


def code_lengths_in(text: str) -> frozenset[int]:
    """Return the lengths of the words that have a digit and no small letter."""
    words = set(_ALNUM.findall(text))
    return frozenset(len(word) for word in words if word == word.upper() and _HAS_DIGIT.search(word))


def code_shapes_in(text: str) -> frozenset[str]:
    """Return the shapes of the runs of small letters and digits that have a digit."""
    runs = set(_LOWER_ALNUM.findall(text))
    return frozenset(shape_of(run) for run in runs if len(run) <= _LONGEST_CODE and _HAS_DIGIT.search(run))


def endings_in(text: str) -> frozenset[str]:
    """Return the last digits of every longer number, from 4 to 20 of them."""
    return frozenset(
        number[-length:]
        for number in _LONG.all_of(text)
        for length in range(SHORTEST_ENDING, min(len(number), LONGEST_ENDING) + 1)
    )

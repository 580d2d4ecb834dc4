"""Finds numbers, dates and times in the text of the sources, whatever their format."""

from __future__ import annotations

import re

from draftcritic.core.fabrication._dates import Day, clock_at, day_at
from draftcritic.core.fabrication._digits import FromDigit
from draftcritic.core.fabrication._values import readings

DAY_MINUTES = 24 * 60
LONGEST_ENDING = 20
SHORTEST_ENDING = 4
"""Digits at the end of a longer number that people quote for all of it."""


_NUMBER = FromDigit(r"(?<![A-Za-z0-9_]\d)(?<!\d[-:/.,]\d)\d*(?:[.,'\u2019\u00a0\u202f]\d+)*(?![0-9_])(?![-:/]\d)")
_DATE = FromDigit(
    r"(?:\d{3}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|\d?/\d{1,2}(?:/\d{2,4})?(?!\d)|\d?[-.]\d{1,2}[-.]\d{4}(?!\d))"
)
_DAY = FromDigit(r"(?<![\w/:.\-]\d)\d?(?!\d)")
_CLOCK = FromDigit(
    r"(?<![0-9_:]\d)\d?(?::\d\d(?:\s?[aApP]\.?\s?[mM]\b)?|\s?[aApP]\.?\s?[mM]\b|\s?[hH]\s?\d\d|"
    r"\s?[\u70b9\u9ede\u6642\uc2dc](?:\s?\d{1,2}|\u534a)?| Uhr)"
)
_CJK_YEAR = FromDigit(r"\d{3}\s?[\u5e74\ub144]")
_LONG = FromDigit(r"\d{3,}")
_ISO_DURATION = re.compile(r"P(?<![A-Za-z0-9]P)(?:\d+[YMWD])*T(?:\d+(?:\.\d+)?[HMS])+(?![A-Za-z0-9])")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_DAY_SIGNS = frozenset("snrt\u00ba\u00aa\u6708\uc6d4")


def numbers_in(text: str) -> frozenset[str]:
    """Return every number, in normal form; no parts of dates, times and codes."""
    return frozenset(value for number in _NUMBER.all_of(text) for value in readings(number))


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
        # Beside a word, or with a sign for year or month behind it.
        if (
            text[end : end + 1] in _DAY_SIGNS
            or text[end + 1 : end + 2].isalpha()
            or text[start - 2 : start].strip(" .,-").isalpha()
        ):
            days.update(_days_at(text, start))
    for found in _CJK_YEAR.find(text) if "\u5e74" in text or "\ub144" in text else ():
        days.update(_days_at(text, found.start()))
    return frozenset(days)


def _days_at(text: str, start: int) -> tuple[Day, ...]:
    dated = day_at(text, start, len(text))
    return dated[0] if dated else ()


def clocks_in(text: str) -> frozenset[int]:
    """Return every time of day, in minutes since midnight."""
    clocks = set()
    for written in _CLOCK.all_of(text):
        clock = clock_at(written, 0)
        if clock:
            clocks.add(clock[0].minutes % DAY_MINUTES)
            if clock[0].either:
                clocks.add((clock[0].minutes + DAY_MINUTES // 2) % DAY_MINUTES)
    return frozenset(clocks)


def endings_in(text: str) -> frozenset[str]:
    """Return the last digits of every longer number, from 4 to 20 of them."""
    return frozenset(
        number[-length:]
        for number in _LONG.all_of(text)
        for length in range(SHORTEST_ENDING, min(len(number), LONGEST_ENDING) + 1)
    )

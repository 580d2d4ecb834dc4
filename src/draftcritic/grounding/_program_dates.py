"""Dates and times as programs and calendars write them: representations, iCalendar, eras, ISO weeks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from draftcritic.grounding._dates import MONTHS, Day, as_date

_REPRESENTED = re.compile(
    r"date(?:time)?\(\s?(\d{4}),\s?(\d{1,2}),\s?(\d{1,2})(?:,\s?(\d{1,2})(?:,\s?(\d{1,2}))?)?|"
    r"\btime\(\s?(\d{1,2}),\s?(\d{1,2})"
)
# A pattern that begins with its first sign, and only then looks behind it, lets the engine skip to that sign.
_CALENDAR = re.compile(r"((?:19|20)(?<!\d\d\d)\d\d)([01]\d)([0-3]\d)T([0-2]\d)([0-5]\d)")
_WEEK = re.compile(r"((?:19|20)(?<![\w-]\d\d)\d\d)-?W([0-5]\d)(?:-?([1-7]))?(?!\w)")
_DAY_OF_YEAR = re.compile(r"((?:19|20)(?<![\w-]\d\d)\d\d)-([0-3]\d\d)(?![\w-])")
_MILITARY = re.compile(r"(\d(?<![\w-]\d)\d?)-?([A-Za-z]{3})-?((?:19|20)?\d\d)(?![\w-])")
_C_TIME = re.compile(
    r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)(?<!\w[A-Z][a-z][a-z]),?\s{1,2}([A-Z][a-z]{2})\s{1,2}(\d{1,2})\s[\d:]{5,8}\s(?:[A-Z+\-\d:]{1,9}\s)?(\d{4})"
)
_ERAS = {
    "\u4ee4\u548c": 2018, "\u5e73\u6210": 1988, "\u662d\u548c": 1925, "\u5927\u6b63": 1911, "\u660e\u6cbb": 1867,
    "R": 2018, "H": 1988, "S": 1925, "\u6c11\u570b": 1911, "\u6c11\u56fd": 1911,
}  # fmt: skip
"""Name of an era -> the year before its first."""
_ERA = re.compile(
    r"(\u4ee4\u548c|\u5e73\u6210|\u662d\u548c|\u5927\u6b63|\u660e\u6cbb|\u6c11[\u570b\u56fd])\s?(\d{1,3}|\u5143)\s?"
    r"\u5e74\s?(\d{1,2})\s?\u6708\s?(\d{1,2})\s?\u65e5"
)
_ERA_LETTER = re.compile(r"([RHS](?<!\w[RHS]))(\d{1,2})[./-](\d{1,2})[./-](\d{1,2})(?!\w)")
_FIRST_YEAR = "\u5143"
_BUDDHIST = re.compile(r"(\d(?<![\w/]\d)\d?)[/.-](\d{1,2})[/.-](2[45]\d\d)(?!\w)")
_BUDDHIST_YEARS = 543
_CENTURY = 100
_DAYS = 7


def program_days_in(text: str) -> frozenset[Day]:
    """Return the dates in these forms."""
    return frozenset(day for day in _days(text) if as_date(day) is not None)


def _days(text: str) -> Iterator[Day]:
    if _may_represent(text):
        yield from (Day(int(m[1]), int(m[2]), int(m[3])) for m in _REPRESENTED.finditer(text) if m[1])
    yield from (Day(int(m[1]), int(m[2]), int(m[3])) for m in _CALENDAR.finditer(text))
    if "W" in text:
        yield from (day for m in _WEEK.finditer(text) for day in _days_of_week(int(m[1]), int(m[2]), m[3]))
    for found in _DAY_OF_YEAR.finditer(text):
        if 0 < int(found[2]) <= 366:
            yield _as_day(date(int(found[1]), 1, 1) + timedelta(days=int(found[2]) - 1))
    for found in (*_MILITARY.finditer(text), *_C_TIME.finditer(text)):
        day, name = (found[1], found[2]) if found[1].isdigit() else (found[2], found[1])
        month, year = MONTHS.get(name.lower()), int(found[3])
        if month:
            yield Day(year + (2000 if year < _CENTURY else 0), month, int(day))
    yield from _era_days(text)


def _may_represent(text: str) -> bool:
    return "date(" in text or "time(" in text


def _era_days(text: str) -> Iterator[Day]:
    for found in (*(() if text.isascii() else _ERA.finditer(text)), *_ERA_LETTER.finditer(text)):
        name, year, month, day = found.groups()
        yield Day(_ERAS[name] + (1 if year == _FIRST_YEAR else int(year)), int(month), int(day))
    for found in _BUDDHIST.finditer(text):
        yield Day(int(found[3]) - _BUDDHIST_YEARS, int(found[2]), int(found[1]))


def _days_of_week(year: int, week: int, day: str | None) -> Iterator[Day]:
    try:
        first = date.fromisocalendar(year, week, 1)
    except ValueError:
        return
    yield from (_as_day(first + timedelta(days=number - 1)) for number in ((int(day),) if day else range(1, _DAYS + 1)))


def _as_day(day: date) -> Day:
    return Day(day.year, day.month, day.day)


def weeks_in(text: str) -> frozenset[str]:
    """Return the numbers of the ISO weeks."""
    return frozenset(str(int(found[2])) for found in _WEEK.finditer(text)) if "W" in text else frozenset()


def program_clocks_in(text: str) -> frozenset[int]:
    """Return the times of day in these forms, in minutes since midnight."""
    clocks = {60 * int(m[4]) + int(m[5]) for m in _CALENDAR.finditer(text)}
    for found in _REPRESENTED.finditer(text) if _may_represent(text) else ():
        hour, minute = (found[4], found[5] or "0") if found[1] else (found[6], found[7])
        if hour is not None:
            clocks.add(60 * int(hour) + int(minute))
    return frozenset(clocks)

"""Dates and times in texts, with the words for them by language."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from functools import cache
from typing import NamedTuple

from draftcritic.core._lexicon import data_names, data_text, lines_of

_PACKAGE, _FOLDER, _FIRST = "draftcritic.grounding", "data/words", "en.txt"


@cache
def _languages() -> tuple[dict[str, list[str]], ...]:
    """Return the sections of every language, English first."""
    names = sorted(data_names(_PACKAGE, _FOLDER), key=lambda name: (name != _FIRST, name))
    return tuple(lines_of(data_text(_PACKAGE, _FOLDER, name)) for name in names)


def _split(line: str) -> list[str]:
    """Return the words of a line, or its phrases when it has a bar."""
    return [phrase.strip() for phrase in line.split("|") if phrase.strip()] if "|" in line else line.split()


def words_in(section: str) -> list[str]:
    """Return the words of a section in all languages."""
    return [word for sections in _languages() for line in sections.get(section, ()) for word in _split(line)]


def numbered_from(section: str, first: int) -> dict[str, int]:
    """Return word -> number for a section that lists words in the order of their numbers, beginning with `first`."""
    return {
        word: number
        for sections in _languages()
        for number, word in enumerate((word for line in sections.get(section, ()) for word in _split(line)), first)
    }


def keyed(section: str) -> Iterator[tuple[str, str]]:
    """Yield the key and each word of the lines `key: words` of a section."""
    for sections in _languages():
        for line in sections.get(section, ()):
            key, _, words = line.partition(":")
            yield from ((key.strip(), word) for word in _split(words))


def numbers_of(section: str) -> dict[str, int]:
    """Return word -> number for a section of lines `number: words`."""
    return {word: int(number) for number, word in keyed(section)}


MONTHS: dict[str, int] = numbered_from("months", 1) | numbers_of("month abbreviations")
"""Names of months, in lower case -> 1 to 12."""

_MONTH_ENDS = frozenset(name[-3:] for name in MONTHS)
_CENTURY = 100
_RUN = re.compile(r"\d{1,5}")
_DATE_JOINTS = frozenset("-/.")
# Neither a space nor a hyphen nor the sign of an ordinal.
_NO_DAY_ENDS = frozenset({"", *",:;!?)(]['*|}{/\\=+<>~&@#^_`$%\"0123456789"})
_CLOCK_SIGNS = frozenset(":aApPhHU.\u70b9\u9ede\u65f6\u6642\uc2dc")
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})(?!\d)")
_NUMERIC = re.compile(r"(\d{1,2})([-/.])(\d{1,2})(?:\2(\d{4}|\d{2}))?\Z")
_RATIO_AFTER = re.compile(
    r"\s?(?:[\u00b0%\u2605\u2b50]|(?:stars?|points?|cups?|miles?|hours?|of (?:an?|the))\b|tea|table|tsp|tbsp|inch)",
    re.IGNORECASE,
)
_RATIO_BEFORE = re.compile(
    r"(?:\b(?:page|part|step|chapter|score[sd]?|rat(?:ing|ed))(?: of)?|\u2605):? ?\Z", re.IGNORECASE
)
_CJK = re.compile(
    r"(?:(\d{4})\s?[\u5e74\ub144]\s?)?(\d{1,2})\s?[\u6708\uc6d4]\s?(\d{1,2})\s?[\u65e5\u53f7\u865f\uc77c]"
)
_ORDINAL = r"(?:st|nd|rd|th|\u00ba|\u00aa|er|\.)?"
_OF = r"(?:of\s+|de\s+|del\s+|d'|\u05d1)?"
_MONTH_AFTER = re.compile(
    rf"\d{{1,2}}{_ORDINAL}(?:\s+|-){_OF}([^\W\d_]{{3,10}})(?:\.?,?[\s\-]+(?:of\s+|de\s+|del\s+)?((?:19|20|21)\d\d)(?!\d))?"
)
_NUMBERED = re.compile(r"\d{1,2}\.\s")
_DAY_FOLLOWS = re.compile(r"\.?\s\d{1,2}(?!\d|[.,]\d|:\d)")
_HINDI_MONTH_AFTER = re.compile(r"\d{1,2}\s+([\u0900-\u097f]{2,10})(?:,?\s+(\d{4})(?!\d))?")
_MONTH_BEFORE = re.compile(r"([^\W\d_]{3,10})\.?[\s\-]+(?:the\s+)?\Z")
_YEAR_AFTER = re.compile(rf"\d{{1,2}}{_ORDINAL}(?:,?\s+|-)(?:of\s+)?((?:1\d|20|21)\d\d)(?![\d:])")
_MINUTES_FOLLOW = re.compile(r":\d")
_DAY = re.compile(rf"\d{{1,2}}{_ORDINAL}")
_TIME = re.compile(r"(\d{1,2})(?::([0-5]\d)(?::[0-5]\d(?:\.\d+)?)?)?(?!\d)")
_HALF = re.compile(r"[\s\u00a0\u202f]?([aApP])\.?\s?[mM]\b\.?")
_CJK_TIME = re.compile(
    r"(\d{1,2})\s?[\u70b9\u9ede\u65f6\u6642\uc2dc](?![\u95f4\u9593\uac04])"
    r"(?:\s?(\d{1,2})\s?[\u5206\ubd84]|([0-5]\d)(?!\d)|\s?(\d)\s?\u523b|\s?(\u534a|\ubc18))?"
)
_H_TIME = re.compile(r"(\d{1,2})(?:\s?[hH]\s?([0-5]\d)(?![A-Za-z\d])|[.:]([0-5]\d)\s(?:Uhr\b|h\b|klo\b)|\sUhr\b)")
_AFTERNOON = re.compile(
    "(?:\u4e0b\u5348|\u665a\u4e0a|\u5348\u540e|\u5348\u5f8c|\u508d\u665a|\u591c[\u91cc\u88e1]?|\uc624\ud6c4|\uc800\ub141|\ubc24)\\s?\\Z"
)


class Day(NamedTuple):
    """A date; a part that is not written is 0."""

    year: int
    month: int
    day: int


class Clock(NamedTuple):
    """A time of day in minutes since midnight; `either`: it can be twelve hours later as well."""

    minutes: int
    either: bool


def day_at(text: str, start: int, word_end: int) -> tuple[tuple[Day, ...], int, int] | None:
    """Return the dates that may be written around the number at `start`, with start and end; None for no date.

    `3/4/2024` is the third of April and the fourth of March.
    """
    run = _RUN.match(text, start)
    if run is None:
        return None
    numeric = _numeric_day(text, start, run.end(), word_end)
    if numeric:
        return numeric
    head = _DAY.match(text, start)
    if head is None or (start > 0 and text[start - 1].isdigit()) or text[head.end() : head.end() + 1].isdigit():
        return None
    return _spoken_day(text, start, run.end())


def _numeric_day(text: str, start: int, end: int, word_end: int) -> tuple[tuple[Day, ...], int, int] | None:
    count, joint = end - start, text[end : end + 1]
    iso = _ISO.match(text, start) if count == 4 and joint in _DATE_JOINTS else None
    if iso:
        return _checked([Day(int(iso[1]), int(iso[2]), int(iso[3]))], start, iso.end())
    cjk = None if text.isascii() else _CJK.match(text, start)
    if cjk:
        return _checked([Day(int(cjk[1] or 0), int(cjk[2]), int(cjk[3]))], start, cjk.end())
    short = _NUMERIC.match(text, start, word_end) if count <= 2 and joint in _DATE_JOINTS else None
    if short is None or (short[4] is None and (short[2] != "/" or _is_ratio(text, start, short.end()))):
        return None
    first, second, year = int(short[1]), int(short[3]), int(short[4] or 0)
    year += 2000 if 0 < year < _CENTURY else 0
    return _checked([Day(year, first, second), Day(year, second, first)], start, short.end())


def _is_ratio(text: str, start: int, end: int) -> bool:
    """Whether `1/2` is a fraction, a rating, a page of so many, or two values: `17/10 degrees`."""
    return (
        _RATIO_AFTER.match(text, end) is not None or _RATIO_BEFORE.search(text[max(0, start - 16) : start]) is not None
    )


def _spoken_day(text: str, start: int, end: int) -> tuple[tuple[Day, ...], int, int] | None:
    low = max(0, start - 18)
    before = _MONTH_BEFORE.search(text[low:start]) if _may_be_month(text[low:start]) else None
    if before and (month := MONTHS.get(before[1].lower())):
        head = _DAY.match(text, start)
        assert head is not None  # noqa: S101 - the caller has seen a digit
        last = head.end()
        if not _MINUTES_FOLLOW.match(text, last):
            year = _YEAR_AFTER.match(text, start)
            last = year.end() if year else (last - 1 if text[last - 1] == "." else last)
            day = Day(int(year[1]) if year else 0, month, _two_digits(text, start))
            return _checked([day], low + before.start(), last)
    if end - start > 2 or text[end : end + 1] in _NO_DAY_ENDS:
        return None
    for pattern in (_MONTH_AFTER,) if text.isascii() else (_MONTH_AFTER, _HINDI_MONTH_AFTER):
        after = pattern.match(text, start)
        if after and (month := MONTHS.get(after[1].lower())):
            if not after[2] and _NUMBERED.match(text, start) and _DAY_FOLLOWS.match(text, after.end(1)):
                return None  # the second item of a list: `2. January 22`
            last = after.end() if after[2] else after.end(1)
            return _checked([Day(int(after[2] or 0), month, _two_digits(text, start))], start, last)
    return None


def _two_digits(text: str, start: int) -> int:
    return int(text[start : start + 2]) if text[start : start + 2].isdecimal() else int(text[start])


def _may_be_month(head: str) -> bool:
    """Whether the text ends with what may be the name of a month, and a space or hyphen behind it. Cheap."""
    if not head or not (head[-1] == "-" or head[-1].isspace()):
        return False
    word = head.rstrip().rstrip("-").rstrip()
    return word[-3:].lower() in _MONTH_ENDS or word[-1:] in {"-", "."} or word.endswith("the")


def _checked(days: list[Day], start: int, end: int) -> tuple[tuple[Day, ...], int, int] | None:
    real = tuple(dict.fromkeys(day for day in days if as_date(day) is not None))
    return (real, start, end) if real else None


def as_date(day: Day) -> date | None:
    """Return the day as a date, without its year in a leap year; None when there is no such day."""
    try:
        return date(day.year or 2000, day.month, day.day)
    except ValueError:
        return None


def clock_at(text: str, start: int) -> tuple[Clock, int] | None:
    """Return the time of day that is written at `start`, and its end; None for no time."""
    end = start + 2 if text[start + 1 : start + 2].isdecimal() else start + 1
    sign = text[end : end + 1]
    if (text[end + 1 : end + 2] if sign.isspace() else sign) not in _CLOCK_SIGNS:
        return None
    written = _TIME.match(text, start)
    if written is None:
        return None
    hour, minute = int(written[1]), int(written[2] or 0)
    half = _HALF.match(text, written.end())
    if half and 1 <= hour <= 12:
        end = half.end() - 1 if half[0].endswith(".") and "." not in half[0][:-1] else half.end()
        return Clock((hour % 12 + 12 * (half[1] in "pP")) * 60 + minute, False), end
    if written[2] is not None:
        either = 0 < hour <= 12 and text[start] != "0"
        return (Clock(hour * 60 + minute, either), written.end()) if hour <= 24 else None
    return _spoken_clock(text, start)


def _spoken_clock(text: str, start: int) -> tuple[Clock, int] | None:
    cjk = _CJK_TIME.match(text, start)
    if cjk and int(cjk[1]) <= 24:
        hour = int(cjk[1])
        minute = int(cjk[2] or cjk[3] or 0) or 15 * int(cjk[4] or 0) or (30 if cjk[5] else 0)
        late = hour < 12 and _AFTERNOON.search(text[max(0, start - 3) : start])
        return Clock((hour + 12 * bool(late)) * 60 + minute, 0 < hour <= 12 and not late), cjk.end()
    spoken = _H_TIME.match(text, start)
    if spoken and int(spoken[1]) <= 24:
        end = spoken.end(3) if spoken[3] else spoken.end()
        return Clock(int(spoken[1]) * 60 + int(spoken[2] or spoken[3] or 0), False), end
    return None

"""Moments that machines write as a count of seconds or milliseconds since 1970."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta

from draftcritic.core.fabrication._dates import Day
from draftcritic.core.fabrication._digits import FromDigit

MOST = 64
"""Moments of one text that are looked at."""
_MOMENT = FromDigit(r"(?<![\w.]\d)\d{9}(?:\d{3})?(?![\w]|\.\d{4})")
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800
"""The years 2000 to 2099: what lies outside is more likely an id."""
_FEW = 4
"""So many moments may be told in any zone."""
_EPOCH = date(1970, 1, 1)
_HOUR, _DAY, _DAY_MINUTES = 3600, 86_400, 24 * 60
_HALF_A_DAY = 12 * _HOUR


def moments_in(text: str) -> list[int]:
    """Return the moments of a text, in seconds since 1970."""
    found = (int(written[:10]) for written in _MOMENT.all_of(text))
    return sorted({moment for moment in found if _EARLIEST <= moment < _LATEST})[:MOST]


def days_of(moments: list[int]) -> Iterator[Day]:
    """Yield the dates of moments, in every zone."""
    for moment in moments:
        for shift in (-_HALF_A_DAY, 0, _HALF_A_DAY):
            day = _EPOCH + timedelta(days=(moment + shift) // _DAY)
            yield Day(day.year, day.month, day.day)


def clocks_of(moments: list[int]) -> Iterator[int]:
    """Yield the times of day of moments, in minutes since midnight: of few in every zone, of many in universal time."""
    for moment in moments:
        minutes = moment % _DAY // 60
        for hour in range(24) if len(moments) <= _FEW else (0,):
            yield (minutes + 60 * hour) % _DAY_MINUTES

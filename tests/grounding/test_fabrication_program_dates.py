"""Values as programs and calendars write them ground the same values as people write them, and no others."""

from __future__ import annotations

import pytest

from draftcritic.core import detect_fabrication


def kinds(draft: str, source: str) -> list[str]:
    return [finding.kind for finding in detect_fabrication(draft, [{"name": "get_event", "result": source}])]


SOURCES = [
    "[datetime.date(2026, 5, 3), 1]",
    "datetime.datetime(2026, 5, 3, 16, 30)",
    "Timestamp('2026-05-03 16:30:00')",
    "DTSTART;TZID=Europe/Berlin:20260503T163000",
    "DTSTART:20260503T163000Z",
    "\u4ee4\u548c8\u5e745\u67083\u65e5",
    "R8.5.3",
    "\u6c11\u570b115\u5e745\u67083\u65e5",
    "3/5/2569",
    '{"day": "2026-W18-7"}',
    '{"week": "2026-W18"}',
    "2026-123",
    "03MAY26",
    "Sun May  3 16:30:00 CEST 2026",
    "May&nbsp;3, 2026",
]


@pytest.mark.parametrize("source", SOURCES)
def test_a_date_of_a_program_grounds_the_same_day(source: str) -> None:
    assert kinds("It is on May 3, 2026.", source) == []
    assert kinds("It is on May 13, 2026.", source) == ["date"]


def test_times_of_a_program_ground_the_same_time() -> None:
    for source in ("datetime.datetime(2026, 5, 3, 16, 30)", "datetime.time(16, 30)", "DTSTART:20260503T163000Z"):
        assert kinds("It begins at 4:30 PM.", source) == []
        assert kinds("It begins at 5:45 PM.", source) == ["time"]


def test_the_first_year_of_an_era() -> None:
    assert kinds("It was on May 3, 2019.", "\u4ee4\u548c\u5143\u5e745\u67083\u65e5") == []
    assert kinds("It was on April 30, 2019.", "\u5e73\u621031\u5e744\u670830\u65e5") == []


def test_the_number_of_a_week() -> None:
    assert kinds("It is in week 18 of 2026.", '{"week": "2026-W18"}') == []


def test_entities_of_html_are_read() -> None:
    source = "&#8364;49.90 &pound;12.50 &amp; code AB&#45;1234"
    assert kinds("It costs \u20ac49.90 and \u00a312.50, code AB-1234.", source) == []
    assert kinds("It costs \u20ac48.90.", source) == ["price"]

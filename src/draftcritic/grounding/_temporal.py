"""Dates and times that follow from others: timestamps, durations, gaps, and words such as `tomorrow`."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from datetime import date, timedelta
from itertools import islice, pairwise

from draftcritic.grounding import _sources as _scan
from draftcritic.grounding._dates import Clock, Day, as_date, day_at, keyed, numbered_from, words_in
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._numbers import NUMBER_WORDS, FromDigit
from draftcritic.grounding._sources import DAY_MINUTES, days_in
from draftcritic.grounding._token import Token, lazy

_MOST_MOMENTS = 64
"""Moments of one text that are looked at."""
_MOMENT = FromDigit(r"(?<![\w.]\d)\d{9}(?:\d{3})?(?![\w]|\.\d{4})")
_EARLIEST, _LATEST = 946_684_800, 4_102_444_800
"""The years 2000 to 2099: what lies outside is more likely an id."""
_FEW = 4
"""Moments up to which every time zone is tried."""
_EPOCH = date(1970, 1, 1)
_HOUR, _DAY, _DAY_MINUTES = 3600, 86_400, 24 * 60
_HALF_A_DAY = 12 * _HOUR


def moments_in(text: str) -> list[int]:
    """Return the moments of a text, in seconds since 1970."""
    found = (int(written[:10]) for written in _MOMENT.all_of(text))
    return sorted({moment for moment in found if _EARLIEST <= moment < _LATEST})[:_MOST_MOMENTS]


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


FEW = 8
"""So many times or dates of the sources may all have to do with each other."""
_MAX_SCANNED = 2000
"""Times and dates of the sources that are looked at, in the order of the text."""
_RECORD_WIDTH = 240
"""Characters around a duration that are searched for the times that it belongs to."""
_NAMED = 24
_KEYED_MINUTES = re.compile(
    r"""["'][a-z_]{0,20}(?:minutes|_mins?|[a-z]Mins?|duration|length)["']\s*:\s*["']?(\d{1,4})(?![\d.])"""
)


class TimeGaps:
    """The times and dates of the sources, for one draft."""

    def __init__(self, draft: str, grounding: Grounding) -> None:
        self._draft = draft
        self._grounding = grounding

    @lazy
    def clock_gaps(self) -> frozenset[int]:
        """Minutes from one time of day to the next one in the text."""
        clocks = self._grounding.all_clocks
        if len(clocks) <= FEW:
            return frozenset(_gaps(clocks))
        adjacent = ((later - clock) % DAY_MINUTES for (_, clock), (_, later) in pairwise(self._placed))
        return frozenset(adjacent) | frozenset(_gaps(self.named_clocks))

    @lazy
    def named_clocks(self) -> frozenset[int]:
        """Times that the draft may refer to: all of few; of many, those that the draft or the user names."""
        clocks = self._grounding.all_clocks
        if len(clocks) <= FEW:
            return clocks
        named = _scan.clocks_in(self._draft) | _scan.clocks_in(self._grounding.user_text)
        return frozenset(islice(named & clocks, _NAMED))

    @lazy
    def day_gaps(self) -> frozenset[int]:
        """Days from one date to the next one in the text."""
        known = frozenset(_ordinals(self._grounding.all_days))
        if len(known) <= FEW:
            return frozenset(_distances(known))
        placed = list(_ordinals(islice(_scan.days_in_order(self._grounding.text), _MAX_SCANNED)))
        adjacent = {abs(later - day) for day, later in pairwise(placed)}
        named = known.intersection(_ordinals(_scan.days_in(self._draft) | _scan.days_in(self._grounding.user_text)))
        return frozenset(adjacent.union(_distances(frozenset(islice(named, _NAMED)))))

    @lazy
    def clocks_from_durations(self) -> frozenset[int]:
        """Times of day to which a time and a duration of one record lead, in minutes since midnight."""
        text, starts = self._grounding.text, [at for at, _ in self._placed]
        reached: set[int] = set()
        for found in islice(_KEYED_MINUTES.finditer(text), _MAX_SCANNED):
            length = int(found[1])
            low, high = max(0, found.start() - _RECORD_WIDTH), found.end() + _RECORD_WIDTH
            low, end = max(low, text.rfind("{", low, found.start())), text.find("}", found.end(), high)
            last = bisect_right(starts, high if end < 0 else end)
            for _, clock in self._placed[bisect_left(starts, low) : last]:
                reached.update(((clock + length) % DAY_MINUTES, (clock - length) % DAY_MINUTES))
        return frozenset(reached)

    @lazy
    def _placed(self) -> list[tuple[int, int]]:
        return list(islice(_scan.clocks_in_order(self._grounding.text), _MAX_SCANNED))


def _gaps(clocks: Collection[int]) -> Iterator[int]:
    return ((later - clock) % DAY_MINUTES for clock in clocks for later in clocks)


def _distances(days: Collection[int]) -> Iterator[int]:
    return (abs(later - day) for day in days for later in days)


def _ordinals(days: Iterable[Day]) -> Iterator[int]:
    return (real.toordinal() for day in days if (real := as_date(day)))


RECENT = 6000
"""Characters of the conversation, from its end, in which words such as `tomorrow` are looked for."""
MOST_DAYS = 64
"""Dates of the sources from which others are counted."""
_MOST_DATES_WITHOUT_TODAY = 2

_TODAY = words_in("today")
"""Words next to which a source gives today's date."""
_MOST_TODAYS = 64
_EUROPEAN = "\u04ff"
# One word may name two days: Hindi has the same for yesterday and tomorrow.
_DAYS_FROM_TODAY = [(word, int(offset)) for offset, word in keyed("relative days")]
_WEEKDAYS = numbered_from("weekdays", 0)
_COUNT = (
    r"(\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|un[ae]?|dos|tres|deux|trois|eine?[mnr]?|zwei|drei)"
)
_SPAN = re.compile(
    rf"\b(?:in |after |within |for |dans |en |dentro de |pour |f\u00fcr |por )?(?:{_COUNT}|the (?:past|last))[ -]"
    r"(day|week|month|year|night|d\u00eda|jour|tag|giorn|dia|semana|semaine|woche|noche|nuit|nacht)",
    re.IGNORECASE,
)
_UNIT_DAYS = {"week": 7, "semana": 7, "semaine": 7, "woche": 7, "month": 30, "year": 365}
_DURATION = re.compile(
    rf"(?:\b{_COUNT}|\b(half)(?: an?)?)[ -]?(hours?|hrs?|minutes?|mins?|horas?|heures?|stunden?|minuten|minutos)\b",
    re.IGNORECASE,
)
_ZONE = re.compile(
    r"\s?\(?(?:[PMCE][SD]?T|UTC|GMT|CES?T|BST|IST|JST|KST|AES?T|(?:Eastern|Central|Mountain|Pacific)(?: (?:Standard |"
    r"Daylight )?Time)?|in [A-Z][a-z]+|local time|your time|hora local|heure locale|Ortszeit)\b"
)
_OFFSET_STAMP = re.compile(r"\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)|\b(?:UTC|GMT)\b")
_DURATION_SIGN = re.compile(r"\d{1,2}\s?[hH]")
_NEXT_DAY = re.compile(r":\d\d\s?\+1\b|next day|overnight", re.IGNORECASE)
_ARRIVAL = re.compile(r"arriv|land|lleg|ankunft|check-?out|end", re.IGNORECASE)


class Relations:
    """What follows, for one draft, from the dates and times of its sources."""

    def __init__(self, draft: str, grounding: Grounding) -> None:
        self._draft = draft
        self._grounding = grounding
        self._time_gaps = TimeGaps(draft, grounding)

    def explains(self, token: Token) -> bool:
        """Whether the date or time follows from others that a source has."""
        if token.kind == "time":
            return self._explains_clock(token.value, token) or token.value.minutes % DAY_MINUTES in self._moment_clocks
        return any(self._explains_day(day, token) or self._is_moment(day) for day in token.value)

    @lazy
    def _moments(self) -> list[int]:
        return moments_in(self._grounding.text)

    @lazy
    def _moment_clocks(self) -> frozenset[int]:
        return frozenset(clocks_of(self._moments))

    def _is_moment(self, day: Day) -> bool:
        return day in self._moment_days or (not day.year and day[1:] in self._moment_month_days)

    @lazy
    def _moment_days(self) -> frozenset[Day]:
        return frozenset(days_of(self._moments))

    @lazy
    def _moment_month_days(self) -> frozenset[tuple[int, int]]:
        return frozenset((day.month, day.day) for day in self._moment_days)

    def _explains_day(self, day: Day, token: Token) -> bool:
        if not self._counted:
            return self._is_next_day(day, token)
        if day.year:
            return as_date(day) in self._counted or self._is_next_day(day, token)
        return day[1:] in self._counted_month_days or self._is_next_day(day, token)

    @lazy
    def _counted_month_days(self) -> frozenset[tuple[int, int]]:
        return frozenset((found.month, found.day) for found in self._counted)

    @lazy
    def _said(self) -> str:
        """What the user and the agent have said of late, in lower case."""
        return f"{self._grounding.conversation[-RECENT:]}\n{self._draft[:RECENT]}".lower()

    @lazy
    def _known(self) -> list[date]:
        days = (as_date(day) for day in self._grounding.all_days if day.year)
        return sorted({day for day in days if day is not None})[:MOST_DAYS]

    @lazy
    def _named(self) -> list[date]:
        """The dates from which others are counted: all of few; of many, those that the draft or the user names."""
        if len(self._known) <= FEW:
            return self._known
        named = {day[1:] for day in days_in(self._draft) | days_in(self._grounding.user_text)}
        return [day for day in self._known if (day.month, day.day) in named]

    @lazy
    def _todays(self) -> list[date]:
        text = self._grounding.text
        found: list[date] = []
        for start, end in _places(self._grounding.lower, _TODAY):
            window = text[max(0, start - 40) : end + 60]
            for digit in re.finditer(r"(?<!\d)\d", window):
                days = day_at(window, digit.start(), len(window))
                found += [day for one in (days[0] if days else ()) if one.year and (day := as_date(one))]
            if len(found) > 2:
                break
        if not found and len(self._known) <= _MOST_DATES_WITHOUT_TODAY:
            return self._known
        return list(dict.fromkeys(found))

    @lazy
    def _counted(self) -> frozenset[date]:
        return frozenset(self._count())

    def _count(self) -> Iterator[date]:
        said = self._said
        offsets = {offset for word, offset in _DAYS_FROM_TODAY if _says(said, word)}
        # The weekday that a draft adds to its own date proves nothing.
        asked = self._grounding.conversation[-RECENT:].lower()
        weekdays = {at for name, at in _WEEKDAYS.items() if _says(asked, name)}
        for today in self._todays:
            yield from (_moved(today, offset) for offset in offsets)
            ahead = (_moved(today, offset) for offset in range(-7, 15))
            yield from (day for day in ahead if day.weekday() in weekdays)
        spans = {days for found in _SPAN.finditer(said) for days in _days_of(found)}
        for known in {*self._todays, *self._named} if spans else ():
            for days in spans:
                yield _moved(known, days)
                yield _moved(known, -days)

    def _is_next_day(self, day: Day, token: Token) -> bool:
        """Whether the draft reports an arrival on the next day, and a source says that it is on the next day."""
        before = self._draft[max(0, token.start - 40) : token.start]
        if not _ARRIVAL.search(before) or not self._has_next_day:
            return False
        real = as_date(day)
        return real is not None and any(
            _moved(known, 1) == real or (not day.year and _moved(known, 1).timetuple()[1:3] == day[1:])
            for known in self._known
        )

    @lazy
    def _has_next_day(self) -> bool:
        return _NEXT_DAY.search(self._grounding.text) is not None

    @lazy
    def _has_offsets(self) -> bool:
        return _OFFSET_STAMP.search(self._grounding.text) is not None

    def _lasts(self, minutes: int) -> bool:
        """Whether a source has a duration of that many minutes, or two times that far apart."""
        if not {str(minutes), str(60 * minutes), f"{minutes / 60:g}"}.isdisjoint(self._grounding.numbers):
            return True
        return minutes in self._time_gaps.clock_gaps

    def _explains_clock(self, clock: Clock, token: Token) -> bool:
        if _DURATION_SIGN.match(token.text) and self._lasts(clock.minutes):
            return True
        minutes = {clock.minutes % DAY_MINUTES}
        if clock.either:
            minutes.add((clock.minutes + DAY_MINUTES // 2) % DAY_MINUTES)
        clocks = self._time_gaps.named_clocks
        for length in self._durations:
            if any((at - length) % DAY_MINUTES in clocks or (at + length) % DAY_MINUTES in clocks for at in minutes):
                return True
        if not minutes.isdisjoint(self._time_gaps.clocks_from_durations):
            return True
        if not _ZONE.match(self._draft, token.end) or not self._has_offsets:
            return False
        return any(at % 60 == known % 60 for at in minutes for known in self._grounding.all_clocks)

    @lazy
    def _durations(self) -> frozenset[int]:
        lengths: set[int] = set()
        for found in _DURATION.finditer(self._said):
            count = 0.5 if found[2] else _number(found[1])
            lengths.add(int(count * (1 if found[3].startswith("min") else 60)))
        return frozenset(length for length in lengths if 0 < length < DAY_MINUTES)


def _days_of(span: re.Match[str]) -> Iterator[int]:
    count, unit = _number(span[1] or ""), span[2].lower()
    yield count * _UNIT_DAYS.get(unit, 1)
    if unit == "month":
        yield from (count * 30 + extra for extra in (-2, -1, 1))
    if unit == "year":
        yield count * 365 + 1


def _number(word: str) -> int:
    if word.isdigit():
        return int(word)
    return NUMBER_WORDS.get(word.lower(), 1)


def _says(text: str, word: str) -> bool:
    if word not in text:
        return False
    return not word[0].isascii() or re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) is not None


def _places(text: str, words: Iterable[str]) -> list[tuple[int, int]]:
    """Return the positions of the words, in the order of the text; those in European letters as whole words only."""
    places = []
    for word in words:
        at = text.find(word)
        for _ in range(_MOST_TODAYS):
            if at < 0:
                break
            end = at + len(word)
            if word[0] > _EUROPEAN or not (text[at - 1 : at].isalnum() or text[end : end + 1].isalnum()):
                places.append((at, end))
            at = text.find(word, end)
    return sorted(places)


def _moved(day: date, days: int) -> date:
    try:
        return day + timedelta(days=days)
    except OverflowError:
        return day

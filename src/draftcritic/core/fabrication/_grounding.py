"""Everything of a turn that can ground what a draft asserts, indexed once and asked often."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any

from draftcritic.core.fabrication._dates import Day, clock_at, day_at
from draftcritic.core.fabrication._values import readings, with_plain_digits

logger = logging.getLogger(__name__)

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-./]*")
_RESULT_FIELDS = ("result", "output", "response", "args", "input")
_NAME_FIELDS = ("name", "tool", "tool_name")
_SEARCHES = 256
"""Whole-text searches a turn may cost; each is linear in the context, so their number must not grow with the draft."""
_OCCURRENCES = 16
"""Places of a text that one search looks at before the index is asked."""

_ESCAPED = re.compile(r"\\u([0-9a-fA-F]{4})")
_ESCAPES = (('\\"', '"'), ("\\n", "\n"), ("\\t", "\t"), ("\\/", "/"))
# The digit comes first: the regular expression engine then runs from digit to digit.
_NUMBER = re.compile(r"\d(?<![A-Za-z0-9_]\d)(?<!\d[-:/.,]\d)\d*(?:[.,'\u2019\u00a0\u202f]\d+)*(?![0-9_])(?![-:/]\d)")
_RANGE_WIDTH = 16
"""Characters of the other end of a range that are looked at."""
_RANGE_AFTER = re.compile(r"\s?[-\u2013~]\s?\d{1,10}(?:\.\d+)?(?![\d\-/:])")
_RANGE_BEFORE = re.compile(r"(?<![\w\-/.:])\d{1,10}(?:\.\d+)?\s?[-\u2013~]\s?\Z")
_JOINTS = frozenset("-/:")
_ISO_DURATION = re.compile(r"(?<![A-Za-z0-9])P(?:\d+[YMWD])*T(?:\d+(?:\.\d+)?[HMS])+(?![A-Za-z0-9])")
_DIGITS = re.compile(r"\d+(?:\.\d+)?")
_DATE = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}(?!\d)|\d{1,2}/\d{1,2}(?:/\d{2,4})?(?!\d)|\d{1,2}[-.]\d{1,2}[-.]\d{4}(?!\d)"
)
_DAY = re.compile(r"\d(?<![\w/:.\-]\d)\d?(?!\d)")
_CLOCK = re.compile(
    r"\d(?<![0-9_:]\d)\d?(?::\d\d(?:\s?[aApP]\.?\s?[mM]\b)?|\s?[aApP]\.?\s?[mM]\b|\s?[hH]\s?\d\d|"
    r"\s?[\u70b9\u9ede\u6642\uc2dc](?:\s?\d{1,2}|\u534a)?| Uhr)"
)
_CJK_YEAR = re.compile(r"\d{4}\s?[\u5e74\ub144]")
_DAY_SIGNS = frozenset("snrt\u00ba\u00aa\u6708\uc6d4")
DAY_MINUTES = 24 * 60
_LONG_NUMBER = re.compile(r"\d{4,}")
_HYPHENS = str.maketrans("", "", "-_ ./#:()+\u00a0")
_WORD = re.compile(r"[^\W_]+")
_DATA_MARKS = ('":', "':", "tool:", "Tool:", "[tool]", "function:", "Observation:", "</tool", "<doc")
"""Traces of records, tool results and documents in the text of a conversation."""


class Grounding:
    """The sources of one turn: tool arguments and results, the context, the user's message.

    Every index is built when it is first asked, and only what a plain search has not found asks one.

    Args:
        tool_calls: the turn's tool calls, each a mapping (or an object with the same attributes) with `name`, and
            the texts or values `result`, `output`, `response`, `args`, `input` as far as it has them.
        context: the context that the model saw.
        user_message: the user's message.
    """

    def __init__(self, tool_calls: Any = None, context: Any = "", user_message: Any = "") -> None:
        self.tool_calls: tuple[Any, ...] = _as_calls(tool_calls)
        self._context = context
        self._user_message = user_message
        self._searches_left = _SEARCHES

    @cached_property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the tools that were called, in lower case."""
        names = (next(filter(None, (_text_field(call, name) for name in _NAME_FIELDS)), "") for call in self.tool_calls)
        return tuple(name.lower() for name in names if name)

    @cached_property
    def corpus(self) -> str:
        """All sources in one text."""
        parts = [_as_text(self._user_message), _as_text(self._context)]
        parts.extend(map(_as_text, self.values))
        return "\n".join(part for part in parts if part)

    @cached_property
    def values(self) -> tuple[Any, ...]:
        """What the tools were given and what they returned, as the application has it."""
        fields = (_field(call, name) for call in self.tool_calls for name in _RESULT_FIELDS)
        return tuple(value for value in fields if value is not None)

    @cached_property
    def conversation(self) -> str:
        """The context and the user's message."""
        return f"{_as_text(self._context)}\n{_as_text(self._user_message)}"

    @cached_property
    def tool_text(self) -> str:
        """What the tools were given and what they returned, as text."""
        return "\n".join(map(_as_text, self.values))

    @cached_property
    def user_text(self) -> str:
        """The user's message, its digits plain."""
        return with_plain_digits(_as_text(self._user_message))

    @cached_property
    def text(self) -> str:
        """All sources as they read: digits plain, escapes of JSON resolved."""
        text = with_plain_digits(self.corpus)
        if "\\" in text:
            for escape, sign in _ESCAPES:
                text = text.replace(escape, sign)
            if "\\u" in text:
                text = _ESCAPED.sub(lambda escape: chr(int(escape[1], 16)), text)
        return text

    @cached_property
    def lower(self) -> str:
        """`text` in lower case."""
        return self.text.lower()

    @cached_property
    def compact(self) -> str:
        """`lower` without what people put between the parts of a code."""
        return self.lower.translate(_HYPHENS)

    @cached_property
    def has_data(self) -> bool:
        """Whether the turn has sources to tell from; without any a draft can only tell what everybody knows."""
        return bool(self.tool_calls) or self.context_has_data

    @cached_property
    def context_has_data(self) -> bool:
        """Whether the context holds records, results of earlier tool calls or documents."""
        context = _as_text(self._context)
        return any(mark in context for mark in _DATA_MARKS)

    @cached_property
    def numbers(self) -> frozenset[str]:
        """Every number, in normal form; no parts of dates, times and codes."""
        return frozenset(value for number in set(_NUMBER.findall(self.text)) for value in readings(number))

    @cached_property
    def _duration_parts(self) -> frozenset[str]:
        """The numbers of durations such as PT1H30M."""
        if "PT" not in self.text:
            return frozenset()
        return frozenset(part for found in set(_ISO_DURATION.findall(self.text)) for part in _DIGITS.findall(found))

    @cached_property
    def days(self) -> frozenset[Day]:
        """Every date in every way to read it; a part that is not written is 0."""
        text = self.text
        days = {day for written in set(_DATE.findall(text)) for day in _days_at(written, 0)}
        for found in _DAY.finditer(text):
            start, end = found.span()
            # Beside a word, or with a sign for year or month behind it.
            if (
                text[end : end + 1] in _DAY_SIGNS
                or text[end + 1 : end + 2].isalpha()
                or text[start - 2 : start].strip(" .,-").isalpha()
            ):
                days.update(_days_at(text, start))
        for found in _CJK_YEAR.finditer(text) if "\u5e74" in text or "\ub144" in text else ():
            days.update(_days_at(text, found.start()))
        return frozenset(days)

    @cached_property
    def month_days(self) -> frozenset[tuple[int, int]]:
        """Every date without its year."""
        return frozenset((day.month, day.day) for day in self.days)

    @cached_property
    def clocks(self) -> frozenset[int]:
        """Every time of day, in minutes since midnight."""
        clocks = set()
        for written in set(_CLOCK.findall(self.text)):
            clock = clock_at(written, 0)
            if clock:
                clocks.add(clock[0].minutes % DAY_MINUTES)
                if clock[0].either:
                    clocks.add((clock[0].minutes + DAY_MINUTES // 2) % DAY_MINUTES)
        return frozenset(clocks)

    @cached_property
    def words(self) -> frozenset[str]:
        """Every word, in lower case."""
        return frozenset(_WORD.findall(self.lower))

    def holds(self, token: str) -> bool:
        """Whether some source holds the token as it is written."""
        return token in self._tokens or self._found(token, self.corpus)

    def holds_uuid(self, uuid: str) -> bool:
        """Whether some source holds the UUID, with or without hyphens, in either case."""
        return self._found(uuid.replace("-", "").lower(), self._compact, self._compact_tokens)

    def holds_number(self, text: str, values: Iterable[str]) -> bool:
        """Whether some source holds the number, in whatever format."""
        if self.stands(text):
            return True
        plain = [value for value in values if value != text]
        if any(self.stands(value) for value in plain):
            return True
        if not self.numbers.isdisjoint(values) or not self._duration_parts.isdisjoint(values):
            return True
        return any(self._is_range_end(value) or self._is_in_groups(value) for value in values)

    def _is_range_end(self, value: str) -> bool:
        """Whether a source has the number as an end of a range, as in 5-7. May miss it."""
        text, at = self.text, -1
        for _ in range(_OCCURRENCES):
            at = self._place(value, text, at + 1)
            if at < 0:
                return False
            end = at + len(value)
            low = not text[at - 1 : at].isalnum() and text[at - 1 : at] not in _JOINTS and _RANGE_AFTER.match(text, end)
            high = not text[end : end + 1].isalnum() and text[end : end + 1] not in _JOINTS
            if low or (high and _RANGE_BEFORE.search(text[max(0, at - _RANGE_WIDTH) : at])):
                return True
        return False

    def _is_in_groups(self, value: str) -> bool:
        """Whether a source has the number with spaces between its groups, as in 1 234,50."""
        whole, _, decimals = value.partition(".")
        if len(whole) < 4 or not whole.isdigit():
            return False
        spaced = f"{int(whole):,}".replace(",", " ")
        at = self._place(spaced, self.text)
        return at >= 0 and (not decimals or decimals in self.text[at + len(spaced) : at + len(spaced) + 8])

    def holds_day(self, day: Day) -> bool:
        """Whether some source holds the date; one without a year is grounded by a date of any year."""
        year, month, number = day
        if year:
            if self._found(f"{year}-{month:02}-{number:02}", self.text):
                return True
            return day in self.days or Day(0, month, number) in self.days
        at = self._place(f"-{month:02}-{number:02}", self.text)
        if at > 3 and self.text[at - 4 : at].isdigit() and not self.text[at + 6 : at + 7].isdigit():
            return True
        return (month, number) in self.month_days

    def holds_clock(self, minutes: int) -> bool:
        """Whether some source holds the time of day, in minutes since midnight."""
        at = self._place(f"{minutes // 60:02}:{minutes % 60:02}", self.text)
        if at >= 0 and not (at and self.text[at - 1] in ":0123456789"):
            after = self.text[at + 5 : at + 9]
            if not after[:1].isdigit() and "m" not in after.lower():
                return True
        return minutes in self.clocks

    def stands(self, number: str) -> bool:
        """Whether a source holds exactly this number, and it is no part of a date, a time or a code. May miss it."""
        text, at = self.text, -1
        if self._searches_left <= 0:
            return False
        self._searches_left -= 1
        for _ in range(_OCCURRENCES):
            at = text.find(number, at + 1)
            if at < 0:
                return False
            if _is_alone(text, at, at + len(number)):
                return True
        return False

    def holds_ending(self, digits: str) -> bool:
        """Whether a longer number or code ends with these digits, as a card's number does."""
        return digits in self._endings

    @cached_property
    def _endings(self) -> frozenset[str]:
        long = set(_LONG_NUMBER.findall(self.text))
        return frozenset(number[-length:] for number in long for length in range(4, min(len(number), 20) + 1))

    def reads(self, words: str) -> bool:
        """Whether some source holds these words (in lower case) and not only as a part of a longer word."""
        if self._searches_left <= 0:
            return self.words.issuperset(_WORD.findall(words))
        self._searches_left -= 1
        text, at = self.lower, -1
        for _ in range(_OCCURRENCES):
            at = text.find(words, at + 1)
            if at < 0:
                return False
            end = at + len(words)
            if not (text[at - 1 : at].isalnum() and words[0].isascii()) and not text[end : end + 1].isalnum():
                return True
        return False

    def contains_word(self, word: str) -> bool:
        """Whether some source holds the word (in lower case), or a word that begins with it."""
        return self._found(word, self.lower) or word in self._words_when_spent()

    def contains(self, text: str) -> bool:
        """Whether some source holds the text (in lower case) anywhere."""
        return self._found(text, self.lower) or text in self._words_when_spent()

    def contains_compact(self, text: str) -> bool:
        """Whether some source holds the text (in lower case) when hyphens, spaces and the like do not count."""
        return self._found(text.translate(_HYPHENS), self.compact)

    @cached_property
    def _tokens(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self.corpus))

    @cached_property
    def _compact(self) -> str:
        return self.corpus.replace("-", "").lower()

    @cached_property
    def _compact_tokens(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self._compact))

    def quotes(self, text: str) -> bool:
        """Whether some source holds the text as it is written, case included. May miss it."""
        return self._found(text, self.text)

    def _place(self, token: str, text: str, start: int = 0) -> int:
        if self._searches_left <= 0:
            return -1
        self._searches_left -= 1
        return text.find(token, start)

    def _words_when_spent(self) -> frozenset[str]:
        return frozenset() if self._searches_left > 0 else self.words

    def _found(self, token: str, text: str, tokens: frozenset[str] = frozenset()) -> bool:
        if token in tokens:
            return True
        if not text or self._searches_left <= 0:
            return False
        self._searches_left -= 1
        return token in text


def _is_alone(text: str, start: int, end: int) -> bool:
    before = text[start - 1] if start else " "
    if before == "_" or before.isalnum():
        return False
    if before in "-:/.," and text[start - 2 : start - 1].isdigit():
        return False
    after = text[end : end + 1]
    if after == "_" or after.isdigit():
        return False
    return not (after and after in "-:/.," and text[end + 1 : end + 2].isdigit())


def _days_at(text: str, start: int) -> Iterator[Day]:
    dated = day_at(text, start, len(text))
    if dated:
        yield from dated[0]


def _as_calls(calls: Any) -> tuple[Any, ...]:
    if isinstance(calls, Mapping):
        return (calls,)
    if isinstance(calls, Iterable) and not isinstance(calls, (str, bytes)):
        return tuple(calls)
    return ()


def _field(call: Any, name: str) -> Any:
    return call.get(name) if isinstance(call, Mapping) else getattr(call, name, None)


def _text_field(call: Any, name: str) -> str:
    value = _field(call, name)
    return value if isinstance(value, str) else ""


def _as_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception:
        # A tool's result is the application's own object; one that cannot be written out grounds nothing.
        logger.debug("draftcritic: a %s cannot be turned into text", type(value).__name__, exc_info=True)
        return ""

"""The sources of a turn, and the indexes of them that are built when they are first asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import unescape
from typing import Any

from draftcritic.grounding import _sources as _scan
from draftcritic.grounding._dates import Day
from draftcritic.grounding._numbers import spoken_clocks, with_plain_digits
from draftcritic.grounding._program_dates import program_clocks_in, program_days_in, weeks_in
from draftcritic.grounding._sources import calls_of, text_of
from draftcritic.grounding._token import lazy
from draftcritic.grounding._tool_outcome import field_of, has_failed, may_have_changed, name_of

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-./]*")
_RESULT_FIELDS = ("result", "output", "response")
_ARGUMENT_FIELDS = ("args", "input")
_ESCAPED = re.compile(r"\\(?:[\"nt/]|u[0-9a-fA-F]{4})")
_UNICODE_ESCAPED = re.compile(r"\\u[0-9a-fA-F]{4}")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z]{2,8}\d?);")
_ESCAPES = {'\\"': '"', "\\n": "\n", "\\t": "\t", "\\/": "/"}
_SAID_OF_LATE = 500
"""Characters of the conversation, from its end, in which times of day in words are looked for."""
_CENTURIES = frozenset({"19", "20"})
_HYPHEN_SIGNS = "-_ ./#:()+\u00a0"
HYPHENS = str.maketrans("", "", _HYPHEN_SIGNS)
WORD = re.compile(r"[^\W_]+")
_DATA_MARKS = ('":', "':", "tool:", "Tool:", "[tool]", "function:", "Observation:", "</tool", "<doc")
"""Traces of records, tool results and documents in the text of a conversation."""


class Indexes:
    """Tool arguments and results, the context and the user's message, in the forms in which they are searched.

    Args:
        tool_calls: see `Grounding`.
        context: see `Grounding`.
        user_message: see `Grounding`.
        trusts_arguments: see `Grounding`.
    """

    def __init__(
        self, tool_calls: Any = None, context: Any = "", user_message: Any = "", *, trusts_arguments: bool = False
    ) -> None:
        self.tool_calls: tuple[Any, ...] = calls_of(tool_calls)
        self._context = context
        self._user_message = user_message
        self._trusts_arguments = trusts_arguments

    @lazy
    def tool_names(self) -> tuple[str, ...]:
        """The names of the tools that were called, in lower case."""
        return tuple(name.lower() for name in map(name_of, self.tool_calls) if name)

    @lazy
    def corpus(self) -> str:
        """All sources in one text."""
        parts = (text_of(self._user_message), text_of(self._context), *self.value_texts)
        return "\n".join([part for part in parts if part])

    @lazy
    def values(self) -> tuple[Any, ...]:
        """What the tools returned, and what those that changed something were given, as the application has it."""
        fields = (
            field_of(call, name)
            for call in self.tool_calls
            for name in (
                (*_RESULT_FIELDS, *_ARGUMENT_FIELDS)
                if self._trusts_arguments or may_have_changed(call)
                else _RESULT_FIELDS
            )
        )
        return tuple(value for value in fields if value is not None)

    @lazy
    def has_untrusted_arguments(self) -> bool:
        """Whether a call that only looked or failed was given something: the model may have made it up."""
        return not self._trusts_arguments and any(
            field_of(call, name) and not may_have_changed(call) for call in self.tool_calls for name in _ARGUMENT_FIELDS
        )

    @lazy
    def value_texts(self) -> tuple[str, ...]:
        """The same, each as text."""
        return tuple(map(text_of, self.values))

    @lazy
    def conversation(self) -> str:
        """The context and the user's message."""
        return f"{text_of(self._context)}\n{text_of(self._user_message)}"

    @lazy
    def done_text(self) -> str:
        """What the tools returned whose calls did not fail, as text."""
        results = (field_of(call, name) for call in self.tool_calls if not has_failed(call) for name in _RESULT_FIELDS)
        return "\n".join(text_of(result) for result in results if result is not None)

    @lazy
    def user_text(self) -> str:
        """The user's message, its digits plain."""
        return with_plain_digits(text_of(self._user_message))

    @lazy
    def text(self) -> str:
        """All sources as they read: digits plain, escapes of JSON and HTML resolved."""
        text = _unescaped(with_plain_digits(self.corpus))
        return _ENTITY.sub(lambda entity: unescape(entity[0]).replace("\u00a0", " "), text) if "&" in text else text

    @lazy
    def lower(self) -> str:
        """`text` in lower case."""
        return self.text.lower()

    @lazy
    def compact(self) -> str:
        """`lower` without what people put between the parts of a code."""
        lower = self.lower
        if lower.isascii():
            return lower.translate(HYPHENS)
        for sign in _HYPHEN_SIGNS:
            lower = lower.replace(sign, "")
        return lower

    @lazy
    def has_data(self) -> bool:
        """Whether the turn has data; without any a draft can only state common knowledge."""
        return bool(self.tool_calls) or self.context_has_data

    @lazy
    def context_has_data(self) -> bool:
        """Whether the context contains records, results of earlier tool calls or documents."""
        context = text_of(self._context)
        return any(mark in context for mark in _DATA_MARKS)

    @lazy
    def numbers(self) -> frozenset[str]:
        """Every number, in normal form; no parts of dates, times and codes."""
        return _scan.numbers_in(self.text) | weeks_in(self.text)

    @lazy
    def _duration_parts(self) -> frozenset[str]:
        return _scan.duration_parts_in(self.text)

    @lazy
    def days(self) -> frozenset[Day]:
        """Every date in every way to read it; a part that is not written is 0."""
        return _scan.days_in(self.text)

    @lazy
    def month_days(self) -> frozenset[tuple[int, int]]:
        """Every date without its year."""
        return frozenset((day.month, day.day) for day in self.days)

    @lazy
    def all_month_days(self) -> frozenset[tuple[int, int]]:
        """Every date of `all_days` without its year."""
        return frozenset((day.month, day.day) for day in self.all_days)

    @lazy
    def all_day_numbers(self) -> frozenset[int]:
        """The days of the month of `all_days`."""
        return frozenset(day.day for day in self.all_days)

    @lazy
    def day_years(self) -> frozenset[int]:
        """The years of `days`; 0 for dates without one."""
        return frozenset(day.year for day in self.days)

    @lazy
    def all_day_years(self) -> frozenset[int]:
        """The years of `all_days`."""
        return frozenset(day.year for day in self.all_days if day.year)

    @lazy
    def code_lengths(self) -> frozenset[int]:
        """The lengths of the words with a digit and without small letters."""
        return _scan.code_lengths_in(self.text)

    @lazy
    def code_shapes(self) -> frozenset[str]:
        """The shapes of the runs of small letters and digits; see `shape_of`."""
        return _scan.code_shapes_in(self.text)

    @lazy
    def clocks(self) -> frozenset[int]:
        """Every time of day, in minutes since midnight."""
        return _scan.clocks_in(self.text)

    @lazy
    def all_clocks(self) -> frozenset[int]:
        """The same, with those in words, and in records with a field for each part."""
        known = self.clocks | _scan.recorded_clocks_in(self.text) | program_clocks_in(self.text)
        return known | spoken_clocks(self._said_of_late)

    @lazy
    def all_days(self) -> frozenset[Day]:
        """The same, with those without signs between their parts, and in records with a field for each part."""
        return self.days | _scan.recorded_days_in(self.text) | program_days_in(self.text)

    @lazy
    def _scaled_numbers(self) -> frozenset[str]:
        return _scan.scaled_numbers_in(self.text)

    @lazy
    def _said_of_late(self) -> str:
        parts = (text_of(part)[-_SAID_OF_LATE:] for part in (self._context, self._user_message))
        return "\n".join(parts).lower()

    @lazy
    def words(self) -> frozenset[str]:
        """Every word, in lower case."""
        return frozenset(WORD.findall(self.lower))

    @lazy
    def _years(self) -> frozenset[int]:
        named = {day.year for day in self.days if day.year}
        return frozenset(
            named | {int(number) for number in self.numbers if number[:2] in _CENTURIES and len(number) == 4}
        )

    @lazy
    def _endings(self) -> frozenset[str]:
        return _scan.endings_in(self.text)

    @lazy
    def _tokens(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self.corpus))

    @lazy
    def _compact(self) -> str:
        return self.corpus.replace("-", "").lower()

    @lazy
    def _compact_tokens(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self._compact))


def _unescaped(text: str) -> str:
    """Return the text with the escapes of JSON resolved; how depends on how many there are."""
    if "\\" not in text:
        return text
    if text.count("\\") * 64 < len(text):
        return _ESCAPED.sub(_escaped_sign, text)
    for escape, sign in _ESCAPES.items():
        text = text.replace(escape, sign)
    return _UNICODE_ESCAPED.sub(_escaped_sign, text)


def _escaped_sign(escape: re.Match[str]) -> str:
    return _ESCAPES.get(escape[0]) or chr(int(escape[0][2:], 16))


_SEARCHES = 256
"""Whole-text searches a draft may cost; each is linear in the context, so their number must not grow with the draft."""
_PLAIN_SEARCHES = 8
"""So many tokens are looked for in the text before an index of its words is worth its time."""
_OCCURRENCES = 16
"""Places of a text that one search looks at before the index is asked."""
_NEARBY = 32
"""Characters before a number that are searched for the words that say what it measures."""
_FIELD_ENDS = re.compile(r"[,;{}\[\]\n]")
_SHORT = 5
_BEFORE_PATH = frozenset("\"'(<=> \n\t")
_RANGE_WIDTH = 16
"""Characters of the other end of a range that are looked at."""
_RANGE_AFTER = re.compile(r"\s?[-\u2013~]\s?\d{1,10}(?:\.\d+)?(?![\d\-/:])")
_RANGE_BEFORE = re.compile(r"(?<![\w\-/.:])\d{1,10}(?:\.\d+)?\s?[-\u2013~]\s?\Z")
_JOINTS = frozenset("-/:")


class Grounding(Indexes):
    """The sources of one turn: tool results, the context, the user's message, the arguments of what was done.

    Every index is built when it is first asked, and only what a plain search has not found asks one.

    Args:
        tool_calls: the turn's tool calls, each a mapping (or an object with the same attributes) with `name`, and
            the texts or values `result`, `output`, `response`, `args`, `input` as far as it has them.
        context: the context that the model saw.
        user_message: the user's message.
        hearsay: text that grounds nothing but makes a finding doubtful, such as what another agent says.
        hearsay_calls: calls that a text only mentions, likewise.
        has_unread: the model saw something that is not text here: an image, the pages that a provider's search read.
        trusts_arguments: arguments count even where the call only looked or failed.
    """

    def __init__(
        self,
        tool_calls: Any = None,
        context: Any = "",
        user_message: Any = "",
        *,
        hearsay: str = "",
        hearsay_calls: Any = (),
        has_unread: bool = False,
        trusts_arguments: bool = False,
    ) -> None:
        super().__init__(tool_calls, context, user_message, trusts_arguments=trusts_arguments)
        self._hearsay = hearsay
        self._hearsay_calls = calls_of(hearsay_calls)
        self.has_unread = has_unread
        self.reset_search_budget()

    def with_hearsay(self) -> Grounding | None:
        """Return the sources with all hearsay among them; None when there is none."""
        if not (self._hearsay or self._hearsay_calls or self.has_untrusted_arguments):
            return None
        context = f"{text_of(self._context)}\n{self._hearsay}" if self._hearsay else self._context
        calls = (*self.tool_calls, *self._hearsay_calls)
        return Grounding(calls, context, self._user_message, trusts_arguments=True)

    def reset_search_budget(self) -> None:
        """Give the next draft its own number of whole-text searches."""
        self._searches_left = _SEARCHES
        self._plain_searches_left = _PLAIN_SEARCHES

    def has_token(self, token: str) -> bool:
        """Whether a source contains the token as it is written."""
        if self._plain_searches_left > 0:
            self._plain_searches_left -= 1
            return token in self.corpus
        return token in self._tokens or self._found(token, self.corpus)

    def has_uuid(self, uuid: str) -> bool:
        """Whether a source contains the UUID, with or without hyphens, in either case."""
        compact = uuid.replace("-", "").lower()
        if self._plain_searches_left > 0:
            self._plain_searches_left -= 1
            return uuid in self.corpus or compact in self._compact
        return compact in self._compact_tokens or self._found(compact, self._compact)

    def has_number(self, text: str, values: Iterable[str]) -> bool:
        """Whether a source contains the number, in whatever format."""
        if self.has_exact_number(text):
            return True
        plain = [value for value in values if value != text]
        if any(self.has_exact_number(value) for value in plain):
            return True
        if not self.numbers.isdisjoint(values) or not self._duration_parts.isdisjoint(values):
            return True
        if any(self._is_range_end(value) or self._is_in_groups(value) for value in values):
            return True
        # A short number is hardly written with a power of ten.
        return any(len(value) > _SHORT and value in self._scaled_numbers for value in values)

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

    def has_day(self, day: Day) -> bool:
        """Whether a source contains the date; one without a year is grounded by a date of any year."""
        year, month, number = day
        if year:
            if self._found(f"{year}-{month:02}-{number:02}", self.text):
                return True
            if day in self.days or (Day(0, month, number) in self.days and self._may_be_year(year)):
                return True
            return day in self.all_days
        at = self._place(f"-{month:02}-{number:02}", self.text)
        if at > 3 and self.text[at - 4 : at].isdigit() and not self.text[at + 6 : at + 7].isdigit():
            return True
        return (month, number) in self.month_days or (month, number) in self.all_month_days

    def _may_be_year(self, year: int) -> bool:
        """Whether the year, which a draft adds to a date, is about one that some source names."""
        return not self._years or not self._years.isdisjoint((year - 1, year, year + 1))

    def has_clock(self, minutes: int) -> bool:
        """Whether a source contains the time of day, in minutes since midnight."""
        at = self._place(f"{minutes // 60:02}:{minutes % 60:02}", self.text)
        if at >= 0 and not (at and self.text[at - 1] in ":0123456789"):
            after = self.text[at + 5 : at + 9]
            if not after[:1].isdigit() and "m" not in after.lower():
                return True
        return minutes in self.clocks or minutes in self.all_clocks

    def has_exact_number(self, number: str) -> bool:
        """Whether a source has exactly this number, outside of dates, times and codes. May miss it."""
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

    def has_number_near(self, number: str, words: re.Pattern[str]) -> bool:
        """Whether a source has the number next to one of the words (in lower case), or in an unknown format."""
        text, at, is_found = self.lower, -1, False
        for _ in range(_OCCURRENCES):
            at = text.find(number, at + 1)
            if at < 0:
                break
            end = at + len(number)
            if _is_alone(text, at, end):
                is_found = True
                low = max(0, at - _NEARBY)
                before = _FIELD_ENDS.split(text[low:at])[-1]
                if words.search(before) or words.search(_FIELD_ENDS.split(text[end : end + _NEARBY // 2], 1)[0]):
                    return True
        return not is_found

    def has_ending(self, digits: str) -> bool:
        """Whether a longer number or code ends with these digits, as a card's number does."""
        return digits in self._endings

    def has_phrase(self, words: str) -> bool:
        """Whether a source contains these words (in lower case) as whole words."""
        if self._searches_left <= 0:
            return self.words.issuperset(WORD.findall(words))
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
        """Whether a source contains the word (in lower case), or a word that begins with it."""
        return self._found(word, self.lower) or word in self._words_when_spent()

    def contains(self, text: str) -> bool:
        """Whether a source contains the text (in lower case) anywhere."""
        return self._found(text, self.lower) or text in self._words_when_spent()

    def contains_compact(self, text: str) -> bool:
        """Whether a source contains the text (in lower case) when hyphens, spaces and the like do not count."""
        return self._found(text.translate(HYPHENS), self.compact)

    def links_to(self, path: str) -> bool:
        """Whether some source has the path of a page (in lower case) without the site before it. May miss it."""
        at = self._place(path, self.lower)
        return at == 0 or (at > 0 and self.lower[at - 1] in _BEFORE_PATH)

    def quotes(self, text: str) -> bool:
        """Whether a source contains the text as it is written, case included. May miss it."""
        return self._found(text, self.text)

    def _place(self, token: str, text: str, start: int = 0) -> int:
        if self._searches_left <= 0:
            return -1
        self._searches_left -= 1
        return text.find(token, start)

    def _words_when_spent(self) -> frozenset[str]:
        return frozenset() if self._searches_left > 0 else self.words

    def _found(self, token: str, text: str) -> bool:
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

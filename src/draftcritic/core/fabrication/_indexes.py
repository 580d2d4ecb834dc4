"""The sources of a turn, and the indexes of them that are built when they are first asked for."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from draftcritic.core.fabrication import _scan
from draftcritic.core.fabrication._action_tools import may_have_changed
from draftcritic.core.fabrication._dates import Day
from draftcritic.core.fabrication._lazy import lazy
from draftcritic.core.fabrication._outcome import has_failed
from draftcritic.core.fabrication._program_dates import program_clocks_in, program_days_in, weeks_in
from draftcritic.core.fabrication._sources import calls_of, field_of, name_of, text_of
from draftcritic.core.fabrication._values import with_plain_digits
from draftcritic.core.fabrication._worded import worded_clocks

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
        """Whether the turn has sources to tell from; without any a draft can only tell what everybody knows."""
        return bool(self.tool_calls) or self.context_has_data

    @lazy
    def context_has_data(self) -> bool:
        """Whether the context holds records, results of earlier tool calls or documents."""
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
    def clocks(self) -> frozenset[int]:
        """Every time of day, in minutes since midnight."""
        return _scan.clocks_in(self.text)

    @lazy
    def all_clocks(self) -> frozenset[int]:
        """The same, with those in words, and in records with a field for each part."""
        known = self.clocks | _scan.recorded_clocks_in(self.text) | program_clocks_in(self.text)
        return known | worded_clocks(self._said_of_late)

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

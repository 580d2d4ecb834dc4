"""Shared types of the grounding check: lazy attributes, tokens, spans, URLs and e-mail addresses."""

from __future__ import annotations

import re
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Generic, NamedTuple, TypeVar, overload

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - it is used as a decorator, like `property`
    """A method whose value is computed once; two threads may compute it at the same time, with the same result.

    `cached_property` takes a lock before Python 3.12.
    """

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[Value] | Value:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.make(instance)
        return value


CUE_WINDOW = 48
"""Characters before a token that are searched for the words that say what it is."""


class Token(NamedTuple):
    """A value in a draft that a source of its turn may ground.

    Attributes:
        kind: the kind of a finding about it.
        start: where it begins in the draft, in characters.
        end: where it ends.
        text: as the draft has it.
        value: its normal form; what it is depends on the kind.
        scaled: a word such as `million` is part of the value, which is then rounded.
        unit: the word or sign behind a number, in lower case.
    """

    kind: str
    start: int
    end: int
    text: str
    value: Any
    scaled: bool = False
    unit: str = ""


class Spans:
    """Spans of a text; whether another one meets them takes the logarithm of their number.

    Args:
        spans: the beginnings and ends.
    """

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if self._merged and start < self._merged[-1][1]:
                self._merged[-1] = (self._merged[-1][0], max(end, self._merged[-1][1]))
            elif end > start:
                self._merged.append((start, end))

    def add(self, start: int, end: int) -> None:
        """Add a span that meets none of the others."""
        insort(self._merged, (start, end))

    def meet(self, start: int, end: int) -> bool:
        """Whether a span has a character in common with one of these."""
        after = bisect_left(self._merged, (end, -1))
        return after > 0 and self._merged[after - 1][1] > start


_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"'`\\{}|^\]]{1,2048}|\bwww\.[^\s<>\"'`\\{}|^\]]{1,2048}", re.IGNORECASE)
# Scripts without spaces go on right behind a URL.
_OTHER_SCRIPT = re.compile("[\u1100-\u11ff\u2e80-\uffef]")
_EMAIL_LOCAL = re.compile(r"[\w.+*-]{1,64}\Z")
_EMAIL_DOMAIN = re.compile(r"@([\w-]{1,63}(?:\.[\w-]{1,63}){1,6})")
_TRAILING = ".,;:!?*_~\u3002\uff0c\uff1b\uff09\u300d\u300f\u3011"


def urls(text: str) -> Iterator[Token]:
    """Yield the URLs of a draft."""
    for url in _URL.finditer(text):
        written = url[0] if url[0].isascii() else _OTHER_SCRIPT.split(url[0], 1)[0]
        if ")" in written:
            written = _balanced(written)
        written = written.rstrip(_TRAILING)
        yield Token("url", url.start(), url.start() + len(written), written, written)


def _balanced(url: str) -> str:
    """Return the URL up to the bracket that opened before it."""
    depth = 0
    for at, sign in enumerate(url):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return url[:at]
    return url


def emails(text: str) -> Iterator[Token]:
    """Yield the e-mail addresses of a draft."""
    for domain in _EMAIL_DOMAIN.finditer(text):
        local = _EMAIL_LOCAL.search(text[max(0, domain.start() - 64) : domain.start()])
        if local:
            start, end = domain.start() - len(local[0]), domain.end()
            yield Token("email", start, end, text[start:end], text[start:end].lower())

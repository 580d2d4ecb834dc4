"""Recognises objects of a reply that repeat the material which the critic was asked to judge."""

from __future__ import annotations

import html
import re
from collections.abc import Hashable, Iterator, Sequence
from functools import cached_property
from typing import Any

from draftcritic.core._answers import plain
from draftcritic.core._json_scan import Pairs, TooBrokenError, every_object

_MAX_DEPTH = 3
"""How often an object is looked for in a string of an object."""
_QUOTES = re.compile(r"""\\{0,4}["'\u201c\u201d\u2018\u2019]""")
_BARE_KEY = re.compile(r"([{,]\s{0,20})([A-Za-z_]\w{0,40})(\s{0,20}:)")
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_BARE_WORD = re.compile(r"(:\s{0,20})([A-Za-z]\w{0,40})(?=\s{0,20}[,}])")


class Echoes:
    """The objects in untrusted texts, parsed: how they are written does not matter.

    Args:
        texts: what the critic was shown that its operator did not write.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text for text in texts if _may_hold_verdict(text)]

    def __contains__(self, item: object) -> bool:
        if not self._texts:
            return False
        known = self._known
        try:
            return known is None or _key(item) in known
        except RecursionError:
            return True

    def holds_text(self, part: str) -> bool:
        """Whether a text holds this part as it is."""
        return any(part in text for text in self._texts)

    @cached_property
    def _known(self) -> frozenset[Hashable] | None:
        """The objects with a verdict; None when a text is too broken to tell, so that any object may be one of its."""
        try:
            return frozenset(_key(found) for text in self._texts for found in _objects_in(text, 0))
        except (TooBrokenError, RecursionError):
            return None


def _may_hold_verdict(text: str) -> bool:
    return "{" in _narrow(text) and ("verdict" in _narrow(text).lower() or "\\u" in text)


def _narrow(text: str) -> str:
    """Return a text with full-width characters as plain ones."""
    return text if text.isascii() else text.translate(_WIDTH)


def _objects_in(text: str, depth: int) -> Iterator[Pairs]:
    """Yield the objects of a text as it is, and as a model would write it that repeats it as clean JSON."""
    loose = html.unescape(text) if "&" in text else text
    loose = _BARE_WORD.sub(r'\1"\2"', _BARE_KEY.sub(r'\1"\2"\3', _QUOTES.sub('"', _narrow(loose))))
    for form in dict.fromkeys((text, loose)):
        for found in every_object(form):
            yield from _inside(found, depth)


def _inside(value: Any, depth: int) -> Iterator[Pairs]:
    """Yield an object and the objects in it, also those in its strings."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Pairs):
            yield each
            waiting.extend(inner for _, inner in each)
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, str) and "{" in each and depth < _MAX_DEPTH:
            yield from _objects_in(each, depth + 1)


def _key(value: Any) -> Hashable:
    """Return what is the same for objects that differ in the order of their keys, in case and in white space."""
    if isinstance(value, Pairs):
        return frozenset((plain(key), _key(inner)) for key, inner in value)
    if isinstance(value, list):
        return tuple(_key(inner) for inner in value)
    return " ".join(value.split()).casefold() if isinstance(value, str) else repr(value)

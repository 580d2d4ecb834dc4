"""The words of a draft that a source can confirm: numbers, codes and names."""

from __future__ import annotations

import re

_WORD = re.compile(r"[^\W_]+")
_NUMBER = re.compile(r"\d[\d.,]*\d")
_AFTER_STOP = re.compile(r"(?:\A|[.!?:\n])\s{0,4}\Z")
_SHORTEST_NAME, _SHORTEST_WORD = 3, 5
_MOST = 400
"""Words of a draft that are looked for."""


def words_of(text: str) -> set[str]:
    """Return the words of a text, in lower case, and its numbers without separators of thousands."""
    words = set(_WORD.findall(text.casefold()))
    words.update(map(_plain, _NUMBER.findall(text)))
    return words


def checkable_words(draft: str) -> tuple[set[str], set[str]]:
    """Return the words of a draft that can be looked up, and its other longer words, in the form of `words_of`."""
    strong: dict[str, None] = dict.fromkeys(map(_plain, _NUMBER.findall(draft)))
    weak: dict[str, None] = {}
    for found in _WORD.finditer(draft):
        word = found[0]
        capital = word[0].isupper() and len(word) >= _SHORTEST_NAME
        begins = _AFTER_STOP.search(draft, max(0, found.start() - 6), found.start()) is not None
        if any(char.isdigit() for char in word) or (capital and not begins):
            strong[word.casefold()] = None
        elif len(word) >= _SHORTEST_WORD:
            weak[word.casefold()] = None
    return set(list(strong)[:_MOST]), set(list(weak)[:_MOST]) - strong.keys()


def _plain(number: str) -> str:
    whole, point, rest = number.replace(",", "").partition(".")
    rest = rest.rstrip("0") if rest.isdigit() else rest
    return f"{whole}{point}{rest}" if rest else whole

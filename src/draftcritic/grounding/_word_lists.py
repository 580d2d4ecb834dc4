"""The words of each language for numbers, dates and units: `data/words/`, one file per language, read once."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from draftcritic.core._data import data_names, data_text
from draftcritic.core._lexicon import lines_of

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

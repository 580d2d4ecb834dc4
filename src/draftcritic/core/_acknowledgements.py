"""Recognises a draft that is nothing but an acknowledgement: thanks, agreement, a greeting, a goodbye.

The words stand in `acknowledgements/`, one file a language. A draft is one when it can be laid out, from its first
word to its last, in phrases of one language with at least one of its acknowledgements among them: one foreign word is
enough to make it something else.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from draftcritic.core._phrases import read_phrases

MAX_CHARS = 160
"""A longer draft says something."""

_COMMON = "common"
_END = ""
_FILLER, _CORE = 1, 2
# Accents, Hebrew and Arabic vowel marks, the Arabic lengthening stroke: left out as often as written.
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u065f\u0670]")
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0e\ufe0f]")
_SMILEYS = re.compile(r"(?<!\w)(?:[:;=][-o']?[)dp]|\^_*\^|xd)(?!\w)")
_APOSTROPHES = frozenset("'\u2019\u2018\u02bc`\u00b4")
_QUESTION_MARKS = frozenset("?\u00bf\u061f\u037e\u055e\u2048\u203d")
# Punctuation that joins names, paths, mentions and quantities is never part of an acknowledgement.
_TELLING = frozenset("@#%&/\\{}[]<>=|\u00a7")
_LONG_RUN = re.compile(r"(.)\1{2,}")
_RUN = re.compile(r"(.)\1+")


@dataclass
class _Language:
    """The phrases of one language as a tree of words, and all words that occur in it."""

    tree: dict[str, Any] = field(default_factory=dict)
    words: set[str] = field(default_factory=set)

    def add(self, phrase: str, kind: int) -> None:
        words = [token for word in phrase.split() for token in _word_tokens(word)]
        node = self.tree
        for word in words:
            node = node.setdefault(word, {})
        node[_END] = max(kind, node.get(_END, 0))
        self.words.update(words)

    def spell(self, token: str) -> str | None:
        """Return the token as this language writes it, with lengthened letters cut; None when it is unknown."""
        if token in self.words:
            return token
        for pattern, repl in ((_LONG_RUN, r"\1\1"), (_LONG_RUN, r"\1"), (_RUN, r"\1")):
            shorter = pattern.sub(repl, token) if _LONG_RUN.search(token) else token
            if shorter in self.words:
                return shorter
        return None

    def covers(self, tokens: list[str]) -> bool:
        """Whether phrases of this language cover all tokens, at least one an acknowledgement."""
        words = [word for token in tokens if (word := self.spell(token)) is not None]
        if len(words) != len(tokens):
            return False
        best = [0] * (len(words) + 1)
        best[0] = _FILLER
        for start in range(len(words)):
            if not best[start]:
                continue
            node = self.tree
            for end in range(start, len(words)):
                node = node.get(words[end], _NOTHING)
                if _END in node:
                    best[end + 1] = max(best[end + 1], best[start], node[_END])
                if not node:
                    break
        return best[-1] == _CORE


_NOTHING: dict[str, Any] = {}


def is_acknowledgement(text: str) -> bool:
    """Whether the whole text is an acknowledgement in one of the known languages. Linear in the text."""
    stripped = text.strip()
    if not stripped or len(stripped) > MAX_CHARS:
        return False
    tokens = _tokens(stripped)
    return tokens is not None and any(language.covers(tokens) for language in _languages())


def acknowledgement_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a word list."""
    return tuple(name for name in read_phrases("acknowledgements") if name != _COMMON)


@cache
def _languages() -> tuple[_Language, ...]:
    lists = read_phrases("acknowledgements")
    common = lists.pop(_COMMON)
    languages = []
    for sections in lists.values():
        language = _Language()
        for part in (common, sections):
            for phrase in part.get("acknowledgements", ()):
                language.add(phrase, _CORE)
            for phrase in part.get("fillers", ()):
                language.add(phrase, _FILLER)
        languages.append(language)
    return tuple(languages)


@cache
def _word_tokens(word: str) -> list[str]:
    tokens = _tokens(word)
    if not tokens:
        raise ValueError(f"{word!r} holds a number, a question or a sign: it cannot be an acknowledgement")
    return tokens


def _tokens(text: str) -> list[str] | None:
    """Return the words and emoji of a text without case, accents and punctuation; None when it says more."""
    folded = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    folded = _SMILEYS.sub(" ", _SKIN_TONES.sub("", unicodedata.normalize("NFC", folded)))
    tokens: list[str] = []
    word = ""
    for char in folded:
        category = unicodedata.category(char)
        if category == "Cf" or char in _APOSTROPHES:
            continue
        if category[0] in "LM" and not _stands_alone(char):
            word += char
            continue
        if word:
            tokens.append(word)
            word = ""
        # By range, too: the Unicode tables of older Pythons do not know the younger emoji.
        if category[0] in "LM" or category == "So" or "\U0001f000" <= char <= "\U0001faff":
            tokens.append(char)
        elif char in _QUESTION_MARKS or char in _TELLING or not (category[0] in "PZ" or char.isspace() or char in "~^"):
            return None
    if word:
        tokens.append(word)
    return tokens


def _stands_alone(char: str) -> bool:
    """Whether the script writes without spaces, or with spaces that are often left out (Korean)."""
    return "\u3040" <= char <= "\u30ff" or "\u3400" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3"

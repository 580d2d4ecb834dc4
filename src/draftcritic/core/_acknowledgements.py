"""Recognises a draft that is nothing but an acknowledgement: thanks, agreement, a greeting, a goodbye.

The words stand in `acknowledgements/`, one file a language. A draft is one when it can be laid out, from its first
word to its last, in phrases of one language with at least one of its acknowledgements among them: one other word is
enough to make it something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import cache

from draftcritic.core._lexicon import (
    ALONE,
    BETWEEN,
    CORE,
    FILLER,
    RUN,
    PhraseGraph,
    PhraseLanguage,
    languages_in,
    lines_of,
    list_names,
    list_text,
    script_of,
    spellings,
)

MAX_CHARS = 160
"""A longer draft says something."""

_FOLDER, _COMMON = "acknowledgements", "common"
# Accents, Hebrew and Arabic vowel marks, the Arabic lengthening stroke: left out as often as written.
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u065f\u0670]")
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0e\ufe0f]")
_SMILEYS = re.compile(r"(?<!\w)(?:[:;=][-o']?[)dp]+|\^_*\^|xd)(?!\w)")
_SMILE = " \U0001f642 "
_APOSTROPHES = frozenset("'\u2019\u2018\u02bc`\u00b4")
# What a list may hold and a draft's words never do: marks, apostrophes, joiners, the shapes of emoji.
_LEFT_OUT = re.compile(f"[{''.join(_APOSTROPHES)}\u200b-\u200d\u2060]|{_OPTIONAL_MARKS.pattern}|{_SKIN_TONES.pattern}")
# Tokenised text separates what English writes together: "that ' s".
_APART = re.compile(" (['\u2019]) (?=(?:s|t|m|d|re|ve|ll)\\b)")
_QUESTION_MARKS = "?\u00bf\u061f\u037e\u055e\u2048\u203d\uff1f"
_QUESTION = re.compile(f"[{_QUESTION_MARKS}]")
_BEFORE_OFFER = " \t\n.,!;:\u2013\u2014\u3001\u3002\uff0c\uff01\u2026\u00bf"
# What comes before the last sentence or clause, that one, and only signs after its question mark.
_CUTS = re.escape(_BEFORE_OFFER.strip())
_LAST_QUESTION = re.compile(rf"((?:[^?\u061f\uff1f]*[{_CUTS}])?)([^?\u061f\uff1f{_CUTS}]+)[?\u061f\uff1f]\W*")
# Punctuation that joins names, paths, mentions and quantities is never part of an acknowledgement.
_TELLING = frozenset("@#%&/\\{}[]<>=|\u00a7")
# What the rules of `tokens_of` leave of ASCII: they are asked for every short draft, and most are plain English.
_ASCII_TELLING = re.compile(r"""[^a-z\s!"'()*,\-.:;_`~^]""")
_ASCII_WORDS = re.compile("[a-z]+")
_ALONE_LETTER = re.compile(f"[{ALONE}]")
_LISTED = re.compile(rf"[{ALONE}]|[^{BETWEEN}()\[\]|]+")
"""The words of a whole list, its brackets left out."""


_DEFAULT = "en"
"""Asked first: most of its drafts need no other list."""


def is_acknowledgement(text: str) -> bool:
    """Whether the whole text is an acknowledgement in one of the known languages. Linear in the text."""
    stripped = text.strip()
    if not stripped or len(stripped) > MAX_CHARS:
        return False
    if _QUESTION.search(stripped):
        return _ends_with_an_offer(stripped)
    tokens = tokens_of(stripped)
    if not tokens:
        return False
    return any(_language(code).covers(tokens) for code in _languages_of(tokens))


def _ends_with_an_offer(text: str) -> bool:
    """Whether the text asks one of the closing offers, such as "Is there anything else I can do for you?"."""
    question = _LAST_QUESTION.fullmatch(text)
    if question is None:
        return False
    before = question[1].rstrip(_BEFORE_OFFER)
    tokens = tokens_of(question[2])
    if not tokens or (before and not is_courtesy(before)):
        return False
    return any(_offers(code).covers(tokens) for code in _languages_of(tokens))


def is_courtesy(text: str) -> bool:
    """Whether the text has only words of acknowledgements and what may go with them, such as "Guten Morgen"."""
    tokens = tokens_of(text.strip()) if len(text) <= MAX_CHARS else None
    if not tokens:
        return False
    return any(_language(code).covers(tokens, FILLER) for code in _languages_of(tokens))


@cache
def acknowledgement_languages() -> tuple[str, ...]:
    """Return the codes of the languages that have a word list."""
    return tuple(name for name in list_names(_FOLDER) if name != _COMMON)


def _languages_of(tokens: list[str]) -> Iterator[str]:
    """Yield the languages whose lists hold every token somewhere: only a list that may serve is taken apart."""
    common, default = _words_of(_COMMON), _words_of(_DEFAULT)
    plain = all(token in default or token in common for token in tokens)
    if plain:
        yield _DEFAULT
    left: int | None = None
    for token in tokens:
        if token in common:
            continue
        holding = _holders(script_of(token))
        found = holding.get(token, 0)
        if RUN.search(token):
            spelled = tuple(spellings(token))
            if not common.isdisjoint(spelled):
                continue
            for spelling in spelled:
                found |= holding.get(spelling, 0)
        left = found if left is None else left & found
        if not left:
            return
    codes = _every_language(tokens) if left is None else _codes(left)
    yield from (code for code in codes if not (plain and code == _DEFAULT))


def _codes(held: int) -> Iterator[str]:
    return (code for bit, code in enumerate(acknowledgement_languages()) if held >> bit & 1)


def _every_language(tokens: list[str]) -> Iterator[str]:
    scripts = {script_of(token) for token in tokens}
    yield from dict.fromkeys(code for script in scripts for code in languages_in(_FOLDER, script))


@cache
def _holders(script: str) -> dict[str, int]:
    """Return word -> languages of a script whose lists hold it, a bit each."""
    holders: dict[str, int] = {}
    bits = {code: 1 << bit for bit, code in enumerate(acknowledgement_languages())}
    for code in languages_in(_FOLDER, script):
        bit = bits[code]
        for word in _words_of(code):
            holders[word] = holders.get(word, 0) | bit
    return holders


@cache
def _words_of(name: str) -> frozenset[str]:
    text = folded_list(_FOLDER, name)
    if _ALONE_LETTER.search(text):
        return frozenset(_LISTED.findall(text))
    for sign in "()[]|-":
        text = text.replace(sign, " ")
    return frozenset(text.split())


@cache
def _language(code: str) -> PhraseLanguage:
    return PhraseLanguage(_phrases(_COMMON), _phrases(code))


@cache
def _offers(code: str) -> PhraseLanguage:
    return PhraseLanguage(_phrases(code, "offers"))


@cache
def _phrases(name: str, what: str = "acknowledgements") -> PhraseGraph:
    phrases = PhraseGraph()
    sections = lines_of(folded_list(_FOLDER, name))
    for kind, section in ((CORE, what), (FILLER, "fillers")):
        for line in sections.get(section, ()):
            phrases.add(line, kind)
    return phrases


@cache
def folded_list(folder: str, name: str) -> str:
    """Return the text of a list without case, accents and apostrophes."""
    text = unicodedata.normalize("NFKD", list_text(folder, name).casefold())
    return unicodedata.normalize("NFC", _LEFT_OUT.sub("", text))


def _folded(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower()
    plain = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return _SKIN_TONES.sub("", unicodedata.normalize("NFC", plain))


def tokens_of(text: str) -> list[str] | None:
    """Return the words and emoji of a text without case, accents and punctuation; None when it says more."""
    folded = _SMILEYS.sub(_SMILE, _folded(text))
    if "' " in folded or "\u2019 " in folded:
        folded = _APART.sub(r"\1", folded)
    if folded.isascii():
        return None if _ASCII_TELLING.search(folded) else _ASCII_WORDS.findall(folded.replace("'", "").replace("`", ""))
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

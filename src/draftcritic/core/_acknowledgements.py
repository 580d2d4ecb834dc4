"""Recognises a draft that is nothing but an acknowledgement: thanks, agreement, a greeting, a goodbye.

The words stand in `acknowledgements/`, one file a language. A draft is one when it can be laid out, from its first
word to its last, in phrases of one language with at least one of its acknowledgements among them: one foreign word is
enough to make it something else.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterator
from functools import cache

from draftcritic.core._phrases import languages_in, lines_of, list_names, list_text, parts_of, script_of

MAX_CHARS = 160
"""A longer draft says something."""

_FOLDER, _COMMON = "acknowledgements", "common"
_FILLER, _CORE = 1, 2
# Accents, Hebrew and Arabic vowel marks, the Arabic lengthening stroke: left out as often as written.
_OPTIONAL_MARKS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0640\u064b-\u065f\u0670]")
_SKIN_TONES = re.compile("[\U0001f3fb-\U0001f3ff\ufe0e\ufe0f]")
_SMILEYS = re.compile(r"(?<!\w)(?:[:;=][-o']?[)dp]+|\^_*\^|xd)(?!\w)")
_SMILE = " \U0001f642 "
_APOSTROPHES = frozenset("'\u2019\u2018\u02bc`\u00b4")
# What a list may hold and a draft's words never do: marks, apostrophes, joiners, the shapes of emoji.
_LEFT_OUT = re.compile(f"[{''.join(_APOSTROPHES)}\u200b-\u200d\u2060]|{_OPTIONAL_MARKS.pattern}|{_SKIN_TONES.pattern}")
# Tokenised text stands apart what English writes together: "that ' s".
_APART = re.compile(" (['\u2019]) (?=(?:s|t|m|d|re|ve|ll)\\b)")
_QUESTION_MARKS = "?\u00bf\u061f\u037e\u055e\u2048\u203d\uff1f"
_QUESTION = re.compile(f"[{_QUESTION_MARKS}]")
_BEFORE_OFFER = " \t\n.,!;:\u2013\u2014\u3001\u3002\uff0c\uff01\u2026\u00bf"
# What stands before the last sentence or clause, that, and nothing but signs behind its question mark.
_CUTS = re.escape(_BEFORE_OFFER.strip())
_LAST_QUESTION = re.compile(rf"((?:[^?\u061f\uff1f]*[{_CUTS}])?)([^?\u061f\uff1f{_CUTS}]+)[?\u061f\uff1f]\W*")
# Punctuation that joins names, paths, mentions and quantities is never part of an acknowledgement.
_TELLING = frozenset("@#%&/\\{}[]<>=|\u00a7")
# What the rules of `_tokens` leave of ASCII: they are asked for every short draft, and most are plain English.
_ASCII_TELLING = re.compile(r"""[^a-z\s!"'()*,\-.:;_`~^]""")
_ASCII_WORDS = re.compile("[a-z]+")
_LONG_RUN = re.compile(r"(.)\1{2,}")
_RUN = re.compile(r"(.)\1+")
_ALONE = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
_BETWEEN = rf"\s{_ALONE},.!;:\-\u00b7\u3001\u3002"
_ALONE_LETTER = re.compile(f"[{_ALONE}]")
_PIECES = re.compile(rf"[{_ALONE}]|[^{_BETWEEN}]+")
_LISTED = re.compile(rf"[{_ALONE}]|[^{_BETWEEN}()\[\]|]+")
"""The words of a whole list, its brackets left out."""


_Node = dict[str, list[int]]
_DEFAULT = "en"
"""Asked first: most of its drafts need no other list."""


class _Phrases:
    """Phrases as a graph of words: `(a|b) [c] d` is four edges, however many phrases it stands for."""

    def __init__(self) -> None:
        self.nodes: list[_Node] = [{}]
        self.kinds: list[int] = [0]
        self.words: set[str] = set()

    def add(self, line: str, kind: int) -> None:
        """Add one line of a word list."""
        fronts = [0]
        for choices, optional in parts_of(line):
            joined = self._new()
            for choice in choices:
                self._path(fronts, joined, choice)
            fronts = [*fronts, joined] if optional else [joined]
        for front in fronts:
            if front:
                self.kinds[front] = max(self.kinds[front], kind)

    def _new(self) -> int:
        self.nodes.append({})
        self.kinds.append(0)
        return len(self.nodes) - 1

    def _path(self, fronts: list[int], end: int, choice: str) -> None:
        words = _PIECES.findall(choice)
        self.words.update(words)
        for at, word in enumerate(words):
            target = end if at == len(words) - 1 else self._new()
            for front in fronts:
                self.nodes[front].setdefault(word, []).append(target)
            fronts = [target]


class _Language:
    """The phrases of one language beside those that are understood everywhere."""

    def __init__(self, *parts: _Phrases) -> None:
        self._parts = parts
        self._words = frozenset[str]().union(*(part.words for part in parts))

    def spell(self, token: str) -> str | None:
        """Return the token as this language writes it, with lengthened letters cut; None when it is unknown."""
        if self._knows(token):
            return token
        return next((spelling for spelling in _spellings(token) if self._knows(spelling)), None)

    def _knows(self, word: str) -> bool:
        return word in self._words

    def covers(self, tokens: list[str], kind: int = _CORE) -> bool:
        """Whether phrases of this language cover all tokens, at least one of this kind or above."""
        words: list[str] = []
        for token in tokens:
            word = self.spell(token)
            if word is None:
                return False
            words.append(word)
        best = [0] * (len(words) + 1)
        best[0] = _FILLER
        for start in range(len(words)):
            if best[start]:
                for part in self._parts:
                    if words[start] in part.nodes[0]:
                        _extend(part, words, start, best)
        return best[-1] >= kind


def _extend(part: _Phrases, words: list[str], start: int, best: list[int]) -> None:
    nodes, kinds = part.nodes, part.kinds
    reached: Collection[int] = nodes[0][words[start]]
    for end in range(start, len(words)):
        if end > start:
            word = words[end]
            reached = {target for node in reached for target in nodes[node].get(word, ())}
            if not reached:
                return
        kind = max([kinds[node] for node in reached])
        if kind:
            best[end + 1] = max(best[end + 1], best[start], kind)


def is_acknowledgement(text: str) -> bool:
    """Whether the whole text is an acknowledgement in one of the known languages. Linear in the text."""
    stripped = text.strip()
    if not stripped or len(stripped) > MAX_CHARS:
        return False
    if _QUESTION.search(stripped):
        return _ends_with_an_offer(stripped)
    tokens = _tokens(stripped)
    if not tokens:
        return False
    return any(_language(code).covers(tokens) for code in _languages_of(tokens))


def _ends_with_an_offer(text: str) -> bool:
    """Whether the text asks one of the closing offers, such as "Is there anything else I can do for you?"."""
    question = _LAST_QUESTION.fullmatch(text)
    if question is None:
        return False
    before = question[1].rstrip(_BEFORE_OFFER)
    tokens = _tokens(question[2])
    if not tokens or (before and not is_courtesy(before)):
        return False
    return any(_offers(code).covers(tokens) for code in _languages_of(tokens))


def is_courtesy(text: str) -> bool:
    """Whether the text has only words of acknowledgements and what may stand beside them, such as "Guten Morgen"."""
    tokens = _tokens(text.strip()) if len(text) <= MAX_CHARS else None
    if not tokens:
        return False
    return any(_language(code).covers(tokens, _FILLER) for code in _languages_of(tokens))


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
        if _RUN.search(token):
            spellings = tuple(_spellings(token))
            if not common.isdisjoint(spellings):
                continue
            for spelling in spellings:
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
    text = _folded_list(name)
    if _ALONE_LETTER.search(text):
        return frozenset(_LISTED.findall(text))
    for sign in "()[]|-":
        text = text.replace(sign, " ")
    return frozenset(text.split())


def _spellings(token: str) -> Iterator[str]:
    """Yield a token, then with its lengthened letters cut to two and to one."""
    yield token
    if _RUN.search(token):
        for pattern, repl in ((_LONG_RUN, r"\1\1"), (_LONG_RUN, r"\1"), (_RUN, r"\1")):
            yield pattern.sub(repl, token)


@cache
def _language(code: str) -> _Language:
    return _Language(_phrases(_COMMON), _phrases(code))


@cache
def _offers(code: str) -> _Language:
    return _Language(_phrases(code, "offers"))


@cache
def _phrases(name: str, what: str = "acknowledgements") -> _Phrases:
    phrases = _Phrases()
    sections = lines_of(_folded_list(name))
    for kind, section in ((_CORE, what), (_FILLER, "fillers")):
        for line in sections.get(section, ()):
            phrases.add(line, kind)
    return phrases


@cache
def _folded_list(name: str) -> str:
    text = unicodedata.normalize("NFKD", list_text(_FOLDER, name).casefold())
    return unicodedata.normalize("NFC", _LEFT_OUT.sub("", text))


def _folded(text: str) -> str:
    """Return a text without case and accents."""
    if text.isascii():
        return text.lower()
    plain = _OPTIONAL_MARKS.sub("", unicodedata.normalize("NFKD", text.casefold()))
    return _SKIN_TONES.sub("", unicodedata.normalize("NFC", plain))


def _tokens(text: str) -> list[str] | None:
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

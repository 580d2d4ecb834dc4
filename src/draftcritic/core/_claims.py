"""Whether a draft asserts anything that could be wrong: a number, a name, an id, an address, a finished action."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from draftcritic.core._acknowledgements import is_courtesy
from draftcritic.core._lexicon import languages_in, phrases, read_list, scripts_in

# Scripts with case up to Coptic, Latin additional and Greek extended; the rest of Unicode's capitals are mathematical
# letters and historic scripts.
_CASED = (*range(0x41, 0x590), *range(0x1E00, 0x2000))
_CAPITALS = "".join(re.escape(chr(code)) for code in _CASED if chr(code).isupper())
_CURRENCIES = (
    "$\u00a2-\u00a5\u058f\u060b\u07fe\u07ff\u09f2\u09f3\u09fb\u0af1\u0bf9\u0e3f\u17db\u20a0-\u20cf\ua838\ufdfc\ufe69"
    "\uff04\uffe0\uffe1\uffe5\uffe6\U00011fdd-\U00011fe0\U0001e2ff\U0001ecb0"
)
_DOMAINS = "com|org|net|edu|gov|io|dev|app|ai|co|info|biz|eu|uk|de|fr|es|it|nl|pt|br|pl|ru|jp|kr|cn|in|tr|il"

# Every pattern starts at a character that no earlier attempt has walked over, so that hostile text stays linear.
_VALUE = re.compile(rf"\d|[{_CURRENCIES}]|[\u2150-\u2189\u00bc-\u00be\u2460-\u249b]")
_HEX = re.compile(r"\b[0-9a-fA-F]{6,}\b")
_EMAIL = re.compile(r"\w@\w[^\s@]{0,253}\.\w")
_DOMAIN = re.compile(rf"\w\.(?:{_DOMAINS})\b(?![.]?\w)", re.IGNORECASE)
_NAME = re.compile(rf"\b[{_CAPITALS}][^\W\d_]+\s+[{_CAPITALS}][^\W\d_]+")
# Not `\w`: the vowel signs of Indic scripts are no word characters for `re`.
_BREAKS = r"\s!-&(-/:-@\[-`{-~\u00a1\u00ab\u00b7\u00bb\u00bf\u060c\u061b\u061f\u0964\u2010-\u2018\u201a-\u201f\u2026"
_WORD = re.compile(rf"[^'{_BREAKS}]+(?:'[^'{_BREAKS}]+)*")
_ARABIC_VOWELS = re.compile("[\u064b-\u0652]")
_END = "."
_ENDINGS = "*"


def draft_has_claims(draft: str) -> bool:
    """Whether the draft asserts something: the gate then never skips it. Linear in the draft.

    A claim is a digit of any script, a currency sign, an id in hexadecimal, an e-mail address or URL, two capitalised
    words in a run, a spelled-out number, or the report of a finished action. Capitals inside a phrase that is
    nothing but courtesy ("Vielen Dank", "Guten Morgen") are no names.
    """
    if not draft:
        return False
    if _VALUE.search(draft) or _HEX.search(draft) or _has_address(draft):
        return True
    if _NAME.search(draft) and not is_courtesy(draft):
        return True
    return any(_telling_words(script).found_in(draft) for script in scripts_in(draft))


def _has_address(draft: str) -> bool:
    return (
        "://" in draft
        or ("@" in draft and _EMAIL.search(draft) is not None)
        or ("." in draft and _DOMAIN.search(draft) is not None)
    )


@dataclass
class _TellingWords:
    """Spelled-out numbers and reports of finished actions, of all languages together."""

    words: set[str] = field(default_factory=set)
    phrases: dict[str, Any] = field(default_factory=dict)
    substrings: list[str] = field(default_factory=list)
    harmless: list[str] = field(default_factory=list)
    harmless_words: set[str] = field(default_factory=set)
    """The first words of those that are whole words."""
    harmless_anywhere: bool = False

    def add(self, phrase: str) -> None:
        words = phrase.split()
        if len(words) == 1:
            self.words.add(words[0])
            return
        node = self.phrases
        for word in words:
            if word[0] == "*":
                node = node.setdefault(_ENDINGS, {})
            node = node.setdefault(word.removeprefix("*"), {})
        node[_END] = {}

    def add_harmless(self, phrase: str) -> None:
        if "\u3040" <= phrase[0] <= "\ud7a3":
            self.harmless.append(phrase)
            self.harmless_anywhere = True
            return
        # Whole words only, in the scripts that have word boundaries.
        self.harmless.append(f" {phrase} ")
        self.harmless_words.add(phrase.split(maxsplit=1)[0])

    def found_in(self, draft: str) -> bool:
        if not draft.isascii():
            remaining = self._without_harmless(draft)
            if any(substring in remaining for substring in self.substrings):
                return True
        words = _words(draft)
        known = set(words)
        if known.isdisjoint(self.words) and known.isdisjoint(self.phrases):
            return False
        if self.harmless_anywhere or not known.isdisjoint(self.harmless_words):
            words = self._without_harmless(f" {' '.join(words)} ").split()
        if not self.words.isdisjoint(words):
            return True
        return any(
            word in self.phrases and _follows(self.phrases[word], words, at + 1) for at, word in enumerate(words)
        )

    def _without_harmless(self, text: str) -> str:
        for phrase in self.harmless:
            if phrase in text:
                text = text.replace(phrase, " ")
        return text


def _follows(node: dict[str, Any], words: list[str], at: int) -> bool:
    """Whether a phrase of the tree goes on at that word; `*ed` is any word of five letters or more that ends so."""
    if _END in node:
        return True
    if at == len(words):
        return False
    word = words[at]
    if word in node and _follows(node[word], words, at + 1):
        return True
    return _ENDINGS in node and any(
        _has_ending(word, ending) and _follows(then, words, at + 1) for ending, then in node[_ENDINGS].items()
    )


def _has_ending(word: str, ending: str) -> bool:
    return not ending or (len(word) > 4 and word.endswith(ending) and not word.endswith("eed"))


def _words(text: str) -> list[str]:
    lowered = text.lower()
    if not lowered.isascii():
        lowered = _ARABIC_VOWELS.sub("", lowered.replace("\u2019", "'"))
    return _WORD.findall(lowered)


@cache
def _telling_words(script: str) -> _TellingWords:
    telling = _TellingWords()
    for language in languages_in("claims", script):
        sections = {name: phrases(lines) for name, lines in read_list("claims", language).items()}
        for name in ("numbers", "reports"):
            for phrase in sections.get(name, ()):
                telling.add(phrase)
        telling.substrings.extend(sections.get("substrings", ()))
        for phrase in sections.get("harmless", ()):
            telling.add_harmless(phrase)
    return telling

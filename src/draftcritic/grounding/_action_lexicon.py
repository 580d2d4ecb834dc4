"""How the languages report finished actions: the word lists in `data/actions/`, compiled one script at a time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import NamedTuple

from draftcritic.core._lexicon import data_text, lines_of

DONE, ALONE, START, END, QUIET, ADVERB = "\x00", "\x01", "\x02", "\x03", "\x04", "\x05"
"""Markers in the text that the patterns match: the word of an action (a participle, a form that reports alone, with
`QUIET` a participle that needs a whole sentence), the ends of a sentence and, before its word, an adverb."""
BORDER = "|"
"""Token between a report and the text before it, in the text that the vetoes match."""

SCRIPTS: dict[str, tuple[str, ...]] = {
    "latin": ("en", "de", "es", "fr", "it", "nl", "pl", "pt", "sv", "tr"),
    "cyrillic": ("ru", "uk"),
    "arabic": ("ar",),
    "devanagari": ("hi",),
    "han": ("zh",),
    "kana": ("ja",),
    "hangul": ("ko",),
}
"""Script -> languages that report in it."""
UNSPACED = frozenset({"zh", "ja", "ko"})
"""Languages whose words are found inside of runs of letters."""

_WORD = r"[^\x00-\x04, \d][^\x00-\x04, ]* "
_GROUP = re.compile(r"\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\[([^\[\]]*)\]|(\S+)")
_GLUE = re.compile(r"\{\}|\.\.\.|.")
_NEVER = re.compile(r"(?!)")
_UNSPACED_GAP = "[^\u3002\uff01\uff1f!?\n\uff0c,\u3001]{0,16}?"


class Word(NamedTuple):
    """What a word of the lists reports.

    Attributes:
        language: code of the language.
        action: name of the action in `tools.txt`.
        mark: `DONE`, `ALONE` or `QUIET`.
        particle: the word that must follow, as in "turned ... off"; empty when none.
    """

    language: str
    action: str
    mark: str
    particle: str = ""


@dataclass(frozen=True)
class Language:
    """The patterns of one language over a sentence of tokens, each with a space before and behind it."""

    reports: re.Pattern[str]
    states: re.Pattern[str]
    mine: re.Pattern[str]
    vetoes: re.Pattern[str]
    sentence_vetoes: re.Pattern[str]
    vetoes_after: re.Pattern[str]
    refers_back: re.Pattern[str]
    adverbs: frozenset[str] = frozenset()
    verbs: re.Pattern[str] = _NEVER
    actions: Mapping[str, str] = field(default_factory=dict)
    nouns: Mapping[str, str] = field(default_factory=dict)
    """What succeeds when an action is done -> the action."""


@cache
def words_of(script: str) -> dict[str, tuple[Word, ...]]:
    """Return first word -> what it may report, for the languages of a script that put spaces between words."""
    known: dict[str, tuple[Word, ...]] = {}
    for code in SCRIPTS[script]:
        for form, word in _forms(code):
            known[form] = (*known.get(form, ()), word)
    return known


def _forms(code: str) -> Iterator[tuple[str, Word]]:
    sections = _sections(code)
    prefixes, endings = (sections.get(name, [""])[0].split() for name in ("prefixes", "endings"))
    for line in sections["actions"]:
        action, _, forms = line.partition(":")
        for at, part in enumerate(forms.split("|")):
            for form in part.split():
                mark = ALONE if at else QUIET if form[0] == "(" else DONE
                for whole in _forms_of(form.strip("()"), prefixes, endings):
                    first, _, particle = whole.partition("+")
                    yield first, Word(code, action.strip(), mark, particle)


def _forms_of(form: str, prefixes: list[str], endings: list[str]) -> Iterator[str]:
    for prefix in prefixes if form[0] == "-" else (".",):
        for ending in endings if form[-1] == "-" else (".",):
            yield prefix.strip(".") + form.strip("-") + ending.strip(".")


@cache
def _sections(code: str) -> dict[str, list[str]]:
    return lines_of(data_text("draftcritic.grounding", "data/actions", f"{code}.txt"))


@cache
def language(code: str) -> Language:
    """Return the patterns of a language; they are compiled when they are first asked for."""
    sections = _sections(code)
    if code in UNSPACED:
        return _unspaced(sections)
    words = _Words(_listed(sections.get("adverbs", ())), "|".join(_listed(sections.get("barriers", ()))) or "(?!)")

    def compiled(name: str) -> re.Pattern[str]:
        lines = [words.pattern(line) for line in sections.get(name, ())]
        # The engine runs from space to space.
        return re.compile(rf" (?:{'|'.join(lines)})") if lines else _NEVER

    return Language(
        reports=compiled("reports"),
        states=compiled("states"),
        mine=compiled("mine"),
        vetoes=compiled("vetoes"),
        sentence_vetoes=compiled("vetoes of the sentence"),
        vetoes_after=compiled("vetoes after"),
        refers_back=compiled("refers back"),
        adverbs=words.adverbs,
        nouns=_nouns(sections.get("what succeeds", ())),
    )


def _nouns(lines: Iterable[str]) -> dict[str, str]:
    split = (line.partition(":") for line in lines)
    return {noun: action.strip() for action, _, nouns in split for noun in nouns.split()}


def _listed(lines: Iterable[str]) -> frozenset[str]:
    return frozenset(word.strip() for line in lines for word in line.strip("()").split("|"))


@dataclass(frozen=True)
class _Words:
    """Turns the phrases of one language into regular expressions over tokens."""

    adverbs: frozenset[str]
    barriers: str

    def pattern(self, line: str) -> str:
        parts = []
        for group, option, token in _GROUP.findall(line):
            if token:
                parts.append(self._token(token))
            else:
                choices = "|".join(self.pattern(choice) for choice in _choices(group or option))
                parts.append(f"(?:{choices}){'?' if option else ''}")
        return "".join(parts)

    def _token(self, token: str) -> str:
        fixed = {
            "{}": f"[{DONE}{QUIET}] ",
            "{.}": f"{DONE} ",
            "{!}": f"{ALONE} ",
            "^": f"{START} ",
            "$": f"{END} ",
            "~": rf"(?:{ADVERB}\S+ )*",
            "*": _WORD,
            "...": rf"(?:(?!{ADVERB}?(?:{self.barriers}|[{START}{END}]) )\S+ ){{0,24}}?",
            BORDER: re.escape(BORDER) + " ",
        }
        if token[0] == "!":
            return rf"(?!(?:{token[1:].replace('/', '|')}) )[^{DONE}-{ADVERB}, \d]\S* "
        return fixed.get(token) or f"{ADVERB if token in self.adverbs else ''}{re.escape(token)} "


def _choices(group: str) -> Iterator[str]:
    depth = start = 0
    for at, char in enumerate(group):
        depth += (char in "([") - (char in ")]")
        if char == "|" and depth == 0:
            yield group[start:at]
            start = at + 1
    yield group[start:]


def _unspaced(sections: dict[str, list[str]]) -> Language:
    actions: dict[str, str] = {}
    for line in sections["actions"]:
        action, _, forms = line.partition(":")
        actions.update((form, action.strip()) for form in forms.split())
    verbs = "|".join(re.escape(form) for form in sorted(actions, key=len, reverse=True))

    def compiled(name: str) -> re.Pattern[str]:
        lines = [_glued(line, verbs) for line in sections.get(name, ())]
        return re.compile("|".join(lines)) if lines else _NEVER

    return Language(
        reports=compiled("reports"),
        states=compiled("states"),
        mine=compiled("mine"),
        vetoes=compiled("vetoes"),
        sentence_vetoes=compiled("vetoes of the sentence"),
        vetoes_after=compiled("vetoes after"),
        refers_back=compiled("refers back"),
        verbs=re.compile(verbs),
        actions=actions,
    )


def _glued(line: str, verbs: str) -> str:
    """Return a phrase of a script without spaces as a regular expression; a space in it is one that may be left out."""
    fixed = {"{}": f"(?:{verbs})", "...": _UNSPACED_GAP, " ": " ?", "_": " ", "(": "(?:", "[": "(?:", "]": ")?"}
    return "".join(fixed.get(part) or (part if part in ")|" else re.escape(part)) for part in _GLUE.findall(line))

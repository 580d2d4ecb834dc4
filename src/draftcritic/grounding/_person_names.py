"""Names of persons and places in a draft: capitalised words that no source of the turn contains."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice, pairwise

from draftcritic.core._data import data_text
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._token import Token

_UPPER = "A-Z\u00c0-\u00d6\u00d8-\u00de\u0106\u010c\u0141\u015a\u0160\u0179\u017b\u017d\u0130\u015e"
_LOWER = "a-z\u00df-\u00f6\u00f8-\u017f"
_NAME = re.compile(
    rf"[{_UPPER}](?<![\w@/.#-][{_UPPER}])[{_LOWER}]+(?:['\u2019-][{_UPPER}][{_LOWER}]+)?"
    rf"(?:[ ](?:(?:de|del|la|da|dos|van|von|der|di|al|bin|ben) )?[{_UPPER}](?:[{_LOWER}]+|\.)"
    rf"(?:['\u2019-][{_UPPER}][{_LOWER}]+)?){{1,4}}"
)
_CAPITALISED = f"[{_UPPER}][{_LOWER}]+"
_PART = re.compile(rf"[{_UPPER}{_LOWER}]+")
_REGULAR = (
    *("tion", "tions", "sion", "sions", "ment", "ments", "ness", "ity", "ities", "ing", "ings", "ed", "ly", "able"),
    *("ible", "ance", "ances", "ence", "ences", "ive", "ives", "ous", "ful", "less", "ism", "isms", "ical", "tional"),
    *("ional", "ary", "ories", "ship", "ward", "wards", "ology", "graphy", "ize", "ise"),
)
"""Endings of common words."""
# A language in which headings and nouns can be distinguished from names.
_ENGLISH = re.compile(
    r"\b(?:the|is|are|your|you|for|and|with|has|have|of|was|been|it|from|by|this|that|will|to)\b", re.IGNORECASE
)
_OTHER = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|f\u00fcr|mit|ein|eine|Ihre?|het|een|niet|voor|och|inte|det|som|og|ikke)\b"
)
_ROMANCE = re.compile(
    r"\b(?:je|vous|nous|une?|les|des|est|pour|dans|el|los|las|una|usted|est\u00e1|para|il|gli|che|della|per|voc\u00ea|uma|la|di|del|\u00e8|sono|"
    r"n\u00e3o|jest|si\u0119|dla|i\u00e7in|bir)\b",
    re.IGNORECASE,
)
_SAMPLE, _SHORT = 4000, 120
_LABEL_AFTER = re.compile(r"(?:\*\*|__)?\s?(?:\([^()\n]{0,40}\))?\s?(?::|\*\*|\n|\Z)|\s?[|\t]")
_LISTED = re.compile(r"(?:^|\n)[ \t>]*(?:[*\-\u2022]|\d{1,3}[.)])[ \t]+\Z")
_LIST_LINE = re.compile(r"[ \t>]*(?:[*\-\u2022]|\d{1,3}[.)])[ \t]")
_PLAIN_END = re.compile(r"\s?(?:\([^()\n]{0,40}\)|[-\u2013,]\s[^\n:]{1,40})?\s?(?:\n|\Z)")
_PEOPLE = re.compile(
    r"\b(?:passengers?|guests?|travell?ers?|attendees?|participants?|people|persons?|customers?|clients?|members?|"
    r"contacts?|employees?|patients?|users?|names?|students?|staff|team|drivers?|recipients?|invitees?|candidates?)\b"
    r"[^\n]{0,60}:\s*\Z",
    re.IGNORECASE,
)
_LINE_HEAD = re.compile(r"(?:^|\n)[ \t>*#\-\d.)|_]*\Z")
SHORTEST_PART = 3
_LISTS = ("common.txt", "known.txt", "frequent.txt")
_OTHERS = 8
"""Names of a draft that is not English for which the sources are searched."""
MAX_NAMES = 1000
"""Runs of capitalised words of one draft that are looked at."""


def names_in(text: str, grounding: Grounding) -> Iterator[Token]:
    """Return the names in an English draft of which some part is neither in a source nor a common word.

    In a turn without data a draft may name whom it wants.
    """
    judged = english = False
    others = 0
    for name in islice(_NAME.finditer(text), MAX_NAMES):
        unknown = [part for part in _PART.findall(name[0]) if _is_unknown(part.lower())]
        if not unknown:
            continue
        if not grounding.has_data:
            return
        strange = [part for part in unknown if not (grounding.quotes(part) or grounding.contains_word(part.lower()))]
        if not strange or _is_label(text, name.start(), name.end()):
            continue
        if not judged:
            judged, english = True, _is_english(text, grounding)
            others = 0 if english or not _is_romance(text) else _OTHERS
        if not english and not others:
            return
        others -= 1
        if english or _is_another(name[0], strange, grounding):
            yield Token("name", name.start(), name.end(), name[0], tuple(strange))


def is_known_name(word: str) -> bool:
    """Whether the word (in lower case) belongs to a name that everybody knows."""
    return word in _words("known.txt")


def _is_unknown(word: str) -> bool:
    known = _listed_words()
    return not (
        len(word) < SHORTEST_PART or word in known or word.removesuffix("s") in known or word.endswith(_REGULAR)
    )


@cache
def _listed_words() -> frozenset[str]:
    return frozenset[str]().union(*map(_words, _LISTS))


def _is_label(text: str, start: int, end: int) -> bool:
    """Whether the words are a heading, or the label before a value; a person in a list of people is neither."""
    listed = _LISTED.search(text[max(0, start - 24) : start])
    if listed and _PLAIN_END.match(text, end) and _lists_people(text, max(0, start - 24) + listed.start()):
        return False
    heads = _LINE_HEAD.search(text[max(0, start - 24) : start]) is not None
    return heads and _LABEL_AFTER.match(text, end) is not None


def _lists_people(text: str, at: int) -> bool:
    """Whether the list around the line that ends at `at` is introduced as one of people."""
    lines = text[max(0, at - 600) : at].splitlines()
    while lines and (not lines[-1].strip() or _LIST_LINE.match(lines[-1])):
        lines.pop()
    return bool(lines) and _PEOPLE.search(lines[-1]) is not None


def _is_romance(text: str) -> bool:
    """Whether the draft is in a language that begins few words but names with a capital."""
    sample = text[:_SAMPLE]
    return _OTHER.search(sample) is None and _ROMANCE.search(sample) is not None


def _is_another(name: str, strange: Sequence[str], grounding: Grounding) -> bool:
    """Whether a source continues the known part of the name differently: `Joana Teles` for `Joana Reis`."""
    words = name.split(" ")
    for one, two in pairwise(words):
        known = two if one in strange else one if two in strange else ""
        if known and known not in strange and grounding.quotes(known):
            other = rf"{re.escape(one)} {_CAPITALISED}" if known == one else rf"{_CAPITALISED} {re.escape(two)}"
            if re.search(rf"(?<!\w){other}(?!\w)", grounding.text):
                return True
    return False


def _is_english(text: str, grounding: Grounding) -> bool:
    sample = text[:_SAMPLE]
    if _OTHER.search(sample):
        return False
    if _ENGLISH.search(sample):
        return True
    # Too short to decide, in an English conversation.
    return len(sample) < _SHORT and not _ROMANCE.search(sample) and _ENGLISH.search(grounding.user_text) is not None


@cache
def _words(file: str) -> frozenset[str]:
    lines = data_text("draftcritic.grounding", "data/names", file).splitlines()
    return frozenset(word for line in lines for word in line.partition("#")[0].split())

"""Detects the language of a short text by its script and its most frequent words; good enough to choose a message."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache

from draftcritic.core._acknowledgements import folded_list, tokens_of
from draftcritic.core._lexicon import (
    CORE,
    FILLER,
    PhraseGraph,
    PhraseLanguage,
    languages_in,
    lines_of,
    list_names,
    read_list,
    script_of,
)

# Ranges in which a letter belongs to one language of the set, whatever surrounds it.
_SCRIPTS = (
    ("ja", re.compile(r"[\u3040-\u30ff]")),
    ("ko", re.compile(r"[\uac00-\ud7af]")),
    ("zh", re.compile(r"[\u4e00-\u9fff]")),
    ("ar", re.compile(r"[\u0600-\u06ff]")),
    ("he", re.compile(r"[\u0590-\u05ff]")),
    ("hi", re.compile(r"[\u0900-\u097f]")),
    ("uk", re.compile(r"[іїєґІЇЄҐ]")),
    ("ru", re.compile(r"[\u0400-\u04ff]")),
)
_WORDS = {
    "en": "the and you is are my have for can what not please i to of it this with do your was me how",
    "de": "der die das und ich nicht ist sie mein meine bitte wie mit ein eine kann habe für zu was wo wird auf",
    "es": "el la los que de por mi un una es no para con cómo como está puedo quiero favor gracias qué dónde y",
    "fr": "le la les et je vous est mon ma pas que pour avec une un comment merci où ne peux des du s'il plaît",
    "pt": "o os que de meu minha não é um uma para com por como está posso você obrigado onde favor e quero",
    "it": "il lo la gli che di mio mia non è un una per con come posso grazie dove e sono vorrei favore del",
    "nl": "de het een en ik niet is mijn kan voor met hoe waar wat je jullie heb bedankt alstublieft van op",
    "tr": "bir ve bu için ne nasıl nerede benim mi mı değil var lütfen teşekkürler ben çok konuda size yardımcı",  # noqa: RUF001
    "pl": "nie i jest mój moja się na to w z jak czy gdzie proszę dziękuję mam do że co za moje",
    "sv": "och jag är inte det en ett min mitt kan för med hur var vad har tack snälla på av du ni",
}
_NOT_UKRAINIAN = re.compile(r"[ыэёъЫЭЁЪ]")
_UKRAINIAN = re.compile(
    r"\b(?:але|це|цим|ця|цього|мені|можемо|буде|або|його|від|ласка|вибачте|жаль|шкода|дякую|допомогти|запит|щоб)\b",  # noqa: RUF001 - Cyrillic
    re.IGNORECASE,
)
_LOOKUP = {language: frozenset(words.split()) for language, words in _WORDS.items()}
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_LONGEST = 2000
"""Characters that are looked at."""


def language_of(text: str, least: int = 1) -> str | None:
    """Return the ISO 639-1 code of the language of `text`, None when it is unknown.

    In Latin script `least` of its frequent words are needed. Known are ar de en es fr he hi it ja ko nl pl pt ru sv tr
    uk zh.
    """
    text = text[:_LONGEST]
    for language, letters in _SCRIPTS:
        if letters.search(text):
            return "uk" if language == "ru" and _is_ukrainian(text) else language
    words = _WORD.findall(text.lower())
    counts = {language: sum(word in known for word in words) for language, known in _LOOKUP.items()}
    best = max(counts, key=lambda language: counts[language])
    rivals = [language for language, count in counts.items() if count == counts[best]]
    return best if counts[best] >= least and len(rivals) == 1 else None


def _is_ukrainian(text: str) -> bool:
    """Return whether a Cyrillic text without letters of Ukrainian alone has words that Russian has not."""
    return not _NOT_UKRAINIAN.search(text) and _UKRAINIAN.search(text) is not None


_FOLDER = "replies"
_MAX_CHARS = 400
"""A longer reply says something."""


def is_plain_courtesy(text: str) -> bool:
    """Return whether a text is only thanks, a greeting or a goodbye: it answers no question, and permits nothing."""
    return _consists_of(text, _courtesies)


def declines(text: str) -> bool:
    """Return whether a text declines as a whole and says nothing else. In doubt it does not."""
    return _consists_of(text, _declining)


def refusal_like(text: str) -> str | None:
    """Return the built-in refusal in the language of a text; None when there is none."""
    return _text_like("refusal", text)


def revision_like(text: str) -> str | None:
    """Return the built-in text in place of a wrong draft in the language of a text; None when there is none."""
    return _text_like("revision", text)


def _text_like(section: str, text: str) -> str | None:
    language = language_of(text, least=2)
    if language is None or language not in list_names(_FOLDER):
        return None
    return read_list(_FOLDER, language)[section][0]


def _consists_of(text: str, of: Callable[[str], PhraseLanguage]) -> bool:
    if len(text) > _MAX_CHARS:
        return False
    tokens = tokens_of(text.strip())
    return tokens is not None and any(phrases.covers(tokens) for phrases in _languages(tokens, of))


def _languages(tokens: list[str], of: Callable[[str], PhraseLanguage]) -> Iterator[PhraseLanguage]:
    scripts = {script_of(token) for token in tokens}
    for code in dict.fromkeys(code for script in scripts for code in languages_in(_FOLDER, script)):
        yield of(code)


@cache
def _courtesies(code: str) -> PhraseLanguage:
    return PhraseLanguage(_graph(code, {"courtesies": CORE}))


@cache
def _declining(code: str) -> PhraseLanguage:
    return PhraseLanguage(_graph(code, {"declines": CORE, "softeners": FILLER}))


def _graph(code: str, kinds: dict[str, int]) -> PhraseGraph:
    graph, sections = PhraseGraph(), lines_of(folded_list(_FOLDER, code))
    for section, kind in kinds.items():
        for line in sections[section]:
            graph.add(line, kind)
    return graph

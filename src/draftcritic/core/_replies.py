"""What short replies do in any language: plain courtesy, declining as a whole; and the texts that stand in for drafts.

The lists are in `replies/`, one file a language. A language without one has no such replies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache

from draftcritic.core._acknowledgements import folded_list, tokens_of
from draftcritic.core._language import language_of
from draftcritic.core._phrase_graph import CORE, FILLER, PhraseGraph, PhraseLanguage
from draftcritic.core._phrases import languages_in, lines_of, list_names, read_list, script_of

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

"""Finds reports of finished actions in a text, such as "I've cancelled it", "has been refunded" and "Done!".

Questions, offers, futures, conditions, negations, quotations, the actions of other people and descriptions of records
are none. Each word of the lists in `data/actions/` is examined with a few words around it, so the work is linear.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice

from draftcritic.grounding import _action_lexicon as lists
from draftcritic.grounding._action_context import (
    LOOK_AHEAD,
    LOOK_BEHIND,
    QUESTION,
    SENTENCE_END,
    SEPARATORS,
    VAGUE,
    ActionClaim,
    ClaimContext,
    is_quoted,
)
from draftcritic.grounding._action_lexicon import Language

MAX_LOOKS = 600
"""Action words of one text that are examined; a draft with more was written to cost time."""
_UNSPACED_BEHIND, _UNSPACED_AHEAD = 28, 24
_ALL_WORDS = re.compile(rf"[^{SEPARATORS}'-]+(?:['-]+[^{SEPARATORS}'-]+)*'?")
_BLANKS = {code: " " for code in range(128) if re.match(f"[{SEPARATORS}]", chr(code))}
_FEW_WORDS = 16
"""So many words are looked for one by one."""
_SCRIPT_RANGES = {
    "cyrillic": re.compile("[\u0430-\u044f\u0451]"),
    "arabic": re.compile("[\u0627-\u064a]"),
    "devanagari": re.compile("[\u0904-\u0939]"),
    "kana": re.compile("[\u3041-\u3096\u30a1-\u30fa]"),
    "han": re.compile("[\u4e00-\u9fff]"),
    "hangul": re.compile("[\uac00-\ud7a3]"),
}


def find_action_claims(text: str, most: int = MAX_LOOKS) -> list[ActionClaim]:
    """Return at most `most` reports of finished actions in a text, in its order. Linear in the text."""
    lowered = _lower(text)
    claims: list[ActionClaim] = []
    for script in _scripts(lowered):
        if script in ("kana", "han", "hangul"):
            claims.extend(islice(_unspaced_claims(text, lowered, script), most))
        else:
            claims.extend(islice(_spaced_claims(text, lowered, script), most))
    # One report may have two listed words ("has been successfully deleted"): the most precise one names the action.
    last = {claim.start: claim for claim in sorted(claims, key=_precision)}
    return [last[start] for start in sorted(last)[:most]]


def _precision(claim: ActionClaim) -> tuple[bool, int]:
    return claim.action != VAGUE, claim.end


def _lower(text: str) -> str:
    lowered = text.lower().replace("\u2019", "'")
    if len(lowered) == len(text):
        return lowered
    # A capital that becomes two letters would move every offset behind it.
    return "".join(low if len(low := char.lower()) == 1 else char for char in text).replace("\u2019", "'")


def _scripts(lowered: str) -> Iterator[str]:
    yield "latin"
    if lowered.isascii():
        return
    found = [script for script, letters in _SCRIPT_RANGES.items() if letters.search(lowered)]
    # Japanese writes Chinese characters, too.
    yield from (script for script in found if not (script == "han" and "kana" in found))


def _spaced_claims(text: str, lowered: str, script: str) -> Iterator[ActionClaim]:
    known = lists.words_of(script)
    present = known.keys() & _words_in(lowered)
    if not present:
        return
    for start, end in _occurrences(lowered, present):
        context = ClaimContext(text, lowered, start, end)
        for word in known[lowered[start:end]]:
            claim = context.claim_of(word, lists.language(word.language))
            if claim is not None:
                yield claim
                break


def _words_in(lowered: str) -> list[str]:
    """Return the words of a text as `_ALL_WORDS` finds them, which is slower in plain ASCII."""
    if not lowered.isascii():
        return _ALL_WORDS.findall(lowered)
    words = lowered.translate(_BLANKS).split()
    if "'" in lowered or "-" in lowered:
        words = [
            part for word in words for part in (_ALL_WORDS.findall(word) if "'" in word or "-" in word else (word,))
        ]
    return words


def _occurrences(lowered: str, words: set[str]) -> Iterator[tuple[int, int]]:
    """Yield the spans of the words as whole words: in the order of the text, the longest first, without overlaps."""
    if len(words) > _FEW_WORDS:
        choice = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
        found = re.finditer(rf"(?<![^\W_])(?:{choice})(?![^\W_])", lowered)
        yield from (match.span() for match in islice(found, MAX_LOOKS))
        return
    done = looks = 0
    for start, end in sorted((span for word in words for span in _places(lowered, word)), key=_by_place):
        if start >= done and looks < MAX_LOOKS:
            done, looks = end, looks + 1
            yield start, end


def _by_place(span: tuple[int, int]) -> tuple[int, int]:
    return span[0], -span[1]


def _places(lowered: str, word: str) -> Iterator[tuple[int, int]]:
    looks, at = 0, lowered.find(word)
    while at >= 0 and looks < MAX_LOOKS:
        end = at + len(word)
        if not (lowered[at - 1 : at].isalnum() or lowered[end : end + 1].isalnum()):
            looks += 1
            yield at, end
        at = lowered.find(word, end)


def _unspaced_claims(text: str, lowered: str, script: str) -> Iterator[ActionClaim]:
    for code in lists.SCRIPTS[script]:
        language = lists.language(code)
        done = 0
        for verb in islice(language.verbs.finditer(lowered), MAX_LOOKS):
            if verb.start() < done:
                continue
            window = max(done, verb.start() - _UNSPACED_BEHIND), verb.end() + _UNSPACED_AHEAD
            for is_state, pattern in ((False, language.reports), (True, language.states)):
                report = pattern.search(lowered, *window)
                if report is not None:
                    done = report.end()
                    claim = _unspaced_claim(text, lowered, language, report)
                    if claim is not None:
                        yield replace(claim, language=code, is_state=is_state)
                    break


def _unspaced_claim(text: str, lowered: str, language: Language, report: re.Match[str]) -> ActionClaim | None:
    start, end = report.span()
    left = lowered[max(0, start - LOOK_BEHIND) : start]
    left = SENTENCE_END.split(left)[-1]
    clause = re.split("[,\uff0c\u3001]", left)[-1]
    tail = lowered[end : end + LOOK_AHEAD]
    asked = SENTENCE_END.search(tail)
    if (
        language.vetoes.search(clause + report[0])
        or language.sentence_vetoes.search(left)
        or language.vetoes_after.match(tail)
        or (asked is not None and asked[0] in QUESTION and not re.search("[,\uff0c\u3001]", tail[: asked.start()]))
        or is_quoted(text, start)
    ):
        return None
    verb = language.verbs.search(report[0])
    word = verb[0] if verb else ""
    back = language.refers_back.search(left + report[0]) is not None
    mine = language.mine.search(report[0]) is not None
    return ActionClaim(start, end, language.actions.get(word, "done"), word, "", is_mine=mine, refers_back=back)

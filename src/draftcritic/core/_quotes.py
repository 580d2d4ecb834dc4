"""The claims that a reply lists with their quotes, and whether the quotes are in what the critic was shown."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

MOST_CLAIMS = 8
"""Claims of one reply that are read."""
_LONGEST = 2000
"""Characters of a quote that are looked for."""
_LINK = re.compile(r"[\W_]+")
_GAP = re.compile(r"\.{3,}|\u2026")
_BLOCK = re.compile(r"^\W{0,3}(?:policy|earlier|sources?|tools?|user|findings|draft|none|null)\b[\]:,. ]{0,4}", re.I)
_SHORTEST_EVIDENCE = 3
"""Letters and digits that a line of evidence has at least; fewer say nothing."""


@dataclass(frozen=True)
class QuotedClaim:
    """One claim of a reply.

    Attributes:
        quote: what the draft says.
        source: the line of evidence that the critic names for or against it; empty for none.
        supported: whether the evidence supports the claim, as the critic has it; None when it does not say.
    """

    quote: str
    source: str = ""
    supported: bool | None = None


def read_claims(value: Any) -> tuple[QuotedClaim, ...]:
    """Return the claims of the field of a reply; what has another shape is left out.

    Args:
        value: a decoded list of objects, each a mapping or a list of pairs.
    """
    return tuple(_claims(value))[:MOST_CLAIMS] if isinstance(value, list) else ()


def _claims(value: Sequence[Any]) -> Iterator[QuotedClaim]:
    for item in value[: 4 * MOST_CLAIMS]:
        try:
            fields = dict(item)
        except (TypeError, ValueError):
            continue
        quote, source, supported = (fields.get(name) for name in ("quote", "source", "supported"))
        if isinstance(quote, str) and _words(quote):
            yield QuotedClaim(
                quote,
                source if isinstance(source, str) else "",
                supported if isinstance(supported, bool) else None,
            )


class Shown:
    """What the critic was shown, for looking up quotes.

    Args:
        everything: the whole question.
        draft: the draft in it.
        evidence: the field of each block of evidence -> its text.
    """

    def __init__(self, everything: str, draft: str, evidence: Mapping[str, str]) -> None:
        self._everything = _words(everything)
        self._draft = _words(draft)
        self._against = [_words(evidence[name]) for name in ("tools", "sources") if name in evidence]

    def has(self, claim: QuotedClaim) -> bool:
        """Return whether the quote and the source of a claim are in what was shown."""
        return all(_has(self._everything, text) for text in (claim.quote, _named(claim.source)))

    def contradicts(self, claim: QuotedClaim) -> bool:
        """Return whether a claim names a line of tool results or sources against the words of the draft."""
        if claim.supported is not False or not self.has(claim):
            return False
        line = _words(_named(claim.source))
        found = len(line) >= _SHORTEST_EVIDENCE and any(_has(text, _named(claim.source)) for text in self._against)
        return found and not _within(self._draft, line)


def rests_on_misquotes(claims: Sequence[QuotedClaim], shown: Shown) -> bool:
    """Return whether every claim that is against the draft has a quote that was not shown."""
    against = [claim for claim in claims if claim.supported is not True]
    return bool(against) and not any(shown.has(claim) for claim in against)


def says(claim: QuotedClaim, identifier: str) -> bool:
    """Return whether the quote of a claim is about an identifier of a finding."""
    wanted = _words(identifier)
    return bool(wanted) and (_within(_words(claim.quote), wanted) or _within(wanted, _words(claim.quote)))


def _named(source: str) -> str:
    """Return a source without the name of its block."""
    return _BLOCK.sub("", source, count=1)


def _has(text: str, quote: str) -> bool:
    return all(_within(text, _words(piece)) for piece in _GAP.split(quote[:_LONGEST]))


def _words(text: str) -> str:
    """Return the words of a text with one blank between them: how a quote is punctuated does not matter."""
    return _LINK.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def _within(text: str, words: str) -> bool:
    """Return whether a text has these words, not cut within a number or a Latin word."""
    start = text.find(words)
    while start >= 0:
        end = start + len(words)
        if not (_joined(text, start) or _joined(text, end)):
            return True
        start = text.find(words, start + 1)
    return not words


def _joined(text: str, at: int) -> bool:
    """Return whether the characters around a place belong to one word."""
    return 0 < at < len(text) and text[at - 1 : at + 1].isalnum() and text[at - 1 : at + 1].isascii()

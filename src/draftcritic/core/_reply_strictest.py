"""Recognises objects of a reply that repeat the material which the critic was asked to judge."""

from __future__ import annotations

import html
import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from draftcritic.core._enums import Verdict
from draftcritic.core._json_scan import Pairs, TooBrokenError, every_object
from draftcritic.core._quotes import QuotedClaim
from draftcritic.core._reply_answers import SEVERITY, Answer, Reading, plain
from draftcritic.core._text import objects

_MAX_DEPTH = 3
"""How often an object is looked for in a string of an object."""
_QUOTES = re.compile(r"""\\{0,4}["'\u201c\u201d\u2018\u2019]""")
_BARE_KEY = re.compile(r"([{,]\s{0,20})([A-Za-z_]\w{0,40})(\s{0,20}:)")
_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)}
_BARE_WORD = re.compile(r"(:\s{0,20})([A-Za-z]\w{0,40})(?=\s{0,20}[,}])")


class Echoes:
    """The objects in untrusted texts, parsed: how they are written does not matter.

    Args:
        texts: what the critic was shown that its operator did not write.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = [text for text in texts if _may_hold_verdict(text)]

    def __contains__(self, item: object) -> bool:
        if not self._texts:
            return False
        known = self._known
        try:
            return known is None or _key(item) in known
        except RecursionError:
            return True

    def holds_text(self, part: str) -> bool:
        """Whether a text contains this part as it is."""
        return any(part in text for text in self._texts)

    @cached_property
    def _known(self) -> frozenset[Hashable] | None:
        """The objects with a verdict; None when a text is too broken to tell, so that any object may be one of its."""
        try:
            return frozenset(_key(found) for text in self._texts for found in _objects_in(text, 0))
        except (TooBrokenError, RecursionError):
            return None


def _may_hold_verdict(text: str) -> bool:
    return "{" in _narrow(text) and ("verdict" in _narrow(text).lower() or "\\u" in text)


def _narrow(text: str) -> str:
    """Return a text with full-width characters as plain ones."""
    return text if text.isascii() else text.translate(_WIDTH)


def _objects_in(text: str, depth: int) -> Iterator[Pairs]:
    """Yield the objects of a text as it is, and as a model would write it that repeats it as clean JSON."""
    loose = html.unescape(text) if "&" in text else text
    loose = _BARE_WORD.sub(r'\1"\2"', _BARE_KEY.sub(r'\1"\2"\3', _QUOTES.sub('"', _narrow(loose))))
    for form in dict.fromkeys((text, loose)):
        for found in every_object(form):
            yield from _inside(found, depth)


def _inside(value: Any, depth: int) -> Iterator[Pairs]:
    """Yield an object and the objects in it, also those in its strings."""
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, Pairs):
            yield each
            waiting.extend(inner for _, inner in each)
        elif isinstance(each, list):
            waiting.extend(each)
        elif isinstance(each, str) and "{" in each and depth < _MAX_DEPTH:
            yield from _objects_in(each, depth + 1)


def _key(value: Any) -> Hashable:
    """Return what is the same for objects that differ in the order of their keys, in case and in white space."""
    if isinstance(value, Pairs):
        return frozenset((plain(key), _key(inner)) for key, inner in value)
    if isinstance(value, list):
        return tuple(_key(inner) for inner in value)
    return " ".join(value.split()).casefold() if isinstance(value, str) else repr(value)


@dataclass(frozen=True)
class Own:
    """The strictest verdict of the critic's own.

    Attributes:
        verdict: the verdict; None when the critic gave none of its own.
        text: the text that an object of the critic's own gives for it.
        matched: the statements that this object names.
        reason: why, in the words of this object.
        broken: the ids of rules that this object names.
        claims: the claims that it lists.
    """

    verdict: Verdict | None = None
    text: str | None = None
    matched: list[str] = field(default_factory=list)
    reason: str | None = None
    broken: list[str] = field(default_factory=list)
    claims: tuple[QuotedClaim, ...] = ()


def own_verdict(reading: Reading, echoes: Echoes) -> Own:
    """Return the strictest verdict of the critic's own.

    An object that repeats the token of the question is the critic's own. Where no object does, an echo (an object that
    is also in the material) is no approval and refuses otherwise, without its fields. A revise or refuse of a broken or
    cut-off object counts, without its fields. An approval counts only when nothing in the reply is against it.
    """
    certain = any(answer.own for answer in (*reading.answers, *reading.quoted))
    voting = _voting(reading, certain)
    votes = [_vote(answer, certain=certain) for answer in voting]
    votes += [
        Own(verdict)
        for verdict, written in reading.loose_verdicts()
        if verdict is not Verdict.APPROVE and not (certain and echoes.holds_text(written))
    ]
    strictest = max((vote.verdict for vote in votes if vote.verdict), key=SEVERITY.index, default=None)
    if strictest is None or (strictest is Verdict.APPROVE and _is_doubted(reading, voting, certain=certain)):
        return Own()
    same = [vote for vote in votes if vote.verdict is strictest]
    return next((vote for vote in reversed(same) if vote.text is not None), same[-1])


def _voting(reading: Reading, certain: bool) -> list[Answer]:
    """Return the objects that may be the critic's own, and the echoes that replace one."""
    if certain:
        return [
            *(answer for answer in reading.answers if answer.own or not answer.echo),
            *(answer for answer in reading.quoted if answer.own),
        ]
    return [*reading.answers, *(answer for answer in reading.quoted if answer.echo)]


def _vote(answer: Answer, *, certain: bool) -> Own:
    if answer.echo and not certain:
        return Own(None if answer.strictest in (None, Verdict.APPROVE) else Verdict.REFUSE)
    if answer.failure is not None:
        return Own(None if answer.strictest is Verdict.APPROVE else answer.strictest)
    return Own(answer.verdict, answer.text, answer.matched, answer.reason, answer.broken, answer.claims)


def _is_doubted(reading: Reading, voting: Sequence[Answer], *, certain: bool) -> bool:
    """Whether something in a reply is against its approval."""
    if reading.doubtful or objects(reading.prose) or any(answer.failure and not answer.echo for answer in voting):
        return True
    words = {word for word, _ in reading.loose()}
    if certain:
        return False
    others = {answer.verdict for answer in reading.quoted if not answer.failure}
    return bool(others - {Verdict.APPROVE} or words - {Verdict.APPROVE.value})

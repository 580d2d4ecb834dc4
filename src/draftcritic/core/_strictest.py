"""The strictest of the critic's own verdicts: what a reply that is not one clean object can still be relied on for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from draftcritic.core._answers import SEVERITY, Answer
from draftcritic.core._echoes import Echoes
from draftcritic.core._prose import objects
from draftcritic.core._reading import Reading
from draftcritic.core._words import Verdict


@dataclass(frozen=True)
class Own:
    """The strictest verdict of the critic's own.

    Attributes:
        verdict: the verdict; None when the critic gave none of its own.
        text: the text that an object of the critic's own gives for it.
        matched: the statements that this object names.
        reason: why, in the words of this object.
        broken: the ids of rules that this object names.
    """

    verdict: Verdict | None = None
    text: str | None = None
    matched: list[str] = field(default_factory=list)
    reason: str | None = None
    broken: list[str] = field(default_factory=list)


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
    """Return the objects that may be the critic's own, and the echoes that stand in for one."""
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
    return Own(answer.verdict, answer.text, answer.matched, answer.reason, answer.broken)


def _is_doubted(reading: Reading, voting: Sequence[Answer], *, certain: bool) -> bool:
    """Whether something in a reply is against its approval."""
    if reading.doubtful or objects(reading.prose) or any(answer.failure and not answer.echo for answer in voting):
        return True
    words = {word for word, _ in reading.loose()}
    if certain:
        return False
    others = {answer.verdict for answer in reading.quoted if not answer.failure}
    return bool(others - {Verdict.APPROVE} or words - {Verdict.APPROVE.value})

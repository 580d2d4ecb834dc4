"""The last reviews of the process, by the message that was reviewed: what `review_of` returns."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from draftcritic.core._enums import Action, OutcomeKind, Verdict
from draftcritic.core._review import Judged, Review
from draftcritic.grounding._findings import FabricationFinding
from draftcritic.langchain._capture import CapturedDraft
from draftcritic.langchain._message_text import text_of
from draftcritic.review._scope import scoped

REMEMBERED = 2048
"""How many messages are remembered; those that were not asked for the longest go first."""
_ANSWERS = frozenset({"ai", "assistant", "AIMessageChunk"})
_RUN_PREFIX = "lc_run-"
"""LangChain's name for the id of a message whose provider gave none; the id of the run follows."""
_Key = tuple[str, bytes]


@dataclass(frozen=True)
class ReviewResult:
    """The result of the review of one message.

    Attributes:
        verdict: what the critic's model or a finding decided; None when neither did.
        reason: why, in the critic's words, which may quote the draft; None when it gave none.
        findings: what the fabrication check found; empty when it found nothing or did not run.
        rules_broken: ids of the rules that the critic's model named; see `rules` in the settings.
        action: what became of the draft.
        outcome: how the review ended.
    """

    verdict: Verdict | None
    reason: str | None
    findings: tuple[FabricationFinding, ...]
    rules_broken: tuple[str, ...]
    action: Action
    outcome: OutcomeKind

    @classmethod
    def of(cls, review: Review) -> ReviewResult:
        """Return what a finished review says about its draft."""
        return cls(
            verdict=review.verdict,
            reason=review.outcome.reason if isinstance(review.outcome, Judged) else None,
            findings=review.assessment.findings or (),
            rules_broken=tuple(review.broken),
            action=review.action,
            outcome=review.outcome.kind,
        )


class RecentReviews:
    """Results by the id and the text of a message. Safe to use from several threads.

    A client or a provider can choose the id of a message, so the id alone identifies nothing: the text has to be the
    reviewed one as well. What two reviews with different results share identifies neither.
    """

    def __init__(self, most: int = REMEMBERED) -> None:
        # Single operations on an OrderedDict are atomic, so no lock can be held across a fork.
        self._results: OrderedDict[_Key, ReviewResult | None] = OrderedDict()
        self._most = most

    def remember(self, ids: Iterable[str], text: str, result: ReviewResult) -> None:
        """Remember a result under each of the ids that the message may have."""
        for each in ids:
            key = _key(each, text)
            known = self._results.get(key, result)
            self._results[key] = result if known == result else None
            while len(self._results) > self._most:
                self._results.popitem(last=False)

    def find(self, message_id: str, text: str) -> ReviewResult | None:
        """Return the result for a message; None when there is none, or more than one."""
        key = _key(message_id, text)
        try:
            self._results.move_to_end(key)
        except KeyError:
            return None
        return self._results.get(key)


def _key(message_id: str, text: str) -> _Key:
    return message_id, blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


_recent = RecentReviews()
_collected: ContextVar[list[Review] | None] = ContextVar("draftcritic_collected", default=None)


def collecting(reviews: list[Review]) -> AbstractContextManager[None]:
    """Return a block that appends each review of a draft written inside to `reviews`."""
    return scoped(_collected, reviews)


def remember(captured: CapturedDraft, review: Review) -> None:
    """Remember a review for the message that the application gets."""
    collected = _collected.get()
    if collected is not None:
        collected.append(review)
    text = review.replacement
    if text is None:
        text = "".join(text_of(answer.content) for answer in captured.answers)
    _recent.remember(_ids_of(captured), str(text), ReviewResult.of(review))


def review_of(message: Any) -> ReviewResult | None:
    """Return the review of a message that a model wrote in this process.

    It works in every mode; in `observe` and `gate`, where reviews run in the background, once the review is done (see
    `DraftCriticInstrumentor.flush`). The reason is there whether or not content capture is on.

    Args:
        message: an AI message as the application got it, from a call, a stream's merged chunks or a graph's state.

    Returns:
        The result; None for a message that was not reviewed, is not known any more (the last 2,048 are), or was
        changed: id and text must both be those of the reviewed message.

    Raises:
        TypeError: `message` is only an id, which anyone can choose.
    """
    if isinstance(message, str):
        raise TypeError("review_of takes a message, not its id: the text of the message is compared as well")
    message_id, kind = getattr(message, "id", None), getattr(message, "type", None)
    if not isinstance(message_id, str) or not message_id or kind not in _ANSWERS:
        return None
    return _recent.find(message_id, text_of(getattr(message, "content", None)))


def _ids_of(captured: CapturedDraft) -> set[str]:
    """Return the ids that LangChain may give to the message: the provider's, else one made of the run."""
    return set(_given_ids(captured))


def _given_ids(captured: CapturedDraft) -> Iterator[str]:
    for answer in captured.answers:
        if isinstance(answer.message_id, str) and answer.message_id:
            yield answer.message_id
        elif captured.run_id:
            yield f"{_RUN_PREFIX}-{captured.run_id}"

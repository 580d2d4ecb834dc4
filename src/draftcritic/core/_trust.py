"""What the parts of a turn that others than the application wrote may change: they only raise a review."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from draftcritic.core._confidence import detect_sensitive_hits, measure_activation
from draftcritic.core._turn import IntentVerdict, Turn
from draftcritic.core._words import Profile

_RISK = {"action": 2, "ambiguous": 1}


class Support(NamedTuple):
    """How far the activation logs of a turn support its draft.

    Attributes:
        confidence: the lowest of what the application, the request and the documents give.
        invalid: one of the logs holds values that are not finite numbers or lists.
        hits: every sensitive tag that was met, those of the application first.
        server_hits: those of them that did not come from the request alone.
    """

    confidence: float
    invalid: bool
    hits: tuple[str, ...]
    server_hits: tuple[str, ...]


def support_of(turn: Turn, sensitive_tags: Collection[str], profile: Profile = Profile.SYMFONIC) -> Support:
    """Return the confidence and the sensitive tags of a turn: tags are united, the lowest confidence counts."""
    confidence, invalid = measure_activation(turn.activation, profile)
    for log in (turn.retrieved, turn.requested):
        if log:
            other, other_invalid = measure_activation(log, profile)
            confidence, invalid = min(confidence, other), invalid or other_invalid
    if not sensitive_tags:
        return Support(confidence, invalid, (), ())
    server = tuple(
        dict.fromkeys(
            hit for log in (turn.activation, turn.retrieved) for hit in detect_sensitive_hits(log, sensitive_tags)
        )
    )
    requested = detect_sensitive_hits(turn.requested, sensitive_tags)
    return Support(confidence, invalid, tuple(dict.fromkeys((*server, *requested))), server)


def intent_of(turn: Turn) -> IntentVerdict | None:
    """Return the riskier of the intents that the application and the request give."""
    own, requested = turn.intent, turn.requested_intent
    if own is None or requested is None:
        return requested if own is None else own
    return max(own, requested, key=_risk)


def _risk(intent: IntentVerdict) -> tuple[int, float]:
    return _RISK.get(intent.label, 0), intent.confidence

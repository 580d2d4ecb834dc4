"""Activation logs and intents of a turn, by who gave them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from draftcritic.core import IntentVerdict, detect_sensitive_hits
from draftcritic.engine import current_activation
from draftcritic.langchain._caught import EMPTY
from draftcritic.langchain._retrieval import DocumentMemory

METADATA_KEY = "draftcritic"
"""Key in a run's metadata under which a request may put an activation log and `intent`."""
_LISTS = frozenset({"activated_nodes", "inference_paths", "traversed_edges"})


class Backing(NamedTuple):
    """What backs a turn; see the fields of `Turn` with the same names."""

    activation: Mapping[str, Any]
    retrieved: Mapping[str, Any]
    requested: Mapping[str, Any]
    intent: IntentVerdict | None
    requested_intent: IntentVerdict | None


def backing_of(
    metadata: Mapping[str, Any],
    messages: Sequence[Any],
    documents: DocumentMemory | None,
    *,
    trust_documents: bool,
    trust_request: bool,
) -> Backing:
    """Return what backs a turn.

    Args:
        metadata: the run's metadata; a graph server copies what its clients send into it.
        messages: the prompt.
        documents: the retrieved documents, which count when the application gives no activation log.
        trust_documents: their scores may raise the confidence.
        trust_request: the metadata counts as the application's own, and comes before its activation block.
    """
    own = metadata.get(METADATA_KEY)
    own = own if isinstance(own, Mapping) else EMPTY
    requested, requested_intent = _log_in(own), _intent_in(own)
    ambient = current_activation()
    intent = None
    if ambient and "intent" in ambient:
        intent = _intent_in(ambient)
        # A block that gives an intent alone says nothing of the memory.
        ambient = {name: value for name, value in ambient.items() if name != "intent"} or None
    if trust_request:
        intent, requested_intent = requested_intent or intent, None
        if requested is not None:
            ambient, requested = requested, None
    retrieved: Mapping[str, Any] = EMPTY
    if ambient is None and documents is not None:
        found = documents.activation(messages)
        ambient, retrieved = (found, EMPTY) if trust_documents else (None, found)
    return Backing(ambient or {}, retrieved, requested or {}, intent, requested_intent)


def _log_in(own: Mapping[str, Any]) -> Mapping[str, Any] | None:
    inner = own.get("activation", own)
    return inner if isinstance(inner, Mapping) and inner.keys() & _LISTS else None


def _intent_in(own: Mapping[str, Any]) -> IntentVerdict | None:
    given = own.get("intent")
    if isinstance(given, IntentVerdict):
        return given
    if not isinstance(given, Mapping) or given.get("label") not in ("action", "knowledge", "ambiguous"):
        return None
    confidence = given.get("confidence", 1.0)
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float)) or not 0 <= confidence <= 1:
        return None
    words = given.get("matched_tool_keywords")
    known = [word for word in words if isinstance(word, str)] if isinstance(words, (list, tuple)) else []
    return IntentVerdict(given["label"], float(confidence), known)


def has_sensitive_tag(metadata: Mapping[str, Any], tags: Collection[str]) -> bool:
    """Whether the surroundings of a call, or its run's metadata, carry one of the tags."""
    backing = backing_of(metadata, (), None, trust_documents=False, trust_request=False)
    return any(detect_sensitive_hits(log, tags) for log in (backing.activation, backing.requested))

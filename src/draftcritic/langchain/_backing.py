"""Builds an activation log from the documents that a retriever found, when that is switched on.

A retriever and the model that reads its documents run in different steps, tasks or threads of a chain or graph, and
nothing but the text itself goes from one to the other. So scored and tagged documents are remembered for a while, and
those whose text is in the model's prompt are the activated nodes of the turn.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from draftcritic.core._confidence import detect_sensitive_hits
from draftcritic.core._turn import IntentVerdict
from draftcritic.langchain._capture import EMPTY
from draftcritic.langchain._message_text import readable
from draftcritic.review._scope import current_activation

REMEMBERED = 256
"""How many documents are remembered; the oldest go first."""
_logger = logging.getLogger(__name__)
_SCORE_KEYS = ("score", "relevance_score", "similarity_score", "_score")


class DocumentMemory:
    """The last documents that any retriever of the process found, and which of them are scored or tagged."""

    def __init__(self) -> None:
        # Appending to a deque and listing it are atomic, so no lock can be held across a fork.
        self._nodes: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=REMEMBERED)
        self._texts: deque[str] = deque(maxlen=REMEMBERED)

    def remember(self, documents: Any) -> None:
        """Remember the documents of one retrieval; other values are passed over."""
        if not isinstance(documents, (list, tuple)):
            return
        for document in documents:
            text = getattr(document, "page_content", None)
            node = _node(getattr(document, "metadata", None))
            if not isinstance(text, str) or not text.strip():
                continue
            self._texts.append(text)
            if node is not None:
                self._nodes.append((text, node))

    def texts_in(self, messages: Sequence[Any]) -> Sequence[str]:
        """Return the texts of the remembered documents that are in `messages`, each once."""
        known = dict.fromkeys(list(self._texts))
        if not known:
            return ()
        prompt = "\n".join(readable(message.content).text for message in messages)
        return [text for text in known if text in prompt]

    def activation(self, messages: Sequence[Any]) -> Mapping[str, Any]:
        """Return the activation log of the remembered documents whose text is in `messages`; empty without any."""
        prompt = "\n".join(readable(message.content).text for message in messages)
        # A document that was found twice counts once, with its latest score.
        nodes = {text: node for text, node in list(self._nodes) if text in prompt}
        return {"activated_nodes": list(nodes.values())} if nodes else {}


@cache
def _warn_of_distance(key: str) -> None:
    _logger.warning(
        "a retrieved document has a %s outside 0..1, perhaps a distance, which is not used; "
        "retriever_activation needs a retriever that gives relevance scores from 0 to 1",
        key,
    )


def _node(metadata: Any) -> Mapping[str, Any] | None:
    if not isinstance(metadata, Mapping):
        return None
    node: dict[str, Any] = {}
    for key in _SCORE_KEYS:
        score = metadata.get(key)
        if isinstance(score, (int, float)) and not isinstance(score, bool):
            if 0 <= score <= 1:
                node["score"] = float(score)
                break
            _warn_of_distance(key)
    if metadata.get("tags"):
        node["tags"] = metadata["tags"]
    return node or None


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

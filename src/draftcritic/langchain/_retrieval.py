"""Builds an activation log from the documents that a retriever found, when that is switched on.

A retriever and the model that reads its documents run in different steps, tasks or threads of a chain or graph, and
nothing but the text itself goes from one to the other. So scored and tagged documents are remembered for a while, and
those whose text stands in the model's prompt are the activated nodes of the turn.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

from draftcritic.langchain._readable import readable

REMEMBERED = 256
"""How many documents are remembered; the oldest go first."""
_logger = logging.getLogger(__name__)
_SCORE_KEYS = ("score", "relevance_score", "similarity_score", "_score")


class DocumentMemory:
    """The last scored or tagged documents that any retriever of the process found."""

    def __init__(self) -> None:
        # Appending to a deque and listing it are atomic, so no lock can be held across a fork.
        self._nodes: deque[tuple[str, Mapping[str, Any]]] = deque(maxlen=REMEMBERED)

    def remember(self, documents: Any) -> None:
        """Remember the documents of one retrieval that carry a score or tags; other values are passed over."""
        if not isinstance(documents, (list, tuple)):
            return
        for document in documents:
            text = getattr(document, "page_content", None)
            node = _node(getattr(document, "metadata", None))
            if isinstance(text, str) and text.strip() and node is not None:
                self._nodes.append((text, node))

    def activation(self, messages: Sequence[Any]) -> Mapping[str, Any]:
        """Return the activation log of the remembered documents that stand in `messages`; empty without any."""
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

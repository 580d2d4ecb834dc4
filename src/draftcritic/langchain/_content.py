"""Reads the text out of what LangChain calls content: a string, or a list of parts of many kinds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_TEXT_TYPES = frozenset({"text", "output_text"})


def text_parts(content: Any) -> Iterable[str]:
    """Yield the text parts of a message's content in their order.

    Reasoning, tool use, images and parts of unknown kinds are not text. A part without a type counts when it has a
    `text` of type str.
    """
    if isinstance(content, str):
        yield content
    elif isinstance(content, (list, tuple)):
        for part in content:
            if isinstance(part, str):
                yield part
            elif isinstance(part, Mapping) and part.get("type", "text") in _TEXT_TYPES:
                text = part.get("text")
                if isinstance(text, str):
                    yield text


def text_of(content: Any) -> str:
    """Return all text parts of a message's content as one string."""
    if isinstance(content, str):
        return content
    return "".join(text_parts(content))

"""Reads the text out of what LangChain calls content: a string, or a list of parts of many kinds."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_TEXT_TYPES = frozenset({"text", "output_text"})


def is_text_part(part: Any) -> bool:
    """Whether a part of a message's content is text.

    Reasoning, tool use, images and parts of unknown kinds are not. A part without a type counts when it has a `text`
    of type str.
    """
    if isinstance(part, str):
        return True
    if not isinstance(part, Mapping):
        return False
    kind = part.get("type", "text")
    return isinstance(kind, str) and kind in _TEXT_TYPES and isinstance(part.get("text"), str)


def text_of(content: Any) -> str:
    """Return the text parts of a message's content, in their order, as one string."""
    if isinstance(content, str):
        return content
    return "".join(_texts(content))


def _texts(content: Any) -> Iterator[str]:
    if isinstance(content, (list, tuple)):
        for part in content:
            if is_text_part(part):
                yield part if isinstance(part, str) else part["text"]

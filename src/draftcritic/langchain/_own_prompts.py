"""Recognizes prompts that repeat one of the critic's own questions.

A critic's model may pass its question to another chat model in a thread that it starts itself, where neither context
nor run metadata comes along: its answer is reviewed as a draft, and the review asks the critic again. A question
carries a random boundary, so a prompt that repeats one can be recognized, and such reviews be limited. That is all the
boundary is good for: anyone who has read it can repeat it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_BOUNDARY = re.compile(r"Boundary:\s+([0-9a-f]{16})\b")
"""How a question gives its boundary."""
_WORD = re.compile(r"(?<![0-9a-f])[0-9a-f]{16}(?![0-9a-f])")
"""A boundary, wherever it is repeated."""
_REMEMBERED = 600.0
"""Seconds for which a boundary is recognized: far longer than a loop takes to come back."""
_MOST = 4096
"""Boundaries that are remembered at most."""
_DEPTH = 6
"""How deep content blocks are searched."""
_NO_TEXT = frozenset({"base64", "data", "url"})
"""Keys of a content block that hold images and files."""


class OwnPrompts:
    """The boundaries of the questions that the critic's model was asked in the last minutes."""

    def __init__(self) -> None:
        # Single operations on dictionaries are atomic, so no lock can be held across a fork.
        self._until: dict[str, float] = {}

    def remember(self, messages: Sequence[Any]) -> None:
        """Remember the boundary of the question that the last message asks."""
        text = getattr(messages[-1], "content", None) if messages else None
        found = _BOUNDARY.search(text) if isinstance(text, str) else None
        if found is not None:
            self._until[found[1]] = time.monotonic() + _REMEMBERED
        self._forget()

    def repeated_in(self, prompt: Any) -> bool:
        """Whether a model's input repeats one of the boundaries, in any shape."""
        if not self._until:
            return False
        self._forget()
        known = self._until
        return any(word in known for text in _texts_of(prompt) for word in _WORD.findall(text))

    def _forget(self) -> None:
        """Forget what is too old, and the oldest where there are too many."""
        now = time.monotonic()
        for word, until in list(self._until.items()):
            if until > now and len(self._until) <= _MOST:
                return
            self._until.pop(word, None)


def _texts_of(prompt: Any) -> Iterator[str]:
    if hasattr(prompt, "to_messages"):
        prompt = prompt.to_messages()
    messages = prompt if isinstance(prompt, (list, tuple)) else (prompt,)
    for message in messages:
        content = getattr(message, "content", message)
        if isinstance(content, str):
            yield content
        else:
            yield from _texts_in(content, _DEPTH)


def _texts_in(value: Any, depth: int) -> Iterator[str]:
    """Return the texts in content blocks, and in messages that are pairs or dictionaries."""
    if isinstance(value, str):
        yield value
    elif depth and isinstance(value, Mapping):
        for key, each in value.items():
            if key not in _NO_TEXT:
                yield from _texts_in(each, depth - 1)
    elif depth and isinstance(value, (list, tuple)):
        for each in value:
            yield from _texts_in(each, depth - 1)

"""Tells the critic's own call by what is asked, where neither context nor metadata comes along.

A critic's model may hand its question to another chat model from a thread that it starts itself. The thread has none
of the context variables, and the call none of the metadata; but the question is the critic's, and holds a random
boundary: no draft's prompt has it. Whatever is done to the question, its lines broken anew or its text put into
blocks, the boundary stays one word.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

_HEADER = "Boundary:"
_BOUNDARY = re.compile(rf"{_HEADER}\s+([0-9a-f]{{16}})\b")
"""How a question tells its boundary."""
_AFTERWARDS = 5.0
"""Seconds after its answer in which a question is still known: the model may have left a thread that asks it."""
_DEPTH = 6
"""How deep content blocks are looked into."""
_NO_TEXT = frozenset({"base64", "data", "url"})
"""Keys of a content block that hold images and files."""


class OwnPrompts:
    """The questions that the critic's model is answering right now, or was until a moment ago."""

    def __init__(self) -> None:
        # Single operations on dictionaries and sets are atomic, so no lock can be held across a fork.
        self._marks: set[str] = set()
        self._past: dict[str, float] = {}

    @contextmanager
    def answering(self, messages: Sequence[Any]) -> Iterator[None]:
        """Know the last of `messages` by its boundary, or else by its text, while the block runs and a moment more."""
        text = getattr(messages[-1], "content", None) if messages else None
        if not isinstance(text, str):
            yield
            return
        told = _BOUNDARY.search(text)
        mark = text if told is None else told[1]
        self._marks.add(mark)
        try:
            yield
        finally:
            if told is not None:
                self._past[mark] = time.monotonic() + _AFTERWARDS
            self._marks.discard(mark)

    def includes(self, prompt: Any) -> bool:
        """Whether a model's input holds one of the questions, as it is or in any other shape."""
        if not (self._marks or self._past):
            return False
        self._forget()
        marks, past = list(self._marks), self._past
        return any(_holds(text, marks, past) for text in _texts_of(prompt))

    def _forget(self) -> None:
        """Forget what is past, oldest first."""
        now = time.monotonic()
        for mark, until in list(self._past.items()):
            if until > now:
                return
            self._past.pop(mark, None)


def _holds(text: str, marks: Sequence[str], past: Mapping[str, float]) -> bool:
    if any(mark in text for mark in marks):
        return True
    return bool(past) and _HEADER in text and any(mark in past for mark in _BOUNDARY.findall(text))


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

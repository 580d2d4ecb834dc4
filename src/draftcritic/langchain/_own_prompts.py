"""Tells the critic's own call by what is asked, where neither context nor metadata comes along.

A critic's model may hand its question to another chat model from a thread that it starts itself. The thread has none
of the context variables, and the call none of the metadata; but the question is the critic's, and holds a random
boundary: no draft's prompt is like it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any


class OwnPrompts:
    """The questions that the critic's model is answering right now."""

    def __init__(self) -> None:
        # Adding to a set, taking from it and copying it are atomic, so no lock can be held across a fork.
        self._texts: set[str] = set()

    @contextmanager
    def answering(self, messages: Sequence[Any]) -> Iterator[None]:
        """Know the last of `messages`, which holds the boundary, while the block runs."""
        text = getattr(messages[-1], "content", None) if messages else None
        if not isinstance(text, str):
            yield
            return
        self._texts.add(text)
        try:
            yield
        finally:
            self._texts.discard(text)

    def includes(self, prompt: Any) -> bool:
        """Whether a model's input holds one of the questions, as it is or inside another text."""
        if not self._texts:
            return False
        questions = list(self._texts)
        return any(question in text for text in _texts_of(prompt) for question in questions)


def _texts_of(prompt: Any) -> Iterator[str]:
    if isinstance(prompt, str):
        yield prompt
        return
    if hasattr(prompt, "to_messages"):
        prompt = prompt.to_messages()
    if not isinstance(prompt, (list, tuple)):
        return
    for message in prompt:
        content = getattr(message, "content", None)
        if content is None and isinstance(message, dict):
            content = message.get("content")
        elif content is None and isinstance(message, (list, tuple)) and len(message) == 2:
            content = message[1]
        if isinstance(content, str):
            yield content

"""Knows whether a model call is the outermost one: LangChain's methods call each other, and a draft leaves once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from draftcritic.engine import INTERNAL, is_reviewing

held_stream: ContextVar[bool] = ContextVar("draftcritic_held_stream", default=False)
"""Whether the call that starts here was asked for a stream, which is held back."""
_current: ContextVar[Frame | None] = ContextVar("draftcritic_frame", default=None)


class Frame:
    """The outermost model call of the current context, from its start to its end.

    Code that the model starts and leaves running (a task, a thread with a copied context) keeps the context variable;
    `open` tells it that the call is over.
    """

    __slots__ = ("open",)

    def __init__(self) -> None:
        self.open = True

    @contextmanager
    def step(self) -> Iterator[None]:
        """Hold the frame while the model works; never across a `yield` to the caller."""
        before = _current.get()
        _current.set(self)
        try:
            yield
        finally:
            # Not by token: a half-read stream may be closed in another context, and that must not raise.
            _current.set(before)


def is_outermost() -> bool:
    """Whether a model call that starts here is made by the application and not by another model call."""
    frame = _current.get()
    return frame is None or not frame.open


def is_critic(metadata: Mapping[str, Any] | None) -> bool:
    """Whether a model call that starts here, with this run metadata, is the critic's own."""
    return is_reviewing() or bool(metadata and metadata.get(INTERNAL))

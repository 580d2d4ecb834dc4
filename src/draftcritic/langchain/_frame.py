"""Knows whether a model call is the outermost one: LangChain's methods call each other, and a draft leaves once."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from draftcritic.engine import scoped
from draftcritic.langchain._deferred import Recording

held_stream: ContextVar[bool] = ContextVar("draftcritic_held_stream", default=False)
"""Whether the call that starts here was asked for a stream, which is held back."""
_watch: ContextVar[Watch | None] = ContextVar("draftcritic_watch", default=None)
_current: ContextVar[Frame | None] = ContextVar("draftcritic_frame", default=None)


def holding() -> AbstractContextManager[None]:
    """Mark the model call inside as one that was asked for a stream, which is held back; never across a `yield`."""
    return scoped(held_stream, True)


class Frame:
    """The outermost model call of the current context, from its start to its end.

    Code that the model starts and leaves running (a task, a thread with a copied context) keeps the context variable;
    `open` tells it that the call is over.

    Args:
        recording: takes the callbacks of the runs that the model starts, when its draft is held back.
    """

    __slots__ = ("open", "recording")

    def __init__(self, recording: Recording | None = None) -> None:
        self.open = True
        self.recording = recording

    def step(self) -> AbstractContextManager[None]:
        """Hold the frame while the model works; never across a `yield` to the caller."""
        return scoped(_current, self)


class Watch:
    """Looks whether a draft was handed on while a method ran, which then has none of its own."""

    __slots__ = ("open", "outer", "seen")

    def __init__(self) -> None:
        self.open = True
        self.seen = False
        self.outer = _watch.get()

    def step(self) -> AbstractContextManager[None]:
        """Watch while the method works; never across a `yield` to the caller."""
        return scoped(_watch, self)


def handed_on() -> None:
    """Tell all who watch that a draft was handed on."""
    watch = _watch.get()
    while watch is not None:
        watch.seen = True
        watch = watch.outer


def is_outermost() -> bool:
    """Whether a model call that starts here is made by the application and not by another model call."""
    frame = _current.get()
    return frame is None or not frame.open


def current_recording() -> Recording | None:
    """Return what takes the callbacks of a run that starts here: its draft is held back, or it is part of one."""
    frame = _current.get()
    return frame.recording if frame is not None and frame.open else None

"""Tells the critic's own model call from the application's, per call and never process-wide."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

INTERNAL = "draftcritic_internal"
"""Key in a run's metadata that marks the critic's own call where no context variable reaches."""

_reviewing: ContextVar[bool] = ContextVar("draftcritic_reviewing", default=False)


@contextmanager
def reviewing() -> Iterator[None]:
    """Mark the code inside as the critic's own: no model call in it is a draft."""
    before = _reviewing.get()
    _reviewing.set(True)
    try:
        yield
    finally:
        # Not by token: the block may end in another context, and that must not raise.
        _reviewing.set(before)


def is_reviewing() -> bool:
    """Whether the current code runs inside the critic's own call."""
    return _reviewing.get()

"""Tells the critic's own model call from the application's, per call and never process-wide."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from draftcritic.engine._scoped import scoped

INTERNAL = "draftcritic_internal"
"""Key in a run's metadata that marks the critic's own call where no context variable reaches."""

_reviewing: ContextVar[bool] = ContextVar("draftcritic_reviewing", default=False)


def reviewing() -> AbstractContextManager[None]:
    """Mark the code inside as the critic's own: no model call in it is a draft."""
    return scoped(_reviewing, True)


def is_reviewing() -> bool:
    """Whether the current code runs inside the critic's own call."""
    return _reviewing.get()

"""Lets an application exclude its own model calls from review."""

from __future__ import annotations

from contextlib import AbstractContextManager
from contextvars import ContextVar

from draftcritic.engine._scoped import scoped

_muted: ContextVar[bool] = ContextVar("draftcritic_muted", default=False)


def muted() -> AbstractContextManager[None]:
    """Review no model call inside the block: its answers are for the program, not for a user.

    Use it around calls whose answer no user reads as it is: summaries, titles, routing, query rewriting. The block
    covers coroutines and tasks that are started in it. Nothing in a request can have the same effect.

    Example:
        with draftcritic.muted():
            title = model.invoke("Write a title for this conversation: ...")
    """
    return scoped(_muted, True)


def muted_as(value: bool) -> AbstractContextManager[None]:
    """Give the code inside the muting of other code, as `is_muted` returned it there."""
    return scoped(_muted, value)


def is_muted() -> bool:
    """Whether the current code runs inside a `muted` block."""
    return _muted.get()

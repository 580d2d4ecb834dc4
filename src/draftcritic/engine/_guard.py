"""Marks the critic's own model calls: per call, by identity, and never process-wide."""

from __future__ import annotations

from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Any

INTERNAL = "draftcritic_internal"
"""Key in a run's metadata under which the critic's own call carries its mark, for code that no context reaches."""


class Mark(str):
    """The mark of one call of the critic, valid only as this object and only while the call runs.

    It is a string, so that tools that record metadata can write it down. A copy that went through JSON or pickle is a
    plain string, and no mark.

    Attributes:
        open: whether the call runs.
        spared: the application's own rate limiter, from which the call takes no permit.
    """

    __slots__ = ("open", "spared")

    open: bool
    spared: Any

    def __copy__(self) -> Mark:
        return self

    def __deepcopy__(self, _: Any) -> Mark:
        return self

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


_current: ContextVar[Mark | None] = ContextVar("draftcritic_reviewing", default=None)


class reviewing:  # noqa: N801 - reads as `with` blocks do
    """Mark the code inside as the critic's own: no model call in it is a draft.

    The mark ends with the block: a task or thread that the block leaves behind keeps the context variable, not the
    mark.

    Args:
        spared: see `Mark`.
    """

    __slots__ = ("_mark", "_token")

    def __init__(self, spared: Any = None) -> None:
        self._mark = Mark("draftcritic")
        self._mark.open, self._mark.spared = True, spared

    def __enter__(self) -> Mark:
        self._token: Token[Mark | None] = _current.set(self._mark)
        return self._mark

    def __exit__(self, *_: object) -> None:
        self._mark.open = False
        try:
            _current.reset(self._token)
        except ValueError:
            # The block ended in another context, as that of a coroutine does that is closed elsewhere.
            _current.set(self._token.old_value if isinstance(self._token.old_value, Mark) else None)


def is_reviewing() -> bool:
    """Whether the current code runs inside the critic's own call."""
    return current_mark() is not None


def current_mark(metadata: Mapping[str, Any] | None = None) -> Mark | None:
    """Return the mark of the critic's call that the current code, or a run with this metadata, belongs to."""
    for mark in (_current.get(), metadata.get(INTERNAL) if metadata else None):
        if isinstance(mark, Mark) and getattr(mark, "open", False):
            return mark
    return None

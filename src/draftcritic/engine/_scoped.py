"""Sets a context variable for the time of a block."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

T = TypeVar("T")


@contextmanager
def scoped(variable: ContextVar[T], value: T) -> Iterator[None]:
    """Give `variable` this value inside the block, and its earlier one after it; never across a `yield` to a caller."""
    before = variable.get()
    variable.set(value)
    try:
        yield
    finally:
        # Not by token: the block may end in another context, as a half-read stream does that is closed elsewhere, and
        # that must not raise.
        variable.set(before)

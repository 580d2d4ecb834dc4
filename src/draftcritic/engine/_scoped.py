"""Sets a context variable for the time of a block."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Generic, TypeVar

T = TypeVar("T")


class scoped(Generic[T]):  # noqa: N801 - reads as `with` blocks do
    """Give a variable a value inside the block, and its earlier one after it; never across a `yield` to a caller."""

    __slots__ = ("_before", "_value", "_variable")

    def __init__(self, variable: ContextVar[T], value: T) -> None:
        self._variable = variable
        self._value = value

    def __enter__(self) -> None:
        self._before = self._variable.get()
        self._variable.set(self._value)

    def __exit__(self, *_: object) -> None:
        # Not by token: the block may end in another context, as a half-read stream does that is closed elsewhere, and
        # that must not raise.
        self._variable.set(self._before)

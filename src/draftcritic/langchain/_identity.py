"""A key for one object."""

from __future__ import annotations

from typing import Any


class IdentityKey:
    """Equal for one object only, which it keeps alive: the number of a dead one may be given to another."""

    __slots__ = ("_object",)

    def __init__(self, thing: Any) -> None:
        self._object = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, IdentityKey) and other._object is self._object

    def __hash__(self) -> int:
        return id(self._object)

"""Values that are worked out when they are first asked for; `cached_property` takes a lock for that before 3.12."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

Value = TypeVar("Value")


class lazy(Generic[Value]):  # noqa: N801 - it is used as a decorator, like `property`
    """A method whose value is kept under its name. Two threads may work it out at once, to the same value."""

    def __init__(self, make: Callable[[Any], Value]) -> None:
        self.make = make
        self.__doc__ = make.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy[Value]: ...
    @overload
    def __get__(self, instance: object, owner: type) -> Value: ...
    def __get__(self, instance: object | None, owner: type) -> lazy[Value] | Value:
        if instance is None:
            return self
        value = instance.__dict__[self.name] = self.make(instance)
        return value

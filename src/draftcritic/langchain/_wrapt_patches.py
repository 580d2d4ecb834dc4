"""Puts a handler around an attribute of a class, with `wrapt`, where the code of a function cannot be exchanged."""

from __future__ import annotations

import inspect
import operator
from functools import partialmethod
from typing import Any

import wrapt

from draftcritic.langchain._boundary import (
    Handler,
    OnFault,
    guarded,
    guarded_async_items,
    guarded_coroutine,
    guarded_items,
    let_pass,
)
from draftcritic.langchain._method_patches import SpliceError

_RUNNERS = (
    (inspect.isasyncgenfunction, guarded_async_items),
    (inspect.iscoroutinefunction, guarded_coroutine),
    (inspect.isgeneratorfunction, guarded_items),
)


class _Wrapper(wrapt.FunctionWrapper):  # type: ignore[type-arg] # not generic at run time in every version
    """A wrapper that is pickled as what it wraps: another process has no handler."""

    def __reduce_ex__(self, protocol: Any) -> Any:
        return operator.getitem, ((self.__wrapped__,), 0)


class Wrap:
    """A handler around an attribute; `remove` takes it off again."""

    def __init__(self, owner: type[Any], name: str, handler: Handler, fault: OnFault) -> None:
        self._owner = owner
        self._name = name
        self._handler: Handler | None = handler
        self._fault = fault
        wrapped = owner.__dict__[name]
        self._run = next((run for is_kind, run in _RUNNERS if is_kind(wrapped)), guarded)
        self.wrapper = _Wrapper(wrapped, self._call)

    def _call(self, wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        handler = self._handler
        if handler is None:
            return wrapped(*args, **kwargs)

        def original(model: Any, *args: Any, **kwargs: Any) -> Any:
            if model is instance:
                return wrapped(*args, **kwargs)
            # A handler may give a stand-in for the model.
            return self.wrapper.__wrapped__.__get__(model, type(model))(*args, **kwargs)

        return self._run(handler, original, self._fault, (instance, *args), kwargs)

    def remove(self) -> bool:
        """Switch the handler off and take the wrapper away, also from below another tool's.

        Returns:
            False where it stays within another tool's wrapper, without effect.
        """
        if self._handler is None:
            return True
        # Both refer to the reviewer, and another tool may keep the wrapper.
        self._handler, self._fault = None, let_pass
        above = self._owner.__dict__.get(self._name)
        if above is None:
            return True
        if above is self.wrapper:
            setattr(self._owner, self._name, self.wrapper.__wrapped__)
            return True
        while getattr(above, "__wrapped__", None) is not None:
            if above.__wrapped__ is self.wrapper:
                if not isinstance(above, wrapt.ObjectProxy):
                    return False
                above.__wrapped__ = self.wrapper.__wrapped__
                return True
            above = above.__wrapped__
        return True


def wrap(owner: type[Any], name: str, handler: Handler, fault: OnFault) -> Wrap:
    """Put `handler` around the attribute `name` of `owner`.

    Raises:
        SpliceError: the attribute is nothing that can be called as a method, or cannot be replaced.
    """
    value = owner.__dict__.get(name)
    if not (callable(value) or isinstance(value, partialmethod)):
        raise SpliceError(f"{owner.__qualname__}.{name} is no method: {type(value).__qualname__}")
    done = Wrap(owner, name, handler, fault)
    try:
        setattr(owner, name, done.wrapper)
    except (AttributeError, TypeError) as error:
        raise SpliceError(f"{owner.__qualname__}.{name} cannot be replaced") from error
    return done


def is_wrapped(value: Any) -> bool:
    """Whether an attribute has a wrapper of ours, at the outside or below another tool's."""
    while value is not None:
        if type(value) is _Wrapper:
            return True
        value = getattr(value, "__wrapped__", None)
    return False

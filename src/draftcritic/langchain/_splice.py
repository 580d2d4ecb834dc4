"""Puts a handler into a function without replacing the function.

Other instrumentations wrap the same methods of LangChain, in any order, and take their wrapper off by removing
whatever is outermost. A second wrapper there is either removed by them or left behind. So no attribute is replaced
here: the function object stays what it is, and only its code is exchanged for a few instructions that call the
handler, which gets the original as a function of its own. Bound methods taken earlier, subclasses and pickles see
the same function, `inspect` sees the original's signature, kind and source, and the handler is always innermost,
inside the spans that others open around the method.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Generator
from dataclasses import dataclass
from types import CodeType, FunctionType
from typing import Any

Handler = Callable[..., Any]
"""Called as `handler(original, *args, **kwargs)`; returns what the original does (a value, a coroutine, a generator, an
asynchronous generator)."""

_HANDLER = "draftcritic: the handler stands here"
_ORIGINAL = "draftcritic: the original stands here"


def _function(*args: Any, **kwargs: Any) -> Any:
    handler: Any = "draftcritic: the handler stands here"
    original: Any = "draftcritic: the original stands here"
    return handler(original, *args, **kwargs)


async def _coroutine(*args: Any, **kwargs: Any) -> Any:
    handler: Any = "draftcritic: the handler stands here"
    original: Any = "draftcritic: the original stands here"
    return await handler(original, *args, **kwargs)


def _generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
    handler: Any = "draftcritic: the handler stands here"
    original: Any = "draftcritic: the original stands here"
    return (yield from handler(original, *args, **kwargs))


async def _async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
    handler: Any = "draftcritic: the handler stands here"
    original: Any = "draftcritic: the original stands here"
    items = handler(original, *args, **kwargs)
    try:
        async for item in items:
            yield item
    finally:
        await items.aclose()


def _template(function: FunctionType) -> CodeType:
    if inspect.isasyncgenfunction(function):
        return _async_generator.__code__
    if inspect.iscoroutinefunction(function):
        return _coroutine.__code__
    if inspect.isgeneratorfunction(function):
        return _generator.__code__
    return _function.__code__


def _copy(function: FunctionType) -> FunctionType:
    copy = FunctionType(
        function.__code__,
        function.__globals__,
        function.__name__,
        function.__defaults__,
        function.__closure__,
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    copy.__module__ = function.__module__
    copy.__doc__ = function.__doc__
    copy.__annotations__ = function.__annotations__
    copy.__dict__.update(function.__dict__)
    return copy


class SpliceError(Exception):
    """A function cannot take a handler."""


@dataclass
class Splice:
    """A handler inside a function; `remove` takes it out again."""

    function: FunctionType
    original: FunctionType
    code: CodeType

    def remove(self) -> None:
        """Give the function its own code back. A second call does nothing."""
        function, original = self.function, self.original
        if function.__code__ is not self.code:
            return
        function.__defaults__ = original.__defaults__
        function.__kwdefaults__ = original.__kwdefaults__
        function.__code__ = original.__code__
        function.__dict__.pop("__wrapped__", None)


def is_spliced(function: Any) -> bool:
    """Whether a function holds a handler."""
    code = getattr(function, "__code__", None)
    return isinstance(code, CodeType) and code.co_filename == _function.__code__.co_filename


def splice(function: Any, handler: Handler) -> Splice:
    """Put `handler` into `function`.

    Raises:
        SpliceError: `function` is no plain Python function, is a closure, or holds a splice already.
    """
    if not isinstance(function, FunctionType) or type(function) is not FunctionType:
        raise SpliceError(f"{function!r} is no plain Python function")
    if function.__code__.co_freevars:
        raise SpliceError(f"{function.__qualname__} is a closure")
    if is_spliced(function):
        raise SpliceError(f"{function.__qualname__} holds a handler already")
    original = _copy(function)
    template = _template(function)
    values = {_HANDLER: handler, _ORIGINAL: original}
    code = template.replace(
        co_consts=tuple(values.get(c, c) if isinstance(c, str) else c for c in template.co_consts),
        co_name=function.__code__.co_name,
        co_filename=template.co_filename,
    )
    # The code first: until the defaults are gone it ignores them, while the other order would let a concurrent call
    # miss an argument.
    function.__wrapped__ = original  # type: ignore[attr-defined]
    function.__code__ = code
    function.__defaults__ = None
    function.__kwdefaults__ = None
    return Splice(function, original, code)

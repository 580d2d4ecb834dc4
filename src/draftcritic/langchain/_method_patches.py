"""Puts a handler into a function without replacing the function. `docs/patching.md` explains why.

The function object stays what it is; only its code is exchanged for a few instructions that call the handler, which
gets the original as a function of its own. The constants of that code are texts: a key, under which this module finds
original and handler. So a class that is sent to another process can be pickled as before, and runs there with the
plugin or without it.
"""

from __future__ import annotations

import gc
import inspect
import secrets
import sys
from collections.abc import AsyncGenerator, Callable, Generator
from itertools import count
from types import CodeType, FunctionType
from typing import Any
from weakref import ReferenceType, finalize, ref

from draftcritic.langchain._boundary import (
    Handler,
    OnFault,
    guarded,
    guarded_async_items,
    guarded_coroutine,
    guarded_items,
    let_pass,
)

CODE_IS_EXCHANGEABLE = sys.implementation.name == "cpython" and (3, 10) <= sys.version_info[:2] <= (3, 13)
"""Whether this interpreter is one that the exchange is tested with. With any other, wrappers are used."""
_KEY = "draftcritic: key of the handler"
_MARK = "draftcritic: handler "
_PROCESS = secrets.token_hex(8)
_numbers = count()


class SpliceError(Exception):
    """A function cannot take a handler."""


class _Entry:
    """What the key in a function's code refers to."""

    __slots__ = ("fault", "handler", "original")

    def __init__(self, original: Callable[[], Any], handler: Handler | None, fault: OnFault) -> None:
        self.original = original
        self.handler = handler
        self.fault = fault


_entries: dict[str, _Entry] = {}
"""Never emptied: another tool may have saved the code of a function that was taken off, and put it back later."""


def _function(*args: Any, **kwargs: Any) -> Any:
    key = "draftcritic: key of the handler"
    try:
        from draftcritic.langchain._method_patches import run
    except ImportError:
        from gc import get_referrers
        from sys import _getframe

        code = _getframe().f_code
        below = next(f.__wrapped__ for f in get_referrers(code) if getattr(f, "__code__", None) is code)
        return below(*args, **kwargs)
    return run(key, args, kwargs)


async def _coroutine(*args: Any, **kwargs: Any) -> Any:
    key = "draftcritic: key of the handler"
    try:
        from draftcritic.langchain._method_patches import arun
    except ImportError:
        from gc import get_referrers
        from sys import _getframe

        code = _getframe().f_code
        below = next(f.__wrapped__ for f in get_referrers(code) if getattr(f, "__code__", None) is code)
        return await below(*args, **kwargs)
    return await arun(key, args, kwargs)


def _generator(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
    key = "draftcritic: key of the handler"
    try:
        from draftcritic.langchain._method_patches import run_items
    except ImportError:
        from gc import get_referrers
        from sys import _getframe

        code = _getframe().f_code
        below = next(f.__wrapped__ for f in get_referrers(code) if getattr(f, "__code__", None) is code)
        return (yield from below(*args, **kwargs))
    return (yield from run_items(key, args, kwargs))


async def _async_generator(*args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
    key = "draftcritic: key of the handler"
    try:
        from draftcritic.langchain._method_patches import arun_items
    except ImportError:
        from gc import get_referrers
        from sys import _getframe

        code = _getframe().f_code
        below = next(f.__wrapped__ for f in get_referrers(code) if getattr(f, "__code__", None) is code)
        items = below(*args, **kwargs)
    else:
        items = arun_items(key, args, kwargs)
    try:
        async for item in items:
            yield item
    finally:
        await items.aclose()


def run(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the handler of a function."""
    entry = _entries.get(key) or _unknown(key)
    handler = entry.handler
    if handler is None:
        return entry.original()(*args, **kwargs)
    return guarded(handler, entry.original(), entry.fault, args, kwargs)


def arun(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the handler of a coroutine function."""
    entry = _entries.get(key) or _unknown(key)
    handler = entry.handler
    if handler is None:
        return entry.original()(*args, **kwargs)
    return guarded_coroutine(handler, entry.original(), entry.fault, args, kwargs)


def run_items(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the handler of a generator function."""
    entry = _entries.get(key) or _unknown(key)
    handler = entry.handler
    if handler is None:
        return entry.original()(*args, **kwargs)
    return guarded_items(handler, entry.original(), entry.fault, args, kwargs)


def arun_items(key: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run the handler of an asynchronous generator function."""
    entry = _entries.get(key) or _unknown(key)
    handler = entry.handler
    if handler is None:
        return entry.original()(*args, **kwargs)
    return guarded_async_items(handler, entry.original(), entry.fault, args, kwargs)


def _unknown(key: str) -> _Entry:
    """Return the original of a function that came from another process, or whose original is gone, without handler."""
    code = sys._getframe(2).f_code
    holder = next(f for f in gc.get_referrers(code) if isinstance(f, FunctionType) and f.__code__ is code)
    original = inspect.unwrap(holder, stop=lambda f: not is_spliced(f))
    return _entries.setdefault(key, _Entry(lambda: original, None, _raise))


def _raise(error: Exception, _: Any) -> str | None:
    raise error


_TEMPLATES = (
    (inspect.isasyncgenfunction, _async_generator.__code__),
    (inspect.iscoroutinefunction, _coroutine.__code__),
    (inspect.isgeneratorfunction, _generator.__code__),
    (inspect.isfunction, _function.__code__),
)


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


class Splice:
    """A handler inside a function; `remove` takes it out again."""

    def __init__(self, key: str, function: ReferenceType[FunctionType], code: CodeType) -> None:
        self._key = key
        self._function = function
        self._code = code

    def remove(self) -> bool:
        """Switch the handler off, and give the function its own code back. A second call does nothing.

        Returns:
            False where another tool has exchanged the code since: the handler stays in it, without effect.
        """
        entry, function = _entries.get(self._key), self._function()
        if entry is None or entry.handler is None or function is None:
            return True
        # Its fault handler too: both refer to the reviewer, and the entry is never removed.
        entry.handler, entry.fault = None, let_pass
        if function.__code__ is not self._code:
            return False
        original = entry.original()
        function.__code__ = original.__code__
        function.__dict__.pop("__wrapped__", None)
        if "__wrapped__" in original.__dict__:
            function.__dict__["__wrapped__"] = original.__dict__["__wrapped__"]
        return True


def is_spliced(function: Any) -> bool:
    """Whether a function has code of ours in it, of this process or another."""
    code = getattr(function, "__code__", None)
    # By its key, not its file: tools that pickle code give it another file.
    return isinstance(code, CodeType) and any(isinstance(c, str) and c.startswith(_MARK) for c in code.co_consts)


def is_handled(function: Any) -> bool:
    """Whether a function has a handler of this process that is switched on."""
    if not is_spliced(function):
        return False
    entries = (_entries.get(c) for c in function.__code__.co_consts if isinstance(c, str))
    return any(entry is not None and entry.handler is not None for entry in entries)


def _original_of(function: FunctionType) -> FunctionType:
    """Return the original of a function with code of ours, of an earlier start or of another process."""
    for constant in function.__code__.co_consts:
        entry = _entries.get(constant) if isinstance(constant, str) else None
        original = None if entry is None else entry.original()
        if isinstance(original, FunctionType):
            return original
    kept = inspect.unwrap(function, stop=lambda f: not is_spliced(f))
    if is_spliced(kept) or not isinstance(kept, FunctionType):
        raise SpliceError(f"the original of {function.__qualname__} is gone")
    return kept


def splice(function: Any, handler: Handler, fault: OnFault = _raise, *, weak: bool = False) -> Splice:
    """Put `handler` into `function`.

    Args:
        function: a plain Python function; also a closure.
        handler: what is called in its place.
        fault: reports an exception of the handler's own. See `OnFault`.
        weak: the function may be collected with its class.

    Raises:
        SpliceError: `function` is no plain Python function, or has a handler already, or this interpreter is not known.
    """
    if not CODE_IS_EXCHANGEABLE:
        raise SpliceError(f"the code of {function!r} is not exchanged on this Python interpreter")
    if not isinstance(function, FunctionType) or type(function) is not FunctionType:
        raise SpliceError(f"{function!r} is no plain Python function")
    if is_handled(function):
        raise SpliceError(f"{function.__qualname__} has a handler already")
    # Code of another process, or of an earlier start that could not be taken off, is replaced and not wrapped again.
    original = _original_of(function) if is_spliced(function) else _copy(function)
    key = f"{_MARK}{_PROCESS}-{next(_numbers)}"
    template = next(code for is_kind, code in _TEMPLATES if is_kind(original))
    code = template.replace(
        co_consts=tuple(key if constant == _KEY else constant for constant in template.co_consts),
        co_name=original.__code__.co_name,
        # As many as the function's closure has: the interpreter demands it, and the new code does not use them.
        co_freevars=original.__code__.co_freevars,
    )
    kept = ref(original) if weak else (lambda: original)
    _entries[key] = _Entry(kept, handler, fault)
    if weak:
        finalize(function, _entries.pop, key, None).atexit = False
    function.__wrapped__ = original  # type: ignore[attr-defined]
    # Defaults stay in place: the new code does not use them, and a tool that exchanges the code next needs them.
    function.__code__ = code
    return Splice(key, ref(function), code)

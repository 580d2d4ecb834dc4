"""Finds the chat model classes that answer by methods of their own, and puts handlers into these methods.

Every class that exists is looked at, every class to come, and every method that is assigned to a class later.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Iterator
from typing import Any
from weakref import WeakSet

from draftcritic.langchain._guard import Handler, OnFault, guarded_async_items, guarded_coroutine, guarded_items
from draftcritic.langchain._intercept import Interceptor
from draftcritic.langchain._own_methods import BATCH, CHUNKS, GENERATE, ONE, PAIRS, OwnMethods
from draftcritic.langchain._splice import Splice, SpliceError, is_handled, splice
from draftcritic.langchain._wrap import Wrap, is_wrapped, wrap

_logger = logging.getLogger(__name__)

_SUBCLASS_HOOK = "__init_subclass__"
_SETATTR = "__setattr__"
_COMPLETE = "__pydantic_complete__"
"""What pydantic sets on every class, also on those whose `__init_subclass__` does not call the one above."""
_LEFT_OUT = ("stream_events", "astream_events", "astream_log")
"""Methods whose own versions give events of a class's own form."""


class Overrides:
    """Handlers in all overriding methods; `remove` takes them out again."""

    def __init__(self, interceptor: Interceptor) -> None:
        self._fault: OnFault = interceptor.reviewer.failed
        self._warns = interceptor.enforces
        self._own = OwnMethods(interceptor)
        self._same = _same_handlers(interceptor, self._fault)
        self._names = (*ONE, *BATCH, *GENERATE, *CHUNKS, *PAIRS, *self._same)
        self._done: list[Splice | Wrap] = []
        self._warned: WeakSet[type[Any]] = WeakSet()
        self._hooks: list[_Hook] = []
        self._on = False

    def install(self) -> None:
        """Look at every chat model class there is, at each that comes, and at each whose methods change."""
        from langchain_core.language_models import BaseChatModel

        self._on = True
        self._hooks = [_subclass_hook(BaseChatModel, self._look), _setattr_hook(BaseChatModel, self._assigned)]
        for kind in _below(BaseChatModel):
            self._look(kind)

    def remove(self) -> bool:
        """Take the handlers out, and look no more.

        Returns:
            False where another tool has put something around them: they stay there, without effect.
        """
        self._on = False
        # A list, so that each is removed whatever the others answer.
        removed = [each.remove() for each in (*self._hooks, *self._done)]
        self._hooks.clear()
        self._done.clear()
        return all(removed)

    def _assigned(self, kind: type[Any], name: str) -> None:
        if name in self._names or name in _LEFT_OUT or name == _COMPLETE:
            self._look(kind)

    def _look(self, kind: type[Any]) -> None:
        """Put handlers into what a class overrides. Never raises: the class is being made."""
        if not self._on:
            return
        missed = []
        try:
            from langchain_core.language_models import BaseChatModel

            for name in (*self._names, *_LEFT_OUT):
                above = inspect.getattr_static(BaseChatModel, name, None)
                owner = next((k for k in kind.__mro__ if name in vars(k)), None)
                if owner is None or vars(owner)[name] is above or owner in BaseChatModel.__mro__:
                    continue
                if name in _LEFT_OUT or not self._place(owner, name):
                    missed.append(name)
        except Exception as error:
            missed.append(f"its methods ({type(error).__name__})")
        if missed:
            self._warn(kind, missed)

    def _warn(self, kind: type[Any], missed: list[str]) -> None:
        if kind in self._warned:
            return
        self._warned.add(kind)
        _logger.log(
            logging.WARNING if self._warns else logging.DEBUG,
            "drafts of %s.%s are not reviewed where they leave by %s: define these as plain methods, or let them call "
            "those of BaseChatModel",
            kind.__module__,
            kind.__qualname__,
            ", ".join(missed),
        )

    def _place(self, owner: type[Any], name: str) -> bool:
        """Put a handler into the method that a class has under `name`; False where that is not possible."""
        method = vars(owner)[name]
        if is_handled(method) or is_wrapped(method):
            return True
        if isinstance(method, (classmethod, staticmethod)):
            return False  # it gets no model, and without the model nothing can be reviewed
        make = self._same.get(name)
        handler = self._own.handler(name, method) if make is None else make(method)
        try:
            self._done.append(splice(method, handler, self._fault, weak=True))
        except SpliceError:
            try:
                self._done.append(wrap(owner, name, handler, self._fault))
            except SpliceError as error:
                _logger.debug("%s", error)
                return False
        return True


class _Hook:
    """A function of ours in a class; without effect and where possible gone after `remove`."""

    def __init__(self, owner: Any, name: str, value: Any) -> None:
        self._owner = owner
        self._name = name
        self._before = owner.__dict__.get(name)
        self._value = value
        setattr(owner, name, value)

    def remove(self) -> bool:
        """Put back what was there. Returns False where another tool has replaced it since."""
        if self._owner.__dict__.get(self._name) is not self._value:
            return False
        if self._before is None:
            delattr(self._owner, self._name)
        else:
            setattr(self._owner, self._name, self._before)
        return True


def _subclass_hook(base: Any, look: Callable[[type[Any]], None]) -> _Hook:
    before = base.__dict__.get(_SUBCLASS_HOOK)

    def hook(cls: type[Any], /, **kwargs: Any) -> None:
        above: Any = super(base, cls)
        inherited = above.__init_subclass__ if before is None else before.__get__(None, cls)
        inherited(**kwargs)
        look(cls)

    return _Hook(base, _SUBCLASS_HOOK, classmethod(hook))


def _setattr_hook(base: Any, assigned: Callable[[type[Any], str], None]) -> _Hook:
    meta: Any = type(base)
    before = meta.__dict__.get(_SETATTR)

    def hook(cls: type[Any], name: str, value: Any) -> None:
        if before is None:
            super(meta, cls).__setattr__(name, value)
        else:
            before(cls, name, value)
        if cls is not base and base in cls.__mro__:
            assigned(cls, name)

    return _Hook(meta, _SETATTR, hook)


def _same_handlers(i: Interceptor, fault: OnFault) -> dict[str, Callable[[Any], Handler]]:
    """Return the handlers of methods that answer as LangChain's own do, for any kind of function."""

    def value(handler: Handler) -> Callable[[Any], Handler]:
        return lambda _: handler

    def coroutine(handler: Handler) -> Callable[[Any], Handler]:
        def plain(original: Any, *args: Any, **kwargs: Any) -> Any:
            return guarded_coroutine(handler, original, fault, args, kwargs)

        return lambda method: handler if inspect.iscoroutinefunction(method) else plain

    def items(handler: Handler) -> Callable[[Any], Handler]:
        def plain(original: Any, *args: Any, **kwargs: Any) -> Any:
            return guarded_items(handler, original, fault, args, kwargs)

        return lambda method: handler if inspect.isgeneratorfunction(method) else plain

    def async_items(handler: Handler) -> Callable[[Any], Handler]:
        def plain(original: Any, *args: Any, **kwargs: Any) -> Any:
            return guarded_async_items(handler, original, fault, args, kwargs)

        return lambda method: handler if inspect.isasyncgenfunction(method) else plain

    return {
        "_generate_with_cache": value(i.generate),
        "_agenerate_with_cache": coroutine(i.agenerate),
        "_iter_v2_events": items(i.events),
        "_aiter_v2_events": async_items(i.aevents),
    }


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    each: type[Any]
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)

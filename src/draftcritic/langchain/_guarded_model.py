"""Views of a chat model whose drafts one interceptor takes; LangChain's own classes stay as they are.

A view shares all state with its model and has a class of its own. That class gets the handlers where the patches would
put them: below the model's class in place of `BaseChatModel`, and above it for the methods that the model's class
overrides.
"""

from __future__ import annotations

import functools
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from typing import Any

from draftcritic.langchain._added_messages import Work
from draftcritic.langchain._boundary import (
    Handler,
    OnFault,
    guarded,
    guarded_async_items,
    guarded_coroutine,
    guarded_items,
)
from draftcritic.langchain._guarded_runnable import guarded_runnable
from draftcritic.langchain._interceptors import GUARD, Interceptor
from draftcritic.langchain._stepwise import astepwise, stepwise
from draftcritic.langchain._subclasses import Overrides

_logger = logging.getLogger(__name__)

_ORIGINAL = "draftcritic_original"
"""Attribute of a view: the model itself."""
_STATE = ("__dict__", "__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")
_VALUES = ("_generate", "_agenerate")
_ITEMS = ("_stream", "_stream_chat_model_events")
_ASYNC_ITEMS = ("_astream", "_astream_chat_model_events")


class ModelGuard:
    """Makes views of chat models.

    Args:
        interceptor: takes the drafts of every view.

    Attributes:
        request_kinds: classes of requests to such views, by the class that each extends.
    """

    def __init__(self, interceptor: Interceptor) -> None:
        self._interceptor = interceptor
        self._overrides = Overrides(interceptor)
        self._kinds: dict[type[Any], type[Any]] = {}
        self._below: type[Any] | None = None
        self.request_kinds: dict[type[Any], type[Any]] = {}

    def view(self, model: Any) -> Any:
        """Return what answers as a model does, and has its drafts taken by the interceptor."""
        from langchain_core.language_models import BaseChatModel
        from langchain_core.runnables.base import RunnableBindingBase

        if vars(type(model)).get(GUARD) is self._interceptor:
            return model
        if isinstance(model, RunnableBindingBase):
            return model.model_copy(update={"bound": self.view(model.bound)})
        try:
            if isinstance(model, BaseChatModel):
                return _view(self._kind_for(type(model)), model)
        except Exception as error:  # a class that cannot be extended
            _logger.debug("no view of a %s: %s", type(model).__name__, type(error).__name__)
        return guarded_runnable(self._interceptor, model, self.view)

    def _kind_for(self, kind: type[Any]) -> type[Any]:
        known = self._kinds.get(kind)
        if known is None:
            known = self._kinds[kind] = self._made(kind)
        return known

    def _made(self, kind: type[Any]) -> type[Any]:
        """Return the class of the views of a class's models."""
        if self._below is None:
            self._below = _below(self._interceptor)
        body: dict[str, Any] = {
            "__module__": kind.__module__,
            "__qualname__": kind.__qualname__,
            "__doc__": kind.__doc__,
            "__slots__": (_ORIGINAL,),
            "model_config": {**getattr(kind, "model_config", {}), "defer_build": True},
            GUARD: self._interceptor,
        }
        fault = self._interceptor.reviewer.failed
        for name in self._overrides.names:
            method = _overriding(kind, name)
            if method is not None:
                body[name] = _as_method(self._overrides.handler(name, method), method, fault)
        body.update(_working_methods(kind))
        return _class(kind, kind.__name__, (kind, self._below), body)


def original_of(model: Any) -> Any:
    """Return the model behind a view; any other object unchanged."""
    return getattr(model, _ORIGINAL, model) if GUARD in vars(type(model)) else model


def _view(kind: Any, model: Any) -> Any:
    view = kind.__new__(kind)
    for name in _STATE:
        object.__setattr__(view, name, getattr(model, name))
    object.__setattr__(view, _ORIGINAL, model)
    return view


def _overriding(kind: type[Any], name: str) -> Any:
    """Return what a class has under a name in place of LangChain's method; None when it has LangChain's own."""
    from langchain_core.language_models import BaseChatModel

    owner = next((each for each in kind.__mro__ if name in vars(each)), None)
    if owner is None or owner in BaseChatModel.__mro__ or GUARD in vars(owner):
        return None
    method = vars(owner)[name]
    return None if isinstance(method, (classmethod, staticmethod)) else method


def _below(interceptor: Interceptor) -> type[Any]:
    """Return a class that takes the place of `BaseChatModel` below a model's class."""
    from langchain_core.language_models import BaseChatModel

    i, fault = interceptor, interceptor.reviewer.failed
    handlers: dict[str, Handler] = {
        "_generate_with_cache": i.generate,
        "_agenerate_with_cache": i.agenerate,
        "stream": i.stream,
        "astream": i.astream,
        "_iter_v2_events": i.events,
        "_aiter_v2_events": i.aevents,
    }
    body: dict[str, Any] = {"__module__": __name__, GUARD: interceptor}
    for name, handler in handlers.items():
        method = inspect.getattr_static(BaseChatModel, name, None)
        if method is not None:
            body[name] = _as_method(handler, method, fault)
    return _class(BaseChatModel, "GuardedChatModel", (BaseChatModel,), body)


def _class(like: type[Any], name: str, bases: tuple[type[Any], ...], body: dict[str, Any]) -> type[Any]:
    metaclass: Any = type(like)
    made: type[Any] = metaclass(name, bases, body)
    return made


def _as_method(handler: Handler, method: Any, fault: OnFault) -> Callable[..., Any]:
    """Return a method that calls `handler` for `method`, of the same kind of function."""
    below = inspect.unwrap(method)  # what another tool has put around it may hide the kind of function
    guard: Callable[..., Any] = guarded
    if inspect.isasyncgenfunction(below):
        guard = guarded_async_items
    elif inspect.isgeneratorfunction(below):
        guard = guarded_items
    elif inspect.iscoroutinefunction(below):
        guard = guarded_coroutine

    def called(*args: Any, **kwargs: Any) -> Any:
        return guard(handler, method, fault, args, kwargs)

    async def awaited(*args: Any, **kwargs: Any) -> Any:
        return await guard(handler, method, fault, args, kwargs)

    return functools.wraps(method)(awaited if guard is guarded_coroutine else called)


def _working_methods(kind: type[Any]) -> dict[str, Callable[..., Any]]:
    """Return the methods in which a model does its work; see `Work`."""
    made: dict[str, Callable[..., Any]] = {}
    for names, working in ((_VALUES, _working_value), (_ITEMS, _working_items), (_ASYNC_ITEMS, _working_async_items)):
        for name in names:
            method = _overriding(kind, name)
            if callable(method):
                # LangChain looks at the parameters of these methods, so they stay as they are.
                made[name] = functools.wraps(method)(working(method))
    return made


def _working_value(method: Callable[..., Any]) -> Callable[..., Any]:
    async def awaited(work: Work, result: Any) -> Any:
        with work.step():
            return await result

    def called(*args: Any, **kwargs: Any) -> Any:
        work = Work(args, kwargs)
        args, kwargs = work.arguments
        with work.step():
            result = method(*args, **kwargs)
        return awaited(work, result) if inspect.isawaitable(result) else result

    return called


def _working_items(method: Callable[..., Any]) -> Callable[..., Any]:
    def called(*args: Any, **kwargs: Any) -> Iterator[Any]:
        work = Work(args, kwargs)
        args, kwargs = work.arguments
        yield from stepwise(method(*args, **kwargs), work.step)

    return called


def _working_async_items(method: Callable[..., Any]) -> Callable[..., Any]:
    async def called(*args: Any, **kwargs: Any) -> AsyncIterator[Any]:
        work = Work(args, kwargs)
        args, kwargs = work.arguments
        async with aclosing(astepwise(method(*args, **kwargs), work.step)) as items:
            async for item in items:
                yield item

    return called

"""The chat models that answer by methods of their own, past LangChain's.

A class may override `invoke` and its kin without calling LangChain's methods, where the other handlers stand. Such
methods get handlers as well, those of classes that exist and those of classes to come. A method that reaches
LangChain's own, in whatever way, has its draft handed on there and is left alone here.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from draftcritic.langchain._call import Call
from draftcritic.langchain._caught import Draft
from draftcritic.langchain._frame import Watch, handed_on, is_outermost
from draftcritic.langchain._intercept import AsyncItems, Interceptor, Items
from draftcritic.langchain._rewrite import as_chunk, rewritten_message
from draftcritic.langchain._splice import Splice, SpliceError, is_spliced, splice

_logger = logging.getLogger(__name__)

_HOOK = "__init_subclass__"


class OverrideHandlers:
    """The handlers for methods that override LangChain's. See `Interceptor`."""

    def __init__(self, interceptor: Interceptor) -> None:
        self._interceptor = interceptor
        self._reviewer = interceptor.reviewer

    def invoke(self, original: Callable[..., Any], model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Stand in for a class's own `invoke`."""
        call = self._call(model, args, kwargs, streamed=False)
        if call is None:
            return original(model, *args, **kwargs)
        watch = Watch()
        with watch.step():
            message = original(model, *args, **kwargs)
        if watch.seen or not hasattr(message, "content"):
            return message
        handed_on()
        return _applied(message, self._reviewer.take(lambda: call.drafts_of_message(message, True)))

    async def ainvoke(self, original: Callable[..., Any], model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Stand in for a class's own `ainvoke`."""
        call = self._call(model, args, kwargs, streamed=False)
        if call is None:
            return await original(model, *args, **kwargs)
        watch = Watch()
        with watch.step():
            message = await original(model, *args, **kwargs)
        if watch.seen or not hasattr(message, "content"):
            return message
        handed_on()
        call.loop = asyncio.get_running_loop()
        return _applied(message, await self._reviewer.atake(lambda: call.drafts_of_message(message, True)))

    def stream(self, original: Callable[..., Items], model: Any, /, *args: Any, **kwargs: Any) -> Items:
        """Stand in for a class's own `stream`."""
        call = self._call(model, args, kwargs, streamed=True)
        source = original(model, *args, **kwargs)
        if call is None:
            return source
        watch = Watch()
        if self._interceptor.holds:
            return self._held(source, call, watch)
        return self._interceptor.follow(source, call.chunks.append, _unseen(watch, call), watch=watch)

    def astream(self, original: Callable[..., AsyncItems], model: Any, /, *args: Any, **kwargs: Any) -> AsyncItems:
        """Stand in for a class's own `astream`."""
        call = self._call(model, args, kwargs, streamed=True)
        source = original(model, *args, **kwargs)
        if call is None:
            return source
        call.loop = asyncio.get_running_loop()
        watch = Watch()
        if self._interceptor.holds:
            return self._aheld(source, call, watch)
        return self._interceptor.afollow(source, call.chunks.append, _unseen(watch, call), watch=watch)

    def _held(self, source: Any, call: Call, watch: Watch) -> Items:
        with watch.step():
            call.chunks.extend(source)
        texts = [] if watch.seen else list(self._reviewer.take(lambda: call.drafts_of_chunks(True)))
        yield from _let_through(call.chunks, texts)

    async def _aheld(self, source: Any, call: Call, watch: Watch) -> AsyncItems:
        with watch.step():
            async for chunk in source:
                call.chunks.append(chunk)
        texts = [] if watch.seen else list(await self._reviewer.atake(lambda: call.drafts_of_chunks(True)))
        for chunk in _let_through(call.chunks, texts):
            yield chunk

    def _call(self, model: Any, args: Any, kwargs: dict[str, Any], *, streamed: bool) -> Call | None:
        call = Call.of_stream(model, args, kwargs)
        if self._interceptor.is_critics(call) or not is_outermost():
            return None
        call.streamed = streamed
        call.enforced = self._interceptor.enforces
        call.exposed = streamed and not self._interceptor.holds
        call.origin = self._reviewer.capture(call.run)
        if streamed:
            handed_on()
        return call


_HANDLERS: dict[str, tuple[Callable[[Any], bool], Callable[[OverrideHandlers], Callable[..., Any]]]] = {
    "invoke": (lambda f: not (inspect.iscoroutinefunction(f) or inspect.isgeneratorfunction(f)), lambda h: h.invoke),
    "ainvoke": (inspect.iscoroutinefunction, lambda h: h.ainvoke),
    "stream": (inspect.isgeneratorfunction, lambda h: h.stream),
    "astream": (inspect.isasyncgenfunction, lambda h: h.astream),
}
"""Each method with the kind that it must have, and its handler."""


class Overrides:
    """Handlers in all overriding methods; `remove` takes them out again."""

    def __init__(self, interceptor: Interceptor) -> None:
        self._handlers = OverrideHandlers(interceptor)
        self._splices: list[Splice] = []
        self._hook: Any = None
        self._before: Any = None

    def install(self) -> None:
        """Look at every chat model class there is, and at each that comes."""
        from langchain_core.language_models import BaseChatModel

        before = self._before = BaseChatModel.__dict__.get(_HOOK)

        def hook(cls: type[Any], /, **kwargs: Any) -> None:
            above: Any = super(BaseChatModel, cls)
            inherited = above.__init_subclass__ if before is None else before.__get__(None, cls)
            inherited(**kwargs)
            self._look(cls)

        self._hook = classmethod(hook)
        setattr(BaseChatModel, _HOOK, self._hook)
        for kind in _below(BaseChatModel):
            self._look(kind)

    def remove(self) -> None:
        """Take the handlers out, and look no more."""
        from langchain_core.language_models import BaseChatModel

        if self._hook is not None and BaseChatModel.__dict__.get(_HOOK) is self._hook:
            if self._before is None:
                delattr(BaseChatModel, _HOOK)
            else:
                setattr(BaseChatModel, _HOOK, self._before)
        while self._splices:
            self._splices.pop().remove()

    def _look(self, kind: type[Any]) -> None:
        """Put handlers into what a class overrides. Never raises: the class is being made."""
        try:
            from langchain_core.language_models import BaseChatModel

            for name, (fits, handler) in _HANDLERS.items():
                method = inspect.getattr_static(kind, name)
                is_own = method is not inspect.getattr_static(BaseChatModel, name)
                if is_own and inspect.isfunction(method) and fits(method) and not is_spliced(method):
                    self._put(method, handler(self._handlers))
        except Exception:
            _logger.debug("the class %s could not be looked at", kind.__name__, exc_info=True)

    def _put(self, method: Any, handler: Callable[..., Any]) -> None:
        try:
            self._splices.append(splice(method, handler))
        except SpliceError:
            # A closure: mostly one that calls `super()`, and has its draft handed on there.
            _logger.debug("%s stays as it is", method.__qualname__)


def _below(kind: type[Any]) -> Iterator[type[Any]]:
    each: type[Any]
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)


def _unseen(watch: Watch, call: Call) -> Callable[[bool], Sequence[Draft]]:
    return lambda complete: () if watch.seen else call.drafts_of_chunks(complete)


def _applied(message: Any, texts: Any) -> Any:
    text = next(iter(texts or ()), None)
    return message if text is None else rewritten_message(message, text)


def _let_through(chunks: Sequence[Any], texts: Sequence[str | None]) -> Iterator[Any]:
    text = texts[0] if texts else None
    if text is None or not chunks:
        yield from chunks
        return
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole = whole + chunk
    yield as_chunk(rewritten_message(whole, text))

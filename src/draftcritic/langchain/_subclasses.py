"""The handlers for methods with which a class answers by itself, past LangChain's.

A method that reaches LangChain's own, in whatever way, has its draft captured there and is left alone here. The
others are judged by what they return: a message, a batch of messages, a result with generations, an iterator, or
something to await that gives one of these.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import aclosing
from functools import partial
from itertools import islice
from typing import Any, NamedTuple
from weakref import WeakSet

from draftcritic.langchain._answer_shapes import messages_in, replaced, replaced_chunks
from draftcritic.langchain._boundary import Handler, OnFault, guarded_async_items, guarded_coroutine, guarded_items
from draftcritic.langchain._call import Call, Watch, is_outermost, mark_captured, mark_muted
from draftcritic.langchain._capture import LazyDraft
from draftcritic.langchain._interceptors import GUARD, AsyncItems, Interceptor, Items
from draftcritic.langchain._method_patches import Splice, SpliceError, is_handled, splice
from draftcritic.langchain._stepwise import astepwise, stepwise
from draftcritic.langchain._wrapt_patches import Wrap, is_wrapped, wrap

ONE = ("invoke", "ainvoke")
BATCH = ("batch", "abatch")
GENERATE = ("generate", "agenerate", "generate_prompt", "agenerate_prompt")
CHUNKS = ("stream", "astream", "transform", "atransform")
PAIRS = ("batch_as_completed", "abatch_as_completed")
_PROMPTS = {
    **dict.fromkeys((*ONE, "stream", "astream"), "input"),
    **dict.fromkeys((*BATCH, *PAIRS), "inputs"),
    **dict.fromkeys(("generate", "agenerate"), "messages"),
    **dict.fromkeys(("generate_prompt", "agenerate_prompt"), "prompts"),
}
"""The name of each method's first parameter."""


class _Turn(NamedTuple):
    """One call of a method: what is known of each of its inputs, and whether a draft was captured below.

    Attributes:
        muted: it runs in a `muted` block: its drafts are counted and not reviewed.
    """

    calls: Sequence[Call]
    watch: Watch
    muted: bool = False

    def of(self, index: int) -> Call:
        return self.calls[min(index, len(self.calls) - 1)]


class OwnMethods:
    """Makes the handlers, one for each method name and kind of function. See `Interceptor`."""

    def __init__(self, interceptor: Interceptor) -> None:
        self._interceptor = interceptor
        self._reviewer = interceptor.reviewer

    def handler(self, name: str, method: Any) -> Handler:
        """Return the handler for `method`, which a class has under `name`."""
        if inspect.isasyncgenfunction(method):
            return partial(self._async_items, name)
        if inspect.isgeneratorfunction(method):
            return partial(self._items, name)
        if inspect.iscoroutinefunction(method):
            return partial(self._coroutine, name)
        return partial(self._function, name)

    def _function(self, name: str, original: Callable[..., Any], model: Any, /, *args: Any, **kwargs: Any) -> Any:
        turn = self._turn(name, model, args, kwargs)
        if turn is None:
            return original(model, *args, **kwargs)
        with turn.watch.step():
            value = original(model, *args, **kwargs)
        if turn.watch.seen:
            return value
        later = self._later(name, value, (model, *args), kwargs)
        if later is not None:
            return later
        if inspect.isawaitable(value):
            awaiting = partial(self._coroutine, name)
            return guarded_coroutine(awaiting, lambda *_, **__: value, self._reviewer.failed, (model, *args), kwargs)
        drafts = self._drafts(turn, value)
        return value if drafts is None else self._applied(value, self._reviewer.take(lambda: drafts))

    async def _coroutine(
        self, name: str, original: Callable[..., Any], model: Any, /, *args: Any, **kwargs: Any
    ) -> Any:
        turn = self._turn(name, model, args, kwargs)
        if turn is None:
            return await original(model, *args, **kwargs)
        with turn.watch.step():
            value = await original(model, *args, **kwargs)
        if turn.watch.seen:
            return value
        later = self._later(name, value, (model, *args), kwargs)
        if later is not None:
            return later
        drafts = self._drafts(turn, value)
        if drafts is None:
            return value
        for call in turn.calls:
            call.loop = asyncio.get_running_loop()
        return self._applied(value, await self._reviewer.atake(lambda: drafts))

    def _later(self, name: str, value: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Return an iterator that reviews what `value` gives; None when it is no iterator."""
        given: dict[str, Any] = {
            "function": lambda *_, **__: value,
            "fault": self._reviewer.failed,
            "args": args,
            "kwargs": kwargs,
        }
        if hasattr(value, "__anext__"):
            return guarded_async_items(partial(self._async_items, name), **given)
        if hasattr(value, "__next__"):
            return guarded_items(partial(self._items, name), **given)
        return None

    def _drafts(self, turn: _Turn, value: Any) -> Sequence[LazyDraft] | None:
        """Return the drafts in a value; None when it is not a kind of value that has any."""
        found = messages_in(value)
        if not any(found):
            return None
        if turn.muted:
            self._count_muted(turn)
            return None
        mark_captured()
        return [
            draft
            for index, messages in enumerate(found)
            for message in messages
            for draft in turn.of(index).drafts_of_message(message, True)
        ]

    def _applied(self, value: Any, texts: Any) -> Any:
        wanted = list(islice(texts or (), sum(map(len, messages_in(value)))))
        return replaced(value, wanted) if any(text is not None for text in wanted) else value

    def _items(self, name: str, original: Callable[..., Items], model: Any, /, *args: Any, **kwargs: Any) -> Items:
        turn = self._turn(name, model, args, kwargs, streamed=True)
        source = original(model, *args, **kwargs)
        if turn is None:
            return source
        if name in PAIRS:
            return self._pairs(source, turn)
        if turn.muted:
            return self._muted(source, turn)
        call, watch = turn.of(0), turn.watch
        if self._interceptor.buffers:
            return self._held(source, call, watch)
        return self._interceptor.follow(source, call.chunks.append, _unseen(watch, call), watch=watch)

    def _async_items(
        self, name: str, original: Callable[..., AsyncItems], model: Any, /, *args: Any, **kwargs: Any
    ) -> AsyncItems:
        turn = self._turn(name, model, args, kwargs, streamed=True)
        source = original(model, *args, **kwargs)
        if turn is None:
            return source
        for call in turn.calls:
            call.loop = asyncio.get_running_loop()
        if name in PAIRS:
            return self._apairs(source, turn)
        if turn.muted:
            return self._amuted(source, turn)
        call, watch = turn.of(0), turn.watch
        if self._interceptor.buffers:
            return self._aheld(source, call, watch)
        return self._interceptor.afollow(source, call.chunks.append, _unseen(watch, call), watch=watch)

    def _count_muted(self, turn: _Turn) -> None:
        if not turn.watch.muted:
            turn.watch.muted = True
            self._interceptor.count_muted()
            mark_muted()

    def _muted(self, source: Any, turn: _Turn) -> Items:
        try:
            yield from stepwise(source, turn.watch.step)
        finally:
            self._count_muted(turn)

    async def _amuted(self, source: Any, turn: _Turn) -> AsyncItems:
        try:
            async with aclosing(astepwise(source, turn.watch.step)) as items:
                async for item in items:
                    yield item
        finally:
            self._count_muted(turn)

    def _held(self, source: Any, call: Call, watch: Watch) -> Items:
        with watch.step():
            call.chunks.extend(source)
        texts = [] if watch.seen else list(self._reviewer.take(lambda: call.drafts_of_chunks(True)) or ())
        yield from replaced_chunks(call.chunks, texts[0] if texts else None)

    async def _aheld(self, source: Any, call: Call, watch: Watch) -> AsyncItems:
        with watch.step():
            async for chunk in source:
                call.chunks.append(chunk)
        texts = [] if watch.seen else list(await self._reviewer.atake(lambda: call.drafts_of_chunks(True)) or ())
        for chunk in replaced_chunks(call.chunks, texts[0] if texts else None):
            yield chunk

    def _pairs(self, source: Any, turn: _Turn) -> Items:
        while True:
            with turn.watch.step():
                try:
                    index, value = next(source)
                except StopIteration:
                    return
            drafts = None if turn.watch.seen else self._drafts(turn._replace(calls=[turn.of(index)]), value)
            yield index, value if drafts is None else self._applied(value, self._reviewer.take(partial(_known, drafts)))

    async def _apairs(self, source: Any, turn: _Turn) -> AsyncItems:
        while True:
            with turn.watch.step():
                try:
                    index, value = await source.__anext__()
                except StopAsyncIteration:
                    return
            drafts = None if turn.watch.seen else self._drafts(turn._replace(calls=[turn.of(index)]), value)
            texts = () if drafts is None else await self._reviewer.atake(partial(_known, drafts))
            yield index, value if drafts is None else self._applied(value, texts)

    def _turn(
        self, name: str, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, streamed: bool = False
    ) -> _Turn | None:
        """Return what is known of a call; None when its answer is no draft of the application."""
        from langchain_core.language_models import BaseChatModel

        if not isinstance(model, BaseChatModel) or not is_outermost() or self._interceptor.is_of_another(model):
            return None
        calls = _calls(name, model, args, kwargs)
        if self._interceptor.is_muted():
            return _Turn(calls, Watch(), muted=True)
        if any(self._interceptor.is_left_alone(call) for call in calls):
            return None
        watch = Watch()
        for call in calls:
            call.streamed = streamed
            call.enforced = self._interceptor.enforces
            call.exposed = streamed and not self._interceptor.buffers and name not in PAIRS
            call.origin = self._reviewer.capture(call.run)
        if streamed and name not in PAIRS:
            mark_captured()
        return _Turn(calls, watch)


def _calls(name: str, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Call]:
    """Return what is known of each input of a call. Arguments of another form leave the input unknown."""
    given = args[0] if args else kwargs.get(_PROMPTS.get(name, ""))
    if name in GENERATE:
        inputs = given if isinstance(given, (list, tuple)) else [given]
        return [Call.of_generate(model, (each,), kwargs) for each in inputs or [None]]
    configs = args[1] if len(args) > 1 else kwargs.get("config")
    if name in (*BATCH, *PAIRS):
        inputs = given if isinstance(given, (list, tuple)) else [given]
        each_config = configs if isinstance(configs, (list, tuple)) else [configs] * len(inputs)
        pairs = list(zip(inputs, each_config, strict=False)) or [(None, None)]
    else:
        # The input of a transformation is an iterator that the method reads itself.
        pairs = [(None if name in ("transform", "atransform") else given, configs)]
    return [Call.of_stream(model, (each, _config(config)), kwargs) for each, config in pairs]


def _config(value: Any) -> Any:
    """Return a run configuration; None for what a method of another signature takes in its place."""
    return value if isinstance(value, dict) else None


def _unseen(watch: Watch, call: Call) -> Callable[[bool], Sequence[LazyDraft]]:
    return lambda complete: () if watch.seen else call.drafts_of_chunks(complete)


def _known(drafts: Sequence[LazyDraft]) -> Sequence[LazyDraft]:
    return drafts


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
        self.names = (*ONE, *BATCH, *GENERATE, *CHUNKS, *PAIRS, *self._same)
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
        if name in self.names or name in _LEFT_OUT or name == _COMPLETE:
            self._look(kind)

    def _look(self, kind: type[Any]) -> None:
        """Put handlers into what a class overrides. Never raises: the class is being made."""
        if not self._on:
            return
        missed = []
        try:
            from langchain_core.language_models import BaseChatModel

            for name in (*self.names, *_LEFT_OUT):
                above = inspect.getattr_static(BaseChatModel, name, None)
                owner = next((k for k in kind.__mro__ if name in vars(k)), None)
                if owner is None or vars(owner)[name] is above or owner in BaseChatModel.__mro__:
                    continue
                if GUARD in vars(owner):
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

    def handler(self, name: str, method: Any) -> Handler:
        """Return the handler for a method that a class has under one of `names`."""
        make = self._same.get(name)
        return self._own.handler(name, method) if make is None else make(method)

    def _place(self, owner: type[Any], name: str) -> bool:
        """Put a handler into the method that a class has under `name`; False where that is not possible."""
        method = vars(owner)[name]
        if is_handled(method) or is_wrapped(method):
            return True
        if isinstance(method, (classmethod, staticmethod)):
            return False  # it gets no model, and without the model nothing can be reviewed
        handler = self.handler(name, method)
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

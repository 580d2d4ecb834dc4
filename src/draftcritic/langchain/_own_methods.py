"""The handlers for methods with which a class answers by itself, past LangChain's.

A method that reaches LangChain's own, in whatever way, has its draft captured there and is left alone here. The
others are judged by what they return: a message, a batch of messages, a result with generations, an iterator, or
something to await that gives one of these.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

from draftcritic.langchain._call import Call
from draftcritic.langchain._caught import Draft
from draftcritic.langchain._frame import Watch, handed_on, is_outermost
from draftcritic.langchain._guard import Handler, guarded_async_items, guarded_coroutine, guarded_items
from draftcritic.langchain._intercept import AsyncItems, Interceptor, Items
from draftcritic.langchain._shapes import messages_in, replaced, replaced_chunks

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
    """One call of a method: what is known of each of its inputs, and whether a draft was captured below."""

    calls: Sequence[Call]
    watch: Watch

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

    def _drafts(self, turn: _Turn, value: Any) -> Sequence[Draft] | None:
        """Return the drafts in a value; None when it is nothing that holds any."""
        found = messages_in(value)
        if not any(found):
            return None
        handed_on()
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
        call, watch = turn.of(0), turn.watch
        if self._interceptor.holds:
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
        call, watch = turn.of(0), turn.watch
        if self._interceptor.holds:
            return self._aheld(source, call, watch)
        return self._interceptor.afollow(source, call.chunks.append, _unseen(watch, call), watch=watch)

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
            drafts = None if turn.watch.seen else self._drafts(_Turn([turn.of(index)], turn.watch), value)
            yield index, value if drafts is None else self._applied(value, self._reviewer.take(partial(_known, drafts)))

    async def _apairs(self, source: Any, turn: _Turn) -> AsyncItems:
        while True:
            with turn.watch.step():
                try:
                    index, value = await source.__anext__()
                except StopAsyncIteration:
                    return
            drafts = None if turn.watch.seen else self._drafts(_Turn([turn.of(index)], turn.watch), value)
            texts = () if drafts is None else await self._reviewer.atake(partial(_known, drafts))
            yield index, value if drafts is None else self._applied(value, texts)

    def _turn(
        self, name: str, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, streamed: bool = False
    ) -> _Turn | None:
        """Return what is known of a call; None when its answer is no draft of the application."""
        from langchain_core.language_models import BaseChatModel

        if not isinstance(model, BaseChatModel) or not is_outermost():
            return None
        calls = _calls(name, model, args, kwargs)
        if any(self._interceptor.is_left_alone(call) for call in calls):
            return None
        watch = Watch()
        for call in calls:
            call.streamed = streamed
            call.enforced = self._interceptor.enforces
            call.exposed = streamed and not self._interceptor.holds and name not in PAIRS
            call.origin = self._reviewer.capture(call.run)
        if streamed and name not in PAIRS:
            handed_on()
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


def _unseen(watch: Watch, call: Call) -> Callable[[bool], Sequence[Draft]]:
    return lambda complete: () if watch.seen else call.drafts_of_chunks(complete)


def _known(drafts: Sequence[Draft]) -> Sequence[Draft]:
    return drafts

"""The handlers inside LangChain's methods: each runs the model, and passes its answer to the reviewer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any, Protocol

from draftcritic.langchain._answer_shapes import replaced_result
from draftcritic.langchain._call import Call, Frame, is_outermost, mark_captured, mark_muted, streams_tokens
from draftcritic.langchain._capture import LazyDraft
from draftcritic.langchain._own_calls import without_effects
from draftcritic.review._scope import current_mark, is_muted

GUARD = "__draftcritic_guard__"
"""Attribute of the classes that have handlers of their own: the interceptor that these belong to; see `ModelGuard`."""
CaptureFn = Callable[[], Sequence[LazyDraft]]
"""Returns the drafts of a call."""
Items = Iterator[Any]
AsyncItems = AsyncGenerator[Any, None]


class Reviewer(Protocol):
    """Takes drafts. No method raises anything but what ends the caller itself, such as a cancellation."""

    def capture(self, run_id: Any = None) -> Any:
        """Return the place of the current code in its trace."""
        ...

    def nested(self) -> None:
        """A call was left alone because it is the critic's own."""
        ...

    def muted(self) -> None:
        """Count a call inside a `muted` block, which is not reviewed."""
        ...

    def allows_muted(self) -> bool:
        """Whether a `muted` block of the application keeps its calls from their reviews."""
        ...

    def take(self, capture_drafts: CaptureFn) -> Iterable[str | None]:
        """Review what `capture_drafts` returns, from synchronous code.

        Returns:
            For each draft the text that takes its place, or None; nothing at all when no draft is touched.
        """
        ...

    async def atake(self, capture_drafts: CaptureFn) -> Iterable[str | None]:
        """Review what `capture_drafts` returns, from a coroutine. See `take`."""
        ...

    def found(self, documents: Any) -> None:
        """A retriever found these documents."""
        ...

    def failed(self, error: Exception, metadata: Mapping[str, Any]) -> str | None:
        """Report a fault of a handler's own, in a call with this metadata.

        Returns:
            The text that replaces the answer; None where it leaves without a review.
        """
        ...


class Stepping(Protocol):
    """Surrounds the steps of a model at work."""

    open: bool

    def step(self) -> AbstractContextManager[None]:
        """Return the surroundings of one step."""
        ...


def _never() -> bool:
    """Say that a stream is whole only when it has ended."""
    return False


class Interceptor:
    """The handlers, one for each method that a draft leaves by, for drafts that may leave at once.

    A message is rewritten when the reviewer says so; a stream never is. Every handler is called with the original
    method first. What the original raises goes through untouched.

    Args:
        reviewer: takes the drafts.
        enforces: the verdict decides what the caller gets.
    """

    buffers = False
    """Whether a stream is held back until its verdict."""

    def __init__(self, reviewer: Reviewer, *, enforces: bool = False) -> None:
        self._may_enforce = enforces or self.buffers
        self._enforces_now: Callable[[], bool] = getattr(reviewer, "enforces", _yes)
        self._is_off: Callable[[], bool] = getattr(reviewer, "is_off", _never)
        self.reviewer = self._reviewer = reviewer
        self.count_muted: Callable[[], None] = getattr(reviewer, "muted", _count_nothing)
        self._allows_muted: Callable[[], bool] = getattr(reviewer, "allows_muted", _allow)

    @property
    def enforces(self) -> bool:
        """Whether the verdict decides now what the caller gets."""
        return self._may_enforce and self._enforces_now()

    def generate(self, original: Callable[..., Any], model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Stand in for `BaseChatModel._generate_with_cache`."""
        call = Call.of_generate(model, args, kwargs)
        if not self._wants(call):
            return original(isolated(model, call), *args, **kwargs)
        call.exposed = streams_tokens(call, asynchronous=False)
        frame = Frame()
        try:
            with frame.step():
                result = original(model, *args, **kwargs)
        finally:
            frame.open = False
        return applied(result, self._reviewer.take(lambda: call.drafts_of_result(result)))

    async def agenerate(self, original: Callable[..., Any], model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Stand in for `BaseChatModel._agenerate_with_cache`."""
        call = Call.of_generate(model, args, kwargs)
        if not self._wants(call):
            return await original(isolated(model, call), *args, **kwargs)
        call.exposed = streams_tokens(call, asynchronous=True)
        frame = Frame()
        try:
            with frame.step():
                result = await original(model, *args, **kwargs)
        finally:
            frame.open = False
        call.loop = asyncio.get_running_loop()
        return applied(result, await self._reviewer.atake(lambda: call.drafts_of_result(result)))

    # A handler for a generator returns one: the guard around it gives out the items, and closes it and the original.

    def stream(self, original: Callable[..., Items], model: Any, /, *args: Any, **kwargs: Any) -> Items:
        """Stand in for `BaseChatModel.stream`."""
        call = Call.of_stream(model, args, kwargs)
        if not self._wants(call):
            return original(model, *args, **kwargs)
        args, kwargs = call.named(args, kwargs)
        source = original(model, *args, **kwargs)
        return self.follow(source, call.chunks.append, call.drafts_of_chunks, call.has_whole_message)

    def astream(self, original: Callable[..., AsyncItems], model: Any, /, *args: Any, **kwargs: Any) -> AsyncItems:
        """Stand in for `BaseChatModel.astream`."""
        call = Call.of_stream(model, args, kwargs)
        if not self._wants(call):
            return original(model, *args, **kwargs)
        call.loop = asyncio.get_running_loop()
        args, kwargs = call.named(args, kwargs)
        source = original(model, *args, **kwargs)
        return self.afollow(source, call.chunks.append, call.drafts_of_chunks, call.has_whole_message)

    def events(self, original: Callable[..., Items], model: Any, /, *args: Any, **kwargs: Any) -> Items:
        """Stand in for `BaseChatModel._iter_v2_events`, which drives `stream_events(version="v3")`."""
        call = Call.of_generate(model, args, kwargs)
        call.streamed = call.exposed = True
        if not self._wants(call):
            return original(model, *args, **kwargs)
        source, stream = original(model, *args, **kwargs), kwargs["stream"]
        return self.follow(source, _ignore, *_of_event_stream(call, stream))

    def aevents(self, original: Callable[..., AsyncItems], model: Any, /, *args: Any, **kwargs: Any) -> AsyncItems:
        """Stand in for `BaseChatModel._aiter_v2_events`, which drives `astream_events(version="v3")`."""
        call = Call.of_generate(model, args, kwargs)
        call.streamed = call.exposed = True
        if not self._wants(call):
            return original(model, *args, **kwargs)
        call.loop = asyncio.get_running_loop()
        source, stream = original(model, *args, **kwargs), kwargs["stream"]
        return self.afollow(source, _ignore, *_of_event_stream(call, stream))

    def retrieve(self, original: Callable[..., Any], retriever: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Stand in for `BaseRetriever.invoke`."""
        documents = original(retriever, *args, **kwargs)
        self._reviewer.found(documents)
        return documents

    async def aretrieve(self, original: Callable[..., Any], retriever: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Stand in for `BaseRetriever.ainvoke`."""
        documents = await original(retriever, *args, **kwargs)
        self._reviewer.found(documents)
        return documents

    def configure(self, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Stand in for LangChain's `_configure`, which makes the callback manager of a run."""
        return original(*args, **kwargs)

    def is_critics(self, call: Call) -> bool:
        """Whether a call is the critic's own: it runs in the critic's context, or carries the mark in its metadata."""
        return current_mark(call.metadata) is not None

    def is_muted(self) -> bool:
        """Whether the current code runs inside a `muted` block that the settings allow."""
        return is_muted() and (is_muted(internally=True) or self._allows_muted())

    def is_of_another(self, model: Any) -> bool:
        """Whether other handlers take the drafts: the model is a view of another interceptor's, or a stand-in."""
        from langchain_core.language_models import BaseChatModel

        return type(model).__dict__.get(GUARD, self) is not self or not isinstance(model, BaseChatModel)

    def is_left_alone(self, call: Call) -> bool:
        """Whether a call is not reviewed: the critic's own, or one that the application has excluded."""
        if self.is_muted():
            return True
        if not self.is_critics(call):
            return False
        self._reviewer.nested()
        return True

    def _is_draft(self, call: Call) -> bool:
        """Whether the answer of a call is a draft of the application, which leaves the models here."""
        if self.is_of_another(call.model) or self._is_off():
            return False
        if self.is_muted():
            # A stream of a model that cannot stream is one call of `generate` below, which counts it.
            if is_outermost() and not (call.streamed and is_streamed_by_generate(call.model)):
                self.count_muted()
                mark_muted()
            return False
        if self.is_left_alone(call):
            return False
        if not is_outermost():
            return False
        mark_captured()
        return True

    def _wants(self, call: Call) -> bool:
        if not self._is_draft(call):
            return False
        call.enforced = self.enforces
        call.origin = self._reviewer.capture(call.run)
        return True

    def follow(
        self,
        source: Any,
        keep: Callable[[Any], None],
        capture_drafts: Callable[[bool], Sequence[LazyDraft]],
        whole: Callable[[], bool] = _never,
        *,
        watch: Stepping | None = None,
    ) -> Items:
        """Give out what `source` gives, keep it, and have the draft reviewed at its end or when it is left."""
        frame = watch or Frame()
        started = complete = False
        try:
            while True:
                with frame.step():
                    try:
                        item = next(source)
                    except StopIteration:
                        break
                keep(item)
                started = True
                if not complete and whole():
                    # Readers that stop at the whole message do not reach the end of the generator.
                    complete = True
                    self._reviewer.take(lambda: capture_drafts(True))
                yield item
            if not complete:
                complete = True
                self._reviewer.take(lambda: capture_drafts(True))
        finally:
            frame.open = False
            if started and not complete:
                self._reviewer.take(lambda: capture_drafts(False))

    async def afollow(
        self,
        source: Any,
        keep: Callable[[Any], None],
        capture_drafts: Callable[[bool], Sequence[LazyDraft]],
        whole: Callable[[], bool] = _never,
        *,
        watch: Stepping | None = None,
    ) -> AsyncItems:
        """Give out what `source` gives. See `follow`."""
        frame = watch or Frame()
        started = complete = False
        try:
            while True:
                with frame.step():
                    try:
                        item = await source.__anext__()
                    except StopAsyncIteration:
                        break
                keep(item)
                started = True
                if not complete and whole():
                    complete = True
                    await self._reviewer.atake(lambda: capture_drafts(True))
                yield item
            if not complete:
                complete = True
                await self._reviewer.atake(lambda: capture_drafts(True))
        finally:
            frame.open = False
            if started and not complete:
                # Without await: an abandoned generator may be closed while its loop shuts down.
                self._reviewer.take(lambda: capture_drafts(False))


def _yes() -> bool:
    """Say that a reviewer which cannot lower its mode enforces."""
    return True


def _count_nothing() -> None:
    """Stand in for a reviewer that does not count muted calls."""


def _allow() -> bool:
    """Stand in for a reviewer without a setting for muted calls."""
    return True


def is_streamed_by_generate(model: Any) -> bool:
    """Whether a model has no stream of its own: LangChain then gives its whole message as one chunk."""
    from langchain_core.language_models import BaseChatModel

    own = (getattr(type(model), name, None) is not getattr(BaseChatModel, name) for name in ("_stream", "_astream"))
    return not any(own)


def isolated(model: Any, call: Call) -> Any:
    """Return the model that is asked: one that the critic calls leaves no trace in the application's cache."""
    mark = current_mark(call.metadata)
    return model if mark is None else without_effects(model, mark.spared)


def applied(result: Any, texts: Iterable[str | None]) -> Any:
    """Return a `ChatResult` with the texts of its reviews, itself when they change nothing."""
    return replaced_result(result, islice(texts, len(result.generations))) if texts else result


def _of_event_stream(call: Call, stream: Any) -> tuple[Callable[[bool], Sequence[LazyDraft]], Callable[[], bool]]:
    """Return how to capture the draft that an event stream collects, and how to tell that it is whole."""
    return (
        lambda complete: call.drafts_of_message(_message_of(stream), complete),
        lambda: stream.output_message is not None,
    )


def _message_of(stream: Any) -> Any:
    # A producer may leave out the event that finishes the message; LangChain then finishes it after the last event.
    return stream.output_message or getattr(stream, "_assemble_message", lambda: None)()


def _ignore(_: Any) -> None:
    """Keep nothing: the stream collects its message itself."""

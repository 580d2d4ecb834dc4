"""Replaced answers in the forms that LangChain's streams and callbacks have."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from draftcritic.langchain._answer_shapes import refusal_chunk, replaced_message
from draftcritic.langchain._boundary import guarded_async_items, guarded_items
from draftcritic.langchain._call import Arguments, Call, Frame, holding
from draftcritic.langchain._capture import LazyDraft, mapping_of
from draftcritic.langchain._deferred_callbacks import Event, Recording, areplay, pulse, replay, silenced
from draftcritic.langchain._held_cache import CacheAfterVerdict
from draftcritic.langchain._message_text import text_of
from draftcritic.langchain._private import private
from draftcritic.langchain._rewrite import as_chunk, rewritten_generation, shown

if TYPE_CHECKING:
    from draftcritic.langchain._enforce import HoldingInterceptor
    from draftcritic.langchain._interceptors import AsyncItems, Items

_GATEWAY = "lc_gateway_metadata"
"""Under which LangChain collects what a gateway says about the model that it chose."""
CallbackCall = tuple[str, tuple[Any, ...], dict[str, Any]]
"""The name of a run manager's method, and its arguments."""


def whole_of(chunks: Sequence[Any]) -> Any:
    """Return the one generation chunk that a stream's generation chunks make up."""
    first, *rest = chunks
    try:
        return first + rest if rest else first
    except Exception:  # chunks that LangChain cannot merge: what is released is a replacement anyway
        return first


def chunk_generations(generation: Any) -> Sequence[Any]:
    """Return a replaced generation as the chunks of a stream, as a client may see it."""
    message = shown(generation.message)
    if "chunk_position" in type(message).model_fields:
        message = message.model_copy(update={"chunk_position": "last"})
    return [generation.model_copy(update={"message": message})]


def new_tokens(result: Any, as_tokens: bool, as_events: bool) -> Iterator[CallbackCall]:
    """Return the callbacks that a replaced result makes where the draft would have made them.

    Args:
        result: the `ChatResult` after the verdict.
        as_tokens: the draft made callbacks for tokens.
        as_events: the draft made callbacks for events of the streaming protocol.
    """
    from langchain_core.messages import BaseMessageChunk
    from langchain_core.outputs import ChatGenerationChunk

    for generation in result.generations if as_tokens or as_events else ():
        message = shown(generation.message)
        if as_events:
            for event in events_of(message, message.id):
                yield "on_stream_event", (event,), {}
        else:
            chunk = as_chunk(message)
            fits = isinstance(chunk, BaseMessageChunk)
            named = {"chunk": ChatGenerationChunk(message=chunk)} if fits else {}
            yield "on_llm_new_token", (text_of(message.content),), named


def streams_events(model: Any) -> bool:
    """Whether a model can give out events of the streaming protocol itself."""
    from langchain_core.language_models import BaseChatModel

    kind = type(model)
    native = ("_stream_chat_model_events", "_astream_chat_model_events")
    if any(getattr(kind, name, None) is not None for name in native):
        return True
    return bool(kind._stream is not BaseChatModel._stream or kind._astream is not BaseChatModel._astream)


def whole_events(model: Any, *args: Any, stream: Any, **kwargs: Any) -> Iterator[Any]:
    """Give out the answer of a model without a stream as events of the streaming protocol."""
    result = model._generate_with_cache(*args, **kwargs)
    for event in events_of(result.generations[0].message, stream.message_id):
        stream.dispatch(event)
        yield event


async def awhole_events(model: Any, *args: Any, stream: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
    """Give out the answer of a model without a stream. See `whole_events`."""
    result = await model._agenerate_with_cache(*args, **kwargs)
    for event in events_of(result.generations[0].message, stream.message_id):
        stream.dispatch(event)
        yield event


def events_of(message: Any, message_id: str | None) -> Iterable[Any]:
    """Return a message as events of the streaming protocol."""
    events: Iterable[Any] = private("message_to_events")(message, message_id=message_id)
    return events


def show_callbacks(run_manager: Any, result: Any) -> None:
    """Have the callbacks at the end of a run see a replaced result as a client may."""
    if all(shown(generation.message) is generation.message for generation in result.generations):
        return
    end = run_manager.on_llm_end

    def on_llm_end(response: Any, **kwargs: Any) -> Any:
        return end(_shown_response(response), **kwargs)

    run_manager.on_llm_end = on_llm_end


def _shown_response(response: Any) -> Any:
    generations = [
        [each.model_copy(update={"message": shown(each.message)}) for each in of_prompt]
        for of_prompt in response.generations
    ]
    return response.model_copy(update={"generations": generations})


_logger = logging.getLogger(__name__)


class HeldCall:
    """A call of `_generate_with_cache` whose result and callbacks wait for the verdict."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.recording = Recording()
        self.frame = Frame(self.recording)
        self.cache = CacheAfterVerdict(call.model)
        self.model = self.cache.model
        self.tokens: list[Callable[[], Any]] = []

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End; after an error nothing that was recorded is replayed."""
        self.frame.open = False
        if error is not None:
            self.recording.end(dropped=True)

    def arguments(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Return the arguments of the call with a run manager that records."""
        muted = silenced(self.recording, self.call.run_manager)
        if len(args) > 2:
            return (*args[:2], muted, *args[3:]), kwargs
        return args, {**kwargs, "run_manager": muted}

    def end(self, released: Any, *, changed: bool) -> Sequence[Event]:
        """Return the callbacks to replay; with a changed result none, and `tokens` has the callbacks of the new one."""
        manager = self.call.run_manager
        if changed and manager is not None:
            show_callbacks(manager, released)
            for name, values, named in new_tokens(released, *self.recording.streamed(self.call.run)):
                self.tokens.append(partial(getattr(manager, name), *values, **named))
        return self.recording.end(dropped=changed)


class HeldEvents:
    """A call of `_iter_v2_events` whose events wait for the verdict."""

    def __init__(self, call: Call, kwargs: dict[str, Any]) -> None:
        self.call = call
        self.run_manager = kwargs["run_manager"]
        self.recording = Recording()
        self.frame = Frame(self.recording)
        self.callbacks: Sequence[Event] = ()
        self.is_abandoned = False
        self._events: list[tuple[Any, int]] = []
        self._stream = kwargs["stream"]
        self._shadow = type(self._stream)(message_id=self._stream.message_id)
        self._text: str | None = None
        self.arguments = {
            **kwargs,
            "stream": self._shadow,
            "run_manager": silenced(self.recording, self.run_manager),
        }

    def __enter__(self) -> None:
        """Begin."""

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        """End; after an error the draft is abandoned."""
        self.frame.open = False
        if error is not None:
            self.recording.end(dropped=True)
            self.is_abandoned = bool(self._events)
            # The trace of the failed call names the gateway's model; whatever else was collected may repeat the draft.
            gateway = mapping_of(self._shadow, "_generation_info").get(_GATEWAY)
            if gateway is not None:
                self._stream._generation_info[_GATEWAY] = gateway

    def keep(self, event: Any) -> None:
        """Keep an event, with how many callbacks were made until then."""
        self._events.append((event, len(self.recording)))

    def drafts(self) -> Sequence[LazyDraft]:
        """Return the draft that the events make up."""
        return self.call.drafts_of_message(self._message, not self.is_abandoned)

    def decide(self, texts: Iterable[str | None]) -> None:
        """Take the verdict."""
        self._text = next(iter(texts or ()), None)
        self.callbacks = self.recording.end(dropped=self._text is not None)

    def released(self) -> Iterator[tuple[Sequence[Event], Any]]:
        """Give out the events after the verdict, each with the callbacks before it.

        The application's stream has taken an event in when it is given out.
        """
        if self._text is None:
            self._stream._generation_info.update(self._shadow._generation_info)
            events: Iterable[tuple[Any, int]] = self._events
        else:
            message = shown(replaced_message(self._message, self._text))
            events = ((event, 0) for event in events_of(message, self._stream.message_id))
        done = 0
        for event, until in events:
            callbacks, done = self.callbacks[done:until], until
            self._stream.dispatch(event)
            yield [each for each in callbacks if not self._is_of_event(each)], event

    def _is_of_event(self, callback: Event) -> bool:
        return callback.name == "on_stream_event" and callback.kwargs.get("run_id") == self.call.run

    @property
    def _message(self) -> Any:
        # A producer may leave out the event that finishes the message; LangChain then finishes it after the last event.
        return self._shadow.output_message or (self._shadow._assemble_message() if self._events else None)


class HeldStream:
    """In place of a chat model in LangChain's `stream`: gives its chunks out after the verdict."""

    def __init__(self, interceptor: HoldingInterceptor, call: Call) -> None:
        self._held_by = interceptor
        self._held_call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._held_call.model, name)

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        """Ask a model that has no stream. Its own call is held back."""
        with holding():
            return self._held_call.model.invoke(*args, **kwargs)

    async def ainvoke(self, *args: Any, **kwargs: Any) -> Any:
        """Ask a model that has no stream. See `invoke`."""
        with holding():
            return await self._held_call.model.ainvoke(*args, **kwargs)

    def _stream(self, *args: Any, **kwargs: Any) -> Items:
        # LangChain's `stream` calls this method: to the boundary around that, a fault here is the application's.
        return guarded_items(
            self._held, self._held_call.model._stream, self._failed, args, kwargs, refusal=refusal_generation
        )

    def _astream(self, *args: Any, **kwargs: Any) -> AsyncItems:
        source = self._held_call.model._astream
        return guarded_async_items(self._aheld, source, self._failed, args, kwargs, refusal=refusal_generation)

    def _failed(self, error: Exception, _: Any) -> str | None:
        return self._held_by.reviewer.failed(error, self._held_call.metadata)

    def _held(self, original: Any, /, *args: Any, **kwargs: Any) -> Items:
        """Collect the chunks of the model's `_stream`, and give them out after the verdict."""
        call, recording = self._held_call, Recording()
        frame = Frame(recording)
        self._held_by.capture(call)
        source = original(*args, **kwargs)
        complete = False
        try:
            with frame.step():
                for chunk in source:
                    call.chunks.append(chunk)
                    pulse(call.pulses)
            complete = True
        finally:
            frame.open = False
            if not complete:
                recording.end(dropped=True)
                self._held_by.judge(lambda: call.drafts_of_generations(False))
        text = _first(self._held_by.judge(lambda: call.drafts_of_generations(True)))
        original.callback(replay, recording.end(dropped=text is not None))
        yield from _released(call, text)

    async def _aheld(self, original: Any, /, *args: Any, **kwargs: Any) -> AsyncItems:
        """Collect the chunks of the model's `_astream`. See `_held`."""
        call, recording = self._held_call, Recording()
        frame = Frame(recording)
        self._held_by.capture(call)
        source = original(*args, **kwargs)
        complete = False
        try:
            with frame.step():
                async for chunk in source:
                    call.chunks.append(chunk)
                    pulse(call.pulses)
            complete = True
        finally:
            frame.open = False
            if not complete:
                recording.end(dropped=True)
                self._held_by.judge(lambda: call.drafts_of_generations(False))
        text = _first(await self._held_by.ajudge(call, lambda: call.drafts_of_generations(True)))
        await original.acallback(areplay, recording.end(dropped=text is not None))
        for chunk in _released(call, text):
            yield chunk


def _released(call: Call, text: str | None) -> Iterable[Any]:
    if text is None or not call.chunks:
        return call.chunks
    try:
        return chunk_generations(rewritten_generation(whole_of(call.chunks), text))
    except Exception:
        name = type(call.chunks[0]).__qualname__
        _logger.warning("%s cannot be copied; a refused draft leaves as plain text", name)
        return [refusal_generation(text)]


def refusal_generation(text: str) -> Any:
    """Return `text` as the one generation chunk of a model's stream."""
    from langchain_core.outputs import ChatGenerationChunk

    return ChatGenerationChunk(message=refusal_chunk(text))


def _first(texts: Iterable[str | None]) -> str | None:
    return next(iter(texts or ()), None)

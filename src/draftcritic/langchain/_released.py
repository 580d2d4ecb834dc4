"""Replaced answers in the forms that LangChain's streams and callbacks have."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Iterator, Sequence
from typing import Any

from draftcritic.langchain._content import text_of
from draftcritic.langchain._private import private
from draftcritic.langchain._rewrite import as_chunk, shown

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

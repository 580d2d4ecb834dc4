"""The handlers of `enforce`: no character of a draft leaves before its verdict.

Tokens leave a chat model on two ways while it writes: as the chunks of its stream, and through callbacks, which
LangGraph's messages mode and `astream_events` listen to. So a stream is asked for as a whole message and given as one
chunk, and the model works with a run manager that nobody listens to; who would have heard the tokens hears the whole
text as one, after the verdict. The callbacks at the start and the end of the
run are LangChain's own and see the run as ever, the end with the text that was let through.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from draftcritic.langchain._call import Arguments, Call
from draftcritic.langchain._content import text_of
from draftcritic.langchain._frame import held_stream, holding
from draftcritic.langchain._intercept import AsyncItems, Interceptor, Items
from draftcritic.langchain._rewrite import as_chunk


class HoldingInterceptor(Interceptor):
    """The handlers for drafts that leave after their verdict, as the verdict has them."""

    holds = True

    def stream(self, original: Callable[..., Items], model: Any, /, *args: Any, **kwargs: Any) -> Items:
        """Stand in for `BaseChatModel.stream`."""
        held = self._is_draft(Call.of_stream(model, args, kwargs))
        return _whole(model, args, kwargs) if held else original(model, *args, **kwargs)

    def astream(self, original: Callable[..., AsyncItems], model: Any, /, *args: Any, **kwargs: Any) -> AsyncItems:
        """Stand in for `BaseChatModel.astream`."""
        held = self._is_draft(Call.of_stream(model, args, kwargs))
        return _awhole(model, args, kwargs) if held else original(model, *args, **kwargs)

    def events(self, original: Callable[..., Items], model: Any, /, *args: Any, **kwargs: Any) -> Items:
        """Stand in for `BaseChatModel._iter_v2_events`."""
        held = self._is_draft(Call.of_generate(model, args, kwargs))
        return _whole_events(model, args, kwargs) if held else original(model, *args, **kwargs)

    def aevents(self, original: Callable[..., AsyncItems], model: Any, /, *args: Any, **kwargs: Any) -> AsyncItems:
        """Stand in for `BaseChatModel._aiter_v2_events`."""
        held = self._is_draft(Call.of_generate(model, args, kwargs))
        return _awhole_events(model, args, kwargs) if held else original(model, *args, **kwargs)

    def _release(self, call: Call, result: Any) -> None:
        if call.run_manager is not None:
            for text, chunk in _as_chunks(result):
                call.run_manager.on_llm_new_token(text, chunk=chunk)

    async def _arelease(self, call: Call, result: Any) -> None:
        if call.run_manager is not None:
            with _untapped(call.run_manager):
                for text, chunk in _as_chunks(result):
                    await call.run_manager.on_llm_new_token(text, chunk=chunk)

    def _prepared(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        call.streamed = held_stream.get()
        if not call.exposed:
            call.run_manager = None  # nobody listens to tokens
        call.exposed = False
        if len(args) > 2:
            return (*args[:2], _unheard(args[2]), *args[3:]), kwargs
        return args, {**kwargs, "run_manager": _unheard(kwargs.get("run_manager"))}


def _whole(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Items:
    from langchain_core.language_models import BaseChatModel

    with holding():
        message = BaseChatModel.invoke(model, *args, **kwargs)
    yield as_chunk(message)


async def _awhole(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncItems:
    from langchain_core.language_models import BaseChatModel

    with holding():
        message = await BaseChatModel.ainvoke(model, *args, **kwargs)
    yield as_chunk(message)


def _whole_events(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Items:
    from langchain_core.language_models._compat_bridge import message_to_events

    stream, run_manager = kwargs.pop("stream"), kwargs["run_manager"]
    with holding():
        result = model._generate_with_cache(*args, **kwargs)
    for event in message_to_events(result.generations[0].message, message_id=stream.message_id):
        stream.dispatch(event)
        run_manager.on_stream_event(event)
        yield event


async def _awhole_events(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> AsyncItems:
    from langchain_core.language_models._compat_bridge import amessage_to_events

    stream, run_manager = kwargs.pop("stream"), kwargs["run_manager"]
    with holding():
        result = await model._agenerate_with_cache(*args, **kwargs)
    async for event in amessage_to_events(result.generations[0].message, message_id=stream.message_id):
        stream.dispatch(event)
        await run_manager.on_stream_event(event)
        yield event


@contextmanager
def _untapped(run_manager: Any) -> Iterator[None]:
    """Let `astream_events` hear the text of a run whose stream it reads.

    There it does not listen to tokens, but makes its event of what the stream gives; and a stream that was held gives
    its chunk after the end of the run, when no event is made any more.
    """
    run_id, taken = run_manager.run_id, []
    for handler in run_manager.handlers:
        taps = getattr(handler, "is_tapped", None)
        if isinstance(taps, dict) and run_id in taps:
            taken.append((taps, taps.pop(run_id)))
    try:
        yield
    finally:
        for taps, tap in taken:
            taps[run_id] = tap


def _as_chunks(result: Any) -> Iterator[tuple[str, Any]]:
    from langchain_core.outputs import ChatGenerationChunk

    for generation in result.generations:
        yield text_of(generation.message.content), ChatGenerationChunk(message=as_chunk(generation.message))


def _unheard(run_manager: Any) -> Any:
    """Return a run manager of the same run without listeners."""
    if run_manager is None:
        return None
    return type(run_manager)(
        run_id=run_manager.run_id,
        handlers=[],
        inheritable_handlers=[],
        parent_run_id=run_manager.parent_run_id,
        tags=run_manager.tags,
        inheritable_tags=run_manager.inheritable_tags,
        metadata=run_manager.metadata,
        inheritable_metadata=run_manager.inheritable_metadata,
    )

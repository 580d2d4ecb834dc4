"""The handlers of `enforce`: no character of a draft leaves before its verdict.

The model is asked as the application asks it. Tokens leave it in two ways while it writes: as the chunks of its
stream, and through callbacks, which LangGraph's messages mode and `astream_events` listen to. LangChain's own methods
run with a stand-in for the model, whose `_stream` collects the chunks and gives them out after the verdict, or the one
chunk that replaces them; and with stand-ins for the callback handlers, which record. An approved stream is the stream
that the model wrote, all at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from draftcritic.core._enums import Mode, Streams
from draftcritic.langchain._call import Call, current_recording
from draftcritic.langchain._deferred_callbacks import areplay, beating, replay, silenced
from draftcritic.langchain._held_streams import (
    HeldCall,
    HeldEvents,
    HeldStream,
    awhole_events,
    streams_events,
    whole_events,
)
from draftcritic.langchain._interceptors import AsyncItems, Interceptor, Items, Reviewer, applied, isolated


def interceptor_for(reviewer: Reviewer, mode: Mode, streams: Streams) -> Interceptor:
    """Return the handlers that a mode needs."""
    enforces = mode is Mode.ENFORCE
    kind = HoldingInterceptor if enforces and streams is Streams.BUFFER else Interceptor
    return kind(reviewer, enforces=enforces)


class HoldingInterceptor(Interceptor):
    """The handlers for drafts that leave after their verdict, as the verdict has them."""

    buffers = True

    def generate(self, original: Any, model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run `BaseChatModel._generate_with_cache`, and release its result and callbacks after the verdict."""
        if not self.enforces:
            return super().generate(original, model, *args, **kwargs)
        call = Call.of_generate(model, args, kwargs)
        if not self._wants(call):
            return original(isolated(model, call), *args, **kwargs)
        held = HeldCall(call)
        args, kwargs = held.arguments(args, kwargs)
        with held:
            with held.frame.step():
                result = original(held.model, *args, **kwargs)
            held.frame.open = False
            released = applied(result, self.judge(lambda: call.drafts_of_result(result)))
        original.callback(replay, held.end(released, changed=released is not result))
        if released is result:
            original.callback(held.cache.write)
        for callback in held.tokens:
            original.callback(callback)
        return released

    async def agenerate(self, original: Any, model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run `BaseChatModel._agenerate_with_cache`. See `generate`."""
        if not self.enforces:
            return await super().agenerate(original, model, *args, **kwargs)
        call = Call.of_generate(model, args, kwargs)
        if not self._wants(call):
            return await original(isolated(model, call), *args, **kwargs)
        held = HeldCall(call)
        args, kwargs = held.arguments(args, kwargs)
        with held:
            with held.frame.step():
                result = await original(held.model, *args, **kwargs)
            held.frame.open = False
            released = applied(result, await self.ajudge(call, lambda: call.drafts_of_result(result)))
        await original.acallback(areplay, held.end(released, changed=released is not result))
        if released is result:
            await original.acallback(held.cache.awrite)
        for callback in held.tokens:
            await original.acallback(callback)
        return released

    def stream(self, original: Callable[..., Items], model: Any, /, *args: Any, **kwargs: Any) -> Items:
        """Run `BaseChatModel.stream` with a model whose chunks come after the verdict."""
        if not self.enforces:
            return super().stream(original, model, *args, **kwargs)
        call = Call.of_stream(model, args, kwargs)
        if not self._is_draft(call):
            return original(model, *args, **kwargs)
        call.exposed, call.enforced = False, True
        args, kwargs = call.named(args, kwargs)
        return original(HeldStream(self, call), *args, **kwargs)

    def astream(self, original: Callable[..., AsyncItems], model: Any, /, *args: Any, **kwargs: Any) -> AsyncItems:
        """Run `BaseChatModel.astream`. See `stream`."""
        if not self.enforces:
            return super().astream(original, model, *args, **kwargs)
        call = Call.of_stream(model, args, kwargs)
        if not self._is_draft(call):
            return original(model, *args, **kwargs)
        call.exposed, call.enforced = False, True
        args, kwargs = call.named(args, kwargs)
        return original(HeldStream(self, call), *args, **kwargs)

    def events(self, original: Any, model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run `BaseChatModel._iter_v2_events`, and give its events out after the verdict."""
        if not self.enforces:
            return super().events(original, model, *args, **kwargs)
        call = Call.of_generate(model, args, kwargs)
        call.streamed = True
        if not self._wants(call):
            return original(model, *args, **kwargs)
        held = HeldEvents(call, kwargs)
        source = original if streams_events(model) else partial(original.instead, whole_events)
        return self._events(held, original, source(model, *args, **held.arguments))

    def aevents(self, original: Any, model: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run `BaseChatModel._aiter_v2_events`. See `events`."""
        if not self.enforces:
            return super().aevents(original, model, *args, **kwargs)
        call = Call.of_generate(model, args, kwargs)
        call.streamed = True
        if not self._wants(call):
            return original(model, *args, **kwargs)
        held = HeldEvents(call, kwargs)
        source = original if streams_events(model) else partial(original.instead, awhole_events)
        return self._aevents(held, original, source(model, *args, **held.arguments))

    def configure(self, original: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        """Run LangChain's `_configure`, and mute the runs that a model starts while its draft is held back."""
        manager, recording = original(*args, **kwargs), current_recording()
        return manager if recording is None else silenced(recording, manager)

    def judge(self, capture_drafts: Callable[[], Any]) -> Iterable[str | None]:
        """Return the texts that replace the drafts of `capture_drafts`. See `Reviewer.take`."""
        return self._reviewer.take(capture_drafts)

    async def ajudge(self, call: Call, capture_drafts: Callable[[], Any]) -> Iterable[str | None]:
        """Return the texts that replace the drafts, and keep an idle timeout from firing meanwhile."""
        call.loop = asyncio.get_running_loop()
        async with beating(call.pulses):
            return await self._reviewer.atake(capture_drafts)

    def capture(self, call: Call) -> None:
        """Note where a call is in its trace."""
        call.origin = self._reviewer.capture(call.run)

    def _events(self, held: HeldEvents, original: Any, source: Any) -> Items:
        try:
            with held, held.frame.step():
                for event in source:
                    held.keep(event)
        finally:
            if held.is_abandoned:
                self.judge(held.drafts)
        held.decide(self.judge(held.drafts))
        for callbacks, event in held.released():
            original.callback(replay, callbacks)
            original.callback(held.run_manager.on_stream_event, event)
            yield event

    async def _aevents(self, held: HeldEvents, original: Any, source: Any) -> AsyncItems:
        try:
            with held, held.frame.step():
                async for event in source:
                    held.keep(event)
        finally:
            if held.is_abandoned:
                self.judge(held.drafts)
        held.decide(await self.ajudge(held.call, held.drafts))
        for callbacks, event in held.released():
            await original.acallback(areplay, callbacks)
            await original.acallback(held.run_manager.on_stream_event, event)
            yield event

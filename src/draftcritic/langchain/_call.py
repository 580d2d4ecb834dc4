"""One model call, and whether it is the outermost one: LangChain's methods call each other, and a draft leaves once."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from draftcritic.langchain._capture import Answer, CapturedDraft, LazyDraft, mapping_of
from draftcritic.langchain._deferred_callbacks import Recording, is_pulse, pulses_of
from draftcritic.langchain._graph import with_graph_metadata
from draftcritic.review._scope import scoped

held_stream: ContextVar[bool] = ContextVar("draftcritic_held_stream", default=False)
"""Whether the call that starts here was asked for a stream, which is held back."""
_watch: ContextVar[Watch | None] = ContextVar("draftcritic_watch", default=None)
_current: ContextVar[Frame | None] = ContextVar("draftcritic_frame", default=None)


def holding() -> AbstractContextManager[None]:
    """Mark the model call inside as one that was asked for a stream, which is held back; never across a `yield`."""
    return scoped(held_stream, True)


class Frame:
    """The outermost model call of the current context, from its start to its end.

    Code that the model starts and leaves running (a task, a thread with a copied context) keeps the context variable;
    `open` says whether the call is still running.

    Args:
        recording: takes the callbacks of the runs that the model starts, when its draft is held back.
    """

    __slots__ = ("open", "recording")

    def __init__(self, recording: Recording | None = None) -> None:
        self.open = True
        self.recording = recording

    def step(self) -> AbstractContextManager[None]:
        """Make this the current frame while the model works; never across a `yield` to the caller."""
        return scoped(_current, self)


class Watch:
    """Records whether a draft was captured while a method ran; the method then has none of its own.

    Attributes:
        muted: a draft was counted as muted meanwhile.
    """

    __slots__ = ("muted", "open", "outer", "seen")

    def __init__(self) -> None:
        self.open = True
        self.seen = self.muted = False
        self.outer = _watch.get()

    def step(self) -> AbstractContextManager[None]:
        """Watch while the method works; never across a `yield` to the caller."""
        return scoped(_watch, self)


def mark_captured() -> None:
    """Mark the draft of the current call as captured, for every watch around it."""
    watch = _watch.get()
    while watch is not None:
        watch.seen = True
        watch = watch.outer


def mark_muted() -> None:
    """Mark the draft of the current call as counted among the muted ones, for every watch around it."""
    watch = _watch.get()
    while watch is not None:
        watch.muted = True
        watch = watch.outer


def is_outermost() -> bool:
    """Whether a model call that starts here is made by the application and not by another model call."""
    frame = _current.get()
    return frame is None or not frame.open


def current_recording() -> Recording | None:
    """Return what takes the callbacks of a run that starts here: its draft is held back, or it is part of one."""
    frame = _current.get()
    return frame.recording if frame is not None and frame.open else None


_logger = logging.getLogger(__name__)

_KINDS = 64
"""Kinds of messages that are looked at once."""
_WAYS_TO_STREAM = (("_should_use_protocol_streaming", "on_stream_event"), ("_should_stream", "on_llm_new_token"))
"""LangChain's methods that decide whether a call streams, with the callback that gets what it streams."""
_OF_GENERATE = frozenset({"messages", "stop", "run_manager", "async_api"})
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(slots=True)
class Call:
    """What is known of a model call before it answers. See `CapturedDraft` for the attributes."""

    model: Any
    prompt: Any
    kwargs: Mapping[str, Any]
    metadata: Mapping[str, Any]
    run: Any = None
    origin: Any = None
    loop: asyncio.AbstractEventLoop | None = None
    streamed: bool = False
    exposed: bool = False
    run_manager: Any = None
    chunks: list[Any] = field(default_factory=list)
    pulses: list[Any] = field(default_factory=list)
    enforced: bool = False

    @classmethod
    def of_generate(cls, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Read the arguments of `_generate_with_cache(messages, stop, run_manager, **kwargs)`."""
        run_manager = kwargs.get("run_manager")
        if run_manager is None and len(args) > 2:
            run_manager = args[2]
        return cls(
            model=model,
            prompt=args[0] if args else kwargs.get("messages"),
            kwargs=kwargs,
            metadata=with_graph_metadata(getattr(run_manager, "metadata", None)),
            run=getattr(run_manager, "run_id", None),
            run_manager=run_manager,
            pulses=pulses_of(run_manager),
        )

    @classmethod
    def of_stream(cls, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """Read the arguments of `stream(input, config, *, stop, **kwargs)`."""
        from langchain_core.runnables.config import ensure_config

        given = args[1] if len(args) > 1 else kwargs.get("config")
        config = ensure_config(given)
        return cls(
            model=model,
            prompt=args[0] if args else kwargs.get("input"),
            kwargs=kwargs,
            metadata=with_graph_metadata(config.get("metadata")),
            run=(given or {}).get("run_id"),
            streamed=True,
            exposed=True,
            pulses=pulses_of(config.get("callbacks")),
        )

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Return the arguments of a `stream` call with a run id in them.

        LangChain would choose an id itself; it is chosen here, in the same way, because nothing else identifies the
        run of a stream.
        """
        if self.run is not None:
            return args, kwargs
        self.run = _new_run_id()
        given = args[1] if len(args) > 1 else kwargs.get("config")
        config = {**(given or {}), "run_id": self.run}
        if len(args) > 1:
            return (args[0], config, *args[2:]), kwargs
        return args, {**kwargs, "config": config}

    def drafts_of_result(self, result: Any) -> Sequence[LazyDraft]:
        """Return the drafts of a `ChatResult`: one for each generation."""
        return [partial(self._captured, (generation.message,)) for generation in result.generations]

    def has_whole_message(self) -> bool:
        """Whether the stream gave a whole message, as that of a model without `_stream` does.

        Who listens to its events has had the end of the run by then, and may not come back for the end of the stream.
        """
        kind: Any = type(self.chunks[-1])
        return _is_whole(kind)

    def drafts_of_chunks(self, complete: bool) -> Sequence[LazyDraft]:
        """Return the draft of a stream of message chunks; none when nothing had come yet."""
        if not self.chunks:
            return ()
        return [partial(self._captured, self.chunks, complete)]

    def drafts_of_generations(self, complete: bool) -> Sequence[LazyDraft]:
        """Return the draft of a stream of generation chunks, as a model gives them; none when nothing had come yet."""
        if not self.chunks:
            return ()
        answers = [Answer.of(chunk.message, mapping_of(chunk, "generation_info")) for chunk in self.chunks]
        return [lambda: self._of_answers(answers, complete)]

    def drafts_of_message(self, message: Any, complete: bool) -> Sequence[LazyDraft]:
        """Return the draft of a stream that collects its message itself; none when there is no message."""
        messages = () if message is None else (message,)
        if not messages and complete:
            return ()
        return [partial(self._captured, messages, complete)]

    def _captured(self, messages: Sequence[Any], complete: bool = True) -> CapturedDraft:
        return self._of_answers([Answer.of(message) for message in messages], complete)

    def _of_answers(self, answers: Sequence[Answer], complete: bool) -> CapturedDraft:
        prompt = self.prompt
        return CapturedDraft(
            model=self.model,
            prompt=tuple(prompt) if isinstance(prompt, list) else prompt,
            answers=answers,
            call_kwargs=self.kwargs,
            metadata=self.metadata,
            run_id="" if self.run is None else str(self.run),
            origin=self.origin,
            context=copy_context(),
            loop=self.loop,
            streamed=self.streamed,
            exposed=self.exposed,
            complete=complete,
            enforced=self.enforced,
        )


@lru_cache(_KINDS)
def _is_whole(kind: type[Any]) -> bool:
    from langchain_core.messages import BaseMessage, BaseMessageChunk

    return issubclass(kind, BaseMessage) and not issubclass(kind, BaseMessageChunk)


def streams_tokens(call: Call, *, asynchronous: bool) -> bool:
    """Whether a listener of a run, such as LangGraph's messages mode, gets the tokens while the model writes.

    Args:
        call: a call that was not asked for as a stream.
        asynchronous: it is a coroutine that calls.
    """
    listeners = [handler for handler in getattr(call.run_manager, "handlers", None) or () if not is_pulse(handler)]
    if not listeners:
        return False
    kwargs = {key: value for key, value in call.kwargs.items() if key not in _OF_GENERATE}
    asked = {**kwargs, "async_api": asynchronous, "run_manager": call.run_manager}
    try:
        for method, event in _WAYS_TO_STREAM:
            streams = getattr(call.model, method, None)
            if streams is not None and streams(**asked):
                return any(_listens(handler, event) for handler in listeners)
    except Exception:  # LangChain's own methods, of any version
        _logger.debug("cannot find out whether a call streams its tokens", exc_info=True)
    return False


def _listens(handler: Any, event: str) -> bool:
    """Whether a handler does something with an event; tracers write down what the application has anyway."""
    from langchain_core.callbacks import BaseCallbackHandler
    from langchain_core.tracers import BaseTracer

    method = getattr(type(handler), event, None)
    if isinstance(handler, BaseTracer):
        return hasattr(handler, "tap_output_iter")
    return method is not None and method is not getattr(BaseCallbackHandler, event, None)


def _new_run_id() -> Any:
    try:
        from langchain_core.utils.uuid import uuid7
    except ImportError:
        from uuid import uuid4

        return uuid4()
    return uuid7()

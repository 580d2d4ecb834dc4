"""One call of a chat model, as its arguments tell it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

from draftcritic.langchain._caught import Answer, Caught, Draft
from draftcritic.langchain._graph import with_graph_metadata

_KINDS = 64
"""Kinds of messages that are looked at once."""
Arguments = tuple[tuple[Any, ...], dict[str, Any]]


@dataclass(slots=True)
class Call:
    """What is known of a model call before it answers. See `Caught` for the attributes."""

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
            exposed=_streams_tokens(model, run_manager),
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
        )

    def named(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Arguments:
        """Return the arguments of a `stream` call with a run id in them.

        LangChain would choose an id itself; it is chosen here, in the same way, because nothing else tells which run
        a stream belongs to.
        """
        if self.run is not None:
            return args, kwargs
        self.run = _new_run_id()
        given = args[1] if len(args) > 1 else kwargs.get("config")
        config = {**(given or {}), "run_id": self.run}
        if len(args) > 1:
            return (args[0], config, *args[2:]), kwargs
        return args, {**kwargs, "config": config}

    def drafts_of_result(self, result: Any) -> Sequence[Draft]:
        """Return the drafts of a `ChatResult`: one for each generation."""
        return [partial(self._caught, (generation.message,)) for generation in result.generations]

    def holds_a_message(self) -> bool:
        """Whether the stream gave a whole message, as that of a model without `_stream` does.

        Who listens to its events has had the end of the run by then, and may not come back for the end of the stream.
        """
        kind: Any = type(self.chunks[-1])
        return _is_whole(kind)

    def drafts_of_chunks(self, complete: bool) -> Sequence[Draft]:
        """Return the draft of a stream of message chunks; none when nothing had come yet."""
        if not self.chunks:
            return ()
        return [partial(self._caught, self.chunks, complete)]

    def drafts_of_message(self, message: Any, complete: bool) -> Sequence[Draft]:
        """Return the draft of a stream that collects its message itself; none when there is no message."""
        messages = () if message is None else (message,)
        if not messages and complete:
            return ()
        return [partial(self._caught, messages, complete)]

    def _caught(self, messages: Sequence[Any], complete: bool = True) -> Caught:
        prompt = self.prompt
        return Caught(
            model=self.model,
            prompt=tuple(prompt) if isinstance(prompt, list) else prompt,
            answers=[Answer.of(message) for message in messages],
            call_kwargs=self.kwargs,
            metadata=self.metadata,
            run_id="" if self.run is None else str(self.run),
            origin=self.origin,
            context=copy_context(),
            loop=self.loop,
            streamed=self.streamed,
            exposed=self.exposed,
            complete=complete,
        )


@lru_cache(_KINDS)
def _is_whole(kind: type[Any]) -> bool:
    from langchain_core.messages import BaseMessage, BaseMessageChunk

    return issubclass(kind, BaseMessage) and not issubclass(kind, BaseMessageChunk)


def _streams_tokens(model: Any, run_manager: Any) -> bool:
    """Whether a listener of the run, such as LangGraph's messages mode, sees the tokens while the model writes."""
    handlers = getattr(run_manager, "handlers", None)
    if not handlers:
        return False
    from langchain_core.language_models import BaseChatModel
    from langchain_core.tracers._streaming import _StreamingCallbackHandler

    kind = type(model)
    if kind._stream is BaseChatModel._stream and kind._astream is BaseChatModel._astream:
        return False
    return any(isinstance(handler, _StreamingCallbackHandler) for handler in handlers)


def _new_run_id() -> Any:
    try:
        from langchain_core.utils.uuid import uuid7
    except ImportError:
        from uuid import uuid4

        return uuid4()
    return uuid7()

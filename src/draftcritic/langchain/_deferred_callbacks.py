"""Callbacks of a model at work, kept until the verdict on its draft.

While a draft is held back, the model gets a run manager whose handlers are stand-ins: they record each event for the
handler that would have had it. So do the handlers of all runs that the model starts itself, such as a call of another
model. After the verdict the events are replayed, or dropped with the draft.
"""

from __future__ import annotations

import asyncio
import copy
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, nullcontext
from functools import lru_cache
from typing import Any, NamedTuple

from draftcritic.langchain._private import private
from draftcritic.review._scope import scoped

_logger = logging.getLogger(__name__)

_TOKEN = "on_llm_new_token"  # noqa: S105 - the name of a callback
_EVENT = "on_stream_event"
_BEAT = 0.05
"""Seconds between two signs of life."""


class Event(NamedTuple):
    """A callback that was not made yet."""

    handler: Any
    name: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


class Recording:
    """The events of a model call whose draft is held back, in their order.

    Args:
        spares: whether a handler gets its events at once.

    Attributes:
        open: events are recorded. Afterwards they are passed on, or dropped when the draft was.
    """

    def __init__(self, spares: Callable[[Any], bool] = lambda _: False) -> None:
        self.open = True
        self._spares = spares
        self._dropped = False
        self._events: list[Event] = []

    def take(self, handler: Any, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Record an event; after the end, pass it on or drop it."""
        if self.open:
            self._events.append(Event(handler, name, args, kwargs))
            return None
        return None if self._dropped else getattr(handler, name)(*args, **kwargs)

    def end(self, *, dropped: bool) -> Sequence[Event]:
        """Stop recording and return the events to replay: none when they are dropped."""
        self.open, self._dropped = False, dropped
        events, self._events = self._events, []
        return () if dropped else events

    def __len__(self) -> int:
        """Return how many events are recorded."""
        return len(self._events)

    def has(self, name: str, run: Any) -> bool:
        """Whether an event of this name was recorded for a run."""
        return any(each.name == name and each.kwargs.get("run_id") == run for each in self._events)

    def streamed(self, run: Any) -> tuple[bool, bool]:
        """Return whether a run gave tokens, and whether it gave events of the streaming protocol."""
        return self.has(_TOKEN, run), self.has(_EVENT, run)

    def muted(self, manager: Any) -> Any:
        """Return a copy of a callback or run manager whose handlers record."""
        if manager is None:
            return None
        silent = copy.copy(manager)
        for name in ("handlers", "inheritable_handlers"):
            setattr(silent, name, self.stand_ins(getattr(manager, name, ())))
        return silent

    def stand_ins(self, handlers: Iterable[Any]) -> list[Any]:
        """Return handlers that record in place of these."""
        # Once each: an instrumentation that does not find its handler among the stand-ins adds it again.
        unique = {id(_behind(handler)): handler for handler in handlers}
        return [self._stand_in(handler) for handler in unique.values()]

    def _stand_in(self, handler: Any) -> Any:
        if isinstance(handler, Deferred) and handler._recording is self:
            return handler
        if is_pulse(handler) or self._spares(handler):
            return handler
        kind: Any = type(handler)
        return _kind_for(kind)(self, handler)


def silenced(recording: Recording, manager: Any) -> Any:
    """Return a callback or run manager that records; one without handlers when it cannot be copied."""
    try:
        return recording.muted(manager)
    except Exception:  # a manager of the application's own class
        _logger.debug("the callbacks of %s are dropped", type(manager).__name__, exc_info=True)
        noop = getattr(type(manager), "get_noop_manager", None)
        return noop() if noop is not None else type(manager)(handlers=[])


def silencing(recording: Recording | None) -> AbstractContextManager[None]:
    """Return a block in which the runs that start inside report to `recording`, as far as a context gives callbacks."""
    from langchain_core.runnables.config import var_child_runnable_config

    config = var_child_runnable_config.get()
    silent: Any = silent_config(recording, config)
    return nullcontext() if silent is config else scoped(var_child_runnable_config, silent)


def silent_config(recording: Recording | None, config: Any) -> Any:
    """Return a run configuration whose callbacks record; itself where there is nothing to record."""
    callbacks = (config or {}).get("callbacks")
    if recording is None or not callbacks:
        return config
    muted = recording.stand_ins(callbacks) if isinstance(callbacks, list) else silenced(recording, callbacks)
    return {**config, "callbacks": muted}


class Deferred:
    """Replaces a callback handler, and records the calls that it would have got."""

    run_inline = True
    raise_error = False

    def __init__(self, recording: Recording, handler: Any) -> None:
        self._recording = recording
        self._handler = handler

    def __getattr__(self, name: str) -> Any:
        own = getattr(self._handler, name)
        return _Recorder(self, name) if name.startswith("on_") else own


def _behind(handler: Any) -> Any:
    while isinstance(handler, Deferred):
        handler = handler._handler
    return handler


class _Recorder:
    """A callback of a stand-in."""

    __slots__ = ("_deferred", "_name")

    def __init__(self, deferred: Deferred, name: str) -> None:
        self._deferred = deferred
        self._name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        deferred = self._deferred
        return deferred._recording.take(deferred._handler, self._name, args, kwargs)


def is_pulse(handler: Any) -> bool:
    """Whether a handler of LangGraph only notes that something happens, as its idle timeout does.

    It does the same for each event, so it cannot look at what the model writes.
    """
    kind = type(handler)
    if not kind.__module__.startswith("langgraph."):
        return False
    same = getattr(kind, _TOKEN, None)
    return same is not None and same is getattr(kind, "on_chain_start", None) is getattr(kind, "on_llm_error", None)


_TRACING = ("opentelemetry.", "openinference.", "langsmith.", "langfuse.")
"""Packages whose callback handlers write traces and show nothing to a user."""


def is_tracing(handler: Any) -> bool:
    """Whether a callback handler only writes traces."""
    from langchain_core.tracers import BaseTracer

    if hasattr(handler, "tap_output_iter"):
        return False
    return isinstance(handler, BaseTracer) or type(handler).__module__.startswith(_TRACING)


def pulses_of(callbacks: Any) -> list[Any]:
    """Return the handlers that only note that something happens, of a list of handlers or a manager."""
    handlers = callbacks if isinstance(callbacks, list) else getattr(callbacks, "handlers", None)
    return [handler for handler in handlers or () if is_pulse(handler)]


def pulse(handlers: Sequence[Any]) -> None:
    """Signal to handlers that the model is working."""
    if handlers:
        _manager_functions()[0](list(handlers), _TOKEN, None, "")


def replay(events: Sequence[Event]) -> None:
    """Make callbacks that were put off, from synchronous code."""
    for handler, name, args, kwargs in events:
        _manager_functions()[0]([handler], name, None, *args, **kwargs)


async def areplay(events: Sequence[Event]) -> None:
    """Make callbacks that were put off, from a coroutine."""
    for handler, name, args, kwargs in events:
        await _manager_functions()[1]([handler], name, None, *args, **kwargs)


@asynccontextmanager
async def beating(handlers: Sequence[Any]) -> AsyncIterator[None]:
    """Signal to handlers that the call is alive while the block waits."""
    if not handlers:
        yield
        return
    beat = asyncio.ensure_future(_beat(handlers))
    try:
        yield
    finally:
        beat.cancel()


async def _beat(handlers: Sequence[Any]) -> None:
    while True:
        pulse(handlers)
        await asyncio.sleep(_BEAT)


@lru_cache(1)
def _manager_functions() -> tuple[Callable[..., Any], Callable[..., Any]]:
    from langchain_core.callbacks.manager import ahandle_event, handle_event

    return handle_event, ahandle_event


@lru_cache(256)
def _kind_for(handler: type[Any]) -> type[Deferred]:
    """Return a stand-in that asks for a stream by the same signs as the handlers of a class do.

    LangChain streams a call when one of its handlers has the methods of `_StreamingCallbackHandler`, and makes events
    of the streaming protocol when one is a `_V2StreamingCallbackHandler`.
    """
    body: dict[str, Any] = {}
    if hasattr(handler, "tap_output_aiter") and hasattr(handler, "tap_output_iter"):
        body = {"tap_output_aiter": _untapped, "tap_output_iter": _untapped}
    marks = tuple(kind for kind in _marks() if issubclass(handler, kind))
    return type("Deferred", (Deferred, *marks), body)


def _untapped(_: Deferred, run_id: Any, output: Any) -> Any:  # noqa: ARG001 - LangChain's signature
    return output


@lru_cache(1)
def _marks() -> tuple[type[Any], ...]:
    """Return LangChain's marker class, which not every version has."""
    kind = private("_V2StreamingCallbackHandler")
    return () if kind is None else (kind,)

"""What a middleware reviews with: a runtime, and the handlers for the agent's model."""

from __future__ import annotations

import threading
import weakref
from collections import OrderedDict
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from draftcritic._observers import recorder_of, with_turns
from draftcritic._runtime import Runtime, current
from draftcritic.core._enums import DeliveryKind, Mode, Streams
from draftcritic.langchain._capture import CapturedDraft, LazyDraft
from draftcritic.langchain._enforce import interceptor_for
from draftcritic.langchain._guarded_model import ModelGuard, original_of

if TYPE_CHECKING:
    from draftcritic.langchain._interceptors import CaptureFn
    from draftcritic.review._limits import Limiter
    from draftcritic.review._ports import FleetObserver
    from draftcritic.settings._model import Settings

_MOST = 16
"""Engines and recorders without a user that are kept: an application may make an agent for each request."""
Providers = Mapping[str, Any]


class Engine:
    """Reviews the drafts of agents with the same settings.

    Args:
        runtime: takes the drafts.

    Attributes:
        guard: makes views of the agent's model.
        withholding: the same with every stream held back as a whole.
    """

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime
        settings = runtime.settings
        self.enforces = settings.mode is Mode.ENFORCE
        reviewer: Any = _AgentReviewer(runtime)
        self.guard = ModelGuard(interceptor_for(reviewer, settings.mode, settings.streams))
        self.withholding = self.guard
        if self.enforces and settings.streams is not Streams.BUFFER:
            self.withholding = ModelGuard(interceptor_for(reviewer, settings.mode, Streams.BUFFER))


class _AgentReviewer:
    """A reviewer that sees the agent's model, not the view of it."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime

    def __getattr__(self, name: str) -> Any:
        return getattr(self._runtime, name)

    def take(self, capture_drafts: CaptureFn) -> Iterable[str | None]:
        """Review drafts. See `Reviewer`."""
        return self._runtime.take(lambda: [_plain(draft) for draft in capture_drafts()])

    async def atake(self, capture_drafts: CaptureFn) -> Iterable[str | None]:
        """Review drafts. See `Reviewer`."""
        return await self._runtime.atake(lambda: [_plain(draft) for draft in capture_drafts()])


def _plain(draft: LazyDraft) -> LazyDraft:
    """Return a draft of the model itself in place of its view: the critic may ask it."""

    def captured() -> CapturedDraft:
        found = draft()
        found.model = original_of(found.model)
        return found

    return captured


class _Shared:
    """Engines, recorders and files by what they are made of: one each in a process."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._engines: list[tuple[Settings, Hashable, weakref.ref[Engine]]] = []
        self._kept: OrderedDict[int, Engine] = OrderedDict()
        self._recorders: OrderedDict[Hashable, FleetObserver] = OrderedDict()
        self._running: tuple[Runtime, Engine] | None = None

    def of_plugin(self) -> Engine | None:
        """Return the engine of the runtime that the plugin has started; None while it is not instrumented."""
        runtime = current()
        if runtime is None:
            return None
        with self._lock:
            if self._running is None or self._running[0] is not runtime:
                self._running = runtime, Engine(runtime)
            return self._running[1]

    def of(self, settings: Settings, providers: Providers) -> Engine:
        """Return the engine for these settings and providers."""
        running = current()
        key = (None if running is None else id(running.observer), *_ids(providers))
        with self._lock:
            self._engines = [each for each in self._engines if each[2]() is not None]
            for known, known_key, reference in self._engines:
                engine = reference()
                if engine is not None and known_key == key and known == settings:
                    self._keep(engine)
                    return engine
            # A spool belongs to the whole service: other processes review it by the settings of the service.
            own = settings.model_copy(update={"delivery": DeliveryKind.MEMORY})
            engine = Engine(Runtime(own, self._observer(settings, providers), self._limiter(settings)))
            self._engines.append((settings, key, weakref.ref(engine)))
            self._keep(engine)
            return engine

    def _keep(self, engine: Engine) -> None:
        self._kept[id(engine)] = engine
        self._kept.move_to_end(id(engine))
        while len(self._kept) > _MOST:
            self._kept.popitem(last=False)

    def _limiter(self, settings: Settings) -> Limiter | None:
        """Return the limits of a runtime with the same ones: a budget is the process's, not an agent's."""
        engines = [reference() for _, _, reference in self._engines]
        for runtime in (current(), *(engine.runtime for engine in engines if engine is not None)):
            if runtime is None or (runtime.settings.mode is Mode.ENFORCE) != (settings.mode is Mode.ENFORCE):
                continue  # the two draw their samples in different ways
            if runtime.settings.limits() == settings.limits():
                return runtime.limiter
        return None

    def _observer(self, settings: Settings, providers: Providers) -> FleetObserver:
        running = current()
        if running is not None and not any(_ids(providers)):
            return running.observer
        key = (*_ids(providers), settings.record)
        observer = self._recorders.get(key)
        if observer is None:
            observer = self._recorders[key] = with_turns(settings, recorder_of(settings, **providers))[0]
            while len(self._recorders) > _MOST:
                self._recorders.popitem(last=False)
        return observer


def _ids(providers: Providers) -> tuple[int | None, ...]:
    return tuple(None if provider is None else id(provider) for provider in providers.values())


shared = _Shared()

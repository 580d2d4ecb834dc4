"""A runnable in place of a model that cannot have a view, such as one that is chosen by each run's configuration."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from typing import Any

from draftcritic.langchain._answer_shapes import replaced_message
from draftcritic.langchain._boundary import guarded, guarded_coroutine
from draftcritic.langchain._call import Call, Frame, is_outermost, mark_captured, mark_muted
from draftcritic.langchain._deferred_callbacks import Recording, areplay, replay, silencing, silent_config
from draftcritic.langchain._interceptors import Interceptor

_DECLARED = frozenset({"bind", "bind_tools", "with_config", "with_retry", "with_structured_output"})
"""Methods that return the model with something declared about it."""


def guarded_runnable(interceptor: Interceptor, model: Any, view: Callable[[Any], Any]) -> Any:
    """Return a runnable that answers as `model` does, and has its answers taken by the interceptor.

    Args:
        interceptor: takes the drafts.
        model: answers.
        view: returns a view of the chat model that a run's configuration chooses.
    """
    return _kind()(interceptor, model, view)


@lru_cache(1)
def _kind() -> type[Any]:
    from langchain_core.runnables import Runnable

    class GuardedRunnable(Runnable[Any, Any]):
        """See `guarded_runnable`. Its streams have one chunk."""

        def __init__(self, interceptor: Interceptor, model: Any, view: Callable[[Any], Any]) -> None:
            self._guard = _WholeAnswers(interceptor, model)
            self._view = view
            self._model = model

        def __getattr__(self, name: str) -> Any:
            return getattr(self._model, name)

        def __getattribute__(self, name: str) -> Any:
            if name not in _DECLARED:
                return super().__getattribute__(name)
            declare = getattr(self._model, name)
            return lambda *args, **kwargs: self._view(declare(*args, **kwargs))

        def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
            """Ask the model."""
            chosen = _chosen(self._model, config)
            if chosen is not None:
                return self._view(chosen).invoke(input, config, **kwargs)
            guard, args = self._guard, (self._model, input, config)
            return guarded(guard.invoke, type(self._model).invoke, guard.failed, args, kwargs)

        async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:  # noqa: A002 - LangChain's name
            """Ask the model."""
            chosen = _chosen(self._model, config)
            if chosen is not None:
                return await self._view(chosen).ainvoke(input, config, **kwargs)
            guard, args = self._guard, (self._model, input, config)
            return await guarded_coroutine(guard.ainvoke, type(self._model).ainvoke, guard.failed, args, kwargs)

    return GuardedRunnable


def _chosen(model: Any, config: Any) -> Any:
    """Return the chat model that `init_chat_model` makes of a run's configuration; None for any other model."""
    choose = getattr(type(model), "_model", None)
    return choose(model, config) if callable(choose) else None


class _WholeAnswers:
    """The handlers for `invoke` and `ainvoke` of a runnable."""

    def __init__(self, interceptor: Interceptor, model: Any) -> None:
        self.interceptor = interceptor
        self.failed = interceptor.reviewer.failed
        self._model = model

    def invoke(self, original: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run `invoke`, and release its answer as the verdict has it."""
        call, frame = self._call(*args, **kwargs), self._frame()
        if call is None:
            with self._apart():
                return original(*args, **kwargs)
        try:
            with silencing(frame.recording), frame.step():
                message = original(*args[:2], silent_config(frame.recording, args[2]), **kwargs)
        except BaseException:
            self._end(frame, dropped=True)
            raise
        text = next(iter(self.interceptor.reviewer.take(lambda: call.drafts_of_message(message, True)) or ()), None)
        original.callback(replay, self._end(frame, dropped=text is not None))
        return replaced_message(message, text)

    async def ainvoke(self, original: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run `ainvoke`. See `invoke`."""
        call, frame = self._call(*args, **kwargs), self._frame()
        if call is None:
            with self._apart():
                return await original(*args, **kwargs)
        call.loop = asyncio.get_running_loop()
        try:
            with silencing(frame.recording), frame.step():
                message = await original(*args[:2], silent_config(frame.recording, args[2]), **kwargs)
        except BaseException:
            self._end(frame, dropped=True)
            raise
        texts = await self.interceptor.reviewer.atake(lambda: call.drafts_of_message(message, True))
        text = next(iter(texts or ()), None)
        await original.acallback(areplay, self._end(frame, dropped=text is not None))
        return replaced_message(message, text)

    def _call(self, model: Any, prompt: Any, config: Any = None, **kwargs: Any) -> Call | None:
        """Return what is known of a call; None when its answer is no draft."""
        call = Call.of_stream(model, (prompt, config), kwargs)
        call.streamed = call.exposed = False
        call.enforced = self.interceptor.enforces
        if not is_outermost() or self.interceptor.is_left_alone(call):
            return None
        mark_captured()
        call.origin = self.interceptor.reviewer.capture(call.run)
        return call

    def _apart(self) -> AbstractContextManager[None]:
        """Count a muted answer, and return a block in which the calls below are not counted again."""
        if not is_outermost() or not self.interceptor.is_muted():
            return nullcontext()
        self.interceptor.count_muted()
        mark_muted()
        return Frame().step()

    def _frame(self) -> Frame:
        return Frame(Recording() if self.interceptor.buffers else None)

    @staticmethod
    def _end(frame: Frame, *, dropped: bool) -> Any:
        frame.open = False
        return () if frame.recording is None else frame.recording.end(dropped=dropped)

"""Asks a LangChain chat model for a verdict."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Callable, Coroutine, Hashable, Sequence
from typing import Any

from draftcritic.core import reported_model_name, resolve_model_name
from draftcritic.engine import PromptMessage, Reply, TimedCaller
from draftcritic.langchain._isolation import isolated_config, isolated_context, isolated_model, untraced

_UNWRITTEN = '"not_implemented"'
"""How LangChain writes a part that it cannot write."""
_LOOP_POLL = 0.1
"""Seconds between two looks at whether the application's event loop still runs."""


class ChatModelCritic:
    """A LangChain chat model, or a runnable around one, in the part of the critic's model.

    Args:
        model: the chat model; never changed.
        requested: the name that was asked for, when the object does not tell one.
        loop: the event loop of an asynchronous caller. A call from another thread is then made with `ainvoke` on that
            loop, because asynchronous clients belong to their loop. It is made with `invoke` when the model has no
            asynchronous code of its own, and when the loop ends before the answer: the review of the last draft of
            an `asyncio.run` would be lost otherwise.
        caller: runs blocking calls with a timeout.
    """

    def __init__(
        self,
        model: Any,
        *,
        requested: str = "",
        loop: asyncio.AbstractEventLoop | None = None,
        caller: TimedCaller | None = None,
    ) -> None:
        self._model = model
        self._requested = requested
        self._loop = loop
        self._caller = caller or TimedCaller()

    @property
    def name(self) -> str:
        """The raw name of the model; empty when the object tells none."""
        return resolve_model_name(self._model, requested=self._requested)

    @property
    def identity(self) -> Hashable:
        """The model object; for a class that LangChain can write down, all that it is made of."""
        written = _written_down(self._model)
        return SameObject(self._model) if written is None else (type(self._model), written)

    def messages(self, prompt: Sequence[PromptMessage]) -> Sequence[Any]:
        """Return the prompt as LangChain messages."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        kinds: dict[str, Callable[..., Any]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
        return [kinds[message.role](content=message.text) for message in prompt]

    def call(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from synchronous code. See `CriticModel.call`."""
        model = isolated_model(self._model)
        deadline = time.monotonic() + timeout
        loop = self._loop
        if loop is not None and loop.is_running() and _is_asynchronous(model):
            try:
                return _reply(_on_loop(loop, lambda: _ainvoke(model, messages), deadline))
            except _LoopGoneError:
                pass
        context = isolated_context()
        left = max(0.0, deadline - time.monotonic())
        return _reply(self._caller.call(lambda: context.run(_invoke, model, messages), left))

    async def acall(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from a coroutine. See `CriticModel.acall`."""
        model = isolated_model(self._model)
        # A task is the only way to run a coroutine in another context that Python 3.10 has.
        task = isolated_context().run(asyncio.get_running_loop().create_task, _ainvoke(model, messages))
        try:
            return _reply(await asyncio.wait_for(task, timeout))
        except asyncio.TimeoutError as error:
            if task.done() and not task.cancelled():
                raise  # the provider's own
            raise TimeoutError(f"no answer within {timeout} s") from error


class SameObject:
    """Equal for one object only, which it keeps alive: the number of a dead one may be given to another."""

    __slots__ = ("_object",)

    def __init__(self, thing: Any) -> None:
        self._object = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SameObject) and other._object is self._object

    def __hash__(self) -> int:
        return id(self._object)


def _written_down(model: Any) -> str | None:
    """Return a model with all its parameters and without its secrets, as LangChain keys its own cache of answers.

    None when its class does not say that this is all there is to it, or some part of it cannot be written down.
    """
    try:
        if not type(model).is_lc_serializable():
            return None
        from langchain_core.load import dumps

        text = dumps(model)
    except Exception:  # foreign code
        return None
    return None if _UNWRITTEN in text else text


def _is_asynchronous(model: Any) -> bool:
    """Whether a model has asynchronous code of its own, rather than LangChain's thread around the blocking one."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables.base import RunnableBindingBase

    while isinstance(model, RunnableBindingBase):
        model = model.bound
    if not isinstance(model, BaseChatModel):
        return True
    kind = type(model)
    return kind._agenerate is not BaseChatModel._agenerate or kind._astream is not BaseChatModel._astream


def _invoke(model: Any, messages: Sequence[Any]) -> Any:
    with untraced():
        return model.invoke(messages, config=isolated_config())


async def _ainvoke(model: Any, messages: Sequence[Any]) -> Any:
    with untraced():
        return await model.ainvoke(messages, config=isolated_config())


class _LoopGoneError(Exception):
    """The application's event loop ended before the model answered."""


def _on_loop(loop: asyncio.AbstractEventLoop, call: Callable[[], Coroutine[Any, Any, Any]], deadline: float) -> Any:
    coroutine = call()
    try:
        future = isolated_context().run(asyncio.run_coroutine_threadsafe, coroutine, loop)
    except RuntimeError as error:
        coroutine.close()
        raise _LoopGoneError from error
    while True:
        left = deadline - time.monotonic()
        try:
            return future.result(timeout=max(0.0, min(_LOOP_POLL, left)))
        except concurrent.futures.CancelledError as error:
            # Nobody but a loop that is being closed cancels a task that only we know.
            raise _LoopGoneError from error
        except (concurrent.futures.TimeoutError, TimeoutError):
            if future.done():
                raise  # the provider's own
            if left <= 0:
                future.cancel()
                raise TimeoutError("no answer within the time limit") from None
            if not loop.is_running():
                future.cancel()
                raise _LoopGoneError from None


def _reply(answer: Any) -> Reply:
    metadata = getattr(answer, "response_metadata", None) or {}
    finish = metadata.get("finish_reason") or metadata.get("stop_reason") or metadata.get("done_reason")
    return Reply(
        content=getattr(answer, "content", answer),
        model=reported_model_name(metadata),
        usage=getattr(answer, "usage_metadata", None) or {},
        finish_reason=finish if isinstance(finish, str) else None,
    )

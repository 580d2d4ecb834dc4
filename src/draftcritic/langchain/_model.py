"""Asks a LangChain chat model for a verdict."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Hashable, Sequence
from typing import Any

from draftcritic.core import reported_finish_reason, reported_model_name, resolve_model_name
from draftcritic.engine import PromptMessage, Reply, TimedCaller
from draftcritic.langchain._app_loop import LoopGoneError, OnLoop
from draftcritic.langchain._caught import mapping_of
from draftcritic.langchain._isolation import isolated_config, isolated_context, isolated_model, untraced
from draftcritic.langchain._own_prompts import OwnPrompts

_UNWRITTEN = '"not_implemented"'
"""How LangChain writes a part that it cannot write."""


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
        own_prompts: learns what is asked, for as long as it is answered.
    """

    def __init__(
        self,
        model: Any,
        *,
        requested: str = "",
        loop: asyncio.AbstractEventLoop | None = None,
        caller: TimedCaller | None = None,
        own_prompts: OwnPrompts | None = None,
    ) -> None:
        self._model = model
        self._requested = requested
        self._loop = loop
        self._caller = caller or TimedCaller()
        self._own_prompts = own_prompts or OwnPrompts()

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
                on_loop = OnLoop(loop, lambda: self._ainvoke(model, messages))
                return _reply(on_loop.run(isolated_context(), deadline))
            except LoopGoneError:
                pass
        context = isolated_context()
        left = max(0.0, deadline - time.monotonic())
        return _reply(self._caller.call(lambda: context.run(self._invoke, model, messages), left))

    async def acall(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from a coroutine. See `CriticModel.acall`."""
        model = isolated_model(self._model)
        context, loop = isolated_context(), asyncio.get_running_loop()
        answer: asyncio.Future[Any]
        if _is_asynchronous(model):
            # A task is the only way to run a coroutine in another context that Python 3.10 has.
            answer = context.run(loop.create_task, self._ainvoke(model, messages))
        else:
            # Not in the loop's executor, as `ainvoke` would: the end of the loop waits for that, whatever hangs in it.
            answer = _in_thread(loop, lambda: context.run(self._invoke, model, messages))
        try:
            return _reply(await asyncio.wait_for(answer, timeout))
        except asyncio.TimeoutError as error:
            if answer.done() and not answer.cancelled():
                raise  # the provider's own
            raise TimeoutError(f"no answer within {timeout} s") from error

    # Both note the question in the code that answers it: a call that is given up goes on answering.

    def _invoke(self, model: Any, messages: Sequence[Any]) -> Any:
        with untraced(), self._own_prompts.answering(messages):
            return model.invoke(messages, config=isolated_config())

    async def _ainvoke(self, model: Any, messages: Sequence[Any]) -> Any:
        with untraced(), self._own_prompts.answering(messages):
            return await model.ainvoke(messages, config=isolated_config())


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
    """Whether a model has asynchronous code of its own, rather than a thread around the blocking one."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableLambda
    from langchain_core.runnables.base import RunnableBindingBase

    while isinstance(model, RunnableBindingBase):
        model = model.bound
    if isinstance(model, BaseChatModel):
        kind = type(model)
        return kind._agenerate is not BaseChatModel._agenerate or kind._astream is not BaseChatModel._astream
    if isinstance(model, RunnableLambda):
        return not hasattr(model, "func")
    return not hasattr(model, "invoke")


def _in_thread(loop: asyncio.AbstractEventLoop, call: Callable[[], Any]) -> asyncio.Future[Any]:
    """Run a blocking call in a daemon thread, which nobody waits for when it is given up."""
    future = loop.create_future()

    def settle(answer: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(answer)
        else:
            future.set_exception(error)

    def work() -> None:
        answer, failure = None, None
        try:
            answer = call()
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed, and the call was given up
            loop.call_soon_threadsafe(settle, answer, failure)

    threading.Thread(target=work, name="draftcritic-call", daemon=True).start()
    return future


def _reply(answer: Any) -> Reply:
    metadata = mapping_of(answer, "response_metadata")
    return Reply(
        content=getattr(answer, "content", answer),
        model=reported_model_name(metadata),
        usage=mapping_of(answer, "usage_metadata"),
        finish_reason=reported_finish_reason(metadata),
    )

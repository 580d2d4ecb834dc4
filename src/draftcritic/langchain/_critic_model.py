"""Finds out which code a chat model has, and whether an error comes from the loop or kind of code that called it."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Callable, Hashable, Sequence
from enum import Enum
from functools import partial
from typing import Any, NamedTuple

from draftcritic.core._models import reported_finish_reason, reported_model_name, resolve_model_name
from draftcritic.langchain._capture import mapping_of
from draftcritic.langchain._event_loops import LoopGoneError, OnLoop, OwnLoop, answer_of
from draftcritic.langchain._identity import IdentityKey
from draftcritic.langchain._own_calls import OwnPrompts, isolated_config, isolated_context, isolated_model, untraced
from draftcritic.langchain._provider_names import provider_of
from draftcritic.review._calls import NoThreadError, TimedCaller, within
from draftcritic.review._failures import causes_of, contain_exit
from draftcritic.review._ports import PromptMessage, Reply
from draftcritic.review._scope import reviewing

_CAUSES = 8
"""How many exceptions deep a client's wrapping is looked through."""
_OF_A_LOOP = re.compile(
    r"event loop is closed|different (?:event )?loop|transport closed=true|no running event loop",
    re.IGNORECASE,
)
"""What asyncio and uvloop say to a client whose connections and locks belong to another loop than the running one."""
_OTHER_CODE = re.compile(r"\bainvoke\b|\b_agenerate\b")
"""What a model names that has no blocking code, as LangChain's for OpenAI does when its key comes from a coroutine."""


class Kinds(NamedTuple):
    """The kinds of code that a model has of its own; LangChain makes up for the other kind."""

    blocking: bool
    asynchronous: bool


def kinds_of_code(model: Any) -> Kinds:
    """Return which code a model has. Blocking code may still turn out to be none when it is called."""
    from langchain_core.language_models import BaseChatModel
    from langchain_core.runnables import RunnableLambda
    from langchain_core.runnables.base import RunnableBindingBase

    while isinstance(model, RunnableBindingBase):
        model = model.bound
    if isinstance(model, BaseChatModel):
        kind = type(model)
        own = kind._agenerate is not BaseChatModel._agenerate or kind._astream is not BaseChatModel._astream
        return Kinds(True, own)
    if isinstance(model, RunnableLambda):
        blocking = hasattr(model, "func")
        return Kinds(blocking, not blocking)
    return Kinds(hasattr(model, "invoke"), hasattr(model, "ainvoke"))


def is_of_the_way(error: BaseException) -> bool:
    """Whether an error says that the model cannot be asked this way, and nothing of the model or its service."""
    return any(_says_so(each) for each in causes_of(error, _CAUSES))


def _says_so(error: BaseException) -> bool:
    if isinstance(error, (LoopGoneError, NoThreadError, NotImplementedError)):
        return True
    if isinstance(error, RuntimeError) and _OF_A_LOOP.search(str(error)):
        return True
    return isinstance(error, (RuntimeError, ValueError, TypeError)) and bool(_OTHER_CODE.search(str(error)))


_UNWRITTEN = '"not_implemented"'
"""How LangChain writes a part that it cannot write."""


_CALLER = TimedCaller()
"""One for all: frameworks make a critic for each draft."""


class _Way(Enum):
    """Where and how a model is asked."""

    CALLERS_LOOP = 1
    """With `ainvoke`, on the event loop of the draft's caller."""
    THREAD = 2
    """With `invoke`, in a thread of the plugin."""
    OWN_LOOP = 3
    """With `ainvoke`, on an event loop of the plugin."""


class ChatModelCritic:
    """A LangChain chat model, or a runnable around one, in the part of the critic's model.

    A model is asked as the application asks it: with `ainvoke` on the event loop of an asynchronous caller, because
    asynchronous clients belong to their loop, when it has asynchronous code, and else with `invoke` in a thread. With
    `apart`, `invoke` in a thread comes first. What cannot be asked one way is asked another way: by `invoke` when the
    loop has ended, or the model's client belongs to another loop; and a model that has only asynchronous code on a
    loop of the plugin. That is no failure of the model.

    Args:
        model: the chat model; never changed.
        requested: the name that was asked for, when the object does not tell one.
        loop: the event loop of an asynchronous caller, for calls from another thread.
        apart: keep off the event loop of the caller, as far as the model can: it is not the application's own.
        caller: runs blocking calls with a timeout.
        own_prompts: remembers what is asked.
        spared: the application's rate limiter, from which the call takes no permit.
        own_loop: runs asynchronous code that has no loop; None for a new loop each time.
    """

    def __init__(
        self,
        model: Any,
        *,
        requested: str = "",
        loop: asyncio.AbstractEventLoop | None = None,
        apart: bool = False,
        caller: TimedCaller | None = None,
        own_prompts: OwnPrompts | None = None,
        own_loop: OwnLoop | None = None,
        spared: Any = None,
    ) -> None:
        self._model = model
        self._spared = spared
        self._requested = requested
        self._loop = loop
        self._apart = apart
        self._caller = caller or _CALLER
        self._own_prompts = own_prompts or OwnPrompts()
        self._own_loop = own_loop

    @property
    def name(self) -> str:
        """The raw name of the model; empty when the object has none."""
        return resolve_model_name(self._model, requested=self._requested)

    @property
    def provider(self) -> str:
        """The name of the model's provider; empty when it has none."""
        return provider_of(self._model)

    @property
    def identity(self) -> Hashable:
        """The model object; for a class that LangChain can write down, all that it is made of."""
        written = _written_down(self._model)
        return IdentityKey(self._model) if written is None else (type(self._model), written)

    def messages(self, prompt: Sequence[PromptMessage]) -> Sequence[Any]:
        """Return the prompt as LangChain messages."""
        from langchain_core.messages import AIMessage, HumanMessage, SystemMessage

        kinds: dict[str, Callable[..., Any]] = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
        return [kinds[message.role](content=message.text) for message in prompt]

    def call(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from synchronous code. See `CriticModel.call`."""
        model, deadline = isolated_model(self._model, self._spared), time.monotonic() + timeout
        ways = self._ways(model, self._loop is not None and self._loop.is_running())
        for way in ways:
            try:
                return _reply(self._ask(way, model, messages, deadline))
            except Exception as error:  # noqa: PERF203 - each way may fail
                if way is ways[-1] or not is_of_the_way(error):
                    raise
        raise AssertionError("there is always a way")

    async def acall(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from a coroutine. See `CriticModel.acall`."""
        model, deadline = isolated_model(self._model, self._spared), time.monotonic() + timeout
        ways = self._ways(model, True)
        for way in ways:
            try:
                return _reply(await self._aask(way, model, messages, deadline, way is ways[-1]))
            except Exception as error:  # noqa: PERF203 - each way may fail
                if way is ways[-1] or not is_of_the_way(error):
                    raise
        raise AssertionError("there is always a way")

    def _ways(self, model: Any, on_loop: bool) -> Sequence[_Way]:
        """Return how the model can be asked, the best way first."""
        kinds = kinds_of_code(model)
        ways = [_Way.CALLERS_LOOP] if on_loop and kinds.asynchronous else []
        if kinds.blocking:
            ways.insert(0 if self._apart else len(ways), _Way.THREAD)
        return [*ways, _Way.OWN_LOOP] if kinds.asynchronous else ways

    def _ask(self, way: _Way, model: Any, messages: Sequence[Any], deadline: float) -> Any:
        context, left = isolated_context(), max(0.0, deadline - time.monotonic())
        if way is _Way.THREAD:
            return self._caller.call(lambda: context.run(self._invoke, model, messages), left)
        make = partial(self._ainvoke, model, messages)
        if way is _Way.CALLERS_LOOP and self._loop is not None:
            return OnLoop(self._loop, make).run(context, deadline)
        outcome = None if self._own_loop is None else self._own_loop.start(make, context)
        if outcome is None:
            return self._caller.call(lambda: context.run(asyncio.run, make()), left)
        return answer_of(outcome, left)

    async def _aask(self, way: _Way, model: Any, messages: Sequence[Any], deadline: float, last: bool) -> Any:
        context, left = isolated_context(), max(0.0, deadline - time.monotonic())
        if way is _Way.THREAD:
            # Not in the loop's executor, as `ainvoke` would: the end of the loop waits for that, whatever hangs in it.
            return await self._caller.acall(lambda: context.run(self._invoke, model, messages), left, waits=last)
        make = partial(self._ainvoke, model, messages)
        if way is _Way.CALLERS_LOOP:
            # A task is the only way to run a coroutine in another context that Python 3.10 has.
            return await within(context.run(asyncio.get_running_loop().create_task, make()), left)
        outcome = None if self._own_loop is None else self._own_loop.start(make, context)
        if outcome is None:
            return await self._caller.acall(lambda: context.run(asyncio.run, make()), left)
        return await within(asyncio.wrap_future(outcome), left)

    # Both mark the call in the code that makes it: a call that is given up goes on.

    def _invoke(self, model: Any, messages: Sequence[Any]) -> Any:
        self._own_prompts.remember(messages)
        with untraced(), reviewing(self._spared) as mark:
            return model.invoke(messages, config=isolated_config(mark))

    async def _ainvoke(self, model: Any, messages: Sequence[Any]) -> Any:
        self._own_prompts.remember(messages)
        with untraced(), reviewing(self._spared) as mark:
            try:
                return await model.ainvoke(messages, config=isolated_config(mark))
            except (SystemExit, KeyboardInterrupt) as stop:
                # A task that raises these ends its loop.
                error = contain_exit(stop)
                raise error from error.__cause__


def _written_down(model: Any) -> str | None:
    """Return a model with all its parameters and without its secrets, as LangChain keys its own cache of answers.

    None when its class does not say that this is all there is to it, or some part of it cannot be written down.
    """
    try:
        if not type(model).is_lc_serializable():
            return None
        from langchain_core.load import dumps

        text = dumps(model)
    except Exception:  # third-party code
        return None
    return None if _UNWRITTEN in text else text


def _reply(answer: Any) -> Reply:
    metadata = mapping_of(answer, "response_metadata")
    return Reply(
        content=getattr(answer, "content", answer),
        model=reported_model_name(metadata),
        usage=mapping_of(answer, "usage_metadata"),
        finish_reason=reported_finish_reason(metadata),
    )

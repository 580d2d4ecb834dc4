"""Asks the model that a framework's provider gives out, whatever that object is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from draftcritic.core import reported_finish_reason, reported_model_name, resolve_model_name
from draftcritic.engine import CriticModel, PromptMessage, Reply, TimedCaller, within


def model_source(provider: Any, model_config: Any) -> Callable[[], CriticModel]:
    """Return what makes the critic's model out of `provider.get_chat_model(model_config)`, for each call anew."""

    def make() -> CriticModel:
        return critic_model(provider.get_chat_model(model_config), getattr(model_config, "model_name", "") or "")

    return make


def critic_model(model: Any, requested: str = "") -> CriticModel:
    """Return a model object in the part of the critic's model.

    Args:
        model: a LangChain chat model or runnable, or any object with `ainvoke(messages)`.
        requested: the name that was asked for, when the object does not tell one.
    """
    try:
        from langchain_core.runnables import Runnable
    except ImportError:
        return PlainModel(model, requested)
    if not isinstance(model, Runnable):
        return PlainModel(model, requested)
    from draftcritic.langchain import ChatModelCritic

    return ChatModelCritic(model, requested=requested)


class PlainModel:
    """Any object with `ainvoke(messages)`, and perhaps `invoke(messages)`, as the critic's model.

    It gets LangChain messages where langchain-core is installed, and `PromptMessage`s elsewhere.
    """

    def __init__(self, model: Any, requested: str = "") -> None:
        self._model = model
        self._requested = requested
        self._caller = TimedCaller()

    @property
    def name(self) -> str:
        """The name of the model; empty when it tells none."""
        return resolve_model_name(self._model, requested=self._requested)

    @property
    def identity(self) -> None:
        """None: nothing is known of the object."""
        return None

    def messages(self, prompt: Sequence[PromptMessage]) -> Sequence[Any]:
        """Return the prompt as messages."""
        try:
            from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
        except ImportError:
            return list(prompt)
        kinds = {"system": SystemMessage, "user": HumanMessage, "assistant": AIMessage}
        return [kinds[each.role](content=each.text) for each in prompt]

    def call(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from synchronous code. See `CriticModel.call`."""
        invoke = getattr(self._model, "invoke", None)
        if invoke is not None:
            return _reply(self._caller.call(lambda: invoke(list(messages)), timeout))
        return self._caller.call(lambda: asyncio.run(self.acall(messages, timeout)), timeout + 1)

    async def acall(self, messages: Sequence[Any], timeout: float) -> Reply:
        """Ask the model from a coroutine. See `CriticModel.acall`."""
        return _reply(await within(self._model.ainvoke(list(messages)), timeout))


def _reply(answer: Any) -> Reply:
    usage = getattr(answer, "usage_metadata", None)
    if usage is not None and not isinstance(usage, Mapping):
        counts = {name: getattr(usage, name, None) for name in ("input_tokens", "output_tokens")}
        usage = {name: count for name, count in counts.items() if count is not None}
    metadata = getattr(answer, "response_metadata", None) or {}
    return Reply(
        content=answer.content if hasattr(answer, "content") else str(answer),
        model=reported_model_name(metadata),
        usage=usage or {},
        finish_reason=reported_finish_reason(metadata),
    )

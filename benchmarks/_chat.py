"""A chat model that answers at once, and the turns it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

ANSWER = "You're welcome!"
"""An acknowledgement without a claim: the selective gate skips it."""
LONG_CONTEXT_CHARS = 24 * 1024

_POLICY = "The shop takes goods back within 30 days. Order A-{number} was sent on day {number} for {number}.90 euros. "


class InstantChat(BaseChatModel):
    """Answers every question with `ANSWER`, in microseconds, whole or in chunks."""

    model_name: str = "gpt-4o-mini"

    @property
    def _llm_type(self) -> str:
        return "instant"

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        del messages, stop, run_manager, kwargs
        message = AIMessage(
            content=ANSWER,
            response_metadata={"model_name": "gpt-4o-mini-2024-07-18", "finish_reason": "stop"},
            usage_metadata={"input_tokens": 12, "output_tokens": 4, "total_tokens": 16},
        )
        return ChatResult(generations=[ChatGeneration(message=message)])

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return self._generate(messages, stop, run_manager, **kwargs)

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        del messages, stop, kwargs
        for chunk in _chunks():
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        del messages, stop, kwargs
        for chunk in _chunks():
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


def _chunks() -> list[ChatGenerationChunk]:
    pieces = ("You", "'re", " wel", "come", "!")
    return [
        ChatGenerationChunk(
            message=AIMessageChunk(
                content=piece, response_metadata={"finish_reason": "stop"} if piece == pieces[-1] else {}
            )
        )
        for piece in pieces
    ]


def messages(turn: str) -> list[BaseMessage]:
    """Return the messages of the turn `short`, or of the turn `long` with its 24 KB of context."""
    question = HumanMessage("Thank you, that is all.")
    if turn == "short":
        return [SystemMessage("You are the assistant of a shop."), question]
    history: list[BaseMessage] = []
    size = number = 0
    while size < LONG_CONTEXT_CHARS:
        text = "".join(_POLICY.format(number=number + step) for step in range(20))
        history.append(AIMessage(text) if len(history) % 2 else HumanMessage(text))
        size, number = size + len(text), number + 20
    return [SystemMessage("You are the assistant of a shop."), *history, question]

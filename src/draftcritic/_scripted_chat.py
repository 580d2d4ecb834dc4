"""A chat model that answers from a script, and a listener to its callbacks: for the tests that the package ships."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field

_TOKEN = re.compile(r"\s*\S{1,4}")


class ScriptedChatModel(BaseChatModel):
    """See `draftcritic.testing.scripted_chat_model`; it has no stream.

    Attributes:
        answers: the script.
        asked: the messages of each call.
    """

    answers: list[Any]
    asked: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        """Return the model with the names of the tools bound."""
        return self.bind(tools=[getattr(tool, "name", "") for tool in tools], **kwargs)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:  # noqa: ARG002 - LangChain's signature
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages))])

    def _answer(self, messages: Any) -> AIMessage:
        self.asked.append(list(messages))
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        if isinstance(answer, BaseChatModel):
            return AIMessage(answer.invoke(messages).content)
        if isinstance(answer, dict):
            return AIMessage("", tool_calls=[answer])
        return AIMessage(str(answer))


class StreamingChatModel(ScriptedChatModel):
    """The same with a stream."""

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:  # noqa: ARG002 - LangChain's signature
        for chunk in _chunks(self._answer(messages)):
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self,
        messages: Any,
        stop: Any = None,  # noqa: ARG002 - LangChain's signature
        run_manager: Any = None,
        **kwargs: Any,  # noqa: ARG002
    ) -> AsyncIterator[Any]:
        for chunk in _chunks(self._answer(messages)):
            if run_manager is not None:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


class Listener(BaseCallbackHandler):
    """Notes all that a callback gets to see of a model's work.

    Attributes:
        seen: what it has noted.
    """

    def __init__(self) -> None:
        self.seen: list[Any] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's signature
        """Note the prompt."""
        self.seen.append(messages)

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        """Note a token."""
        self.seen.append((token, kwargs.get("chunk")))

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's signature
        """Note the answer."""
        self.seen.append(response)

    def on_stream_event(self, event: Any, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's signature
        """Note an event."""
        self.seen.append(event)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:  # noqa: ARG002 - LangChain's signature
        """Note what a step returns."""
        self.seen.append(outputs)


def _chunks(answer: AIMessage) -> list[ChatGenerationChunk]:
    """Return a message as chunks of a stream; the last one has its tool calls."""
    *pieces, last = _TOKEN.findall(answer.text) or [""]
    calls: list[Any] = [
        {"name": call["name"], "args": json.dumps(call["args"]), "id": call["id"], "index": index}
        for index, call in enumerate(answer.tool_calls)
    ]
    messages = [*(AIMessageChunk(content=piece) for piece in pieces)]
    messages.append(AIMessageChunk(content=last, tool_call_chunks=calls))
    return [ChatGenerationChunk(message=message) for message in messages]

"""Small real chat models: everything around them is LangChain's own."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field


class Chat(BaseChatModel):
    """Answers with the messages of `answers` in turn, the last one for ever; has no `_stream`."""

    answers: list[Any]
    model_name: str = "gpt-4o-mini"
    calls: list[list[BaseMessage]] = Field(default_factory=list)
    kwargs_seen: list[dict[str, Any]] = Field(default_factory=list)
    delay: float = 0.0
    error: Any = None
    n: int = 1

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def _answer(self, messages: list[BaseMessage], kwargs: dict[str, Any]) -> AIMessage:
        self.calls.append(messages)
        self.kwargs_seen.append(kwargs)
        if self.delay:
            time.sleep(self.delay)
        if self.error is not None:
            raise self.error
        answer = self.answers[min(len(self.calls), len(self.answers)) - 1]
        return answer.model_copy() if isinstance(answer, AIMessage) else AIMessage(content=answer)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        answer = self._answer(messages, kwargs)
        generations = [ChatGeneration(message=answer.model_copy()) for _ in range(self.n)]
        return ChatResult(generations=generations)

    def bind_tools(self, tools: Any, *, tool_choice: Any = None, **kwargs: Any) -> Any:
        return self.bind(tools=[getattr(tool, "name", str(tool)) for tool in tools], **kwargs)


class StreamingChat(Chat):
    """The same with `_stream` and `_astream`: one chunk for each word."""

    fail_after: int | None = None

    def _chunks(self, messages: Any, kwargs: dict[str, Any]) -> list[ChatGenerationChunk]:
        answer = self._answer(messages, kwargs)
        words = [answer.content] if not isinstance(answer.content, str) else answer.content.split(" ")
        chunks = []
        for index, word in enumerate(words):
            text = word if index == 0 or not isinstance(word, str) else f" {word}"
            last = index == len(words) - 1
            message = AIMessageChunk(
                content=text,
                tool_call_chunks=[
                    {"name": c["name"], "args": "{}", "id": c["id"], "index": i}
                    for i, c in enumerate(answer.tool_calls)
                ]
                if last
                else [],
                response_metadata=answer.response_metadata if last else {},
            )
            chunks.append(ChatGenerationChunk(message=message))
        return chunks

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        for index, chunk in enumerate(self._chunks(messages, kwargs)):
            if self.fail_after is not None and index >= self.fail_after:
                raise ConnectionError("the stream broke")
            if run_manager:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        for index, chunk in enumerate(self._chunks(messages, kwargs)):
            if self.fail_after is not None and index >= self.fail_after:
                raise ConnectionError("the stream broke")
            if run_manager:
                await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk

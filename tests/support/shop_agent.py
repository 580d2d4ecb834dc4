"""An ordinary agent with one tool, as its author would write it; nothing here knows of instrumentation.

With `APPLICATION_SPANS` set it opens a span of its own around every turn, as a web framework would.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import tool
from opentelemetry import trace

ANSWER = "Order A-1 was shipped on Monday."
USER = {"messages": [{"role": "user", "content": "Where is order A-1?"}]}


class Scripted(BaseChatModel):
    """Calls the tool, then answers. Asked without tools it is a judge, and finds nothing wrong."""

    model_name: str = "gpt-4o-mini"

    @property
    def _llm_type(self) -> str:
        return "openai-chat"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self.bind(tools=[{"type": "function", "function": {"name": "find_order"}}], **kwargs)

    def _answer(self, messages: list[Any], tools: Any) -> AIMessage:
        usage = {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}
        calls: list[Any] = []
        if not tools:
            text, usage = '{"verdict": "approve"}', {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
        elif isinstance(messages[-1], ToolMessage):
            text = ANSWER
        else:
            text, calls = "", [{"name": "find_order", "args": {"order_id": "A-1"}, "id": "call-1"}]
        metadata = {"model_name": self.model_name, "finish_reason": "stop"}
        return AIMessage(content=text, tool_calls=calls, usage_metadata=usage, response_metadata=metadata)

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self._answer(messages, kwargs.get("tools")))])

    def _stream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        answer = self._answer(messages, kwargs.get("tools"))
        pieces = [f"{word} " for word in str(answer.content).split(" ")] if answer.content else [""]
        pieces[-1] = pieces[-1].rstrip()
        for index, piece in enumerate(pieces):
            last = index == len(pieces) - 1
            message = AIMessageChunk(
                content=piece,
                id="message-1",
                tool_calls=answer.tool_calls if last else [],
                usage_metadata=answer.usage_metadata if last else None,
                response_metadata=answer.response_metadata if last else {},
            )
            chunk = ChatGenerationChunk(message=message)
            if run_manager is not None:
                run_manager.on_llm_new_token(piece, chunk=chunk)
            yield chunk


@tool
def find_order(order_id: str) -> str:
    """Find an order."""
    return f"{order_id}: shipped on Monday"


def turn(name: str) -> AbstractContextManager[Any]:
    if "APPLICATION_SPANS" not in os.environ:
        return nullcontext()
    return trace.get_tracer("application").start_as_current_span(name)


async def converse(agent: Any) -> None:
    with turn("turn ainvoke"):
        print("ainvoke", (await agent.ainvoke(USER))["messages"][-1].content)
    with turn("turn astream"):
        chunks: AsyncIterator[Any] = agent.astream(USER, stream_mode="messages")
        async for message, _ in chunks:
            print("astream", type(message).__name__, repr(message.content))


def main() -> None:
    agent = create_agent(Scripted(), tools=[find_order])
    with turn("turn invoke"):
        print("invoke", agent.invoke(USER)["messages"][-1].content)
    with turn("turn stream"):
        for message, _ in agent.stream(USER, stream_mode="messages"):
            print("stream", type(message).__name__, repr(message.content))
    asyncio.run(converse(agent))


if __name__ == "__main__":
    main()

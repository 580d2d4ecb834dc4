"""An agent of symfonic as its users write one, with a scripted model: it knows nothing of draftcritic.

Started as a program it asks once by `run` and once by `stream_text`, and prints what a user sees and what the model was
asked, as one line of JSON. The model answers questions of draftcritic's with the text of the environment variable
CRITIC_REPLY.
"""

from __future__ import annotations

import asyncio
import json
import os
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from pydantic import Field
from symfonic.agent.builder import AgentBuilder
from symfonic.agent.types import FrameworkTenantScope

DRAFT = "The refund of order ZT-90-11B was paid out yesterday."
OWN_VERDICT = json.dumps({"verdict": "approve", "matched_preferences": []})


class ScriptedModel(BaseChatModel):
    """Answers a question of draftcritic's or of symfonic's for a verdict with one, and any other with a draft."""

    questions: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        return self

    def _text(self, messages: Any) -> str:
        asked = str(messages[-1].content)
        self.questions.append(asked)
        if "Boundary:" in asked:
            return os.environ.get("CRITIC_REPLY", '{"verdict": "approve"}')
        return OWN_VERDICT if "internal critic" in asked else DRAFT

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self._text(messages)))])

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        for word in self._text(messages).split(" "):
            chunk = ChatGenerationChunk(message=AIMessageChunk(content=word + " "))
            if run_manager is not None:
                run_manager.on_llm_new_token(chunk.text, chunk=chunk)
            yield chunk


class Provider:
    """Gives the model to symfonic."""

    def __init__(self) -> None:
        self.model = ScriptedModel()

    def get_chat_model(self, config: Any) -> Any:
        return self.model

    def supports_thinking(self) -> bool:
        return False

    def supports_streaming(self) -> bool:
        return True

    def supports_forced_tool_choice(self, config: Any) -> bool:
        return False


class Embeddings:
    """Puts texts with the same words close to each other."""

    async def embed(self, text: str) -> list[float]:
        return [float(text.lower().count(word)) + 0.01 for word in ("refund", "order", "parcel", "invoice")]

    async def embed_batch(self, texts: list[str]) -> list[list[float]]:
        return [await self.embed(text) for text in texts]


async def ask() -> dict[str, Any]:
    """Return what a user of each way gets, with the framework's own reflection on."""
    provider = Provider()
    builder = AgentBuilder().provider(provider).memory(embeddings=Embeddings())
    agent = builder.option(metacognition_enabled=True, lazy_tooling=False).build()
    scope = FrameworkTenantScope(tenant_id="shop")
    response = await agent.run("Where is my refund?", scope=scope)
    parts = [part async for part in agent.stream_text("Where is my refund?", scope=scope)]
    return {
        "run": response.final_response,
        "stream_text": "".join(parts),
        "activation": response.activation_log,
        "reflected": response.reflection_event["original_draft"] if response.reflection_event else None,
        "questions": provider.model.questions,
    }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(ask())))

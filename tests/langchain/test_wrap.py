"""On an interpreter that the exchange of code is not tested with, `wrapt` does the same for one party."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain import _install as _targets
from draftcritic.langchain import _method_patches as _splice

DRAFT = "The code word is Zanzibar."
SAFE = "I would rather not say."


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    for module in (_splice, _targets):
        monkeypatch.setattr(module, "CODE_IS_EXCHANGEABLE", False)
    before = dict(vars(BaseChatModel))
    telemetry = Telemetry()
    critic = Chat(answers=[f'{{"verdict": "refuse", "refusal_message": "{SAFE}"}}'])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic)
    yield telemetry
    DraftCriticInstrumentor().uninstrument()
    assert dict(vars(BaseChatModel)) == before


class Own(Chat):
    def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
        return AIMessage(DRAFT)


async def aread(stream: Any) -> str:
    return "".join([chunk.text async for chunk in stream])


def test_refused_drafts_are_replaced(telemetry: Telemetry) -> None:
    model = StreamingChat(answers=[DRAFT])
    assert model.invoke("q").text == SAFE
    assert "".join(chunk.text for chunk in model.stream("q")) == SAFE
    assert asyncio.run(aread(model.astream("q"))) == SAFE
    assert Own(answers=["x"]).invoke("q").text == SAFE
    assert len(telemetry.reviews()) == 4


def test_off_gives_the_draft_back(telemetry: Telemetry) -> None:
    DraftCriticInstrumentor().uninstrument()
    assert StreamingChat(answers=[DRAFT]).invoke("q").text == DRAFT
    assert Own(answers=["x"]).invoke("q").text == DRAFT
    assert telemetry.reviews() == []
    DraftCriticInstrumentor().instrument(mode="gate")

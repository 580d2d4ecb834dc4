"""What a gateway says about its model reaches the trace of a withheld stream that breaks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessageChunk
from langchain_core.outputs import ChatGenerationChunk
from support.chat import Chat, StreamingChat

from draftcritic import DraftCriticInstrumentor

gateway = pytest.importorskip("langchain_core.utils._gateway", reason="this langchain-core has no gateway metadata")
CHOSEN = {"provider": "openai", "model": "resolved"}


class Breaking(StreamingChat):
    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        metadata = {gateway.GATEWAY_METADATA_RESPONSE_KEY: CHOSEN}
        yield ChatGenerationChunk(message=AIMessageChunk(content="Zebra", response_metadata=metadata))
        raise RuntimeError("the stream broke")


class Errors(BaseCallbackHandler):
    def __init__(self) -> None:
        self.responses: list[Any] = []

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        self.responses.append(kwargs.get("response"))


@pytest.mark.parametrize("mode", ["off", "enforce"])
def test_the_gateways_model_reaches_the_trace_of_a_broken_stream(mode: str) -> None:
    errors = Errors()
    DraftCriticInstrumentor().instrument(mode=mode, model=Chat(answers=['{"verdict": "approve"}']))
    try:
        with pytest.raises(RuntimeError, match="the stream broke"):
            list(Breaking(answers=[""]).stream_events("q", config={"callbacks": [errors]}, version="v3"))
    finally:
        DraftCriticInstrumentor().uninstrument()
    assert "resolved" in str(errors.responses)

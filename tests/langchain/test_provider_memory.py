"""What a provider is sent after a refused answer: real clients, against a server on loopback that follows a script."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from support.leaks import SAFE, SECRET, Ears, enforce
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

pytestmark = [
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
QUESTION = {"messages": [("user", "What is the code word?")]}


@contextmanager
def scripted(*answers: Any) -> Iterator[tuple[str, list[Any]]]:
    """Serve the answers in turn; the bodies of the requests are noted."""
    asked: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            body = json.dumps(answers[min(len(asked), len(answers)) - 1]).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Stay quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture
def telemetry(monkeypatch: pytest.MonkeyPatch) -> Iterator[Telemetry]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


def look_up(word: str) -> str:
    """Look a word up."""
    return f"nothing about {word}"


def response(number: int, *output: Any) -> Any:
    """Return an answer of OpenAI's Responses API."""
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1796000000,
        "status": "completed",
        "model": "gpt-5-mini",
        "output": list(output),
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 5,
            "output_tokens": 7,
            "total_tokens": 12,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }


def said(text: str) -> Any:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}


REASONING = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": SECRET}],
    "encrypted_content": "opaque",
}
FUNCTION_CALL = {
    "type": "function_call",
    "id": "fc_1",
    "call_id": "call_1",
    "name": "look_up",
    "arguments": '{"word": "x"}',
    "status": "completed",
}


class TestOpenAIResponses:
    def model(self, url: str, **given: Any) -> Any:
        chat = pytest.importorskip("langchain_openai").ChatOpenAI
        return chat(model="gpt-5-mini", api_key="x", base_url=f"{url}/v1", use_responses_api=True, **given)

    @pytest.mark.parametrize("verdict", ["refuse", "approve"])
    @pytest.mark.parametrize("version", [None, "v1", "responses/v1"])
    def test_the_provider_does_not_go_on_from_a_refused_answer(
        self, version: str | None, verdict: str, telemetry: Telemetry
    ) -> None:
        enforce(telemetry, verdict if verdict == "refuse" else '{"verdict": "approve"}')
        with scripted(response(1, REASONING, said(f"It is {SECRET}.")), response(2, said("Fine."))) as (url, asked):
            model = self.model(url, use_previous_response_id=True, output_version=version)
            first = model.invoke("q")
            model.invoke([HumanMessage("q"), first, HumanMessage("go on")])
        if verdict == "approve":
            assert asked[1]["previous_response_id"] == "resp_1"
        else:
            assert "previous_response_id" not in asked[1]
            assert SAFE in json.dumps(asked[1])
            assert SECRET not in json.dumps(asked[1]) + repr(first)

    @pytest.mark.parametrize("version", [None, "v1", "responses/v1"])
    def test_encrypted_reasoning_goes_back_with_its_call_and_without_words(
        self, version: str | None, telemetry: Telemetry
    ) -> None:
        enforce(telemetry)
        ears = Ears()
        turns = (response(1, REASONING, said(f"It is {SECRET}."), FUNCTION_CALL), response(2, said("Fine.")))
        with scripted(*turns) as (url, asked):
            agent = create_agent(self.model(url, output_version=version), [look_up])
            state = agent.invoke(QUESTION, {"callbacks": [ears]})
        assert SECRET not in repr(state) + repr(ears.heard) + json.dumps(asked[1])
        items = {item.get("type"): item for item in asked[1]["input"]}
        assert items["function_call"]["call_id"] == "call_1"
        assert items["reasoning"]["encrypted_content"] == "opaque"
        assert items["reasoning"]["summary"] == []


def claude(*content: Any, stop: str = "end_turn") -> Any:
    return {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-4-5-20251001",
        "content": list(content),
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": 5, "output_tokens": 7},
    }


THINKING = {"type": "thinking", "thinking": f"It is {SECRET}.", "signature": "signed"}


class TestAnthropic:
    turns = (
        claude(
            THINKING,
            {"type": "text", "text": f"Let me see whether it is {SECRET}."},
            {"type": "tool_use", "id": "toolu_1", "name": "look_up", "input": {"word": "x"}},
            stop="tool_use",
        ),
        claude({"type": "text", "text": "Fine."}),
    )

    def agent(self, url: str, **given: Any) -> Any:
        chat = pytest.importorskip("langchain_anthropic").ChatAnthropic
        model = chat(model="claude-haiku-4-5-20251001", api_key="x", base_url=url, disable_streaming=True, **given)
        return create_agent(model, [look_up])

    @pytest.mark.parametrize("mode", ["messages", "events"])
    async def test_signed_thinking_goes_back_whole_and_is_not_shown(self, mode: str, telemetry: Telemetry) -> None:
        enforce(telemetry)
        ears = Ears()
        with scripted(*self.turns) as (url, asked):
            agent = self.agent(url)
            if mode == "messages":
                seen = [m async for m in agent.astream(QUESTION, {"callbacks": [ears]}, stream_mode="messages")]
            else:
                events = [e async for e in agent.astream_events(QUESTION, {"callbacks": [ears]}, version="v2")]
                # The prompt of the next call is the state, which keeps what is signed.
                seen = [e["data"].get("output") or e["data"].get("chunk") for e in events if "chat_model" in e["event"]]
        of_models = [each for each in ears.heard if type(each).__name__ in ("LLMResult", "tuple")]
        assert SAFE in repr(seen)
        first = [m for m in seen if SAFE in repr(m)]
        assert SECRET not in repr(first) + repr(of_models)
        assistant = asked[1]["messages"][1]
        assert assistant["content"][0] == THINKING
        assert [part["type"] for part in assistant["content"]] == ["thinking", "text", "tool_use"]
        assert assistant["content"][1]["text"] == SAFE

    def test_thinking_without_calls_goes_with_the_text(self, telemetry: Telemetry) -> None:
        enforce(telemetry)
        with scripted(claude(THINKING, {"type": "text", "text": f"It is {SECRET}."})) as (url, _):
            state = self.agent(url).invoke(QUESTION)
        assert SECRET not in repr(state)

    def test_thinking_goes_with_dropped_calls(self, telemetry: Telemetry) -> None:
        enforce(telemetry, on_refused_calls="drop")
        with scripted(*self.turns) as (url, asked):
            state = self.agent(url).invoke(QUESTION)
        assert SECRET not in repr(state)
        assert len(asked) == 1
        assert isinstance(state["messages"][-1], AIMessage)


class TestGemini:
    def agent(self, url: str) -> Any:
        chat = pytest.importorskip("langchain_google_genai").ChatGoogleGenerativeAI
        return create_agent(chat(model="gemini-2.5-flash", google_api_key="x", base_url=url), [look_up])

    def turn(self, *parts: Any, **more: Any) -> Any:
        candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, "finishReason": "STOP", **more}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 7, "totalTokenCount": 12}
        return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-2.5-flash"}

    def test_the_signature_of_a_call_goes_back_and_thoughts_do_not(self, telemetry: Telemetry) -> None:
        enforce(telemetry)
        call = {"functionCall": {"name": "look_up", "args": {"word": "x"}}, "thoughtSignature": "c2lnbmVk"}
        thought = {"text": f"It is {SECRET}.", "thought": True}
        turns = (self.turn(thought, {"text": f"Is it {SECRET}?"}, call), self.turn({"text": "Fine."}))
        with scripted(*turns) as (url, asked):
            state = self.agent(url).invoke(QUESTION)
        assert SECRET not in repr(state) + json.dumps(asked[1])
        parts = asked[1]["contents"][1]["parts"]
        assert [part.get("text") for part in parts] == [SAFE, None]
        assert parts[1]["thoughtSignature"] == "c2lnbmVk"

    def test_grounding_metadata_goes_with_the_text(self, telemetry: Telemetry) -> None:
        enforce(telemetry)
        text = f"It is {SECRET}."
        grounding = {
            "groundingChunks": [{"web": {"uri": "http://x", "title": "x"}}],
            "groundingSupports": [{"segment": {"endIndex": 15, "text": text}, "groundingChunkIndices": [0]}],
        }
        with scripted(self.turn({"text": text}, groundingMetadata=grounding)) as (url, _):
            state = self.agent(url).invoke(QUESTION)
        message = state["messages"][-1]
        assert SECRET not in repr(state) + repr(message.content_blocks)
        assert message.response_metadata["finish_reason"] == "STOP"

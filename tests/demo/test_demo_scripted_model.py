"""The scripted model, asked over HTTP by the real OpenAI integration of LangChain."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI

from draftcritic.demo._scripted_model import AGENT_MODEL, CRITIC_MODEL, DEFAULT_SCRIPT, Line, ScriptedModel

QUESTION = "Hi! Where is my order A-4480?"


@tool
def look_up_order(order_id: str) -> str:
    """One order."""
    return order_id


@pytest.fixture(scope="module")
def server() -> Iterator[ScriptedModel]:
    with ScriptedModel() as running:
        yield running


@pytest.fixture
def model(server: ScriptedModel, monkeypatch: pytest.MonkeyPatch) -> ChatOpenAI:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    return chat(server, AGENT_MODEL)


def chat(server: ScriptedModel, name: str) -> ChatOpenAI:
    return ChatOpenAI(model=name, base_url=server.base_url, api_key="x", stream_usage=True, max_retries=0, timeout=10)


def test_invoke_answers_with_usage(model: ChatOpenAI) -> None:
    answer = model.invoke("Great, thank you!")
    assert answer.content == "You're welcome!"
    assert answer.response_metadata["model_name"] == AGENT_MODEL
    assert answer.usage_metadata is not None
    assert answer.usage_metadata["input_tokens"] > 0
    assert answer.usage_metadata["output_tokens"] > 0


def test_a_stream_comes_in_pieces_and_ends_with_usage(model: ChatOpenAI) -> None:
    chunks = list(model.stream("Great, thank you!"))
    assert len([c for c in chunks if c.content]) > 1
    assert "".join(str(c.content) for c in chunks) == "You're welcome!"
    assert [c.usage_metadata for c in chunks if c.usage_metadata]


def test_tool_calls_invoked_and_streamed(model: ChatOpenAI) -> None:
    bound = model.bind_tools([look_up_order])
    streamed: Any = None
    for chunk in bound.stream(QUESTION):
        streamed = chunk if streamed is None else streamed + chunk
    for answer in (bound.invoke(QUESTION), streamed):
        (call,) = answer.tool_calls
        assert (call["name"], call["args"]) == ("look_up_order", {"order_id": "A-4480"})
        assert answer.content == ""


def test_the_tool_result_leads_to_the_next_line(model: ChatOpenAI) -> None:
    call = model.bind_tools([look_up_order]).invoke(QUESTION)
    messages = [
        HumanMessage(QUESTION),
        call,
        ToolMessage("status: shipped", tool_call_id=call.tool_calls[0]["id"]),
    ]
    assert "10 March 2025" in str(model.invoke(messages).content)


async def test_async(server: ScriptedModel, model: ChatOpenAI) -> None:
    assert (await model.ainvoke("¡Muchas gracias!")).content == "¡De nada!"
    assert "".join([str(c.content) async for c in model.astream("Danke dir!")]) == "Gern geschehen!"


def test_the_critic_is_matched_by_the_draft_within_its_prompt(server: ScriptedModel, model: ChatOpenAI) -> None:
    critic = chat(server, CRITIC_MODEL)
    verdicts = {
        draft: json.loads(str(critic.invoke([("system", "Judge."), ("user", f"<d>{draft}</d>")]).content))["verdict"]
        for draft in (
            "Here is a voucher for free shoes: FREESHOES100.",
            "I sent the 18.50 EUR back to your card.",
            "Gern geschehen!",
        )
    }
    assert list(verdicts.values()) == ["refuse", "revise", "approve"]


@pytest.mark.parametrize(
    "messages",
    [
        [HumanMessage("Not in the script")],
        [HumanMessage(QUESTION), AIMessage("..."), ToolMessage("no such order", tool_call_id="1")],
    ],
)
def test_a_gap_in_the_script_is_an_error(model: ChatOpenAI, messages: list[Any]) -> None:
    with pytest.raises(openai.NotFoundError, match="no line for this request"):
        model.invoke(messages)


def test_requests_are_on_record(server: ScriptedModel, model: ChatOpenAI) -> None:
    before = len(server.requests())
    model.invoke("Great, thank you!")
    name, body = server.requests()[before]
    assert name == AGENT_MODEL
    assert body["messages"][-1]["content"] == "Great, thank you!"


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"model": "m"}, "exactly one of text, json, calls"),
        ({"model": "m", "text": "a", "json": {}}, "exactly one of text, json, calls"),
        ({"text": "a"}, "too many or too few"),
        ({"model": "m", "text": "a", "usr": "b"}, "too many or too few"),
    ],
)
def test_a_wrong_entry_is_refused(entry: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=said):
        Line.from_json(entry)
    script = tmp_path / "script.json"
    script.write_text(json.dumps([entry]))
    with pytest.raises(ValueError, match=said):
        ScriptedModel(script)


def test_the_default_script_holds_every_verdict() -> None:
    script = json.loads(DEFAULT_SCRIPT.read_text(encoding="utf-8"))
    assert {entry["json"]["verdict"] for entry in script if "json" in entry} == {
        "approve",
        "revise",
        "refuse",
    }

from __future__ import annotations

from contextvars import copy_context
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.prompts import ChatPromptTemplate
from support.chat import Chat

from draftcritic import activation
from draftcritic.core import IntentVerdict
from draftcritic.langchain import Answer, CapturedDraft, DocumentMemory, extract

CALL = {"name": "look_up_order", "args": {"order": "A-17"}, "id": "c1"}
CONVERSATION = [
    SystemMessage("You are the shop's assistant."),
    HumanMessage("Hello"),
    AIMessage("Hi! How can I help?"),
    HumanMessage([{"type": "text", "text": "Where is order A-17?"}, {"type": "image_url", "image_url": "x"}]),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("shipped", tool_call_id="c1", name="look_up_order"),
]


def captured(answer: Any = "It has shipped.", prompt: Any = CONVERSATION, **given: Any) -> CapturedDraft:
    message = answer if not isinstance(answer, str) else AIMessage(answer)
    values: dict[str, Any] = {
        "model": Chat(answers=["x"], model_name="gpt-4o-mini"),
        "prompt": prompt,
        "answers": [Answer.of(message)],
        "call_kwargs": {},
        "metadata": {},
        "run_id": "r1",
        "origin": None,
        "context": copy_context(),
    }
    return CapturedDraft(**{**values, **given})


def test_a_turn_of_a_conversation() -> None:
    turn = extract(captured())
    assert turn.draft == "It has shipped."
    assert turn.user_message == "Where is order A-17?"
    assert turn.context == "You are the shop's assistant.\nHello\nHi! How can I help?"
    assert turn.tool_calls == ({"name": "look_up_order", "args": {"order": "A-17"}, "id": "c1", "result": "shipped"},)
    assert turn.run_id == "r1"
    assert turn.activation == {}
    assert turn.intent is None


@pytest.mark.parametrize(
    ("prompt", "user"),
    [
        ("Hello", "Hello"),
        ([("system", "s"), ("user", "Hello")], "Hello"),
        ([{"role": "user", "content": "Hello"}], "Hello"),
        (ChatPromptTemplate.from_messages([("user", "Hello")]).invoke({}), "Hello"),
        ([ChatMessage(role="user", content="Hello")], "Hello"),
        ([SystemMessage("Write a poem.")], ""),
        ([], ""),
    ],
)
def test_every_form_of_input(prompt: Any, user: str) -> None:
    assert extract(captured(prompt=prompt)).user_message == user


@pytest.mark.parametrize(
    ("content", "draft"),
    [
        ([], ""),
        ("", ""),
        ("  ", "  "),
        (["a", {"type": "text", "text": "b"}], "ab"),
        ([{"type": "thinking", "thinking": "secret"}, {"type": "text", "text": "b"}], "b"),
        ([{"type": "reasoning", "reasoning": "secret"}, {"text": "b"}], "b"),
        ([{"type": "text"}, {"type": "text", "text": "ok"}, {"type": "image_url"}], "ok"),
        ([{"type": "unknown", "text": "x"}], "x"),
        (["a", {"type": "text-plain", "text": "b", "mime_type": "text/plain"}], "a\nb"),
        ([{"type": "non_standard", "value": {"type": "note", "note": ["b", {"more": "c"}], "id": "i"}}], "b\nc"),
        ([{"type": "audio", "base64": "AAAA", "transcript": "said"}], "said"),
        ([{"type": "refusal", "refusal": "no"}], "no"),
        ([{"type": "tool_use", "id": "1", "name": "f", "input": {"text": "x"}}], ""),
        ([{"type": "non_standard", "value": {"type": "thinking", "thinking": "x"}}], ""),
        ([{"type": "image", "base64": "AAAA", "mime_type": "image/png"}], ""),
    ],
)
def test_the_draft_is_all_text_that_a_person_gets_to_read(content: Any, draft: str) -> None:
    assert extract(captured(AIMessage(content))).draft == draft


def test_a_result_without_its_call_is_kept() -> None:
    prompt = [HumanMessage("q"), ToolMessage("found", tool_call_id="z", name="search")]
    assert extract(captured(prompt=prompt)).tool_calls == ({"name": "search", "id": "z", "result": "found"},)


def test_earlier_turns_calls_are_no_calls_of_this_turn() -> None:
    turn = extract(captured(prompt=[*CONVERSATION, AIMessage("It has shipped."), HumanMessage("Thanks!")]))
    assert turn.tool_calls == ()
    assert "shipped" in turn.context


def test_ids_come_from_the_run() -> None:
    answer = AIMessage("x", id="msg_1", response_metadata={"model_name": "gpt-4o-2024-08-06"})
    metadata = {"thread_id": "t-1", "session_id": "s-1", "user_id": 42}
    turn = extract(captured(answer, metadata=metadata))
    assert (turn.conversation_id, turn.session_id, turn.user_id) == ("t-1", "s-1", "42")
    assert turn.response_id == "msg_1"
    assert turn.draft_model == "gpt-4o-2024-08-06"
    own = extract(captured(AIMessage("x", id="lc_run--1")))
    assert (own.response_id, own.conversation_id, own.session_id, own.user_id) == (None, None, None, None)
    assert own.draft_model == "gpt-4o-mini"


def test_chunks_are_one_draft_with_the_metadata_of_all() -> None:
    chunks = [
        AIMessageChunk("It has", id="lc_run--1", response_metadata={"model_name": "m"}),
        AIMessageChunk(" shipped.", response_metadata={"id": "chatcmpl-7", "model_name": None}),
    ]
    turn = extract(captured(answers=[Answer.of(c) for c in chunks], streamed=True, exposed=True))
    assert (turn.draft, turn.draft_model, turn.response_id) == ("It has shipped.", "m", "chatcmpl-7")
    assert turn.streamed
    assert turn.exposed


def test_the_answer_is_taken_as_it_was() -> None:
    message = AIMessage([{"type": "text", "text": "first"}])
    one = captured(message)
    message.content = "changed"
    assert extract(one).draft == "first"


class TestActivation:
    LOG = {"activated_nodes": [{"score": 0.9, "tags": ["pii"]}]}  # noqa: RUF012

    def test_a_log_in_the_metadata_is_the_requests(self) -> None:
        for given in (self.LOG, {"activation": self.LOG}):
            turn = extract(captured(metadata={"draftcritic": given}))
            assert (turn.activation, turn.requested) == ({}, self.LOG)
            trusted = extract(captured(metadata={"draftcritic": given}), trust_request=True)
            assert (trusted.activation, trusted.requested) == (self.LOG, {})

    @pytest.mark.parametrize("odd", [None, 7, "text", [], {}, {"activation": 3}])
    def test_odd_metadata_is_no_activation(self, odd: Any) -> None:
        assert extract(captured(metadata={"draftcritic": odd})).activation == {}

    def test_from_the_context_manager(self) -> None:
        with activation(self.LOG, inference_paths=[["a"]]):
            assert extract(captured()).activation == {**self.LOG, "inference_paths": [["a"]]}
            other = {"activated_nodes": []}
            assert extract(captured(metadata={"draftcritic": other})).activation["inference_paths"] == [["a"]]
            assert extract(captured(metadata={"draftcritic": other}), trust_request=True).activation == other
        assert extract(captured()).activation == {}

    def test_intent(self) -> None:
        given = {"intent": {"label": "action", "confidence": 0.7, "matched_tool_keywords": ["refund", 3]}}
        assert extract(captured(metadata={"draftcritic": given})).requested_intent == IntentVerdict(
            "action", 0.7, ["refund"]
        )
        for odd in (
            {"label": "x"},
            {"label": []},
            "action",
            {"label": "action", "confidence": "high"},
            {"label": "action", "confidence": 10**400},
            {"label": "action", "confidence": float("nan")},
        ):
            assert extract(captured(metadata={"draftcritic": {"intent": odd}})).requested_intent is None

    def test_odd_keywords_are_none(self) -> None:
        given = {"intent": {"label": "action", "matched_tool_keywords": 1}}
        assert extract(captured(metadata={"draftcritic": given})).requested_intent == IntentVerdict("action", 1.0, [])

    def test_from_retrieved_documents(self) -> None:
        memory = DocumentMemory()
        memory.remember(
            [
                Document("Refunds take five days.", metadata={"score": 0.8, "tags": ["refund"]}),
                Document("Not in the prompt.", metadata={"score": 0.9}),
                Document("Hello", metadata={}),
            ]
        )
        prompt = [SystemMessage("Context: Refunds take five days."), HumanMessage("Hello")]
        assert extract(captured(prompt=prompt), documents=memory).activation == {
            "activated_nodes": [{"score": 0.8, "tags": ["refund"]}]
        }
        assert extract(captured(prompt=prompt)).activation == {}
        memory.remember([Document("Refunds take five days.", metadata={"relevance_score": 0.5})])
        assert extract(captured(prompt=prompt), documents=memory).activation == {"activated_nodes": [{"score": 0.5}]}
        memory.remember("nonsense")


class TestOddMessages:
    """Kept from the fuzzers."""

    @pytest.mark.parametrize(
        "message",
        [
            AIMessage.model_construct(content="x", tool_calls=[None]),
            AIMessage.model_construct(content="x", tool_calls=7),
            AIMessage.model_construct(content="x", tool_calls=[{"name": "a", "id": []}]),
            ToolMessage.model_construct(content="x"),
            ToolMessage.model_construct(content="x", tool_call_id={}),
            ToolMessage.model_construct(content=None, tool_call_id="1"),
            AIMessage.model_construct(content=[{"type": []}, {"type": {}, "text": "no"}, None, 7]),
        ],
    )
    def test_in_the_history(self, message: Any) -> None:
        turn = extract(captured(prompt=[HumanMessage("q"), message]))
        assert (turn.draft, turn.user_message) == ("It has shipped.", "q")

    @pytest.mark.parametrize(
        "answer",
        [
            AIMessage.model_construct(content=None),
            AIMessage.model_construct(),
            AIMessage.model_construct(content=7),
            AIMessage.model_construct(content="", additional_kwargs=7, response_metadata=(1, 2)),
            AIMessage.model_construct(content=[{"type": (None, [])}]),
        ],
    )
    def test_as_an_answer(self, answer: Any) -> None:
        assert extract(captured(answer)).draft == ""

    def test_a_call_without_a_name_and_a_result_without_a_call(self) -> None:
        asked = AIMessage.model_construct(content="", tool_calls=[{"args": {}, "id": "1"}])
        turn = extract(captured(prompt=[HumanMessage("q"), asked, ToolMessage.model_construct(content="r")]))
        assert turn.tool_calls == (
            {"name": None, "args": {}, "id": "1"},
            {"name": None, "id": None, "result": "r"},
        )

    def test_a_response_format_that_cannot_be_written_down(self) -> None:
        class Raises:
            def __repr__(self) -> str:
                raise RuntimeError

        assert extract(captured(call_kwargs={"response_mime_type": Raises()})).draft == "It has shipped."


@pytest.mark.parametrize(
    "block",
    [
        {"type": "search_result", "source": "kb", "title": "t", "content": [{"type": "text", "text": "ships May 3"}]},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "ships May 3"}},
    ],
)
@pytest.mark.parametrize("of_tool", [False, True])
def test_blocks_with_what_was_retrieved_are_sources_and_plain_text_is_none(block: Any, of_tool: bool) -> None:
    content = [{"type": "text", "text": "Where is it?"}, block]
    asked: list[Any] = [HumanMessage(content)]
    if of_tool:
        call = {"name": "search", "args": {}, "id": "z"}
        asked = [HumanMessage("q"), AIMessage("", tool_calls=[call]), ToolMessage(content, tool_call_id="z")]
    (source,) = extract(captured(prompt=asked)).sources
    assert "ships May 3" in source
    assert "Where is it?" not in source

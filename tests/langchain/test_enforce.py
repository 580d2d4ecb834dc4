"""In enforce mode no character of a refused or revised draft reaches anybody, on any path."""

from __future__ import annotations

import asyncio
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.globals import set_llm_cache
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from support.chat import Chat, StreamingChat
from support.leaks import (
    ASK,
    ASYNC,
    CHUNKS,
    DRAFT,
    SAFE,
    SECRET,
    SYNC,
    VERDICTS,
    Ears,
    async_graph,
    enforce,
    sync_graph,
)
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    if DraftCriticInstrumentor().is_instrumented_by_opentelemetry:
        DraftCriticInstrumentor().uninstrument()


def assert_nothing_leaked(seen: list[Any], ears: Ears) -> None:
    everything = repr(seen) + repr(ears.heard)
    for piece in CHUNKS:
        assert piece not in everything.replace("What is the code word?", "")
    assert SAFE in repr(seen)
    assert SAFE in repr(ears.heard)


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("path", SYNC)
def test_nothing_leaks(path: str, verdict: str, telemetry: Telemetry) -> None:
    critic = enforce(telemetry, verdict)
    for kind in (Chat, StreamingChat):
        ears = Ears()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", category=DeprecationWarning)
            seen = SYNC[path](kind(answers=[DRAFT]), {"callbacks": [ears]})
        assert_nothing_leaked(seen, ears)
    assert len(critic.calls) == 2
    assert [r["draftcritic.verdict"] for r in telemetry.reviews()] == [verdict, verdict]
    assert {r["draftcritic.action"] for r in telemetry.reviews()} == {
        {"refuse": "blocked", "revise": "replaced"}[verdict]
    }
    assert {r["draftcritic.draft.exposed"] for r in telemetry.reviews()} == {False}


@pytest.mark.parametrize("verdict", VERDICTS)
@pytest.mark.parametrize("path", ASYNC)
async def test_nothing_leaks_async(path: str, verdict: str, telemetry: Telemetry) -> None:
    critic = enforce(telemetry, verdict)
    for kind in (Chat, StreamingChat):
        ears = Ears()
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore")
            seen = await ASYNC[path](kind(answers=[DRAFT]), {"callbacks": [ears]})
        assert_nothing_leaked(seen, ears)
    assert len(critic.calls) == 2
    assert [r["draftcritic.verdict"] for r in telemetry.reviews()] == [verdict, verdict]


def test_an_approved_draft_passes_as_it_is(telemetry: Telemetry) -> None:
    enforce(telemetry, '{"verdict": "approve"}')
    assert StreamingChat(answers=[DRAFT]).invoke("q").content == DRAFT
    chunks = list(StreamingChat(answers=[DRAFT]).stream("q"))
    assert "".join(c.text for c in chunks) == DRAFT
    assert type(chunks[0]).__name__ == "AIMessageChunk"
    assert chunks[-1].chunk_position == "last"
    assert [r["draftcritic.action"] for r in telemetry.reviews()] == ["passed", "passed"]
    assert [r["draftcritic.draft.streamed"] for r in telemetry.reviews()] == [False, True]


def test_the_state_of_a_graph_holds_one_answer(telemetry: Telemetry) -> None:
    enforce(telemetry)
    state = sync_graph(StreamingChat(answers=[AIMessage(DRAFT, id="m1")])).invoke(ASK)
    assert [m.text for m in state["messages"]] == ["What is the code word?", SAFE]
    assert state["messages"][-1].id == "m1"


def test_a_replacement_keeps_only_what_says_nothing_of_the_draft(telemetry: Telemetry) -> None:
    enforce(telemetry)
    answer = AIMessage(
        [
            {"type": "reasoning", "reasoning": SECRET, "signature": "s"},
            {"type": "text", "text": f"The code {SECRET}", "annotations": [{"cited": SECRET}], "id": "t1", "index": 1},
            {"type": "image_url", "image_url": "x"},
            {"type": "text-plain", "text": SECRET, "mime_type": "text/plain"},
            {"type": "non_standard", "value": {"note": SECRET}},
            {"type": "text", "text": "tail"},
        ],
        id="m1",
        name="bot",
        usage_metadata={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
        response_metadata={
            "id": "resp_1",
            "model_name": "gpt-4o-mini",
            "logprobs": [SECRET],
            "finish_reason": "stop",
            "grounding_metadata": {"grounding_supports": [{"segment": {"text": SECRET}}]},
            "token_usage": {"completion_tokens": 7, "details": {"reasoning_tokens": 3, "note": SECRET}},
        },
        additional_kwargs={"reasoning_content": SECRET, "audio": {"transcript": SECRET}},
        invalid_tool_calls=[{"name": "f", "args": SECRET, "id": "2", "error": None}],
    )
    given = Chat(answers=[answer]).invoke("q")
    assert given.content == [{"type": "text", "text": SAFE, "index": 1}]
    assert (given.id, given.name, given.usage_metadata) == ("m1", "bot", answer.usage_metadata)
    assert (given.additional_kwargs, given.invalid_tool_calls) == ({}, [])
    assert given.response_metadata == {
        "model_name": "gpt-4o-mini",
        "finish_reason": "stop",
        "token_usage": {"completion_tokens": 7, "details": {"reasoning_tokens": 3}},
    }
    assert SECRET in answer.text


def test_a_replacement_keeps_no_field_of_its_own_class(telemetry: Telemetry) -> None:
    class Annotated(AIMessage):
        quotes: str = ""

    enforce(telemetry)
    given = Chat(answers=[Annotated(DRAFT, quotes=SECRET, note=SECRET)]).invoke("q")
    assert (type(given), given.quotes, given.content) == (Annotated, "", SAFE)
    assert SECRET not in repr(given)


@pytest.mark.parametrize(
    "answer",
    [
        AIMessage(DRAFT, tool_calls=[{"name": "look_up", "args": {"a": 1}, "id": "1"}]),
        AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "1"}]),
    ],
)
def test_the_text_next_to_a_tool_call_is_reviewed_and_the_call_is_made(answer: AIMessage, telemetry: Telemetry) -> None:
    critic = enforce(telemetry)
    for kind in (Chat, StreamingChat):
        given = kind(answers=[answer]).invoke("q")
        assert given.tool_calls == answer.tool_calls
        assert given.content == (SAFE if answer.content else "")
        chunks = list(kind(answers=[answer]).stream("q"))
        assert [c["name"] for chunk in chunks for c in chunk.tool_calls] == ["look_up"]
        assert "".join(chunk.text for chunk in chunks) == (SAFE if answer.content else "")
    assert len(critic.calls) == (4 if answer.content else 0)


def test_an_answer_in_a_format_of_the_model_is_never_rewritten(telemetry: Telemetry) -> None:
    class Formatted(Chat):
        format: str = "json"

    enforce(telemetry)
    assert Formatted(answers=['{"code": 1}']).invoke("q").content == '{"code": 1}'


def test_a_structured_answer_is_never_rewritten(telemetry: Telemetry) -> None:
    enforce(telemetry)
    model = Chat(answers=['{"code": 1}']).bind(response_format={"type": "json_object"})
    assert model.invoke("q").content == '{"code": 1}'


@pytest.mark.parametrize("ask", [lambda m: m.invoke("q"), lambda m: asyncio.run(m.ainvoke("q"))])
def test_a_refused_answer_is_not_cached(ask: Any, telemetry: Telemetry) -> None:
    cache = InMemoryCache()
    set_llm_cache(cache)
    try:
        critic = enforce(telemetry)
        model = Chat(answers=[DRAFT])
        assert [ask(model).content for _ in range(2)] == [SAFE, SAFE]
        assert (len(model.calls), len(critic.calls), cache._cache) == (2, 2, {})
    finally:
        set_llm_cache(None)


@pytest.mark.parametrize("ask", [lambda m: m.invoke("q"), lambda m: asyncio.run(m.ainvoke("q"))])
def test_a_cached_answer_is_reviewed_and_its_entry_not_changed(ask: Any, telemetry: Telemetry) -> None:
    cache = InMemoryCache()
    set_llm_cache(cache)
    try:
        critic = Chat(answers=['{"verdict": "approve"}', VERDICTS["refuse"]])
        DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic)
        model = Chat(answers=[DRAFT])
        assert [ask(model).content for _ in range(2)] == [DRAFT, SAFE]
        assert (len(model.calls), len(critic.calls)) == (1, 2)
        ((entry,),) = cache._cache.values()
        assert entry.message.content == DRAFT
    finally:
        set_llm_cache(None)


def test_every_generation_is_judged_by_itself(telemetry: Telemetry) -> None:
    critic = Chat(answers=[VERDICTS["refuse"], '{"verdict": "approve"}'])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic)
    result = Chat(answers=[DRAFT], n=2).generate([[HumanMessage("q")]])
    assert [g.text for g in result.generations[0]] == [SAFE, DRAFT]


class TestFailure:
    def test_open(self, telemetry: Telemetry) -> None:
        enforce(telemetry, "no json", on_unjudged="approve")
        assert Chat(answers=[DRAFT]).invoke("q").content == DRAFT
        assert [(r["draftcritic.failure"], r["draftcritic.action"]) for r in telemetry.reviews()] == [
            ("unparsable", "failed_open")
        ]

    def test_closed(self, telemetry: Telemetry) -> None:
        enforce(telemetry, "no json", default_refusal=SAFE)
        assert Chat(answers=[DRAFT]).invoke("q").content == SAFE
        assert [c.text for c in StreamingChat(answers=[DRAFT]).stream("q")] == [SAFE]
        assert {r["draftcritic.action"] for r in telemetry.reviews()} == {"failed_closed"}

    def test_closed_for_a_tag(self, telemetry: Telemetry) -> None:
        tags = {"sensitive_tags": ["pii"], "fail_closed_tags": ["pii"]}
        enforce(telemetry, "no json", on_unjudged="approve", default_refusal=SAFE, **tags)
        log = {"activated_nodes": [{"score": 1, "tags": ["pii"]}]}
        assert Chat(answers=[DRAFT]).invoke("q").content == DRAFT
        assert Chat(answers=[DRAFT]).invoke("q", config={"metadata": {"draftcritic": log}}).content == SAFE

    async def test_a_hanging_critic(self, telemetry: Telemetry) -> None:
        class Hanging(Chat):
            def _generate(self, *args: Any, **kwargs: Any) -> Any:
                raise NotImplementedError

            async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
                await asyncio.sleep(60)

        DraftCriticInstrumentor().instrument(
            **telemetry.providers, mode="enforce", model=Hanging(answers=["x"]), timeout=0.1
        )
        assert (await Chat(answers=[DRAFT]).ainvoke("q")).content == DRAFT
        assert [r["draftcritic.failure"] for r in telemetry.reviews()] == ["timeout"]

    async def test_a_cancelled_turn_is_cancelled(self, telemetry: Telemetry) -> None:
        class Hanging(Chat):
            def _generate(self, *args: Any, **kwargs: Any) -> Any:
                started.set()
                release.wait(30)
                return super()._generate(*args, **kwargs)

        started, release = threading.Event(), threading.Event()
        DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=Hanging(answers=["x"]))
        task = asyncio.ensure_future(Chat(answers=[DRAFT]).ainvoke("q"))
        assert await asyncio.to_thread(started.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        release.set()
        assert [r["draftcritic.outcome"] for r in telemetry.reviews()] == ["cancelled"]


def test_the_refusal_speaks_the_users_language(telemetry: Telemetry) -> None:
    enforce(telemetry, refusal_texts={"de": "Dabei kann ich nicht helfen.", "*": "Sorry."})
    for question, text in (
        ("Wie ist das Wetter und wo ist mein Paket?", "Dabei kann ich nicht helfen."),
        ("Where is my parcel?", "Sorry."),
    ):
        assert Chat(answers=[DRAFT]).invoke(question).content == text


def test_passthrough_sends_streams_at_once_and_says_so(telemetry: Telemetry) -> None:
    enforce(telemetry, streams="passthrough")
    assert "".join(c.text for c in StreamingChat(answers=[DRAFT]).stream("q")) == DRAFT
    assert Chat(answers=[DRAFT]).invoke("q").content == SAFE
    streamed, whole = telemetry.reviews()
    assert (streamed["draftcritic.draft.exposed"], streamed["draftcritic.action"]) == (True, "exposed")
    assert (whole["draftcritic.draft.exposed"], whole["draftcritic.action"]) == (False, "blocked")


def test_the_callers_error_goes_through(telemetry: Telemetry) -> None:
    enforce(telemetry)
    error = ValueError("bad request")
    for call in (lambda m: m.invoke("q"), lambda m: list(m.stream("q"))):
        with pytest.raises(ValueError) as raised:
            call(StreamingChat(answers=[DRAFT], error=error))
        assert raised.value is error


@pytest.mark.parametrize("verdict", ["approve", "refuse", "revise"])
async def test_listeners_to_tokens_get_the_text_once_after_the_verdict(verdict: str, telemetry: Telemetry) -> None:
    enforce(telemetry, VERDICTS.get(verdict, '{"verdict": "approve"}'))
    words = DRAFT.replace(" ", "\n ").split("\n")
    said = [*words, ""] if verdict == "approve" else [SAFE]
    model = StreamingChat(answers=[DRAFT])
    events = [e async for e in async_graph(model).astream_events(ASK, version="v2")]
    chunks = [e["data"]["chunk"] for e in events if e["event"] == "on_chat_model_stream"]
    assert [chunk.text for chunk in chunks] == said
    messages = [m async for m, _ in async_graph(model).astream(ASK, stream_mode="messages")]
    assert [m.text for m in messages] == said
    assert [m.text for m, _ in sync_graph(model).stream(ASK, stream_mode="messages")] == said


@pytest.mark.parametrize("wrap", [lambda m: m, lambda m: m.bind(stop=["x"]), lambda m: RunnableLambda(str) | m])
async def test_events_around_a_direct_stream_tell_its_text_once(wrap: Any, telemetry: Telemetry) -> None:
    enforce(telemetry)
    runnable = wrap(StreamingChat(answers=[DRAFT]))
    events = [e async for e in runnable.astream_events("q", version="v2")]
    of_model = [e for e in events if "chat_model" in e["event"]]
    assert [e["event"] for e in of_model] == ["on_chat_model_start", "on_chat_model_stream", "on_chat_model_end"]
    assert [e["data"][key].text for e, key in zip(of_model[1:], ("chunk", "output"), strict=True)] == [SAFE, SAFE]
    assert {e["run_id"] for e in of_model} == {of_model[0]["run_id"]}
    assert of_model[1]["data"]["chunk"].id == of_model[2]["data"]["output"].id


def test_a_hanging_critic_does_not_hold_the_end_of_the_loop(telemetry: Telemetry) -> None:
    critic = Chat(answers=["x"], delay=30)
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic, timeout=0.1)
    began = time.monotonic()
    assert asyncio.run(Chat(answers=[DRAFT]).ainvoke("q")).content == DRAFT
    assert time.monotonic() - began < 20
    assert [r["draftcritic.failure"] for r in telemetry.reviews()] == ["timeout"]

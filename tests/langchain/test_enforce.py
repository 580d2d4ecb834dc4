"""In enforce mode no character of a refused or revised draft reaches anybody, on any path."""

from __future__ import annotations

import asyncio
import json
import threading
import time
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

SECRET = "Zanzibar"
DRAFT = f"The code word is {SECRET} and nothing else."
SAFE = "I would rather not say."
CHUNKS = [SECRET, "Zan", "zibar", "code word"]
VERDICTS = {
    "refuse": json.dumps({"verdict": "refuse", "refusal_message": SAFE}),
    "revise": json.dumps({"verdict": "revise", "revised_draft": SAFE}),
}
HAS_V3 = hasattr(BaseChatModel, "stream_events")
ASK = {"messages": [("user", "What is the code word?")]}


class Ears(BaseCallbackHandler):
    """Writes down everything that a callback is told after the model has begun."""

    def __init__(self) -> None:
        self.heard: list[Any] = []

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        self.heard.append((token, kwargs.get("chunk")))

    def on_llm_end(self, response: Any, **kwargs: Any) -> None:
        self.heard.append(response)

    def on_stream_event(self, event: Any, **kwargs: Any) -> None:
        self.heard.append(event)

    def on_chain_end(self, outputs: Any, **kwargs: Any) -> None:
        self.heard.append(outputs)


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    if DraftCriticInstrumentor().is_instrumented_by_opentelemetry:
        DraftCriticInstrumentor().uninstrument()


def enforce(telemetry: Telemetry, verdict: str = "refuse", **settings: Any) -> Chat:
    critic = Chat(answers=[VERDICTS.get(verdict, verdict)], model_name="critic-1")
    # The drafts of a test are the same ones, and each is to have its own call.
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic, **settings)
    return critic


def sync_graph(model: Any) -> Any:
    def node(state: MessagesState) -> Any:
        return {"messages": [model.invoke(state["messages"])]}

    return build(node)


def streaming_graph(model: Any) -> Any:
    def node(state: MessagesState) -> Any:
        whole = None
        for chunk in model.stream(state["messages"]):
            whole = chunk if whole is None else whole + chunk
        return {"messages": [whole]}

    return build(node)


def async_graph(model: Any) -> Any:
    async def node(state: MessagesState, config: RunnableConfig) -> Any:
        # Python 3.10 has no other way for the run's listeners into a task.
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    return build(node)


def build(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", node)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile()


def v3(model: Any, config: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = model.stream_events("q", config, version="v3")
        return [*stream, stream.output]


SYNC = {
    "invoke": lambda m, c: [m.invoke("q", c)],
    "batch": lambda m, c: m.batch(["q"], c),
    "generate": lambda m, c: [m.generate([[HumanMessage("q")]], callbacks=c["callbacks"])],
    "stream": lambda m, c: list(m.stream("q", c)),
    "chain stream": lambda m, c: list((RunnableLambda(lambda q: [HumanMessage(q)]) | m).stream("q", c)),
    "with_retry": lambda m, c: [m.with_retry().invoke("q", c)],
    "with_fallbacks": lambda m, c: list(m.with_fallbacks([m]).stream("q", c)),
    **({"v3": v3} if HAS_V3 else {}),
    **{
        f"{name} {mode}": lambda m, c, graph=graph, mode=mode: list(graph(m).stream(ASK, c, stream_mode=mode))
        for name, graph in (("graph", sync_graph), ("streaming graph", streaming_graph))
        for mode in ("values", "updates", "messages", ["messages", "updates"])
    },
    "agent messages": lambda m, c: list(create_agent(m).stream(ASK, c, stream_mode="messages")),
    "agent invoke": lambda m, c: [create_agent(m).invoke(ASK, c)],
}


async def all_of(stream: Any) -> list[Any]:
    return [item async for item in stream]


async def one(awaitable: Any) -> list[Any]:
    return [await awaitable]


async def av3(model: Any, config: Any) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = await model.astream_events("q", config, version="v3")
        return [*[event async for event in stream], await stream.output]


ASYNC = {
    "ainvoke": lambda m, c: one(m.ainvoke("q", c)),
    "abatch": lambda m, c: one(m.abatch(["q"], c)),
    "astream": lambda m, c: all_of(m.astream("q", c)),
    "astream_events v1": lambda m, c: all_of(m.astream_events("q", c, version="v1")),
    "astream_events v2": lambda m, c: all_of(m.astream_events("q", c, version="v2")),
    "astream_log": lambda m, c: all_of(m.astream_log("q", c)),
    **({"v3": av3} if HAS_V3 else {}),
    **{
        f"graph {mode}": lambda m, c, mode=mode: all_of(async_graph(m).astream(ASK, c, stream_mode=mode))
        for mode in ("values", "updates", "messages")
    },
    "graph events": lambda m, c: all_of(async_graph(m).astream_events(ASK, c, version="v2")),
    "agent messages": lambda m, c: all_of(create_agent(m).astream(ASK, c, stream_mode="messages")),
}


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
        enforce(telemetry, "no json")
        assert Chat(answers=[DRAFT]).invoke("q").content == DRAFT
        assert [(r["draftcritic.failure"], r["draftcritic.action"]) for r in telemetry.reviews()] == [
            ("unparsable", "failed_open")
        ]

    def test_closed(self, telemetry: Telemetry) -> None:
        enforce(telemetry, "no json", on_failure="refuse", default_refusal=SAFE)
        assert Chat(answers=[DRAFT]).invoke("q").content == SAFE
        assert [c.text for c in StreamingChat(answers=[DRAFT]).stream("q")] == [SAFE]
        assert {r["draftcritic.action"] for r in telemetry.reviews()} == {"failed_closed"}

    def test_closed_for_a_tag(self, telemetry: Telemetry) -> None:
        enforce(telemetry, "no json", sensitive_tags=["pii"], fail_closed_tags=["pii"], default_refusal=SAFE)
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
        assert [r["draftcritic.failure"] for r in telemetry.reviews()] == ["cancelled"]


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
    assert (streamed["draftcritic.draft.exposed"], streamed["draftcritic.action"]) == (True, "recorded")
    assert (whole["draftcritic.draft.exposed"], whole["draftcritic.action"]) == (False, "blocked")


def test_the_callers_error_goes_through(telemetry: Telemetry) -> None:
    enforce(telemetry)
    error = ValueError("bad request")
    for call in (lambda m: m.invoke("q"), lambda m: list(m.stream("q"))):
        with pytest.raises(ValueError) as caught:
            call(StreamingChat(answers=[DRAFT], error=error))
        assert caught.value is error


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

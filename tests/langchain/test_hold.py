"""A held stream is asked for as the application asks for it, and an approving critic changes nothing."""

from __future__ import annotations

import asyncio
import re
import sys
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.globals import set_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, ChatMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.rate_limiters import InMemoryRateLimiter
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from pydantic import Field
from support.chat import Chat, StreamingChat
from support.leaks import (
    ASK,
    ASYNC,
    DRAFT,
    HAS_V3,
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

APPROVE = '{"verdict": "approve"}'


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


class StreamOnly(BaseChatModel):
    """A service that answers `stream: true` only."""

    seen: list[Any] = Field(default_factory=list)

    @property
    def _llm_type(self) -> str:
        return "stream only"

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise ConnectionError("400: stream must be true")

    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        self.seen.append(kwargs)
        for word in ("The code ", "word is ", SECRET):
            yield ChatGenerationChunk(message=AIMessageChunk(word))


class Wrapper(Chat):
    """Asks another model, or a runnable of models."""

    inner: Any

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage(self.inner.invoke(messages).content))])


class StreamingWrapper(Wrapper):
    def _stream(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Iterator[Any]:
        for chunk in self.inner.stream(messages):
            yield ChatGenerationChunk(message=AIMessageChunk(chunk.content))

    async def _astream(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[Any]:
        async for chunk in self.inner.astream(messages):
            yield ChatGenerationChunk(message=AIMessageChunk(chunk.content))


INNER = {
    "model": lambda m: m,
    "fallbacks": lambda m: Chat(answers=["x"], error=ConnectionError("down")).with_fallbacks([m]),
    "chain": lambda m: RunnableLambda(lambda x: x) | m,
    "own callbacks": lambda m: m.with_config(tags=["inner"]),
}


class Everything(BaseCallbackHandler):
    """Notes the name and the content of each callback."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        if not name.startswith("on_"):
            return super().__getattribute__(name)
        heard = super().__getattribute__("heard")

        def note(*args: Any, **kwargs: Any) -> None:
            named = {key: value for key, value in kwargs.items() if key in ("chunk", "outputs", "response")}
            heard.append(f"{name} {plain(args[-1:])} {plain(named)}")

        return note


def plain(value: Any) -> str:
    """Return a text without ids and addresses."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", repr(value))
    return re.sub(r"0x[0-9a-f]+|\d+\.\d{3,}", "N", text)


@pytest.mark.filterwarnings("ignore")
class TestApproved:
    @pytest.mark.parametrize("path", SYNC)
    def test_nothing_changes(self, path: str, telemetry: Telemetry) -> None:
        for make in (lambda: StreamingChat(answers=[DRAFT]), lambda: Chat(answers=[DRAFT])):
            if path == "v3" and type(make()) is Chat:
                continue
            without, with_critic = Everything(), Everything()
            expected = plain(SYNC[path](make(), {"callbacks": [without]}))
            enforce(telemetry, APPROVE)
            assert plain(SYNC[path](make(), {"callbacks": [with_critic]})) == expected
            assert with_critic.heard == without.heard
            DraftCriticInstrumentor().uninstrument()

    @pytest.mark.parametrize("path", ASYNC)
    async def test_nothing_changes_async(self, path: str, telemetry: Telemetry) -> None:
        for make in (lambda: StreamingChat(answers=[DRAFT]), lambda: Chat(answers=[DRAFT])):
            if path == "v3" and type(make()) is Chat:
                continue
            without, with_critic = Everything(), Everything()
            expected = plain(await ASYNC[path](make(), {"callbacks": [without]}))
            enforce(telemetry, APPROVE)
            assert plain(await ASYNC[path](make(), {"callbacks": [with_critic]})) == expected
            await asyncio.sleep(0.05)  # the end of a v3 run comes after its output
            assert sorted(with_critic.heard) == sorted(without.heard)
            DraftCriticInstrumentor().uninstrument()

    @pytest.mark.parametrize("kind", [Wrapper, StreamingWrapper])
    @pytest.mark.parametrize("inner", INNER)
    def test_callbacks_of_an_inner_model_come_after_the_verdict(
        self, inner: str, kind: type[Wrapper], telemetry: Telemetry
    ) -> None:
        def ask(handler: Any) -> str:
            model = kind(answers=["x"], inner=INNER[inner](StreamingChat(answers=[DRAFT])))
            return plain(list(sync_graph(model).stream(ASK, {"callbacks": [handler]}, stream_mode="messages")))

        without, with_critic = Everything(), Everything()
        expected = ask(without)
        enforce(telemetry, APPROVE)
        assert ask(with_critic) == expected
        assert with_critic.heard == without.heard


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", [Wrapper, StreamingWrapper])
@pytest.mark.parametrize("inner", INNER)
class TestInnerModel:
    @pytest.mark.parametrize("path", SYNC)
    def test_nothing_leaks(self, path: str, inner: str, kind: type[Wrapper], telemetry: Telemetry) -> None:
        enforce(telemetry)
        ears, own = Ears(), Ears()
        innermost = StreamingChat(answers=[DRAFT], callbacks=[own])
        seen = SYNC[path](kind(answers=["x"], inner=INNER[inner](innermost)), {"callbacks": [ears]})
        assert SECRET not in repr(seen) + repr(ears.heard) + repr(own.heard)
        assert SAFE in repr(seen)
        assert [r["draftcritic.draft.exposed"] for r in telemetry.reviews()] == [False]

    @pytest.mark.parametrize("path", ASYNC)
    async def test_nothing_leaks_async(self, path: str, inner: str, kind: type[Wrapper], telemetry: Telemetry) -> None:
        enforce(telemetry)
        ears, own = Ears(), Ears()
        innermost = StreamingChat(answers=[DRAFT], callbacks=[own])
        seen = await ASYNC[path](kind(answers=["x"], inner=INNER[inner](innermost)), {"callbacks": [ears]})
        assert SECRET not in repr(seen) + repr(ears.heard) + repr(own.heard)
        assert SAFE in repr(seen)


class TestHeldStream:
    @pytest.mark.parametrize("verdict", ["approve", "refuse"])
    async def test_it_is_asked_for_as_a_stream(self, verdict: str, telemetry: Telemetry) -> None:
        enforce(telemetry, verdict if verdict == "refuse" else APPROVE)
        model = StreamOnly()
        said = SAFE if verdict == "refuse" else f"The code word is {SECRET}"
        assert "".join(c.text for c in model.stream("q", stream_usage=True)) == said
        assert "".join([c.text async for c in model.astream("q")]) == said
        for graph in (sync_graph(model), async_graph(model)):
            messages = [m async for m, _ in graph.astream(ASK, stream_mode="messages")]
            assert "".join(m.text for m in messages) == said
        assert model.seen[0] == {"stream_usage": True}

    def test_neither_cache_nor_usage_are_in_its_way(self, telemetry: Telemetry) -> None:
        set_llm_cache(InMemoryCache())
        try:
            enforce(telemetry, APPROVE)
            model = StreamingChat(answers=[DRAFT])
            for _ in range(3):
                assert "".join(c.text for c in model.stream("q")) == DRAFT
            assert len(model.calls) == 3
            whole = Chat(answers=[DRAFT])
            assert [["".join(c.text for c in whole.stream("q"))] for _ in range(2)] == [[DRAFT]] * 2
        finally:
            set_llm_cache(None)

    def test_the_rate_limiter_is_asked_once(self, telemetry: Telemetry) -> None:
        asked: list[int] = []

        class Limiter(InMemoryRateLimiter):
            def acquire(self, *, blocking: bool = True) -> bool:
                asked.append(1)
                return True

        enforce(telemetry, APPROVE)
        list(StreamingChat(answers=[DRAFT], rate_limiter=Limiter()).stream("q"))
        assert asked == [1]

    def test_messages_of_other_kinds_pass(self, telemetry: Telemetry) -> None:
        class Other(Chat):
            def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
                return ChatResult(generations=[ChatGeneration(message=ChatMessage(DRAFT, role="bot"))])

        for verdict, said in ((APPROVE, DRAFT), ("refuse", SAFE)):
            enforce(telemetry, verdict)
            (message,) = Other(answers=["x"]).stream("q")
            assert (type(message), message.content, message.role) == (ChatMessage, said, "bot")
            DraftCriticInstrumentor().uninstrument()

    def test_a_whole_message_stays_one(self, telemetry: Telemetry) -> None:
        for verdict in (APPROVE, "refuse"):
            enforce(telemetry, verdict)
            assert [type(m) for m in Chat(answers=[DRAFT]).stream("q")] == [AIMessage]
            DraftCriticInstrumentor().uninstrument()

    async def test_a_cancelled_stream_ends_its_run_and_is_recorded(self, telemetry: Telemetry) -> None:
        begun, ended = asyncio.Event(), []

        class Slow(StreamingChat):
            async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
                yield ChatGenerationChunk(message=AIMessageChunk("The code"))
                begun.set()
                await asyncio.sleep(60)

        class Ends(BaseCallbackHandler):
            def on_llm_error(self, error: Any, **kwargs: Any) -> None:
                ended.append(type(error))

        enforce(telemetry)

        async def read() -> None:
            async for _ in Slow(answers=[DRAFT]).astream("q", {"callbacks": [Ends()]}):
                raise AssertionError("nothing is given out")

        task = asyncio.ensure_future(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended == [asyncio.CancelledError]
        assert [r["draftcritic.gate.reason"] for r in telemetry.reviews()] == ["abandoned"]

    async def test_closing_it_early_ends_it(self, telemetry: Telemetry) -> None:
        enforce(telemetry, APPROVE)
        ears = Everything()
        stream = StreamingChat(answers=[DRAFT]).astream("q", {"callbacks": [ears]})
        assert (await stream.__anext__()).text == "The"
        await stream.aclose()
        assert [line.split()[0] for line in ears.heard][-1] == "on_llm_error"

    def test_an_error_of_the_model_goes_through_without_a_draft(self, telemetry: Telemetry) -> None:
        enforce(telemetry)
        ears = Ears()
        model = StreamingChat(answers=[DRAFT], fail_after=6)
        with pytest.raises(ConnectionError):
            list(model.stream("q", {"callbacks": [ears]}))
        with pytest.raises(ConnectionError):
            list(sync_graph(model).stream(ASK, {"callbacks": [ears]}, stream_mode="messages"))
        assert SECRET not in repr(ears.heard)


CALL = {"name": "look_up", "args": {"q": "x"}, "id": "1"}


class TestToolCalls:
    def chunks(self, *arguments: str) -> type[Chat]:
        class Calling(Chat):
            def _stream(self, *args: Any, **kwargs: Any) -> Iterator[Any]:
                yield ChatGenerationChunk(message=AIMessageChunk(DRAFT))
                for index, text in enumerate(arguments):
                    for half in (text[:3], text[3:]):
                        first = half is not text[3:]
                        piece = {
                            "name": "look_up" if first else None,
                            "args": half,
                            "id": str(index) if first else None,
                            "index": index,
                        }
                        yield ChatGenerationChunk(message=AIMessageChunk("", tool_call_chunks=[piece]))

        return Calling

    @pytest.mark.parametrize(
        "answer",
        [
            AIMessage(DRAFT, invalid_tool_calls=[{"name": "f", "args": SECRET, "id": "1", "error": None}]),
            AIMessage(
                DRAFT,
                additional_kwargs={"tool_calls": [{"id": "1", "function": {"name": "f", "arguments": "{'q': oops}"}}]},
            ),
            AIMessage(DRAFT, additional_kwargs={"function_call": {"name": "f", "arguments": "{'q': oops}"}}),
        ],
    )
    def test_text_next_to_a_call_that_cannot_be_made_is_a_draft(self, answer: AIMessage, telemetry: Telemetry) -> None:
        DraftCriticInstrumentor().instrument(
            **telemetry.providers, model=Chat(answers=[APPROVE]), background=False, mode="observe"
        )
        Chat(answers=[answer]).invoke("q")
        assert [r["draftcritic.verdict"] for r in telemetry.reviews()] == ["approve"]
        DraftCriticInstrumentor().uninstrument()
        enforce(telemetry)
        given = Chat(answers=[answer]).invoke("q")
        assert (given.content, given.tool_calls, given.invalid_tool_calls, given.additional_kwargs) == (
            SAFE,
            [],
            [],
            {},
        )

    def test_a_streamed_call_that_cannot_be_made_is_no_call(self, telemetry: Telemetry) -> None:
        DraftCriticInstrumentor().instrument(**telemetry.providers, model=Chat(answers=[APPROVE]), background=False)
        for arguments in ("{'q': oops}", '{"q": "x"}'):
            list(self.chunks(arguments)(answers=["x"]).stream("q"))
        assert [r.get("draftcritic.gate.reason") for r in telemetry.reviews()][-1] == "not_a_draft"
        assert [r.get("draftcritic.verdict.source") for r in telemetry.reviews()] == ["reflection", "none"]

    @pytest.mark.parametrize("verdict", [APPROVE, "refuse"])
    def test_parallel_calls_keep_their_indices(self, verdict: str, telemetry: Telemetry) -> None:
        kind = self.chunks('{"q": "a"}', '{"q": "b"}')
        without = list(kind(answers=["x"]).stream("q"))
        enforce(telemetry, verdict)
        held = list(kind(answers=["x"]).stream("q"))
        if verdict == APPROVE:
            assert [c.tool_call_chunks for c in held] == [c.tool_call_chunks for c in without]
        pieces = [piece for chunk in held for piece in chunk.tool_call_chunks]
        assert {piece["index"] for piece in pieces} == {0, 1}
        whole = held[0]
        for chunk in held[1:]:
            whole = whole + chunk
        assert [c["args"] for c in whole.tool_calls] == [{"q": "a"}, {"q": "b"}]
        assert (SECRET in whole.text) is (verdict == APPROVE)

    def test_a_run_that_stops_before_its_tools_shows_no_refused_words(self, telemetry: Telemetry) -> None:
        enforce(telemetry)
        model = Chat(answers=[AIMessage(DRAFT, tool_calls=[CALL])])
        builder = StateGraph(MessagesState)
        builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
        builder.add_node("tools", lambda state: {"messages": []})
        builder.add_edge(START, "model")
        builder.add_edge("model", "tools")
        builder.add_edge("tools", END)
        state = builder.compile(interrupt_before=["tools"]).invoke(ASK)
        assert state["messages"][-1].tool_calls[0]["name"] == "look_up"
        assert SECRET not in repr(state)

    def test_refused_calls_can_be_dropped(self, telemetry: Telemetry) -> None:
        enforce(telemetry, on_refused_calls="drop")
        answer = AIMessage(DRAFT, tool_calls=[CALL])
        for kind in (Chat, StreamingChat):
            given = kind(answers=[answer]).invoke("q")
            assert (given.content, given.tool_calls) == (SAFE, [])
            assert [c for chunk in kind(answers=[answer]).stream("q") for c in chunk.tool_calls] == []
        DraftCriticInstrumentor().uninstrument()
        enforce(telemetry, "revise", on_refused_calls="drop")
        assert Chat(answers=[answer]).invoke("q").tool_calls[0]["name"] == "look_up"


@pytest.mark.skipif(not HAS_V3, reason="this langchain-core has no streaming protocol")
class TestProtocolEvents:
    def listener(self) -> Any:
        from langchain_core.tracers._streaming import _V2StreamingCallbackHandler

        class Listener(BaseCallbackHandler, _V2StreamingCallbackHandler):
            def __init__(self) -> None:
                self.heard: list[Any] = []

            def on_stream_event(self, event: Any, **kwargs: Any) -> None:
                self.heard.append(event)

        return Listener()

    @pytest.mark.parametrize("ask", [lambda m, c: m.invoke("q", c), lambda m, c: asyncio.run(m.ainvoke("q", c))])
    def test_listeners_get_the_released_text_as_events(self, ask: Any, telemetry: Telemetry) -> None:
        without, approved, refused = self.listener(), self.listener(), self.listener()
        ask(StreamingChat(answers=[DRAFT]), {"callbacks": [without]})
        enforce(telemetry, APPROVE)
        ask(StreamingChat(answers=[DRAFT]), {"callbacks": [approved]})
        DraftCriticInstrumentor().uninstrument()
        enforce(telemetry)
        ask(StreamingChat(answers=[DRAFT]), {"callbacks": [refused]})
        assert plain(approved.heard) == plain(without.heard)
        assert [e["event"] for e in refused.heard] == [
            "message-start",
            "content-block-start",
            "content-block-delta",
            "content-block-finish",
            "message-finish",
        ]
        assert SAFE in repr(refused.heard)
        assert SECRET not in repr(refused.heard)

    def test_observe_says_that_tokens_were_exposed(self, telemetry: Telemetry) -> None:
        DraftCriticInstrumentor().instrument(**telemetry.providers, model=Chat(answers=[APPROVE]), background=False)
        StreamingChat(answers=[DRAFT]).invoke("q", {"callbacks": [self.listener()]})
        StreamingChat(answers=[DRAFT]).invoke("q", {"callbacks": [Everything()]})
        StreamingChat(answers=[DRAFT]).invoke("q")
        assert [r["draftcritic.draft.exposed"] for r in telemetry.reviews()] == [True, False, False]

    def test_calls_of_an_approved_event_stream_are_as_without_the_plugin(self, telemetry: Telemetry) -> None:
        def ask() -> Any:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                kind = TestToolCalls().chunks('{"q": "a"}', '{"q": "b"}')
                return plain(list(kind(answers=["x"]).stream_events("q", version="v3").tool_calls))

        expected = ask()
        enforce(telemetry, APPROVE)
        assert ask() == expected


IDLE = 0.4


@pytest.mark.parametrize("verdict", [APPROVE, "refuse"])
@pytest.mark.parametrize("way", ["invoke", "stream"])
async def test_an_idle_timeout_does_not_fire_while_the_model_writes_and_the_critic_reads(
    way: str, verdict: str, telemetry: Telemetry
) -> None:
    types = pytest.importorskip("langgraph.types")
    if not hasattr(types, "TimeoutPolicy") or sys.version_info < (3, 11):
        pytest.skip("this LangGraph has no idle timeouts, or gives its nodes no configuration")

    class Slow(StreamingChat):
        async def _astream(self, *args: Any, **kwargs: Any) -> AsyncIterator[Any]:
            async for chunk in super()._astream(*args, **kwargs):
                await asyncio.sleep(IDLE / 3)
                yield chunk

    async def node(state: MessagesState) -> Any:
        model = Slow(answers=[DRAFT])
        if way == "invoke":
            return {"messages": [await model.ainvoke(state["messages"])]}
        chunks = [chunk async for chunk in model.astream(state["messages"])]
        return {"messages": [AIMessage("".join(chunk.text for chunk in chunks))]}

    critic = Chat(answers=[VERDICTS.get(verdict, verdict)], delay=2 * IDLE)
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic)
    builder = StateGraph(MessagesState)
    builder.add_node("model", node, timeout=types.TimeoutPolicy(idle_timeout=IDLE))
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    seen = [m async for m, _ in builder.compile().astream(ASK, stream_mode="messages")]
    assert (SAFE if verdict == "refuse" else SECRET) in "".join(m.text for m in seen)
    assert SECRET not in repr(seen) or verdict == APPROVE

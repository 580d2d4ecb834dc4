"""The critic's own call of a chat model: where it runs, and who does not see it."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler, UsageMetadataCallbackHandler, get_usage_metadata_callback
from langchain_core.globals import set_llm_cache
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat import Chat, StreamingChat

from draftcritic.langchain import ChatModelCritic
from draftcritic.review import PromptMessage, TimedCaller

PROMPT = (PromptMessage("system", "Judge."), PromptMessage("user", "the draft"))
VERDICT = '{"verdict": "approve"}'


def ask(model: Any, **given: Any) -> Any:
    critic = ChatModelCritic(model, **given)
    return critic.call(critic.messages(PROMPT), 5.0)


class Seen(BaseCallbackHandler):
    def __init__(self) -> None:
        self.runs: list[str] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, **kwargs: Any) -> None:
        self.runs.append(messages[0][-1].content)

    def on_llm_new_token(self, token: Any, **kwargs: Any) -> None:
        self.runs.append(str(token))


def test_the_reply() -> None:
    answer = AIMessage(
        VERDICT,
        usage_metadata={"input_tokens": 9, "output_tokens": 4, "total_tokens": 13},
        response_metadata={"model_name": "gpt-4.1-nano-2025-04-14", "finish_reason": "stop"},
    )
    model = Chat(answers=[answer], model_name="gpt-4.1-nano")
    reply = ask(model)
    assert reply.content == VERDICT
    assert reply.model == "gpt-4.1-nano-2025-04-14"
    assert (reply.usage["input_tokens"], reply.usage["output_tokens"]) == (9, 4)
    assert reply.finish_reason == "stop"
    assert model.calls == [[SystemMessage("Judge."), HumanMessage("the draft")]]
    assert ChatModelCritic(model).name == "gpt-4.1-nano"
    assert ChatModelCritic(RunnableLambda(lambda _: "x"), requested="asked").name == "asked"


def test_the_drafts_tools_are_not_sent() -> None:
    model = Chat(answers=[VERDICT])
    bound = model.bind_tools([])
    assert bound.bound is model
    ask(model)
    assert model.kwargs_seen == [{}]


def test_a_slow_model_is_a_timeout_and_the_caller_goes_on() -> None:
    critic = ChatModelCritic(Chat(answers=[VERDICT], delay=5))
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        critic.call(critic.messages(PROMPT), 0.1)
    assert time.monotonic() - began < 4


def test_the_providers_error_comes_out_as_it_is() -> None:
    error = ConnectionError("no network")
    with pytest.raises(ConnectionError) as raised:
        ask(Chat(answers=[""], error=error))
    assert raised.value is error


class TestFromACoroutine:
    async def test_the_reply(self) -> None:
        critic = ChatModelCritic(Chat(answers=[VERDICT]))
        assert (await critic.acall(critic.messages(PROMPT), 5.0)).content == VERDICT

    async def test_timeout(self) -> None:
        class Slow(Chat):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
                await asyncio.sleep(60)

        critic = ChatModelCritic(Slow(answers=[VERDICT]))
        with pytest.raises(TimeoutError):
            await critic.acall(critic.messages(PROMPT), 0.05)

    async def test_cancellation_goes_through(self) -> None:
        cancelled = []

        class Slow(Chat):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
                try:
                    await asyncio.sleep(60)
                except asyncio.CancelledError:
                    cancelled.append(True)
                    raise

        critic = ChatModelCritic(Slow(answers=[VERDICT]))
        task = asyncio.ensure_future(critic.acall(critic.messages(PROMPT), 5.0))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.sleep(0.01)
        assert cancelled == [True]

    async def test_the_loop_keeps_running_beside_a_model_that_has_only_blocking_code(self) -> None:
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.01)
                ticks += 1

        ticker = asyncio.ensure_future(tick())
        critic = ChatModelCritic(Chat(answers=[VERDICT], delay=0.3))
        await critic.acall(critic.messages(PROMPT), 5.0)
        ticker.cancel()
        assert ticks > 5


class TestFromAWorkerForAnAsyncCaller:
    class Async(Chat):
        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            THREADS.append(threading.current_thread())
            await asyncio.sleep(0)
            return self._generate(messages)

    async def test_the_call_runs_on_the_callers_loop(self) -> None:
        THREADS.clear()
        critic = ChatModelCritic(self.Async(answers=[VERDICT]), loop=asyncio.get_running_loop())
        reply = await asyncio.to_thread(critic.call, critic.messages(PROMPT), 5.0)
        assert reply.content == VERDICT
        assert [threading.main_thread()] == THREADS

    async def test_a_model_with_only_blocking_code_is_called_from_the_worker(self) -> None:
        class Blocking(Chat):
            def _generate(self, *args: Any, **kwargs: Any) -> Any:
                THREADS.append(threading.current_thread())
                return super()._generate(*args, **kwargs)

        THREADS.clear()
        model = Blocking(answers=[VERDICT])
        for one in (model, model.bind(temperature=0), model.with_retry()):
            critic = ChatModelCritic(one, loop=asyncio.get_running_loop())
            await asyncio.to_thread(critic.call, critic.messages(PROMPT), 5.0)
        assert {thread.name for thread in THREADS} == {"draftcritic-call"}

    def test_a_loop_that_is_gone_is_done_without(self) -> None:
        THREADS.clear()
        loop = asyncio.new_event_loop()
        loop.close()
        assert ask(self.Async(answers=[VERDICT]), loop=loop).content == VERDICT
        assert THREADS == []

    def test_a_loop_that_ends_meanwhile_is_done_without(self) -> None:
        class Slow(Chat):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
                started.set()
                await asyncio.sleep(60)

        started = threading.Event()
        replies: list[Any] = []
        model = Slow(answers=[VERDICT])

        async def main() -> threading.Thread:
            loop = asyncio.get_running_loop()
            worker = threading.Thread(target=lambda: replies.append(ask(model, loop=loop)))
            worker.start()
            await asyncio.to_thread(started.wait)
            return worker

        asyncio.run(main()).join(10)
        assert [reply.content for reply in replies] == [VERDICT]


THREADS: list[threading.Thread] = []


class TestNobodyElseSeesIt:
    def test_callbacks_of_the_run_around_it(self) -> None:
        seen = Seen()

        def node(_: str) -> str:
            return str(ask(StreamingChat(answers=[VERDICT])).content)

        assert RunnableLambda(node).invoke("x", config={"callbacks": [seen]}) == VERDICT
        assert seen.runs == []

    async def test_callbacks_of_the_run_around_it_in_a_coroutine(self) -> None:
        seen = Seen()
        critic = ChatModelCritic(StreamingChat(answers=[VERDICT]))

        async def node(_: str) -> str:
            return str((await critic.acall(critic.messages(PROMPT), 5.0)).content)

        assert await RunnableLambda(node).ainvoke("x", config={"callbacks": [seen]}) == VERDICT
        assert seen.runs == []

    def test_callbacks_of_the_model_object(self) -> None:
        seen = Seen()
        model = Chat(answers=["draft", VERDICT], callbacks=[seen])
        model.invoke("hello")
        ask(model)
        assert seen.runs == ["hello"]
        assert model.callbacks == [seen]

    def test_usage_collectors(self) -> None:
        usage = {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}
        answer = AIMessage(VERDICT, usage_metadata=usage, response_metadata={"model_name": "m"})
        with get_usage_metadata_callback() as collected:
            ask(Chat(answers=[answer]))
            assert collected.usage_metadata == {}
            Chat(answers=[answer]).invoke("x")
            assert list(collected.usage_metadata) == ["m"]
        assert isinstance(collected, UsageMetadataCallbackHandler)

    def test_langsmith(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from langchain_core.callbacks import manager
        from langchain_core.tracers import langchain as tracers
        from langsmith.utils import get_env_var

        started: list[str] = []

        class Recorder(tracers.LangChainTracer):
            """LangSmith's tracer without its upload."""

            def __init__(self, **_: Any) -> None:
                super().__init__(client=object())

            def _persist_run_single(self, run: Any) -> None:
                started.append(run.name)

            def _update_run_single(self, run: Any) -> None:
                pass

        monkeypatch.setenv("LANGSMITH_TRACING", "true")
        monkeypatch.setattr(tracers, "LangChainTracer", Recorder)
        # Older langchain-core looks for it here.
        monkeypatch.setattr(manager, "LangChainTracer", Recorder, raising=False)
        get_env_var.cache_clear()
        try:
            Chat(answers=["x"]).invoke("x")
            ask(Chat(answers=[VERDICT]))
        finally:
            monkeypatch.undo()
            get_env_var.cache_clear()
        assert started == ["Chat"]

    def test_the_applications_cache(self) -> None:
        cache = InMemoryCache()
        set_llm_cache(cache)
        try:
            model = Chat(answers=[VERDICT])
            ask(model)
            assert cache._cache == {}
            assert model.cache is None
        finally:
            set_llm_cache(None)

    @pytest.mark.parametrize("mode", ["values", "updates", "messages"])
    def test_streams_of_a_graph(self, mode: Any) -> None:
        draft = "The draft."

        def node(state: MessagesState) -> Any:
            message = StreamingChat(answers=[draft]).invoke(state["messages"])
            ask(StreamingChat(answers=[VERDICT]))
            return {"messages": [message]}

        builder = StateGraph(MessagesState)
        builder.add_node("n", node)
        builder.add_edge(START, "n")
        builder.add_edge("n", END)
        items = list(builder.compile().stream({"messages": [("user", "q")]}, stream_mode=mode))
        assert "verdict" not in repr(items)
        assert "draft" in repr(items)

    async def test_events_of_a_graph(self) -> None:
        critic = ChatModelCritic(StreamingChat(answers=[VERDICT]))

        async def node(state: MessagesState) -> Any:
            await critic.acall(critic.messages(PROMPT), 5.0)
            return {"messages": [AIMessage("The draft.")]}

        builder = StateGraph(MessagesState)
        builder.add_node("n", node)
        builder.add_edge(START, "n")
        builder.add_edge("n", END)
        events = [e async for e in builder.compile().astream_events({"messages": [("user", "q")]}, version="v2")]
        assert "verdict" not in repr(events)
        assert events


def test_one_caller_serves_many(monkeypatch: pytest.MonkeyPatch) -> None:
    caller = TimedCaller()
    model = Chat(answers=[VERDICT])
    before = threading.active_count()
    for _ in range(5):
        ask(model, caller=caller)
    assert threading.active_count() <= before + 1

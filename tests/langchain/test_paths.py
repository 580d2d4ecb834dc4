"""Every way a draft leaves a chat model hands on exactly one draft, and the application sees no difference."""

from __future__ import annotations

import asyncio
import gc
import json
import pickle
import warnings
from contextvars import copy_context
from threading import Thread
from typing import Any, TypedDict

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.outputs import ChatResult
from support import paths
from support.chat import Chat, StreamingChat
from support.paths import ASK, DRAFT, HAS_V3

from draftcritic.langchain import draft_text, extract, is_no_draft
from draftcritic.review import INTERNAL, Mark, reviewing

MODELS = {"no stream": Chat, "stream": StreamingChat}
needs_v3 = pytest.mark.skipif(not HAS_V3, reason="this langchain-core has no v3")
SYNC = {path: way for path, way in paths.SYNC.items() if "v3" not in path and "own" not in path}
ASYNC = {path: way for path, way in paths.ASYNC.items() if "v3" not in path and "own" not in path}


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("path", SYNC)
def test_sync_path(path: str, kind: str, collector: Any) -> None:
    model = MODELS[kind](answers=[DRAFT])
    assert SYNC[path](model) == DRAFT
    assert [draft_text(c.answers) for c in collector.drafts] == [DRAFT]
    turn = extract(collector.drafts[0])
    assert (turn.draft, turn.user_message, turn.draft_model) == (DRAFT, ASK, "gpt-4o-mini")
    assert turn.run_id
    assert collector.nested_calls == 0
    assert len(model.calls) == 1


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("path", ASYNC)
async def test_async_path(path: str, kind: str, collector: Any) -> None:
    model = MODELS[kind](answers=[DRAFT])
    assert await ASYNC[path](model) == DRAFT
    assert [draft_text(c.answers) for c in collector.drafts] == [DRAFT]
    turn = extract(collector.drafts[0])
    assert (turn.draft, turn.user_message) == (DRAFT, ASK)
    assert turn.run_id
    assert collector.drafts[0].loop is asyncio.get_running_loop()
    assert len(model.calls) == 1


@needs_v3
def test_stream_events_v3(collector: Any) -> None:
    model = StreamingChat(answers=[DRAFT])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = model.stream_events(ASK, version="v3")
        assert stream.output.text == DRAFT
    assert [draft_text(c.answers) for c in collector.drafts] == [DRAFT]
    assert extract(collector.drafts[0]).streamed


@needs_v3
async def test_astream_events_v3(collector: Any) -> None:
    model = StreamingChat(answers=[DRAFT])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = await model.astream_events(ASK, version="v3")
        assert await stream.text == DRAFT
    assert [draft_text(c.answers) for c in collector.drafts] == [DRAFT]


@pytest.mark.parametrize("kind", MODELS)
def test_chunks_of_a_stream_are_unchanged(kind: str, collector: Any) -> None:
    model = MODELS[kind](answers=[DRAFT])
    config = {"run_id": "0199f3a4-7c9b-7000-8000-000000000001"}
    seen = [c.model_dump() for c in model.stream(ASK, config=config)]
    collector.drafts.clear()
    with reviewing():
        bare = [c.model_dump() for c in MODELS[kind](answers=[DRAFT]).stream(ASK, config=config)]
    assert collector.drafts == []
    assert seen == bare


def test_several_prompts_and_generations_are_a_draft_each(collector: Any) -> None:
    Chat(answers=["a", "b"], n=2).generate([[HumanMessage("1")], [HumanMessage("2")]])
    assert [draft_text(c.answers) for c in collector.drafts] == ["a", "a", "b", "b"]


def test_a_draft_written_for_another_model_is_not_handed_on_twice(collector: Any) -> None:
    class Router(BaseChatModel):
        inner: Any

        @property
        def _llm_type(self) -> str:
            return "router"

        def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
            return self.inner.generate([messages]).model_copy(update={}) and ChatResult(
                generations=self.inner.generate([messages]).generations[0]
            )

    Router(inner=StreamingChat(answers=[DRAFT])).invoke(ASK)
    assert [draft_text(c.answers) for c in collector.drafts] == [DRAFT]


def test_a_subclass_that_calls_super_is_one_draft(collector: Any) -> None:
    class Child(StreamingChat):
        def invoke(self, *args: Any, **kwargs: Any) -> Any:
            return super().invoke(*args, **kwargs)

        def stream(self, *args: Any, **kwargs: Any) -> Any:
            yield from super().stream(*args, **kwargs)

    Child(answers=[DRAFT]).invoke(ASK)
    list(Child(answers=[DRAFT]).stream(ASK))
    assert len(collector.drafts) == 2


def test_a_task_that_outlives_the_call_is_an_application_again(collector: Any) -> None:
    later: list[Any] = []

    class Starter(Chat):
        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            async def work() -> None:
                await asyncio.sleep(0.01)
                await Chat(answers=["later"]).ainvoke("x")

            later.append(asyncio.ensure_future(work()))
            return self._generate(messages)

    async def main() -> None:
        await Starter(answers=[DRAFT]).ainvoke(ASK)
        await asyncio.gather(*later)

    asyncio.run(main())
    assert [draft_text(c.answers) for c in collector.drafts] == [DRAFT, "later"]


class TestNoDraft:
    def test_tool_calls(self, collector: Any) -> None:
        call = {"name": "look_up", "args": {}, "id": "1"}
        for kind in MODELS.values():
            collector.drafts.clear()
            kind(answers=[AIMessage("Let me look.", tool_calls=[call])]).invoke(ASK)
            assert [is_no_draft(c) for c in collector.drafts] == [True]
            assert extract(collector.drafts[0]).draft == ""

    def test_streamed_tool_calls(self, collector: Any) -> None:
        call = {"name": "look_up", "args": {}, "id": "1"}
        list(StreamingChat(answers=[AIMessage("Let me look.", tool_calls=[call])]).stream(ASK))
        assert extract(collector.drafts[0]).draft == ""

    def test_structured_output(self, collector: Any) -> None:
        class Parcel(TypedDict):
            place: str

        call = {"name": "Parcel", "args": {"place": "x"}, "id": "1"}
        chain = Chat(answers=[AIMessage("", tool_calls=[call])]).with_structured_output(Parcel)
        assert chain.invoke(ASK) == {"place": "x"}
        assert [extract(c).draft for c in collector.drafts] == [""]

    @pytest.mark.parametrize(
        "kwargs",
        [
            {"response_format": {"type": "json_object"}},
            {"response_mime_type": "application/json"},
            {"format": "json"},
            {"output_config": {"format": {"type": "json_schema"}}},
        ],
    )
    def test_response_formats(self, kwargs: Any, collector: Any) -> None:
        Chat(answers=['{"a": 1}']).bind(**kwargs).invoke(ASK)
        assert [extract(c).draft for c in collector.drafts] == [""]

    def test_a_text_format_is_a_draft(self, collector: Any) -> None:
        Chat(answers=[DRAFT]).bind(response_format={"type": "text"}).invoke(ASK)
        assert [extract(c).draft for c in collector.drafts] == [DRAFT]


class TestLeftEarly:
    def test_closed(self, collector: Any) -> None:
        stream = StreamingChat(answers=[DRAFT]).stream(ASK)
        next(stream)
        stream.close()
        assert [(c.complete, draft_text(c.answers)) for c in collector.drafts] == [(False, "Your")]

    def test_dropped(self, collector: Any) -> None:
        stream = StreamingChat(answers=[DRAFT]).stream(ASK)
        next(stream)
        del stream
        gc.collect()
        assert [c.complete for c in collector.drafts] == [False]

    def test_never_read(self, collector: Any) -> None:
        StreamingChat(answers=[DRAFT]).stream(ASK).close()
        assert collector.drafts == []

    async def test_async_break(self, collector: Any) -> None:
        async for _ in StreamingChat(answers=[DRAFT]).astream(ASK):
            break
        gc.collect()
        await asyncio.sleep(0.01)
        assert [c.complete for c in collector.drafts] == [False]

    def test_error_goes_through_untouched(self, collector: Any) -> None:
        stream = StreamingChat(answers=[DRAFT], fail_after=2).stream(ASK)
        with pytest.raises(ConnectionError, match="the stream broke"):
            list(stream)
        assert [c.complete for c in collector.drafts] == [False]

    async def test_cancelled(self, collector: Any) -> None:
        class Slow(Chat):
            async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
                await asyncio.sleep(60)

        task = asyncio.ensure_future(Slow(answers=[DRAFT]).ainvoke(ASK))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert collector.drafts == []


def test_the_models_error_is_the_same_object(collector: Any) -> None:
    error = ValueError("bad request")
    with pytest.raises(ValueError) as raised:
        Chat(answers=[DRAFT], error=error).invoke(ASK)
    assert raised.value is error
    assert collector.drafts == []


def test_the_critics_own_call_is_left_alone(collector: Any) -> None:
    model = StreamingChat(answers=["verdict"])
    with reviewing():
        model.invoke(ASK)
        list(model.stream(ASK))
    with reviewing() as mark:
        threads = [
            Thread(target=model.with_retry().invoke, args=(ASK, {"metadata": {INTERNAL: mark}})),
            Thread(target=lambda: list(model.stream(ASK, config={"metadata": {INTERNAL: mark}}))),
        ]
        for thread in threads:
            thread.start()
            thread.join()
    assert collector.drafts == []
    assert collector.nested_calls == 4


@pytest.mark.parametrize("value", [True, 1, "draftcritic", str(Mark()), json.loads(json.dumps(Mark())), {"open": True}])
def test_no_value_that_a_request_can_send_is_the_mark_of_the_critics_call(value: Any, collector: Any) -> None:
    model = StreamingChat(answers=[DRAFT])
    metadata = {INTERNAL: value, "draftcritic.internal": value}
    model.invoke(ASK, config={"metadata": metadata, "configurable": metadata, "tags": [INTERNAL]})
    list(model.stream(ASK, config={"metadata": metadata}))
    assert (len(collector.drafts), collector.nested_calls) == (2, 0)


def test_a_mark_ends_with_its_call_also_where_a_copy_of_the_context_lives_on(collector: Any) -> None:
    model = Chat(answers=[DRAFT])
    with reviewing() as mark:
        context = copy_context()
        context.run(model.invoke, ASK)
    context.run(model.invoke, ASK)
    model.invoke(ASK, config={"metadata": {INTERNAL: mark}})
    model.invoke(ASK, config={"metadata": {INTERNAL: pickle.loads(pickle.dumps(mark))}})
    assert (len(collector.drafts), collector.nested_calls) == (3, 1)

"""`with draftcritic.muted():` leaves out the model calls of the block, until it ends, where the settings allow it."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from contextvars import copy_context
from typing import Any

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat import Chat, StreamingChat
from support.paths import Own
from support.sdk import Telemetry

import draftcritic
from draftcritic import DraftCriticInstrumentor

DRAFT = "A title for you"
SAFE = "I cannot say that."
REFUSE = f'{{"verdict": "refuse", "refusal_message": "{SAFE}"}}'


@pytest.fixture
def start() -> Iterator[Callable[..., Telemetry]]:
    def started(**settings: Any) -> Telemetry:
        telemetry = Telemetry()
        given: dict[str, Any] = {"mode": "enforce", "model": Chat(answers=[REFUSE]), **settings}
        DraftCriticInstrumentor().instrument(**telemetry.providers, **given)
        return telemetry

    yield started
    DraftCriticInstrumentor().uninstrument()


@pytest.fixture
def telemetry(start: Callable[..., Telemetry]) -> Telemetry:
    return start()


def muted_count(telemetry: Telemetry) -> int:
    counts = telemetry.values("draftcritic.reviews")
    return sum(value for key, value in counts.items() if ("draftcritic.outcome", "muted") in key)


def text(chunks: Any) -> str:
    return "".join(chunk.text for chunk in chunks)


def graph(model: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile()


async def atext(stream: Any) -> str:
    return text([chunk async for chunk in stream])


ASK = {"messages": [("user", "q")]}
WAYS: dict[str, Callable[[Any], str]] = {
    "invoke": lambda m: m.invoke("q").text,
    "ainvoke": lambda m: asyncio.run(m.ainvoke("q")).text,
    "stream": lambda m: text(m.stream("q")),
    "astream": lambda m: asyncio.run(atext(m.astream("q"))),
    "batch": lambda m: m.batch(["q"])[0].text,
    "batch_as_completed": lambda m: next(iter(m.batch_as_completed(["q"])))[1].text,
    "graph, invoke": lambda m: graph(m).invoke(ASK)["messages"][-1].text,
    "graph, messages": lambda m: text(chunk for chunk, _ in graph(m).stream(ASK, stream_mode="messages")),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [Chat, StreamingChat, Own])
def test_a_block_leaves_out_its_calls_and_counts_each_once(way: str, kind: Any, telemetry: Telemetry) -> None:
    model = kind(answers=[DRAFT])
    with draftcritic.muted():
        assert WAYS[way](model) == DRAFT
    assert muted_count(telemetry) == 1
    assert telemetry.reviews() == []
    assert WAYS[way](model) == SAFE
    assert len(telemetry.reviews()) == 1


def test_a_stream_that_is_left_early_in_a_block_is_counted(telemetry: Telemetry) -> None:
    with draftcritic.muted():
        stream = Own(answers=[DRAFT]).stream("q")
        next(stream)
        stream.close()
    assert muted_count(telemetry) == 1


def test_an_answer_of_a_method_of_its_own_is_reviewed_although_it_made_a_muted_call(telemetry: Telemetry) -> None:
    class Titled(Chat):
        def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            with draftcritic.muted():
                title = super().invoke(prompt, config, **kwargs)
            return title.model_copy(update={"content": "An answer for the user"})

    assert Titled(answers=[DRAFT]).invoke("q").text == SAFE
    assert muted_count(telemetry) == 1


class TestEndOfTheBlock:
    async def test_a_task_is_left_out_until_the_block_ends(self, telemetry: Telemetry) -> None:
        ended = asyncio.Event()
        model = Chat(answers=[DRAFT])

        async def work() -> tuple[str, str]:
            before = await model.ainvoke("q")
            begun.set()
            await ended.wait()
            return before.text, (await model.ainvoke("q")).text

        begun = asyncio.Event()
        with draftcritic.muted():
            task = asyncio.create_task(work())
            await begun.wait()
        ended.set()
        assert await task == (DRAFT, SAFE)

    def test_a_thread_with_a_copied_context_is_left_out_until_the_block_ends(self, telemetry: Telemetry) -> None:
        texts: list[str] = []
        begun, ended = threading.Event(), threading.Event()
        model = Chat(answers=[DRAFT])

        def work() -> None:
            texts.append(model.invoke("q").text)
            begun.set()
            ended.wait(10)
            texts.append(model.invoke("q").text)

        with draftcritic.muted():
            thread = threading.Thread(target=copy_context().run, args=(work,))
            thread.start()
            begun.wait(10)
        ended.set()
        thread.join(10)
        assert texts == [DRAFT, SAFE]

    async def test_a_task_of_an_inner_block_stays_in_the_outer_one(self, telemetry: Telemetry) -> None:
        model = Chat(answers=[DRAFT])
        with draftcritic.muted():
            with draftcritic.muted():
                task = asyncio.create_task(model.ainvoke("q"))
            assert (await task).text == DRAFT
        assert model.invoke("q").text == SAFE

    def test_an_error_ends_the_block(self, telemetry: Telemetry) -> None:
        def fail() -> None:
            with draftcritic.muted():
                raise ValueError("x")

        with pytest.raises(ValueError, match="x"):
            fail()
        assert Chat(answers=[DRAFT]).invoke("q").text == SAFE


class TestForbidden:
    @pytest.mark.parametrize("way", WAYS)
    @pytest.mark.parametrize("kind", [StreamingChat, Own])
    def test_the_calls_of_a_block_are_reviewed(self, way: str, kind: Any, start: Callable[..., Telemetry]) -> None:
        telemetry = start(allow_muted=False)
        with draftcritic.muted():
            assert WAYS[way](kind(answers=[DRAFT])) == SAFE
        assert muted_count(telemetry) == 0

    def test_one_warning_names_the_setting(
        self, start: Callable[..., Telemetry], caplog: pytest.LogCaptureFixture
    ) -> None:
        start(allow_muted=False)
        with caplog.at_level(logging.WARNING, "draftcritic"):
            for _ in range(3):
                with draftcritic.muted():
                    Chat(answers=[DRAFT]).invoke("q")
        assert [record.levelname for record in caplog.records if "allow_muted = false" in record.message] == ["WARNING"]

    def test_the_environment_forbids_it(self, start: Callable[..., Telemetry], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("DRAFTCRITIC_ALLOW_MUTED", "false")
        start()
        with draftcritic.muted():
            assert Chat(answers=[DRAFT]).invoke("q").text == SAFE


@pytest.mark.parametrize(
    "metadata",
    [{"draftcritic_muted": True}, {"draftcritic": {"muted": True}}, {"draftcritic": "muted"}, {"muted": True}],
)
def test_metadata_of_a_request_mutes_nothing(metadata: Any, telemetry: Telemetry) -> None:
    config = {"metadata": metadata, "configurable": dict(metadata), "tags": ["muted", "draftcritic_muted"]}
    assert Chat(answers=[DRAFT]).invoke("q", config).text == SAFE
    assert muted_count(telemetry) == 0

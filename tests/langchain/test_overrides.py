"""Models that answer by their own `invoke` and `stream`, past LangChain's methods."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain import draft_text, extract

DRAFT = "The code word is Zanzibar."
SAFE = "I would rather not say."


def own_class() -> Any:
    """A class as an integration would write it that needs nothing of LangChain's methods."""

    class Own(Chat):
        def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            self.calls.append([prompt])
            return AIMessage(self.answers[0], id="own-1")

        async def ainvoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            await asyncio.sleep(0)
            return AIMessage(self.answers[0], id="own-1")

        def stream(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            for word in self.answers[0].split(" "):
                yield AIMessageChunk(f"{word} ")

        async def astream(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            for word in self.answers[0].split(" "):
                await asyncio.sleep(0)
                yield AIMessageChunk(f"{word} ")

    return Own


Before = own_class()


async def aread(stream: Any) -> str:
    return "".join([chunk.text async for chunk in stream])


async def said(awaitable: Any) -> str:
    return str((await awaitable).text)


PATHS = {
    "invoke": lambda m: m.invoke("q").text,
    "batch": lambda m: m.batch(["q"])[0].text,
    "bind": lambda m: m.bind(a=1).invoke("q").text,
    "ainvoke": lambda m: asyncio.run(said(m.ainvoke("q"))),
    "stream": lambda m: "".join(chunk.text for chunk in m.stream("q")).strip(),
    "astream": lambda m: asyncio.run(aread(m.astream("q"))).strip(),
}


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("late", [False, True], ids=["defined before", "defined after"])
def test_one_draft(path: str, late: bool, collector: Any) -> None:
    kind = own_class() if late else Before
    assert PATHS[path](kind(answers=[DRAFT])) == DRAFT
    assert [draft_text(c.answers).strip() for c in collector.drafts] == [DRAFT]
    turn = extract(collector.drafts[0])
    assert (turn.user_message, turn.streamed) == ("q", "stream" in path)


def test_an_override_that_reaches_langchains_method_is_one_draft(collector: Any) -> None:
    class Plain(StreamingChat):
        def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            return BaseChatModel.invoke(self, prompt, config, **kwargs)

        def stream(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            yield from BaseChatModel.stream(self, prompt, config, **kwargs)

    assert Plain(answers=[DRAFT]).invoke("q").text == DRAFT
    assert "".join(c.text for c in Plain(answers=[DRAFT]).stream("q")) == DRAFT
    assert [(draft_text(c.answers), bool(c.run_id)) for c in collector.drafts] == [(DRAFT, True)] * 2


def test_an_override_that_asks_another_model_is_that_models_draft(collector: Any) -> None:
    class Router(Chat):
        inner: Any

        def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            return self.inner.invoke(prompt)

    Router(answers=["x"], inner=Chat(answers=[DRAFT])).invoke("q")
    Router(answers=["x"], inner=Before(answers=[DRAFT])).invoke("q")
    assert [type(c.model).__name__ for c in collector.drafts] == ["Chat", "Own"]


def test_what_is_no_message_is_no_draft(collector: Any) -> None:
    class Odd(Chat):
        def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
            return {"answer": DRAFT}

    assert Odd(answers=["x"]).invoke("q") == {"answer": DRAFT}
    assert collector.drafts == []


@pytest.mark.parametrize("prompt", [None, 7, {"question": "q"}, [object()]])
def test_an_input_that_langchain_would_not_take(prompt: Any, collector: Any) -> None:
    Before(answers=[DRAFT]).invoke(prompt)
    turn = extract(collector.drafts[0])
    assert (turn.draft, turn.user_message) == (DRAFT, "")


def test_left_early(collector: Any) -> None:
    stream = Before(answers=[DRAFT]).stream("q")
    next(stream)
    del stream
    gc.collect()
    assert [c.complete for c in collector.drafts] == [False]


def test_class_keywords_still_reach_pydantic(collector: Any) -> None:
    class Strict(Chat, extra="allow"):
        pass

    assert Strict(answers=[DRAFT], more=1).more == 1


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


@pytest.mark.parametrize("path", PATHS)
def test_enforced(path: str, telemetry: Telemetry) -> None:
    critic = Chat(answers=[f'{{"verdict": "refuse", "refusal_message": "{SAFE}"}}'])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic)
    assert PATHS[path](Before(answers=[DRAFT])) == SAFE
    assert len(critic.calls) == 1
    assert [r["draftcritic.action"] for r in telemetry.reviews()] == ["blocked"]


def test_off_leaves_nothing_behind(telemetry: Telemetry) -> None:
    Late = own_class()
    before = {name: Late.__dict__[name] for name in ("invoke", "ainvoke", "stream", "astream")}
    code = {name: function.__code__ for name, function in before.items()}
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="gate")
    assert Late.invoke.__code__ is not code["invoke"]
    assert "__init_subclass__" in BaseChatModel.__dict__
    DraftCriticInstrumentor().uninstrument()
    assert {name: Late.__dict__[name] for name in before} == before
    assert {name: function.__code__ for name, function in before.items()} == code
    assert "__init_subclass__" not in BaseChatModel.__dict__


def test_the_critics_own_override_is_left_alone(telemetry: Telemetry) -> None:
    critic = Before(answers=['{"verdict": "approve"}'])
    DraftCriticInstrumentor().instrument(**telemetry.providers, model=critic)
    Chat(answers=[DRAFT]).invoke("q")
    DraftCriticInstrumentor().flush(10)
    assert len(critic.calls) == 1
    assert [r["draftcritic.verdict"] for r in telemetry.reviews()] == ["approve"]

"""Model calls that LangChain's own middleware makes for itself are no drafts; a client's metadata cannot claim that."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from support.chat import Chat
from support.sdk import Telemetry

import draftcritic
from draftcritic import DraftCriticInstrumentor

agents = pytest.importorskip("langchain.agents")
middleware = pytest.importorskip("langchain.agents.middleware")

SAFE = "I cannot say that."
REFUSE = f'{{"verdict": "refuse", "refusal_message": "{SAFE}"}}'
SUMMARY = "They spoke about order A-1."


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    telemetry = Telemetry()
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=Chat(answers=[REFUSE]))
    yield telemetry
    DraftCriticInstrumentor().uninstrument()


def summarising(base: Any = middleware.SummarizationMiddleware) -> Any:
    return base(model=Chat(answers=[SUMMARY]), trigger=("messages", 3), keep=("messages", 1))


def ask(agent: Any, asynchronous: bool, messages: list[Any], config: Any = None) -> list[str]:
    given = {"messages": messages}
    state = asyncio.run(agent.ainvoke(given, config)) if asynchronous else agent.invoke(given, config)
    return [message.text for message in state["messages"]]


HISTORY = [HumanMessage("a"), AIMessage("b"), HumanMessage("c"), AIMessage("d"), HumanMessage("Where is it?")]


class Own(middleware.SummarizationMiddleware):
    """A subclass of the application's."""

    def _create_summary(self, messages: Any) -> str:
        return super()._create_summary(messages)


@pytest.mark.parametrize("base", [middleware.SummarizationMiddleware, Own])
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_summary_is_left_alone_and_the_answer_is_reviewed(
    base: Any, asynchronous: bool, telemetry: Telemetry
) -> None:
    agent = agents.create_agent(Chat(answers=["The draft."]), middleware=[summarising(base)])
    texts = ask(agent, asynchronous, HISTORY)
    assert any(SUMMARY in text for text in texts)
    assert texts[-1] == SAFE
    assert [r["draftcritic.action"] for r in telemetry.reviews()] == ["blocked"]


@pytest.mark.parametrize("metadata", [{"lc_source": "summarization"}, {"lc_internal_call": "x"}])
def test_a_client_that_sends_the_metadata_of_such_calls_is_reviewed(metadata: Any, telemetry: Telemetry) -> None:
    agent = agents.create_agent(Chat(answers=["The draft."]))
    assert ask(agent, False, HISTORY, {"metadata": metadata})[-1] == SAFE


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_emulated_tool_is_left_alone_and_the_answer_is_reviewed(asynchronous: bool, telemetry: Telemetry) -> None:
    def look_up(order: str) -> str:
        """Look an order up."""
        raise NotImplementedError

    call = {"name": "look_up", "args": {"order": "A-1"}, "id": "1"}
    emulator = middleware.LLMToolEmulator(model=Chat(answers=["It was shipped."]))
    model = Chat(answers=[AIMessage("", tool_calls=[call]), "The draft."])
    texts = ask(agents.create_agent(model, tools=[look_up], middleware=[emulator]), asynchronous, HISTORY)
    assert texts[-2:] == ["It was shipped.", SAFE]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_agents_own_call_within_a_middleware_is_reviewed(
    asynchronous: bool, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    def look_up(order: str) -> str:
        """Look an order up."""
        return "x"

    class Selector(Chat):
        def with_structured_output(self, *_: Any, **__: Any) -> Any:
            return self | (lambda message: {"tools": ["look_up"]})

    selector = middleware.LLMToolSelectorMiddleware(model=Selector(answers=["look_up is the tool for this."]))
    agent = agents.create_agent(Chat(answers=["The draft."]), tools=[look_up], middleware=[selector])
    assert ask(agent, asynchronous, HISTORY)[-1] == SAFE
    assert len([r for r in telemetry.reviews() if "draftcritic.verdict" in r]) == 1


def test_an_agent_inside_a_muted_block_stays_muted_below_a_middleware(telemetry: Telemetry) -> None:
    agent = agents.create_agent(Chat(answers=["The draft."]), middleware=[summarising()])
    with draftcritic.muted():
        assert ask(agent, False, HISTORY)[-1] == "The draft."


@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_summary_is_left_alone_where_the_settings_forbid_muted_blocks(asynchronous: bool) -> None:
    telemetry = Telemetry()
    critic = Chat(answers=[REFUSE])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic, allow_muted=False)
    agent = agents.create_agent(Chat(answers=["The draft."]), middleware=[summarising()])
    try:
        with draftcritic.muted():
            texts = ask(agent, asynchronous, HISTORY)
    finally:
        DraftCriticInstrumentor().uninstrument()
    assert any(SUMMARY in text for text in texts)
    assert texts[-1] == SAFE
    assert len(telemetry.reviews()) == 1

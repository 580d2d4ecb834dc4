"""Agents of one process have settings of their own, by a name that only the process gives."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain.agents import create_agent
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

import draftcritic
from draftcritic import DraftCriticInstrumentor
from draftcritic.settings import Settings, SettingsError

DRAFT = "Your parcel is on its way."
SAFE = "I cannot say that."
REFUSE = json.dumps({"verdict": "refuse", "refusal_message": SAFE})
ASK = {"messages": [("user", "Where is my parcel?")]}


@pytest.fixture
def start() -> Iterator[Callable[..., tuple[Telemetry, Chat]]]:
    def started(agents: Any, **settings: Any) -> tuple[Telemetry, Chat]:
        telemetry, critic = Telemetry(), Chat(answers=[REFUSE])
        given: dict[str, Any] = {"mode": "enforce", "model": critic, "rules": ["Be brief."], **settings}
        DraftCriticInstrumentor().instrument(**telemetry.providers, agents=agents, **given)
        return telemetry, critic

    yield started
    DraftCriticInstrumentor().uninstrument()


def graph(name: str | None, model: Any = None) -> Any:
    model = model or Chat(answers=[DRAFT])
    builder = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile(name=name)


def answer(runnable: Any, config: Any = None) -> str:
    return str(runnable.invoke(ASK, config)["messages"][-1].text)


async def last_of(stream: Any) -> Any:
    return [item async for item in stream][-1]


WAYS: dict[str, Callable[[Any], str]] = {
    "invoke": answer,
    "ainvoke": lambda g: str(asyncio.run(g.ainvoke(ASK))["messages"][-1].text),
    "stream": lambda g: str(list(g.stream(ASK, stream_mode="values"))[-1]["messages"][-1].text),
    "astream": lambda g: str(asyncio.run(last_of(g.astream(ASK, stream_mode="values")))["messages"][-1].text),
}


class TestNames:
    @pytest.mark.parametrize("way", WAYS)
    def test_the_name_of_a_graph(self, way: str, start: Any) -> None:
        telemetry, critic = start({"support": {"rules": ["Never name a parcel."]}})
        WAYS[way](graph("support"))
        WAYS[way](graph("other"))
        assert ["Never name a parcel." in str(call) for call in critic.calls] == [True, False]
        assert ["Be brief." in str(call) for call in critic.calls] == [False, True]
        assert [review.get("gen_ai.agent.name") for review in telemetry.reviews()] == ["support", None]

    def test_the_name_of_create_agent(self, start: Any) -> None:
        start({"support": {"mode": "gate"}})
        assert answer(create_agent(StreamingChat(answers=[DRAFT]), name="support")) == DRAFT
        assert answer(create_agent(StreamingChat(answers=[DRAFT]))) == SAFE

    def test_an_activation_block_names_an_agent_and_wins(self, start: Any) -> None:
        telemetry, _ = start({"support": {"mode": "off"}, "strict": {}})
        with draftcritic.activation(agent="support"):
            assert Chat(answers=[DRAFT]).invoke("q").text == DRAFT
        with draftcritic.activation(agent="strict"):
            assert answer(graph("support")) == SAFE
        assert [review["gen_ai.agent.name"] for review in telemetry.reviews()] == ["strict"]

    def test_a_block_that_only_names_an_agent_leaves_the_outer_activation(self, start: Any) -> None:
        telemetry, _ = start({"support": {}})
        with draftcritic.activation(activated_nodes=[{"score": 0.1}]), draftcritic.activation(agent="support"):
            Chat(answers=[DRAFT]).invoke("q")
        assert telemetry.reviews()[0]["draftcritic.confidence"] == pytest.approx(0.1)

    def test_a_graph_without_a_name_belongs_to_the_one_around_it(self, start: Any) -> None:
        start({"support": {"mode": "gate"}})
        inner = graph(None)
        builder = StateGraph(MessagesState)
        builder.add_node("inner", inner)
        builder.add_edge(START, "inner")
        assert answer(builder.compile(name="support")) == DRAFT

    def test_the_name_ends_with_the_graph(self, start: Any) -> None:
        start({"support": {"mode": "gate"}})
        stream = graph("support").stream(ASK)
        next(stream)
        assert Chat(answers=[DRAFT]).invoke("q").text == SAFE
        list(stream)

    @pytest.mark.parametrize(
        "config",
        [
            {"metadata": {"lc_agent_name": "support", "agent": "support", "langgraph_node": "support"}},
            {"configurable": {"agent": "support", "name": "support"}},
            {"run_name": "support"},
            {"tags": ["support"]},
            {"metadata": {"draftcritic": {"agent": "support"}}},
        ],
    )
    def test_a_request_cannot_give_a_name(self, config: Any, start: Any) -> None:
        start({"support": {"mode": "off"}})
        assert answer(graph("strict"), config) == SAFE
        assert Chat(answers=[DRAFT]).invoke("q", config).text == SAFE


class TestValues:
    def test_a_table_has_a_critic_of_its_own(self, start: Any) -> None:
        own = Chat(answers=['{"verdict": "approve"}'])
        _, critic = start({"support": {"model": own}})
        assert answer(graph("support")) == DRAFT
        assert (len(own.calls), len(critic.calls)) == (1, 0)

    def test_a_table_has_a_threshold_of_its_own(self, start: Any) -> None:
        telemetry, _ = start({"support": {"confidence_threshold": 0.2}}, mode="gate", background=False)
        for name in ("support", "other"):
            graph(name).invoke(ASK)
        assert [review["draftcritic.gate.decision"] for review in telemetry.reviews()] == ["skipped", "fired"]

    def test_a_table_has_sensitive_tags_of_its_own(self, start: Any) -> None:
        telemetry, _ = start({"support": {"sensitive_tags": ["pii"]}}, mode="gate", background=False)
        with draftcritic.activation(activated_nodes=[{"score": 0.9, "tags": ["pii"]}]):
            for name in ("support", "other"):
                graph(name).invoke(ASK)
        assert [review.get("draftcritic.sensitive_tag") for review in telemetry.reviews()] == ["pii", None]

    @pytest.mark.parametrize(("mode", "outcomes"), [("observe", ["judged"]), ("gate", ["gate_only"]), ("off", [])])
    def test_a_lower_mode_releases_the_draft_at_once(self, mode: str, outcomes: list[str], start: Any) -> None:
        telemetry, _ = start({"support": {"mode": mode}})
        assert answer(graph("support")) == DRAFT
        assert DraftCriticInstrumentor().flush()
        assert [review["draftcritic.outcome"] for review in telemetry.reviews()] == outcomes

    def test_a_higher_mode_stays_the_processs_and_a_warning_says_so(
        self, start: Any, caplog: pytest.LogCaptureFixture
    ) -> None:
        with caplog.at_level(logging.WARNING, "draftcritic"):
            start({"support": {"mode": "enforce"}}, mode="observe")
        assert answer(graph("support")) == DRAFT
        assert "agents.support.mode = enforce: a table may only lower the mode" in caplog.text

    def test_the_file_has_tables_and_is_read_again(self, start: Any, tmp_path: Path) -> None:
        file = tmp_path / "draftcritic.toml"
        file.write_text('[agents."My support"]\nmode = "gate"\n', encoding="utf-8")
        telemetry, critic = Telemetry(), Chat(answers=[REFUSE])
        DraftCriticInstrumentor().instrument(
            **telemetry.providers, mode="enforce", model=critic, config=file, reload_interval=0.01
        )
        assert answer(graph("My support")) == DRAFT
        file.write_text("# no agents\n", encoding="utf-8")
        for _ in range(200):
            if answer(graph("My support")) == SAFE:
                return
        pytest.fail("the changed file was not read")


class TestInvalid:
    @pytest.mark.parametrize(
        ("agents", "message"),
        [
            ({"support": {"modee": "gate"}}, "agents.support.modee"),
            ({"support": {"timeout": 3}}, "agents.support.timeout"),
            ({"support": {"mode": "loud"}}, "agents.support.mode"),
            ({"support": {"confidence_threshold": 2}}, "agents.support.confidence_threshold"),
            ({"support": {"fail_closed_tags": ["pii"]}}, "agents.support.fail_closed_tags"),
            ({"": {}}, "agents"),
            ({str(number): {} for number in range(65)}, "agents"),
        ],
    )
    def test_a_table_that_cannot_work_is_an_error(self, agents: Any, message: str) -> None:
        with pytest.raises(SettingsError, match=message):
            Settings.load({}, agents=agents)

    def test_the_environment_gives_tables_as_json(self) -> None:
        settings = Settings.load({"DRAFTCRITIC_AGENTS": '{"support": {"rules": ["Be brief."]}}'})
        assert settings.by_agent()["support"].rules == ("Be brief.",)
        assert settings.rules == ()


def test_without_tables_langgraph_is_not_touched() -> None:
    from langgraph.pregel import Pregel

    before = Pregel.stream.__code__
    DraftCriticInstrumentor().instrument(**Telemetry().providers, mode="observe", model=Chat(answers=[REFUSE]))
    try:
        assert Pregel.stream.__code__ is before
    finally:
        DraftCriticInstrumentor().uninstrument()

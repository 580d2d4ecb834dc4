"""In enforce a client cannot choose not to be sampled."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from opentelemetry import context, propagate
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

DRAFT = "Your parcel is on its way."
REFUSE = json.dumps({"verdict": "refuse", "refusal_message": "No."})


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


def enforce(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic, sample_rate=0.5)


@pytest.mark.parametrize("trace", ["{:016x}ffffffffffffffff", "ffffffffffffffffffffffffffffffff"])
def test_a_traceparent_decides_nothing(trace: str, telemetry: Telemetry) -> None:
    enforce(telemetry)
    texts = []
    for number in range(60):
        carrier = {"traceparent": f"00-{trace.format(number + 1)}-00f067aa0ba902b7-01"}
        token = context.attach(propagate.extract(carrier))
        texts.append(Chat(answers=[DRAFT]).invoke("q", {"metadata": {"thread_id": "t"}}).text)
        context.detach(token)
    assert 12 < texts.count("No.") < 48


@pytest.mark.skipif("control" not in Runtime.__dataclass_fields__, reason="this LangGraph has no object of a run")
def test_the_drafts_of_one_run_of_a_graph_are_all_in_the_sample_or_none(telemetry: Telemetry) -> None:
    def node(state: MessagesState) -> Any:
        return {"messages": [Chat(answers=[DRAFT]).invoke("q")]}

    inner = StateGraph(MessagesState)
    inner.add_node("c", node)
    inner.add_edge(START, "c")
    inner.add_edge("c", END)
    outer = StateGraph(MessagesState)
    for name, step in (("a", node), ("b", node), ("inner", inner.compile())):
        outer.add_node(name, step)
    outer.add_edge(START, "a")
    outer.add_edge("a", "b")
    outer.add_edge("b", "inner")
    graph = outer.compile()
    enforce(telemetry)
    runs = []
    for _ in range(40):
        messages = graph.invoke({"messages": []}, {"run_id": "00000000-0000-7000-8000-000000000001"})["messages"]
        runs.append({message.text for message in messages})
    assert all(len(texts) == 1 for texts in runs)
    assert 6 < sum(texts == {"No."} for texts in runs) < 34

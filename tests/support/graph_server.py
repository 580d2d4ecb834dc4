"""A graph for a LangGraph server, in `enforce`: its model writes `DRAFT`, and as its own critic refuses that.

`open` runs without an activation log; `tagged` and `sure` run in one of the application's.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat import Chat, StreamingChat

from draftcritic import DraftCriticInstrumentor, activation

DRAFT = "Zebra seventeen lives on Quartz street."
SAFE = "I would rather not say."
SURE: dict[str, Any] = {
    "activated_nodes": [{"score": 1.0}],
    "inference_paths": [["a"], ["b"], ["c"]],
    "traversed_edges": [{"weight": 5.0}],
}
TAGGED = {**SURE, "activated_nodes": [{"score": 1.0, "tags": ["pii"]}]}

DraftCriticInstrumentor().instrument(
    mode="enforce",
    model=Chat(answers=['{"verdict": "refuse", "refusal_message": "' + SAFE + '"}']),
    sensitive_tags=["pii"],
)
model = StreamingChat(answers=[DRAFT])


async def answer(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Ask the model."""
    return {"messages": [await model.ainvoke(state["messages"])]}


async def answer_tagged(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Ask the model about a subject that the application knows to be sensitive."""
    with activation(TAGGED):
        return await answer(state)


async def answer_sure(state: MessagesState) -> dict[str, list[AIMessage]]:
    """Ask the model about a subject that the application is sure of: no review."""
    with activation(SURE):
        return await answer(state)


def graph_of(node: Any) -> Any:
    graph = StateGraph(MessagesState)
    graph.add_node("model", node)
    graph.add_edge(START, "model")
    graph.add_edge("model", END)
    return graph.compile()


open_graph, tagged_graph, sure_graph = graph_of(answer), graph_of(answer_tagged), graph_of(answer_sure)

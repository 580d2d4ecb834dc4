"""A draft that must not leave, and the paths on which it could."""

from __future__ import annotations

import json
import warnings
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import HumanMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat import Chat
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
    """Writes down everything that a callback receives after the model has begun."""

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

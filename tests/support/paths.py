"""Every way a draft leaves a chat model, as a function from a model to the text that the caller gets."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import ConfigurableField, RunnableConfig, RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat import Chat, StreamingChat

DRAFT = "Your parcel is on its way."
ASK = "Where is my parcel?"
TURN = {"messages": [("user", ASK)]}
HAS_V3 = hasattr(BaseChatModel, "stream_events")
"""Whether this langchain-core has the third version of the event streams."""


class Own(Chat):
    """Answers by methods of its own, past LangChain's."""

    def invoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
        return AIMessage(self.answers[0])

    async def ainvoke(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
        return AIMessage(self.answers[0])

    def stream(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
        for word in self.answers[0].split(" "):
            yield AIMessageChunk(word if word == self.answers[0].split(" ")[0] else f" {word}")

    async def astream(self, prompt: Any, config: Any = None, **kwargs: Any) -> Any:
        for chunk in self.stream(prompt):
            yield chunk


def text(chunks: Any) -> str:
    return "".join(chunk.text for chunk in chunks)


async def atext(stream: Any) -> str:
    return text([chunk async for chunk in stream])


def graph(node: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", node)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile()


def sync_graph(model: Any) -> Any:
    return graph(lambda state: {"messages": [model.invoke(state["messages"])]})


def async_graph(model: Any) -> Any:
    async def node(state: MessagesState, config: RunnableConfig) -> Any:
        # Python 3.10 has no other way for the run's listeners into a task.
        return {"messages": [await model.ainvoke(state["messages"], config)]}

    return graph(node)


def last(state: Any) -> str:
    return str(state["messages"][-1].text)


def spoken(stream: Any) -> str:
    """What a reader of the messages mode shows: the model's chunks, or its message when there were none."""
    return text(chunk for chunk, _ in stream)


def alternatives(model: Any) -> Any:
    chosen = ConfigurableField(id="which")
    other = Chat(answers=["no"])
    return other.configurable_alternatives(chosen, default_key="other", this=model).with_config(
        configurable={"which": "this"}
    )


def chain(model: Any) -> Any:
    return ChatPromptTemplate.from_messages([("user", "{q}")]) | model


def own(model: Any) -> Any:
    return Own(answers=model.answers)


def v3(model: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return str(model.stream_events(ASK, version="v3").output.text)


SYNC: dict[str, Callable[[Any], str]] = {
    "invoke": lambda m: m.invoke(ASK).text,
    "invoke with messages": lambda m: m.invoke([HumanMessage(ASK)]).text,
    "batch": lambda m: m.batch([ASK])[0].text,
    "batch_as_completed": lambda m: next(iter(m.batch_as_completed([ASK])))[1].text,
    "generate": lambda m: m.generate([[HumanMessage(ASK)]]).generations[0][0].text,
    "generate_prompt": lambda m: m.generate_prompt([m._convert_input(ASK)]).generations[0][0].text,
    "stream": lambda m: text(m.stream(ASK)),
    **({"stream_events v3": v3} if HAS_V3 else {}),
    "chain": lambda m: chain(m).invoke({"q": ASK}).text,
    "chain, stream": lambda m: text(chain(m).stream({"q": ASK})),
    "bind": lambda m: m.bind(temperature=0).invoke(ASK).text,
    "bind_tools": lambda m: m.bind_tools([]).invoke(ASK).text,
    "with_retry": lambda m: m.with_retry().invoke(ASK).text,
    "with_fallbacks": lambda m: m.with_fallbacks([Chat(answers=["no"])]).invoke(ASK).text,
    "with_config": lambda m: m.with_config(tags=["x"]).invoke(ASK).text,
    "configurable_alternatives": lambda m: alternatives(m).invoke(ASK).text,
    "a class's own invoke": lambda m: own(m).invoke(ASK).text,
    "a class's own stream": lambda m: text(own(m).stream(ASK)),
    "graph, invoke": lambda m: last(sync_graph(m).invoke(TURN)),
    "graph, values": lambda m: last(list(sync_graph(m).stream(TURN, stream_mode="values"))[-1]),
    "graph, updates": lambda m: last(next(iter(sync_graph(m).stream(TURN, stream_mode="updates")))["model"]),
    "graph, messages": lambda m: spoken(sync_graph(m).stream(TURN, stream_mode="messages")),
    "subgraph, messages": lambda m: spoken(graph(sync_graph(m)).stream(TURN, stream_mode="messages")),
    "create_agent": lambda m: last(create_agent(m).invoke(TURN)),
    "create_agent, messages": lambda m: spoken(create_agent(m).stream(TURN, stream_mode="messages")),
}


async def events(stream: Any) -> str:
    """What a reader of the events shows: the model's chunks, or its message when there were none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first version is deprecated, and still one of the ways
        all_events = [event async for event in stream]
    chunks = [e["data"]["chunk"] for e in all_events if e["event"] == "on_chat_model_stream"]
    return text(chunks or [e["data"]["output"] for e in all_events if e["event"] == "on_chat_model_end"])


async def aspoken(stream: Any) -> str:
    return text([chunk async for chunk, _ in stream])


async def first(iterator: Any) -> str:
    async for _, message in iterator:
        return str(message.text)
    return ""


async def last_of(stream: Any) -> Any:
    return [item async for item in stream][-1]


async def av3(model: Any) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stream = await model.astream_events(ASK, version="v3")
        return str(await stream.text)


async def say(awaitable: Any, pick: Callable[[Any], Any] = lambda message: message.text) -> str:
    return str(pick(await awaitable))


ASYNC: dict[str, Callable[[Any], Any]] = {
    "invoke": lambda m: say(m.ainvoke(ASK)),
    "batch": lambda m: say(m.abatch([ASK]), lambda found: found[0].text),
    "batch_as_completed": lambda m: first(m.abatch_as_completed([ASK])),
    "generate": lambda m: say(m.agenerate([[HumanMessage(ASK)]]), lambda r: r.generations[0][0].text),
    "generate_prompt": lambda m: say(m.agenerate_prompt([m._convert_input(ASK)]), lambda r: r.generations[0][0].text),
    "stream": lambda m: atext(m.astream(ASK)),
    "stream_events v1": lambda m: events(m.astream_events(ASK, version="v1")),
    "stream_events v2": lambda m: events(m.astream_events(ASK, version="v2")),
    **({"stream_events v3": av3} if HAS_V3 else {}),
    "chain": lambda m: say((RunnableLambda(lambda q: [HumanMessage(q)]) | m).ainvoke(ASK)),
    "chain, stream": lambda m: atext((RunnableLambda(lambda q: [HumanMessage(q)]) | m).astream(ASK)),
    "bind": lambda m: say(m.bind(temperature=0).ainvoke(ASK)),
    "bind_tools": lambda m: say(m.bind_tools([]).ainvoke(ASK)),
    "with_retry": lambda m: say(m.with_retry().ainvoke(ASK)),
    "with_fallbacks": lambda m: say(m.with_fallbacks([Chat(answers=["no"])]).ainvoke(ASK)),
    "with_config": lambda m: say(m.with_config(tags=["x"]).ainvoke(ASK)),
    "configurable_alternatives": lambda m: say(alternatives(m).ainvoke(ASK)),
    "a class's own invoke": lambda m: say(own(m).ainvoke(ASK)),
    "a class's own stream": lambda m: atext(own(m).astream(ASK)),
    "graph, invoke": lambda m: say(async_graph(m).ainvoke(TURN), last),
    "graph, values": lambda m: say(last_of(async_graph(m).astream(TURN, stream_mode="values")), last),
    "graph, updates": lambda m: say(
        last_of(async_graph(m).astream(TURN, stream_mode="updates")), lambda update: last(update["model"])
    ),
    "graph, messages": lambda m: aspoken(async_graph(m).astream(TURN, stream_mode="messages")),
    "graph, stream_events v2": lambda m: events(async_graph(m).astream_events(TURN, version="v2")),
    "subgraph, messages": lambda m: aspoken(graph(async_graph(m)).astream(TURN, stream_mode="messages")),
    "create_agent": lambda m: say(create_agent(m).ainvoke(TURN), last),
    "create_agent, messages": lambda m: aspoken(create_agent(m).astream(TURN, stream_mode="messages")),
}

KINDS = {"a model without `_stream`": Chat, "a model with `_stream`": StreamingChat}

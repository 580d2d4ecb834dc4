"""The metadata that a graph is called with reaches the reviews of its nodes, on every Python."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import langgraph.pregel
import pytest
from langchain.agents import create_agent
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.pregel import Pregel
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain._graph import GraphMetadata, with_graph_metadata

ASK = {"messages": [("user", "Where is my parcel?")]}
LOG = {"activated_nodes": [{"score": 0.9, "tags": ["pii"]}]}


def config(thread: str = "t1", **more: Any) -> Any:
    metadata = {"draftcritic": LOG, "session_id": f"session of {thread}", **more}
    return {"metadata": metadata, "configurable": {"thread_id": thread}}


def graph(node: Any, **compiling: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("model", node)
    builder.add_edge(START, "model")
    builder.add_edge("model", END)
    return builder.compile(**compiling)


def asks(model: Any) -> Any:
    """A node that does not pass its configuration on, as most do not."""

    async def node(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke(state["messages"])]}

    return node


def streams(model: Any) -> Any:
    async def node(state: MessagesState) -> Any:
        chunks = [chunk async for chunk in model.astream(state["messages"])]
        return {"messages": [("ai", "".join(chunk.text for chunk in chunks))]}

    return node


def calls(inner: Any) -> Any:
    async def node(state: MessagesState) -> Any:
        return await inner.ainvoke(state)

    return node


async def all_of(stream: Any) -> None:
    async for _ in stream:
        pass


def events(runnable: Any, version: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # deprecated versions are ways, too
        return runnable.astream_events(ASK, config(), version=version)


async def v3(runnable: Any) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        await all_of(await events(runnable, "v3"))


RUNS: dict[str, Callable[[Any], Awaitable[Any]]] = {
    "ainvoke": lambda m: graph(asks(m)).ainvoke(ASK, config()),
    "astream": lambda m: all_of(graph(asks(m)).astream(ASK, config(), stream_mode="updates")),
    "astream messages": lambda m: all_of(graph(asks(m)).astream(ASK, config(), stream_mode="messages")),
    "astream_events": lambda m: all_of(events(graph(asks(m)), "v2")),
    **({"astream_events v3": lambda m: v3(graph(asks(m)))} if hasattr(Pregel, "stream_events") else {}),
    "abatch": lambda m: graph(asks(m)).abatch([ASK], config()),
    "with_config": lambda m: graph(asks(m)).with_config(config()).ainvoke(ASK),
    "a node that streams": lambda m: graph(streams(m)).ainvoke(ASK, config()),
    "a sync node": lambda m: graph(lambda s: {"messages": [m.invoke(s["messages"])]}).ainvoke(ASK, config()),
    "a subgraph": lambda m: graph(graph(asks(m))).ainvoke(ASK, config()),
    "a graph called in a node": lambda m: graph(calls(graph(asks(m)))).ainvoke(ASK, config()),
    "create_agent": lambda m: create_agent(m).ainvoke(ASK, config()),
}


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    telemetry = Telemetry()
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="gate", sensitive_tags=["pii"])
    yield telemetry
    DraftCriticInstrumentor().uninstrument()


def reviews(telemetry: Telemetry) -> list[tuple[Any, Any, Any]]:
    assert DraftCriticInstrumentor().flush(20)
    keys = ("draftcritic.sensitive_tag", "session.id", "gen_ai.conversation.id")
    return [tuple(review.get(key) for key in keys) for review in telemetry.reviews()]  # type: ignore[misc]


@pytest.mark.parametrize("kind", [Chat, StreamingChat])
@pytest.mark.parametrize("run", RUNS)
async def test_the_tag_fires_and_the_ids_are_known(run: str, kind: type[Chat], telemetry: Telemetry) -> None:
    await RUNS[run](kind(answers=["Your parcel is on its way."]))
    assert reviews(telemetry) == [("pii", "session of t1", "t1")]


async def test_runs_at_the_same_time_keep_their_own(telemetry: Telemetry) -> None:
    class Slow(Chat):
        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0.01)
            return self._generate(messages)

    compiled = graph(asks(Slow(answers=["It is on its way."])), checkpointer=InMemorySaver())
    names = [f"t{number}" for number in range(10)]
    await asyncio.gather(*(compiled.ainvoke(ASK, config(name)) for name in names))
    assert sorted(reviews(telemetry)) == sorted(("pii", f"session of {name}", name) for name in names)


async def test_what_a_run_says_itself_holds_and_nothing_stays(telemetry: Telemetry) -> None:
    model = Chat(answers=["It is on its way."])

    async def node(state: MessagesState) -> Any:
        return {"messages": [await model.ainvoke("q", {"metadata": {"session_id": "own", "draftcritic": {}}})]}

    await graph(node).ainvoke(ASK, config())
    await model.ainvoke("q")
    assert reviews(telemetry) == [(None, "own", "t1"), (None, None, None)]


class TestHandler:
    """The handler itself, which is put in on old Pythons only."""

    @pytest.fixture(autouse=True)
    def installed(self) -> Iterator[None]:
        before = Pregel.astream.__code__
        handler = GraphMetadata()
        handler.connect(langgraph.pregel)
        assert Pregel.astream.__code__ is not before
        yield
        handler.remove()
        handler.remove()
        assert Pregel.astream.__code__ is before

    async def test_it_tells_the_nodes(self) -> None:
        seen: list[Any] = []

        async def node(state: MessagesState) -> None:
            seen.append(dict(with_graph_metadata({"own": 1})))

        compiled = graph(node).with_config(metadata={"bound": 2, "session_id": "lost"})
        async for _ in compiled.astream(ASK, config("t7"), stream_mode=["values", "updates"]):
            assert with_graph_metadata(None) == {}
        (metadata,) = seen
        wanted = {"own": 1, "bound": 2, "session_id": "session of t7", "draftcritic": LOG, "thread_id": "t7"}
        assert {key: metadata[key] for key in wanted} == wanted
        assert with_graph_metadata(None) == {}

    async def test_errors_and_early_ends_go_through(self) -> None:
        error = ValueError("a node's own")

        async def fails(state: MessagesState) -> None:
            raise error

        with pytest.raises(ValueError) as raised:
            await graph(fails).ainvoke(ASK, config())
        assert raised.value is error
        stream = graph(asks(Chat(answers=["x"]))).astream(ASK, config(), stream_mode="values")
        async for _ in stream:
            break
        await stream.aclose()
        assert with_graph_metadata(None) == {}

    async def test_a_configuration_that_is_none_is_langgraphs_to_judge(self) -> None:
        with pytest.raises(Exception) as without:
            await Pregel.astream.__wrapped__(graph(asks(Chat(answers=["x"]))), ASK, 7).__anext__()
        with pytest.raises(type(without.value)):
            await graph(asks(Chat(answers=["x"]))).astream(ASK, 7).__anext__()


def test_a_handler_that_is_not_wanted_any_more_is_not_put_in() -> None:
    before = Pregel.astream.__code__
    handler = GraphMetadata()
    handler.remove()
    handler.connect(langgraph.pregel)
    assert Pregel.astream.__code__ is before

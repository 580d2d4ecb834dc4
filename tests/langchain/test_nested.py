"""However the critic's model reaches a chat model, that call is never a draft."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langgraph.graph import END, START, MessagesState, StateGraph
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.langchain import OwnPrompts

DRAFT = "Your parcel is on its way."
APPROVE = '{"verdict": "approve"}'


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


class Failing(Chat):
    def _generate(self, *args: Any, **kwargs: Any) -> Any:
        self.calls.append([])
        raise ConnectionError("no network")


class Threads(Chat):
    """Hands its question to another model, in a thread without a context."""

    inner: Any
    ask: Any

    def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
        answers: list[Any] = []
        thread = threading.Thread(target=lambda: answers.append(self.ask(self.inner, messages)))
        thread.start()
        thread.join()
        return Chat(answers=answers)._generate(messages)


def graph(inner: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("judge", lambda state: {"messages": [inner.invoke(state["messages"])]})
    builder.add_edge(START, "judge")
    builder.add_edge("judge", END)
    outer = StateGraph(MessagesState)
    outer.add_node("sub", builder.compile())
    outer.add_edge(START, "sub")
    outer.add_edge("sub", END)
    compiled = outer.compile()
    return RunnableLambda(lambda messages: compiled.invoke({"messages": messages})["messages"][-1])


def pool(inner: Any) -> Any:
    def judge(messages: Any) -> Any:
        with ThreadPoolExecutor() as executor:
            return executor.submit(inner.invoke, messages).result()

    return RunnableLambda(judge)


CRITICS = {
    "itself": lambda m: m,
    "bind": lambda m: m.bind(temperature=0),
    "with_retry": lambda m: m.with_retry(),
    "with_fallbacks": lambda m: Failing(answers=["x"]).with_fallbacks([m]),
    "with_config": lambda m: m.with_config(tags=["judge"]),
    "chain": lambda m: RunnableLambda(lambda messages: messages) | m,
    "subgraph": graph,
    "executor thread": pool,
    "thread": lambda m: Threads(answers=["x"], inner=m, ask=lambda inner, messages: inner.invoke(messages)),
    "thread stream": lambda m: Threads(
        answers=["x"], inner=m, ask=lambda inner, messages: AIMessage("".join(c.text for c in inner.stream(messages)))
    ),
    "thread as text": lambda m: Threads(
        answers=["x"], inner=m, ask=lambda inner, messages: inner.invoke(f"Judge this.\n{messages[-1].content}")
    ),
    "thread with a loop": lambda m: Threads(
        answers=["x"], inner=m, ask=lambda inner, messages: asyncio.run(inner.ainvoke([("user", messages[-1].content)]))
    ),
}


async def ask_and_wait(model: Any) -> str:
    answer = await model.ainvoke("q")
    # A question whose loop ends before its answer is asked again.
    assert await asyncio.to_thread(DraftCriticInstrumentor().flush, 20)
    return str(answer.text)


@pytest.mark.parametrize("mode", ["observe", "enforce"])
@pytest.mark.parametrize("path", CRITICS)
def test_one_question_a_draft(path: str, mode: str, telemetry: Telemetry) -> None:
    judge = StreamingChat(answers=[APPROVE])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode=mode, model=CRITICS[path](judge))
    assert Chat(answers=[DRAFT]).invoke("q").text == DRAFT
    assert asyncio.run(ask_and_wait(Chat(answers=["It will be there soon."]))) == "It will be there soon."
    assert len(judge.calls) == 2
    assert [r["draftcritic.verdict"] for r in telemetry.reviews()] == ["approve", "approve"]
    assert [r["draftcritic.verdict.source"] for r in telemetry.reviews()] == ["reflection", "reflection"]


def test_a_question_is_known_while_it_is_answered() -> None:
    own = OwnPrompts()
    question = HumanMessage("boundary 7f3a")
    with own.answering([question]):
        assert own.includes([question])
        assert own.includes("before boundary 7f3a after")
        assert not own.includes([HumanMessage("boundary")])
        for odd in (None, 7, [None], [HumanMessage(["boundary 7f3a"])], [("user", 7)], {}):
            assert not own.includes(odd)
    assert not own.includes([question])


def test_fifty_drafts_at_once_are_fifty_questions(telemetry: Telemetry) -> None:
    class Slow(Chat):
        async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            await asyncio.sleep(0.05)
            return self._generate(messages)

    judge = Slow(answers=[APPROVE])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=judge)

    async def main() -> None:
        await asyncio.gather(*(Chat(answers=[f"Parcel {n} is on its way."]).ainvoke("q") for n in range(50)))

    asyncio.run(main())
    assert len(judge.calls) == 50
    assert len(telemetry.reviews()) == 50

"""However the critic's model reaches a chat model, that call is never a draft."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.prompt_values import ChatPromptValue
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
    "thread with a block": lambda m: Threads(
        answers=["x"],
        inner=m,
        ask=lambda inner, messages: inner.invoke([HumanMessage([{"type": "text", "text": messages[-1].content}])]),
    ),
    "thread with other newlines": lambda m: Threads(
        answers=["x"],
        inner=m,
        ask=lambda inner, messages: inner.invoke(messages[-1].content.replace("\n", "\r\n")),
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


BOUNDARY = "0123456789abcdef"
QUESTION = (
    f"Boundary: {BOUNDARY}\n\n--- {BOUNDARY} begin [DRAFT]\nIt is 5.\n--- {BOUNDARY} end [DRAFT]\n\nWhich verdict?"
)
SHAPES: dict[str, Any] = {
    "text": QUESTION,
    "message": [HumanMessage(QUESTION)],
    "block": [HumanMessage([{"type": "text", "text": QUESTION}])],
    "blocks": [HumanMessage([{"type": "text", "text": line} for line in QUESTION.splitlines()])],
    "string block": [HumanMessage([QUESTION])],
    "nested block": [HumanMessage([{"type": "tool_result", "content": [{"type": "text", "text": QUESTION}]}])],
    "other newlines": [("user", QUESTION.replace("\n", "\r\n"))],
    "wrapped anew": [{"role": "user", "content": "\n".join(QUESTION.split())}],
    "one line": [HumanMessage(" ".join(QUESTION.split()))],
    "as json": [HumanMessage(json.dumps({"question": QUESTION}))],
    "inside": [SystemMessage("Judge."), HumanMessage(f"You get a question.\n> {QUESTION}\nAnswer it.")],
    "a list of texts": ["Judge.", QUESTION],
    "prompt value": ChatPromptValue(messages=[HumanMessage(QUESTION)]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_question_is_known_in_every_shape_while_it_is_answered(shape: str) -> None:
    own = OwnPrompts()
    assert not own.includes(SHAPES[shape])
    with own.answering([SystemMessage("Judge."), HumanMessage(QUESTION)]):
        assert own.includes(SHAPES[shape])


def test_another_question_is_not_known() -> None:
    own = OwnPrompts()
    others = QUESTION.replace(BOUNDARY, "0123456789abcdee")
    with own.answering([HumanMessage(QUESTION)]):
        for odd in (
            None,
            7,
            [None],
            [("user", 7)],
            {},
            [HumanMessage(others)],
            others,
            [HumanMessage([{"a": [None]}])],
        ):
            assert not own.includes(odd)
        picture = {"type": "image", "base64": BOUNDARY}
        assert not own.includes([HumanMessage([picture])])


def test_a_question_is_known_for_a_moment_after_its_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnPrompts()
    with own.answering([HumanMessage(QUESTION)]):
        pass
    assert own.includes([HumanMessage([{"type": "text", "text": QUESTION}])])
    assert not own.includes(QUESTION.replace(BOUNDARY, "0123456789abcdee"))
    now = time.monotonic()
    monkeypatch.setattr("draftcritic.langchain._own_prompts.time.monotonic", lambda: now + 60)
    assert not own.includes(QUESTION)
    assert own._past == {}


def test_a_question_without_a_boundary_is_known_by_its_text() -> None:
    own = OwnPrompts()
    with own.answering([HumanMessage("is it 7f3a?")]):
        assert own.includes("before is it 7f3a? after")
        assert not own.includes([HumanMessage("is it")])
    assert not own.includes("is it 7f3a?")


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

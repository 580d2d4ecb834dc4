"""However the critic's model reaches a chat model, that call is never a draft."""

from __future__ import annotations

import asyncio
import json
import re
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
}
BARE_THREADS = {
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
    "wrapped differently": [{"role": "user", "content": "\n".join(QUESTION.split())}],
    "one line": [HumanMessage(" ".join(QUESTION.split()))],
    "as json": [HumanMessage(json.dumps({"question": QUESTION}))],
    "inside": [SystemMessage("Judge."), HumanMessage(f"You get a question.\n> {QUESTION}\nAnswer it.")],
    "a list of texts": ["Judge.", QUESTION],
    "prompt value": ChatPromptValue(messages=[HumanMessage(QUESTION)]),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_prompt_that_repeats_a_question_is_recognized_in_every_shape(shape: str) -> None:
    own = OwnPrompts()
    assert not own.repeated_in(SHAPES[shape])
    own.remember([SystemMessage("Judge."), HumanMessage(QUESTION)])
    assert own.repeated_in(SHAPES[shape])


def test_a_prompt_that_repeats_no_question_is_not_recognized() -> None:
    own = OwnPrompts()
    others = QUESTION.replace(BOUNDARY, "0123456789abcdee")
    own.remember([HumanMessage(QUESTION)])
    own.remember([])
    own.remember([HumanMessage("a question without a boundary")])
    for odd in (None, 7, [None], [("user", 7)], {}, [HumanMessage(others)], others, [HumanMessage([{"a": [None]}])]):
        assert not own.repeated_in(odd)
    assert not own.repeated_in([HumanMessage([{"type": "image", "base64": BOUNDARY}])])


def test_boundaries_are_forgotten_by_age_and_number(monkeypatch: pytest.MonkeyPatch) -> None:
    own = OwnPrompts()
    for number in range(5000):
        own.remember([HumanMessage(f"Boundary: {number:016x}")])
    assert len(own._until) == 4096
    assert own.repeated_in(f"{4999:016x}")
    assert not own.repeated_in(f"{1:016x}")
    now = time.monotonic()
    monkeypatch.setattr("draftcritic.langchain._own_calls.time.monotonic", lambda: now + 601)
    assert not own.repeated_in(f"{4999:016x}")
    assert own._until == {}


@pytest.mark.parametrize("path", BARE_THREADS)
def test_a_critic_that_asks_from_a_bare_thread_is_reviewed_and_the_loop_ends(path: str, telemetry: Telemetry) -> None:
    judge = StreamingChat(answers=[APPROVE])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="observe", model=BARE_THREADS[path](judge))
    assert Chat(answers=[DRAFT]).invoke("q").text == DRAFT
    for _ in range(30):  # each answer of the critic is one more draft
        assert DraftCriticInstrumentor().flush(20)
    reviews = telemetry.reviews()
    # A review ends after the one that its call brought about, or before.
    # From the second one on the critic only repeats its draft, which is no verdict.
    assert sorted(r.get("draftcritic.verdict", "") for r in reviews) == [*[""] * 11, "approve"]
    assert [r["draftcritic.gate.reason"] for r in reviews].count("loop") == 1
    assert len(judge.calls) == 11


def test_in_enforce_a_loop_of_the_critic_ends_and_lets_nothing_out(telemetry: Telemetry) -> None:
    judge = Chat(answers=[APPROVE])
    DraftCriticInstrumentor().instrument(
        **telemetry.providers, mode="enforce", model=BARE_THREADS["thread"](judge), on_failure="refuse"
    )
    assert DRAFT not in Chat(answers=[DRAFT]).invoke("q").text
    assert len(judge.calls) == 11


@pytest.mark.parametrize("history", [False, True])
def test_a_user_who_repeats_the_critics_question_is_still_reviewed(history: bool, telemetry: Telemetry) -> None:
    class Repeating(Chat):
        def _generate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
            self.calls.append(messages)
            text = json.dumps({"verdict": "refuse", "refusal_message": "\n".join(m.text for m in messages)})
            return Chat(answers=[text])._generate(messages)

    critic = Repeating(answers=["x"])
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic)
    refused = Chat(answers=[DRAFT]).invoke("q").text
    boundary = re.search("^Boundary: (.+)$", critic.calls[0][-1].text, re.MULTILINE)[1]
    assert boundary not in refused
    prompt: Any = f"again? {critic.calls[0][-1].text}"
    if history:
        prompt = [HumanMessage("q"), AIMessage(critic.calls[0][-1].text), HumanMessage("again?")]
    assert DRAFT not in Chat(answers=[DRAFT]).invoke(prompt).text
    assert len(critic.calls) == 2
    for _ in range(12):
        assert DRAFT not in Chat(answers=[DRAFT]).invoke(prompt).text
    assert len(critic.calls) == 11
    assert Chat(answers=["Another one."]).invoke("another user").text != "Another one."
    assert len(critic.calls) == 12
    assert [r["draftcritic.gate.reason"] for r in telemetry.reviews()].count("loop") == 3


@pytest.mark.parametrize("lazily", ["in the model", "in a hook"])
def test_a_worker_that_starts_inside_the_critics_call_is_reviewed_afterwards(lazily: str, telemetry: Telemetry) -> None:
    async def main() -> list[str]:
        inbox: asyncio.Queue[Any] = asyncio.Queue()

        async def work() -> None:
            while True:
                ask, answer = await inbox.get()
                answer.set_result((await Chat(answers=[DRAFT]).ainvoke(ask)).text)

        tasks: list[Any] = []

        class Starting(Chat):
            async def _agenerate(self, messages: Any, *args: Any, **kwargs: Any) -> Any:
                if lazily == "in the model" and not tasks:
                    tasks.append(asyncio.ensure_future(work()))
                return self._generate(messages)

        class Hook:
            async def on_llm_start(self, *_: Any) -> None:
                if lazily == "in a hook" and not tasks:
                    tasks.append(asyncio.ensure_future(work()))

            async def on_llm_end(self, *_: Any) -> None:
                pass

        critic = Starting(answers=[json.dumps({"verdict": "refuse", "refusal_message": "No."})])
        bound = critic if lazily == "in a hook" else RunnableLambda(critic.ainvoke)
        DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=bound, hooks=[Hook()])
        texts = [(await Chat(answers=[DRAFT]).ainvoke("q")).text]
        for user in ("a", "b"):
            answer: asyncio.Future[str] = asyncio.get_running_loop().create_future()
            inbox.put_nowait((user, answer))
            texts.append(await answer)
        for task in tasks:
            task.cancel()
        return texts

    assert asyncio.run(main()) == ["No."] * 3


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

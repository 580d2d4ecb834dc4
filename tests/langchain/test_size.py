"""How much memory a draft is taken to hold while it waits: all its texts, roughly, and without any work on them."""

from __future__ import annotations

from contextvars import copy_context
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate, PromptTemplate

from draftcritic.langchain import Answer, CapturedDraft

BIG = "x" * 100_000
CALL = {"name": "find", "args": {"query": {"words": [BIG]}}, "id": "c1"}


class Stubborn:
    """Says nothing about itself, as a table of data may."""

    def __bool__(self) -> bool:
        raise ValueError

    def __len__(self) -> int:
        raise ValueError


def size(prompt: Any = "", answer: BaseMessage | None = None, metadata: Any = None) -> int:
    return CapturedDraft(
        model=None,
        prompt=prompt,
        answers=[Answer.of(answer or AIMessage("Yes."))],
        call_kwargs={},
        metadata=metadata or {},
        run_id="",
        origin=None,
        context=copy_context(),
    ).size()


@pytest.mark.parametrize(
    "prompt",
    [
        BIG,
        [HumanMessage(BIG)],
        (HumanMessage(BIG),),
        [("human", BIG)],
        [{"role": "user", "content": BIG}],
        [[HumanMessage(BIG)]],
        ChatPromptTemplate.from_messages([("human", "{q}")]).invoke({"q": BIG}),
        PromptTemplate.from_template("{q}").invoke({"q": BIG}),
        [HumanMessage([{"type": "text", "text": BIG}])],
        [HumanMessage([{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{BIG}"}}])],
        [HumanMessage([{"type": "image", "base64": BIG, "mime_type": "image/png"}])],
        [HumanMessage("q", additional_kwargs={"file": BIG.encode()})],
        [AIMessage("", tool_calls=[CALL])],
        [AIMessage("a", response_metadata={"logprobs": [BIG]})],
        [ToolMessage("ok", tool_call_id="c1", artifact=BIG)],
        [ToolMessage("ok", tool_call_id="c1", artifact=[Document(BIG, metadata={"score": 1.0})])],
    ],
    ids=lambda prompt: type(prompt).__name__,
)
def test_a_text_counts_wherever_it_stands_in_the_prompt(prompt: Any) -> None:
    assert 100_000 < size(prompt) < 102_000


def test_the_answer_and_the_metadata_of_the_run_count_too() -> None:
    assert 200_000 < size(answer=AIMessage([{"type": "text", "text": BIG}]), metadata={"docs": [BIG]}) < 202_000


def test_what_stands_twice_or_in_a_ring_counts_once() -> None:
    ring: dict[str, Any] = {"text": BIG}
    ring["self"] = ring
    block = [{"type": "text", "text": BIG}]
    assert 100_000 < size(metadata=ring) < 102_000
    assert 100_000 < size([HumanMessage("q", additional_kwargs={"a": block, "b": block})]) < 102_000


def test_what_is_no_text_counts_nothing_and_is_not_asked() -> None:
    stubborn = ToolMessage("ok", tool_call_id="c1", artifact=Stubborn())
    assert size([stubborn, HumanMessage("q", additional_kwargs={"table": Stubborn()})]) < 2000
    odd = AIMessage("a")
    odd.additional_kwargs = 7  # type: ignore[assignment]
    assert size([odd]) < 2000
    assert size(metadata={"table": Stubborn(), "number": 10**9, "none": None}) < 2000


def test_the_work_has_a_bound() -> None:
    assert 100_000_000 > size([HumanMessage("x" * 4000)] * 100_000) > 50_000_000
    assert size([[number] * 10 for number in range(100_000)]) < 2000

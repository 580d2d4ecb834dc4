"""The plugin as an application meets it in code: switched on, switched off, badly set, next to itself."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.retrievers import BaseRetriever
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry, labels

from draftcritic import DraftCriticInstrumentor, Settings
from draftcritic._runtime import current

DRAFT = "Your parcel is on its way."
REFUSE = '{"verdict": "refuse", "refusal_message": "No."}'
METHODS = [
    name for name in (
        "_generate_with_cache", "_agenerate_with_cache", "stream", "astream", "_iter_v2_events", "_aiter_v2_events",
        "invoke", "ainvoke", "generate", "agenerate",
    ) if hasattr(BaseChatModel, name)
]  # fmt: skip


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    if DraftCriticInstrumentor().is_instrumented_by_opentelemetry:
        DraftCriticInstrumentor().uninstrument()


def start(telemetry: Telemetry, **settings: Any) -> DraftCriticInstrumentor:
    plugin = DraftCriticInstrumentor()
    plugin.instrument(**telemetry.providers, **settings)
    return plugin


def test_a_review_in_the_background(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE], model_name="claude-haiku-4-5-20251001")
    plugin = start(telemetry, model=critic)
    assert StreamingChat(answers=[DRAFT]).invoke("Where is it?").text == DRAFT
    assert plugin.flush(10)
    (review,) = telemetry.reviews()
    assert review["draftcritic.verdict"] == "refuse"
    assert review["draftcritic.verdict.source"] == "reflection"
    assert review["draftcritic.action"] == "recorded"
    assert review["draftcritic.gate.reason"] == "low_confidence"
    assert review["draftcritic.sku"] == "claude-haiku-4-5"
    assert review["draftcritic.draft.sku"] == "gpt-4o-mini"
    assert len(critic.calls) == 1


@pytest.mark.parametrize("background", [True, False])
async def test_a_review_of_a_coroutine(background: bool, telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE])
    plugin = start(telemetry, model=critic, background=background)
    assert (await StreamingChat(answers=[DRAFT]).ainvoke("Where is it?")).text == DRAFT
    assert "".join([c.text async for c in StreamingChat(answers=["Hi"]).astream("Hello")]) == "Hi"
    assert await asyncio.to_thread(plugin.flush, 10)
    assert [r["draftcritic.verdict"] for r in telemetry.reviews()] == ["refuse", "refuse"]
    assert {r["draftcritic.draft.streamed"] for r in telemetry.reviews()} == {False, True}


def test_the_drafts_own_model_is_asked_without_a_model_setting(telemetry: Telemetry) -> None:
    model = Chat(answers=[DRAFT, REFUSE])
    plugin = start(telemetry)
    bound = model.bind_tools([Chat])
    assert bound.invoke("Where is it?").text == DRAFT
    assert plugin.flush(10)
    assert len(model.calls) == 2
    assert list(model.kwargs_seen[0]) == ["tools"]
    assert model.kwargs_seen[1] == {}
    (review,) = telemetry.reviews()
    assert review["draftcritic.verdict"] == "refuse"
    decisions = telemetry.values("draftcritic.gate.decisions")
    assert decisions[labels(gate__decision="not_evaluated", gate__reason="nested")] == 1


def test_gate_mode_asks_no_model(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE])
    plugin = start(telemetry, mode="gate", model=critic, selective_gate=True)
    for draft in (DRAFT, "You're welcome!"):
        Chat(answers=[draft]).invoke("x")
    plugin.flush(10)
    assert critic.calls == []
    assert sorted((r["draftcritic.gate.decision"], r["draftcritic.outcome"]) for r in telemetry.reviews()) == [
        ("fired", "gate_only"),
        ("skipped", "skipped"),
    ]
    assert not [r for r in telemetry.reviews() if "draftcritic.verdict" in r]
    assert {r["draftcritic.mode"] for r in telemetry.reviews()} == {"gate"}


def test_no_draft_is_recorded_and_never_asked_about(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE])
    plugin = start(telemetry, model=critic)
    call = {"name": "look_up", "args": {}, "id": "1"}
    Chat(answers=[AIMessage("Let me look.", tool_calls=[call])]).invoke("x")
    Chat(answers=[""]).invoke("x")
    Chat(answers=['{"a": 1}']).bind(response_format={"type": "json_object"}).invoke("x")
    plugin.flush(10)
    assert critic.calls == []
    for review in telemetry.reviews():
        assert review["draftcritic.gate.decision"] == "not_evaluated"
        assert review["draftcritic.gate.reason"] == "not_a_draft"
        assert "draftcritic.verdict" not in review
    assert len(telemetry.reviews()) == 3
    assert not telemetry.counted("draftcritic.reviews")


def test_an_abandoned_stream_is_recorded_and_spends_no_call(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE])
    plugin = start(telemetry, model=critic)
    stream = StreamingChat(answers=[DRAFT]).stream("x")
    next(stream)
    stream.close()
    plugin.flush(10)
    assert [r["draftcritic.gate.reason"] for r in telemetry.reviews()] == ["abandoned"]
    assert critic.calls == []


def test_a_full_queue_drops_and_counts(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE], delay=0.3)
    plugin = start(telemetry, model=critic, queue_size=1, workers=1)
    for _ in range(6):
        Chat(answers=[DRAFT]).invoke("x")
    assert plugin.flush(10)
    dropped = telemetry.values("draftcritic.dropped")[labels(reason="queue_full")]
    series = labels(gate__decision="not_evaluated", gate__reason="queue_full")
    assert telemetry.values("draftcritic.gate.decisions")[series] == dropped > 0
    assert len(telemetry.reviews()) == len(critic.calls) == 6 - dropped


def test_what_the_end_of_the_process_drops_is_in_no_decision(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE], delay=0.3)
    plugin = start(telemetry, model=critic, workers=1, shutdown_timeout=0)
    for _ in range(3):
        Chat(answers=[DRAFT]).invoke("x")
    runtime = current()
    assert runtime is not None
    runtime.close()
    Chat(answers=[DRAFT]).invoke("x")
    assert telemetry.values("draftcritic.dropped")[labels(reason="shutdown")] == 4
    decisions = telemetry.values("draftcritic.gate.decisions")
    assert decisions[labels(gate__decision="not_evaluated", gate__reason="queue_full")] == 0
    plugin.uninstrument()


def test_a_draft_that_a_full_queue_does_not_take_is_not_even_looked_at(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE], delay=0.3)
    plugin = start(telemetry, model=critic, queue_size=1, workers=1)
    looked_at = []

    class Counted(AIMessage):
        @property
        def invalid_tool_calls(self) -> Any:
            looked_at.append(self.id)
            return []

    for _ in range(6):
        looked_at.clear()
        Chat(answers=[Counted(DRAFT)]).invoke("x")
    assert looked_at == []
    assert plugin.flush(10)


async def test_each_draft_of_a_full_queue_is_counted_on_every_path(telemetry: Telemetry) -> None:
    critic = Chat(answers=[REFUSE], delay=0.3)
    plugin = start(telemetry, model=critic, queue_size=1, workers=1)
    model = StreamingChat(answers=[DRAFT])
    for _ in range(3):
        model.batch(["x", "y"])
        await model.abatch(["x", "y"])
        assert list(model.stream("x"))
        assert [chunk async for chunk in model.astream("x")]
        left = model.stream("x")
        next(left)
        left.close()
    assert await asyncio.to_thread(plugin.flush, 10)
    dropped = telemetry.values("draftcritic.dropped")[labels(reason="queue_full")]
    assert dropped >= 10
    assert len(telemetry.reviews()) + dropped == 21


def test_a_failing_critic_changes_nothing(telemetry: Telemetry) -> None:
    plugin = start(telemetry, model=Chat(answers=[""], error=ConnectionError("down")))
    assert Chat(answers=[DRAFT]).invoke("x").text == DRAFT
    plugin.flush(10)
    (review,) = telemetry.reviews()
    assert review["draftcritic.failure"] == "error"
    assert review["draftcritic.action"] == "failed_open"
    assert review["draftcritic.outcome"] == "failed"
    assert "draftcritic.verdict" not in review
    assert not telemetry.logs


def test_a_model_that_cannot_be_had_is_a_failure_of_the_critic(telemetry: Telemetry) -> None:
    plugin = start(telemetry, model="nobody:nothing")
    assert Chat(answers=[DRAFT]).invoke("x").text == DRAFT
    plugin.flush(10)
    assert [r["draftcritic.failure"] for r in telemetry.reviews()] == ["error"]


def test_twice_on_is_once(telemetry: Telemetry) -> None:
    plugin = start(telemetry, mode="gate")
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="gate")
    Chat(answers=[DRAFT]).invoke("x")
    plugin.flush(10)
    assert len(telemetry.reviews()) == 1


def test_off_leaves_nothing_behind(telemetry: Telemetry) -> None:
    before = {
        (owner, name): (owner.__dict__[name], owner.__dict__[name].__code__, dict(owner.__dict__[name].__dict__))
        for owner, names in ((BaseChatModel, METHODS), (BaseRetriever, ["invoke", "ainvoke"]))
        for name in names
    }
    for _ in range(2):
        plugin = start(telemetry, mode="gate", retriever_activation=True)
        assert BaseChatModel.__dict__["stream"].__code__ is not before[BaseChatModel, "stream"][1]
        plugin.uninstrument()
        for (owner, name), (function, code, attributes) in before.items():
            assert owner.__dict__[name] is function
            assert function.__code__ is code
            assert function.__dict__ == attributes
    Chat(answers=[DRAFT]).invoke("x")
    assert telemetry.reviews() == []


def test_the_methods_keep_their_kind_and_signature(telemetry: Telemetry) -> None:
    signatures = {name: inspect.signature(getattr(BaseChatModel, name)) for name in METHODS}
    start(telemetry, mode="gate")
    assert {name: inspect.signature(getattr(BaseChatModel, name)) for name in METHODS} == signatures
    assert inspect.iscoroutinefunction(BaseChatModel._agenerate_with_cache)
    assert inspect.isgeneratorfunction(BaseChatModel.stream)
    assert inspect.isasyncgenfunction(BaseChatModel.astream)


def test_mode_off_patches_nothing(telemetry: Telemetry) -> None:
    code = BaseChatModel.stream.__code__
    start(telemetry, mode="off")
    assert BaseChatModel.stream.__code__ is code


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"mode": "enforce", "background": True}, "background"),
        ({"mode": "sometimes"}, "mode"),
        ({"timeout": -1}, "timeout"),
        ({"tiemout": 3}, "tiemout"),
    ],
)
def test_a_bad_setting_logs_one_line_and_stays_off(
    settings: Any, told: str, telemetry: Telemetry, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.INFO):
        start(telemetry, **settings)
    (record,) = caplog.records
    assert record.name == "draftcritic"
    assert record.levelname == "ERROR"
    assert told in record.getMessage()
    assert "\n" not in record.getMessage()
    assert Chat(answers=[DRAFT]).invoke("x").text == DRAFT
    assert telemetry.reviews() == []


def test_ready_settings_are_taken(telemetry: Telemetry) -> None:
    plugin = start(telemetry, settings=Settings(mode="gate", background=False))
    Chat(answers=[DRAFT]).generate([[HumanMessage("x")], [HumanMessage("y")]])
    assert len(telemetry.reviews()) == 2
    assert plugin.flush()


def test_the_review_hangs_below_the_callers_span(telemetry: Telemetry) -> None:
    plugin = start(telemetry, mode="gate")
    tracer = telemetry.tracer
    with tracer.start_as_current_span("turn") as turn:
        stream = StreamingChat(answers=[DRAFT]).stream("x")
        next(stream)
        with tracer.start_as_current_span("meanwhile"):
            pass
        list(stream)
    plugin.flush(10)
    spans = {span.name: span for span in telemetry.spans}
    assert spans["draftcritic.review"].parent.span_id == turn.get_span_context().span_id
    assert spans["meanwhile"].parent.span_id == turn.get_span_context().span_id


def test_hooks_by_code(telemetry: Telemetry) -> None:
    heard: list[Any] = []

    class Hook:
        async def on_llm_start(self, model: str, messages: Any, run_id: str) -> None:
            heard.append(("start", model, len(messages), bool(run_id)))

        async def on_llm_end(self, model: str, output: str, usage: Any, run_id: str) -> None:
            heard.append(("end", model, output, dict(usage), bool(run_id)))

    plugin = start(telemetry, model=Chat(answers=[REFUSE], model_name="critic-1"), hooks=[Hook()])
    Chat(answers=[DRAFT]).invoke("x")
    plugin.flush(10)
    assert heard == [("start", "critic-1", 18, True), ("end", "critic-1", REFUSE, {}, True)]


@pytest.mark.parametrize("model", ["openai:gpt-4.1-nano-2025-04-14", Chat(answers=["x"], model_name="gpt-4.1-nano")])
def test_the_configured_models_series_start_at_zero(model: Any, telemetry: Telemetry) -> None:
    with telemetry.tracer.start_as_current_span("some other work"):
        start(telemetry, model=model)
    series = telemetry.values("draftcritic.reviews")
    zeros = {
        dict(key)["draftcritic.verdict"]: value
        for key, value in series.items()
        if ("draftcritic.sku", "gpt-4.1-nano") in key
    }
    assert zeros == {"approve": 0, "revise": 0, "refuse": 0, "none": 0}


def test_the_gauges_last_as_long_as_the_plugin_is_on(telemetry: Telemetry) -> None:
    for _ in range(2):
        plugin = start(telemetry, mode="gate")
        for _ in range(2):
            assert telemetry.values("draftcritic.policy.loaded") == {labels(): 1}
            assert telemetry.values("draftcritic.queue.depth") == {labels(): 0}
        plugin.uninstrument()
        assert telemetry.values("draftcritic.policy.loaded") == {}
        assert telemetry.values("draftcritic.queue.depth") == {}


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_starting_and_stopping_again_and_again_leaves_nothing_behind(
    mode: str, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Hook:
        async def on_llm_start(self, *_: Any) -> None: ...

        async def on_llm_end(self, *_: Any) -> None: ...

    class Async(Chat):
        async def _agenerate(self, *args: Any, **kwargs: Any) -> Any:
            return self._generate(*args, **kwargs)

    registered: list[Any] = []
    monkeypatch.setattr(os, "register_at_fork", lambda **handlers: registered.append(handlers), raising=False)
    monkeypatch.setattr(threading, "_register_atexit", registered.append, raising=False)

    def turn(number: int) -> None:
        plugin = start(telemetry, mode=mode, model=Async(answers=[REFUSE]), hooks=[Hook()], reload_interval=1)
        Chat(answers=[f"{DRAFT} {number}"]).invoke("q")
        asyncio.run(Chat(answers=[f"{DRAFT} {number}"]).ainvoke("q"))
        assert plugin.flush(20)
        plugin.uninstrument()

    turn(0)
    before, once = set(threading.enumerate()), len(registered)
    for number in range(1, 15):
        turn(number)
    deadline = time.monotonic() + 10
    while (left := set(threading.enumerate()) - before) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert left == set()
    assert len(registered) == once

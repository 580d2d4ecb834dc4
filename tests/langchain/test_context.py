"""Where reviews stand in the caller's traces, what the caller's context keeps, and what stays behind: nothing."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Iterator
from typing import Any, TypedDict

import pytest
from langchain_core.messages import AIMessage
from opentelemetry import baggage, context, trace
from opentelemetry.sdk.trace import SpanProcessor
from support.chat import Chat, StreamingChat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor

DRAFT = "Your parcel is on its way."


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


def start(telemetry: Telemetry, **settings: Any) -> Chat:
    critic = Chat(answers=['{"verdict": "approve"}'])
    DraftCriticInstrumentor().instrument(**telemetry.providers, model=critic, **settings)
    return critic


def review_spans(telemetry: Telemetry) -> list[Any]:
    assert DraftCriticInstrumentor().flush(20)
    return telemetry.review_spans


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_calls_one_after_the_other_are_siblings(mode: str, telemetry: Telemetry) -> None:
    start(telemetry, mode=mode)

    async def main() -> None:
        for number in range(5):
            await Chat(answers=[f"Parcel {number} is on its way."]).ainvoke("q")

    asyncio.run(main())
    spans = review_spans(telemetry)
    assert [span.parent for span in spans] == [None] * 5
    assert len({span.context.trace_id for span in spans}) == 5


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_every_span_that_was_started_has_ended(mode: str, telemetry: Telemetry) -> None:
    class Counter(SpanProcessor):
        started = 0

        def on_start(self, span: Any, parent_context: Any = None) -> None:
            self.started += 1

    counter = Counter()
    telemetry.tracer_provider.add_span_processor(counter)
    start(telemetry, mode=mode)
    for number in range(100):
        list(StreamingChat(answers=[f"Parcel {number} is on its way."]).stream("q"))
    assert len(review_spans(telemetry)) == counter.started == 100


def test_a_half_read_stream_leaves_the_callers_context_alone(telemetry: Telemetry) -> None:
    start(telemetry, mode="gate")
    tracer = telemetry.tracer
    seen: list[Any] = []

    class Looking(StreamingChat):
        def _stream(self, *args: Any, **kwargs: Any) -> Any:
            for chunk in super()._stream(*args, **kwargs):
                seen.append(baggage.get_baggage("tenant"))
                yield chunk

    with tracer.start_as_current_span("turn") as turn:
        stream = Looking(answers=[DRAFT]).stream("q")
        next(stream)
        assert trace.get_current_span() is turn
        token = context.attach(baggage.set_baggage("tenant", "b"))
        next(stream)
        context.detach(token)
        with tracer.start_as_current_span("meanwhile") as meanwhile:
            assert meanwhile.parent.span_id == turn.get_span_context().span_id  # type: ignore[attr-defined]
        del stream
        gc.collect()
        assert trace.get_current_span() is turn
    assert seen[:2] == [None, "b"]
    (review,) = review_spans(telemetry)
    assert review.parent.span_id == turn.get_span_context().span_id


def test_a_context_that_cannot_be_attached_is_no_trouble_of_the_caller(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
) -> None:
    start(telemetry, mode="enforce")

    class Broken:
        def get_current(self) -> Any:
            return context.Context()

        def attach(self, *_: Any) -> Any:
            raise RuntimeError("attach")

        def detach(self, *_: Any) -> Any:
            raise RuntimeError("detach")

    monkeypatch.setattr(context, "_RUNTIME_CONTEXT", Broken())
    assert Chat(answers=[DRAFT]).invoke("q").text == DRAFT
    assert "".join(chunk.text for chunk in StreamingChat(answers=[DRAFT]).stream("q")) == DRAFT


def test_threads_without_a_context(telemetry: Telemetry) -> None:
    start(telemetry)
    said: list[str] = []
    with telemetry.tracer.start_as_current_span("turn"):
        threads = [
            threading.Thread(target=lambda n=n: said.append(Chat(answers=[f"Parcel {n} is here."]).invoke("q").text))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(said) == 8
    spans = review_spans(telemetry)
    assert [span.parent for span in spans] == [None] * 8
    assert {span.attributes["draftcritic.verdict"] for span in spans} == {"approve"}


@pytest.mark.parametrize("mode", ["observe", "enforce"])
def test_nothing_of_a_turn_is_kept(mode: str, telemetry: Telemetry) -> None:
    """However a call ends: read, left, or broken off."""
    critic = start(telemetry, mode=mode)
    kept: list[Any] = []

    class Watched(AIMessage):
        pass

    def turn(number: int) -> None:
        message = Watched(f"Parcel {number} is on its way.")
        kept.append(weakref.ref(message))
        model = StreamingChat(answers=[message], fail_after=1 if number % 3 == 1 else None)
        stream = model.stream("q", config={"metadata": {"turn": message}})
        if number % 3 == 0:
            list(stream)
        elif number % 3 == 1:
            with pytest.raises(ConnectionError):
                list(stream)
        else:
            next(stream)
            stream.close()

    for number in range(60):
        if mode == "enforce" and number % 3 == 1:
            continue  # held back, a stream is asked for as a whole
        turn(number)
    assert DraftCriticInstrumentor().flush(20)
    critic.calls.clear()
    gc.collect()
    # The last review's frame may still be on its way out of its thread.
    assert sum(reference() is not None for reference in kept) <= 2


def test_structured_batches_are_alike_each_time(telemetry: Telemetry) -> None:
    class Parcel(TypedDict):
        place: str

    critic = start(telemetry)
    call = {"name": "Parcel", "args": {"place": "x"}, "id": "1"}
    chain = Chat(answers=[AIMessage("", tool_calls=[call])]).with_structured_output(Parcel)
    for _ in range(2):
        assert chain.batch(["a", "b"]) == [{"place": "x"}] * 2
    spans = review_spans(telemetry)
    assert [span.attributes["draftcritic.gate.reason"] for span in spans] == ["not_a_draft"] * 4
    assert critic.calls == []

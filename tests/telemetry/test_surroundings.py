"""Around the critic's call: what is traced inside hangs under the review, is marked, and nothing is left attached."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections.abc import Iterator
from threading import Thread

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.context import Context
from support.telemetry import TURN, Harness, review

INFERENCE = "opentelemetry.genai.client.inference.context"


@pytest.fixture(autouse=True)
def nothing_on_the_context_logger(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    with caplog.at_level(logging.DEBUG, "opentelemetry.context"):
        yield
    assert not [record for record in caplog.records if record.name == "opentelemetry.context"]


def test_a_span_started_inside_is_a_marked_child(harness: Harness) -> None:
    record = harness.recorder.begin(TURN, harness.recorder.capture())
    with record.calling(), harness.tracer.start_as_current_span("chat"):
        harness.tracer.start_span("POST").end()
    record.finish(review())
    post, chat, reviewed = harness.spans
    assert chat.parent == reviewed.context
    assert chat.attributes["draftcritic.internal"] is True
    assert post.attributes["draftcritic.internal"] is True
    assert "draftcritic.internal" not in reviewed.attributes


def test_a_span_with_an_explicit_parent_from_elsewhere_is_marked_too(harness: Harness) -> None:
    record = harness.recorder.begin(TURN, None)
    with record.calling():
        harness.tracer.start_span("detached", context=Context()).end()
    assert harness.spans[0].attributes["draftcritic.internal"] is True


def test_spans_before_after_and_beside_the_call_are_not_marked(harness: Harness) -> None:
    record = harness.recorder.begin(TURN, None)
    harness.tracer.start_span("before").end()
    with record.calling():
        Thread(target=lambda: harness.tracer.start_span("elsewhere").end()).start()
    harness.tracer.start_span("after").end()
    record.finish(review())
    assert {span.name for span in harness.spans if "draftcritic.internal" in span.attributes} == set()


def test_the_open_model_call_of_the_application_is_hidden_inside_and_restored_after(harness: Harness) -> None:
    token = context_api.attach(context_api.set_value(INFERENCE, "the draft's call"))
    record = harness.recorder.begin(TURN, harness.recorder.capture())
    with record.calling():
        assert context_api.get_value(INFERENCE) is None
    assert context_api.get_value(INFERENCE) == "the draft's call"
    context_api.detach(token)


def test_the_context_before_is_the_context_after_also_when_the_call_raises(harness: Harness) -> None:
    record = harness.recorder.begin(TURN, None)
    with harness.tracer.start_as_current_span("worker") as worker:
        with pytest.raises(TimeoutError), record.calling():
            raise TimeoutError
        assert trace.get_current_span() is worker


async def test_a_coroutine_keeps_its_surroundings_over_awaits_and_to_itself(harness: Harness) -> None:
    async def critic(name: str) -> None:
        record = harness.recorder.begin(TURN, None)
        with record.calling():
            await asyncio.sleep(0)
            harness.tracer.start_span(name).end()
            await asyncio.sleep(0)
        assert trace.get_current_span() is trace.INVALID_SPAN
        record.finish(review())

    await asyncio.gather(*(critic(f"chat {number}") for number in range(8)))
    chats = [span for span in harness.spans if span.name.startswith("chat")]
    reviews = [span.context.span_id for span in harness.review_spans]
    assert len(chats) == 8
    assert sorted(chat.parent.span_id for chat in chats) == sorted(reviews)


async def test_a_cancelled_coroutine_leaves_nothing_attached(harness: Harness) -> None:
    record = harness.recorder.begin(TURN, None)
    entered = asyncio.Event()

    async def critic() -> None:
        with record.calling():
            entered.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(critic())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_coroutine_that_is_closed_from_another_context_logs_nothing(harness: Harness) -> None:
    record = harness.recorder.begin(TURN, None)

    class Pause:
        def __await__(self) -> Iterator[None]:
            yield

    async def critic() -> None:
        with record.calling():
            await Pause()

    coroutine = critic()
    contextvars.Context().run(coroutine.send, None)
    coroutine.close()
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_provider_is_given_one_processor_however_many_recorders_use_it(harness: Harness) -> None:
    from draftcritic.telemetry import TelemetryRecorder

    before = len(harness.tracer_provider._active_span_processor._span_processors)
    for _ in range(3):
        recorder = TelemetryRecorder(harness.tracer_provider, harness.meter_provider, harness.logger_provider)
        recorder.begin(TURN, None).finish(review())
    assert len(harness.tracer_provider._active_span_processor._span_processors) == before

"""The place of a draft in its trace travels as W3C trace context, flags included."""

from __future__ import annotations

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import TraceState
from support.sdk import Telemetry
from support.telemetry import TURN, skipped

from draftcritic.telemetry import TelemetryRecorder
from draftcritic.telemetry._context import Origin, pack_origin, unpack_origin


@pytest.fixture
def telemetry() -> Telemetry:
    return Telemetry()


def test_a_review_is_a_child_of_the_drafts_span_in_another_process(telemetry: Telemetry) -> None:
    recorder = TelemetryRecorder(**telemetry.providers)
    tracer = telemetry.providers["tracer_provider"].get_tracer("app")
    with tracer.start_as_current_span("chat", attributes={"gen_ai.operation.name": "chat"}) as span:
        packed = recorder.packed(recorder.capture())
    assert packed["traceparent"] == packed["evaluated"]
    recorder.begin(TURN, recorder.unpacked(packed)).finish(skipped())
    (review,) = [each for each in telemetry.spans if each.name == "draftcritic.review"]
    assert review.parent is not None
    assert (review.parent.trace_id, review.parent.span_id) == (
        span.get_span_context().trace_id,
        span.get_span_context().span_id,
    )
    assert review.parent.is_remote


def test_an_unsampled_trace_stays_unsampled(telemetry: Telemetry) -> None:
    recorder = TelemetryRecorder(**telemetry.providers)
    with TracerProvider(sampler=ALWAYS_OFF).get_tracer("app").start_as_current_span("chat"):
        packed = recorder.packed(recorder.capture())
    assert int(packed["traceparent"][-2:], 16) & 1 == 0
    recorder.begin(TURN, recorder.unpacked(packed)).finish(skipped())
    assert [each.name for each in telemetry.spans] == []


def test_the_state_of_the_trace_travels() -> None:
    state = TraceState([("vendor", "a"), ("other", "b")])
    span = trace.SpanContext(1, 2, is_remote=False, trace_flags=trace.TraceFlags(1), trace_state=state)
    context = trace.set_span_in_context(trace.NonRecordingSpan(span))
    arrived = unpack_origin(pack_origin(Origin(context)))
    found = trace.get_current_span(arrived.context).get_span_context()
    assert (found.trace_id, found.span_id, found.trace_flags, found.trace_state) == (1, 2, 1, state)


def test_a_draft_where_spans_are_suppressed_has_no_review_span(telemetry: Telemetry) -> None:
    recorder = TelemetryRecorder(**telemetry.providers)
    token = context_api.attach(context_api.set_value("suppress_instrumentation", True))
    try:
        packed = recorder.packed(recorder.capture())
    finally:
        context_api.detach(token)
    recorder.begin(TURN, recorder.unpacked(packed)).finish(skipped())
    assert [each.name for each in telemetry.spans] == []


@pytest.mark.parametrize("packed", [{}, {"traceparent": "nonsense"}, {"traceparent": f"00-{'0' * 32}-{'0' * 16}-01"}])
def test_a_draft_without_a_trace_begins_its_own(telemetry: Telemetry, packed: dict[str, str]) -> None:
    recorder = TelemetryRecorder(**telemetry.providers)
    recorder.begin(TURN, recorder.unpacked(packed)).finish(skipped())
    (review,) = telemetry.spans
    assert review.parent is None


def test_what_is_no_origin_packs_to_nothing() -> None:
    assert pack_origin(None) == {}


def test_a_workers_span_has_a_trace_of_its_own_and_a_link_to_the_draft(telemetry: Telemetry) -> None:
    recorder = TelemetryRecorder(**telemetry.providers)
    tracer = telemetry.providers["tracer_provider"].get_tracer("app")
    with tracer.start_as_current_span("chat") as span:
        packed = recorder.packed(recorder.capture())
    with recorder.processing(packed, "reviews", "a" * 32):
        recorder.begin(TURN, recorder.unpacked(packed)).finish(skipped())
        assert trace.get_current_span().get_span_context().is_valid
    assert not trace.get_current_span().get_span_context().is_valid
    (worker,) = [each for each in telemetry.spans if each.name == "process reviews"]
    (review,) = [each for each in telemetry.spans if each.name == "draftcritic.review"]
    draft = span.get_span_context()
    assert worker.parent is None
    assert worker.kind is trace.SpanKind.CONSUMER
    assert worker.context.trace_id != draft.trace_id
    assert [(link.context.trace_id, link.context.span_id) for link in worker.links] == [(draft.trace_id, draft.span_id)]
    assert worker.attributes == {
        "messaging.system": "rabbitmq",
        "messaging.operation.type": "process",
        "messaging.operation.name": "process",
        "messaging.destination.name": "reviews",
        "messaging.message.id": "a" * 32,
    }
    assert review.context.trace_id == draft.trace_id


def test_a_draft_of_an_unsampled_trace_has_no_workers_span(telemetry: Telemetry) -> None:
    recorder = TelemetryRecorder(**telemetry.providers)
    packed = {"traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"}
    with recorder.processing(packed, "reviews", "a" * 32):
        pass
    with recorder.processing({"suppressed": "1"}, "reviews", "a" * 32):
        pass
    assert telemetry.spans == []


def test_a_draft_without_a_trace_has_a_workers_span_without_a_link(telemetry: Telemetry) -> None:
    recorder = TelemetryRecorder(**telemetry.providers)
    with recorder.processing({}, "reviews", "a" * 32):
        pass
    (worker,) = telemetry.spans
    assert worker.links == ()


def test_what_a_review_raises_goes_through_the_workers_span(telemetry: Telemetry) -> None:
    recorder = TelemetryRecorder(**telemetry.providers)
    with pytest.raises(KeyError, match="secret"), recorder.processing({}, "reviews", "a" * 32):
        raise KeyError("secret")
    (worker,) = telemetry.spans
    assert worker.events == ()
    assert "secret" not in str(worker.status.description)

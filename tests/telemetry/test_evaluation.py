"""The log event `gen_ai.evaluation.result`, as it goes over the wire."""

from __future__ import annotations

import time
from uuid import uuid4

from opentelemetry._logs import SeverityNumber
from support.telemetry import Harness, failed, not_evaluated, review, skipped

from draftcritic.core import Failure


def test_a_verdict_exports_the_whole_event(harness: Harness) -> None:
    before = time.time_ns()
    harness.record(review())
    log = harness.log
    assert log.event_name == "gen_ai.evaluation.result"
    assert log.severity_number is SeverityNumber.INFO
    assert log.body is None
    assert before <= log.timestamp <= time.time_ns()
    assert dict(log.attributes) == {
        "gen_ai.evaluation.name": "draftcritic",
        "gen_ai.evaluation.score.label": "approve",
        "gen_ai.evaluation.score.value": 0.45,
        "gen_ai.response.id": "chatcmpl-1",
        "draftcritic.gate.reason": "sensitive_tag",
        "draftcritic.sku": "claude-haiku-4-5",
    }
    (exported,) = harness.log_exporter.get_finished_logs()
    assert exported.instrumentation_scope.name == "draftcritic"
    assert not exported.instrumentation_scope.schema_url


def test_it_stands_in_the_reviews_span(harness: Harness) -> None:
    harness.record(review())
    assert harness.log.trace_id == harness.span.context.trace_id
    assert harness.log.span_id == harness.span.context.span_id
    assert harness.log.trace_flags.sampled


def test_it_stands_in_the_evaluated_model_calls_span_when_that_is_known(harness: Harness) -> None:
    with harness.tracer.start_as_current_span("chat m", attributes={"gen_ai.operation.name": "chat"}) as chat:
        origin = harness.recorder.capture()
    harness.record(review(), origin)
    assert harness.log.span_id == chat.get_span_context().span_id
    assert harness.log.trace_id == harness.span.context.trace_id


def test_a_span_of_an_agent_is_no_model_call(harness: Harness) -> None:
    attributes = {"gen_ai.operation.name": "invoke_agent"}
    with harness.tracer.start_as_current_span("invoke_agent a", attributes=attributes):
        origin = harness.recorder.capture(uuid4())
    harness.record(review(), origin)
    assert harness.log.span_id == harness.span.context.span_id


def test_a_failure_says_what_ended_the_critic(harness: Harness) -> None:
    harness.record(failed(Failure.ERROR, "openai.APIError"))
    assert harness.log.attributes["error.type"] == "openai.APIError"
    assert harness.log.attributes["gen_ai.evaluation.score.label"] == "approve"
    assert harness.log.severity_number is SeverityNumber.INFO


def test_a_skipped_review_is_an_evaluation_without_a_model(harness: Harness) -> None:
    harness.record(skipped())
    assert harness.log.attributes["gen_ai.evaluation.score.label"] == "approve"
    assert harness.log.attributes["draftcritic.gate.reason"] == "trivial_ack"
    assert "draftcritic.sku" not in harness.log.attributes


def test_a_draft_that_was_not_evaluated_has_no_event(harness: Harness) -> None:
    harness.record(not_evaluated())
    assert not harness.logs

"""The log event `gen_ai.evaluation.result`, as it goes over the wire."""

from __future__ import annotations

import time
from typing import Any
from uuid import uuid4

import pytest
from opentelemetry._logs import SeverityNumber
from support.telemetry import CALL, Harness, failed, finding, not_evaluated, review, skipped

from draftcritic.core import (
    Assessment,
    Cancelled,
    Failed,
    Failure,
    Forced,
    GateDecision,
    GateOnly,
    GateReason,
    Judged,
    Limited,
    Mode,
    Muted,
    Review,
    Skipped,
    Verdict,
)
from draftcritic.telemetry import Capture


def test_a_verdict_exports_the_whole_event(harness: Harness) -> None:
    before = time.time_ns()
    harness.record(review())
    log = harness.log
    assert log.event_name == "gen_ai.evaluation.result"
    assert log.severity_number is SeverityNumber.INFO
    assert log.body is None
    assert before <= log.timestamp <= time.time_ns()
    assert dict(log.attributes) == {
        "gen_ai.evaluation.name": "draftcritic.reflection",
        "gen_ai.evaluation.score.label": "approve",
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


@pytest.mark.parametrize(
    "finished",
    [
        failed(),
        failed(Failure.ERROR, "openai.AuthenticationError"),
        skipped(),
        not_evaluated(),
        review(GateOnly()),
        review(Limited(closed=True, text="No.")),
        review(Muted()),
        review(Cancelled("asyncio.CancelledError", CALL)),
    ],
)
def test_a_review_without_a_verdict_has_no_event(harness: Harness, finished: Review) -> None:
    harness.record(finished)
    assert not harness.logs


def checked(outcome: Any = None, mode: Mode = Mode.OBSERVE) -> Review:
    assessment = Assessment(
        GateDecision.FIRED, GateReason.FABRICATION, (GateReason.FABRICATION,), 0.4, findings=(finding("A-9999"),)
    )
    return review(outcome, assessment, mode=mode)


@pytest.mark.parametrize(
    ("finished", "events"),
    [
        (checked(), [("draftcritic.reflection", "approve"), ("draftcritic.fabrication", "finding")]),
        (checked(GateOnly(), Mode.GATE), [("draftcritic.fabrication", "finding")]),
        (checked(Skipped()), [("draftcritic.fabrication", "finding")]),
        (checked(Failed(Failure.TIMEOUT)), [("draftcritic.fabrication", "finding")]),
        (checked(Forced(Verdict.REFUSE, "Safe.")), [("draftcritic.fabrication", "refuse")]),
        (
            checked(Forced(Verdict.REVISE, "Better.", Judged(Verdict.APPROVE, None, call=CALL))),
            [("draftcritic.reflection", "approve"), ("draftcritic.fabrication", "revise")],
        ),
        (review(), [("draftcritic.reflection", "approve")]),
    ],
)
def test_each_check_that_spoke_has_an_event(harness: Harness, finished: Review, events: list[tuple[str, str]]) -> None:
    harness.record(finished)
    logs = [dict(log.attributes) for log in harness.logs]
    assert [(log["gen_ai.evaluation.name"], log["gen_ai.evaluation.score.label"]) for log in logs] == events
    assert not [log for log in logs if "gen_ai.evaluation.score.value" in log]


@pytest.mark.parametrize("verdict", list(Verdict))
def test_the_reason_is_the_explanation_for_every_verdict_with_content_capture(verdict: Verdict) -> None:
    harness = Harness(Capture.SPAN_AND_EVENT)
    outcome = Judged(verdict, "Another text.", ("No promises.",), call=CALL, reason="it promises a date")
    harness.record(review(outcome))
    assert harness.log.attributes["gen_ai.evaluation.explanation"] == "it promises a date"
    assert harness.log.attributes["draftcritic.content.reason"] == "it promises a date"
    assert harness.span.attributes["draftcritic.content.reason"] == "it promises a date"


def test_the_reason_stays_inside_without_content_capture(harness: Harness) -> None:
    harness.record(review(Judged(Verdict.REFUSE, "No.", call=CALL, reason="SECRET reason")))
    everything = f"{harness.span.to_json()} {[log.attributes for log in harness.logs]} {harness.metrics()}"
    assert "SECRET" not in everything


def test_without_a_reason_the_named_rules_explain() -> None:
    harness = Harness(Capture.EVENT_ONLY)
    harness.record(review(Judged(Verdict.REVISE, "Another text.", ("No promises.", "Be exact."), call=CALL)))
    assert harness.log.attributes["gen_ai.evaluation.explanation"] == "No promises.; Be exact."


def test_findings_explain_themselves_with_content_capture() -> None:
    harness = Harness(Capture.EVENT_ONLY)
    harness.record(checked(GateOnly(), Mode.GATE))
    assert harness.log.attributes["gen_ai.evaluation.explanation"] == "kv: A-9999"

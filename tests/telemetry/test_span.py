"""The span `draftcritic.review`, its events and its status, as they go over the wire."""

from __future__ import annotations

from dataclasses import replace

import pytest
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.sdk.trace import SpanLimits
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode
from support.telemetry import CALL, FIRED, TURN, Harness, failed, finding, not_evaluated, review, skipped

from draftcritic.core import (
    Action,
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
    ModelCall,
    Muted,
    Turn,
    Usage,
    Verdict,
)


def test_a_judged_review_exports_the_whole_span(harness: Harness) -> None:
    checked = Assessment(
        GateDecision.FIRED,
        GateReason.SENSITIVE_TAG,
        (GateReason.SENSITIVE_TAG, GateReason.FABRICATION),
        confidence=0.45,
        sensitive_hit="refund",
        findings=(finding(kind="kv", confidence=0.8), finding(kind="uuid", confidence=0.95), finding(kind="kv")),
        threshold=0.6,
    )
    outcome = Judged(Verdict.REVISE, "I have not refunded it yet.", ("No promises.", "Be exact."), call=CALL)
    harness.record(review(outcome, checked))

    span = harness.span
    assert span.kind is SpanKind.INTERNAL
    assert span.instrumentation_scope.name == "draftcritic"
    assert not span.instrumentation_scope.schema_url
    assert span.status.status_code is StatusCode.UNSET
    assert dict(span.attributes) == {
        "draftcritic.verdict": "revise",
        "draftcritic.verdict.source": "reflection",
        "draftcritic.outcome": "judged",
        "draftcritic.action": "recorded",
        "draftcritic.mode": "observe",
        "draftcritic.confidence": 0.45,
        "draftcritic.confidence.threshold": 0.6,
        "draftcritic.gate.decision": "fired",
        "draftcritic.gate.reason": "sensitive_tag",
        "draftcritic.gate.signals": ("sensitive_tag", "fabrication"),
        "draftcritic.sensitive_tag": "refund",
        "draftcritic.sku": "claude-haiku-4-5",
        "draftcritic.draft.sku": "gpt-4o-mini",
        "draftcritic.model": "anthropic.claude-haiku-4-5-20251001-v1:0",
        "draftcritic.draft.model": "gpt-4o-mini-2024-07-18",
        "draftcritic.usage.input_tokens": 812,
        "draftcritic.usage.output_tokens": 41,
        "draftcritic.usage.cost_usd": 0.001017,
        "draftcritic.node_name": "metacognition_critic",
        "draftcritic.run_id": "0199a7c2-1111-7000-8000-000000000001",
        "draftcritic.policy.version": "8ab6571763b3",
        "draftcritic.draft.length": 31,
        "draftcritic.draft.streamed": True,
        "draftcritic.draft.exposed": False,
        "draftcritic.fabrication.count": 3,
        "draftcritic.fabrication.kinds": ("kv", "uuid"),
        "draftcritic.fabrication.max_confidence": 0.95,
        "draftcritic.preferences.matched": 2,
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.conversation.id": "conversation-1",
        "session.id": "session-1",
        "user.id": "user-1",
    }
    assert {name: type(value) for name, value in span.attributes.items()} == {
        "draftcritic.verdict": str,
        "draftcritic.verdict.source": str,
        "draftcritic.outcome": str,
        "draftcritic.action": str,
        "draftcritic.mode": str,
        "draftcritic.confidence": float,
        "draftcritic.confidence.threshold": float,
        "draftcritic.gate.decision": str,
        "draftcritic.gate.reason": str,
        "draftcritic.gate.signals": tuple,
        "draftcritic.sensitive_tag": str,
        "draftcritic.sku": str,
        "draftcritic.draft.sku": str,
        "draftcritic.model": str,
        "draftcritic.draft.model": str,
        "draftcritic.usage.input_tokens": int,
        "draftcritic.usage.output_tokens": int,
        "draftcritic.usage.cost_usd": float,
        "draftcritic.node_name": str,
        "draftcritic.run_id": str,
        "draftcritic.policy.version": str,
        "draftcritic.draft.length": int,
        "draftcritic.draft.streamed": bool,
        "draftcritic.draft.exposed": bool,
        "draftcritic.fabrication.count": int,
        "draftcritic.fabrication.kinds": tuple,
        "draftcritic.fabrication.max_confidence": float,
        "draftcritic.preferences.matched": int,
        "gen_ai.response.id": str,
        "gen_ai.conversation.id": str,
        "session.id": str,
        "user.id": str,
    }
    assert list(span.attributes)[-1] == "draftcritic.verdict"


def test_the_two_moments_of_the_call_are_events_in_order(harness: Harness) -> None:
    harness.record(review())
    start, end = harness.span.events
    assert (start.name, dict(start.attributes)) == (
        "on_llm_start",
        {
            "draftcritic.model": "anthropic.claude-haiku-4-5-20251001-v1:0",
            "draftcritic.sku": "claude-haiku-4-5",
            "draftcritic.node_name": "metacognition_critic",
            "draftcritic.run_id": "0199a7c2-1111-7000-8000-000000000001",
        },
    )
    assert (end.name, dict(end.attributes)) == (
        "on_llm_end",
        {
            "draftcritic.model": "anthropic.claude-haiku-4-5-20251001-v1:0",
            "draftcritic.sku": "claude-haiku-4-5",
            "draftcritic.usage.input_tokens": 812,
            "draftcritic.usage.output_tokens": 41,
            "draftcritic.usage.cost_usd": 0.001017,
            "draftcritic.finish_reason": "end_turn",
        },
    )
    assert start.timestamp <= end.timestamp


def test_a_failed_call_ends_with_its_error(harness: Harness) -> None:
    harness.record(failed(Failure.ERROR, "openai.APIConnectionError"))
    span = harness.span
    assert dict(span.events[1].attributes) == {
        "draftcritic.model": "anthropic.claude-haiku-4-5-20251001-v1:0",
        "draftcritic.sku": "claude-haiku-4-5",
        "error.type": "openai.APIConnectionError",
    }
    assert span.status.status_code is StatusCode.ERROR
    assert span.status.description is None
    assert span.attributes["error.type"] == "openai.APIConnectionError"
    assert span.attributes["draftcritic.failure"] == "error"
    assert "draftcritic.verdict" not in span.attributes
    assert span.attributes["draftcritic.verdict.source"] == "none"
    assert span.attributes["draftcritic.outcome"] == "failed"
    assert span.attributes["draftcritic.action"] == "failed_open"


@pytest.mark.parametrize(
    ("failure", "word"),
    [
        (Failure.TIMEOUT, "timeout"),
        (Failure.ERROR, "error"),
        (Failure.UNPARSABLE, "unparsable"),
        (Failure.AMBIGUOUS, "ambiguous"),
        (Failure.RATE_LIMITED, "rate_limited"),
    ],
)
def test_without_an_exception_the_failure_is_the_error_type(harness: Harness, failure: Failure, word: str) -> None:
    harness.record(failed(failure, None))
    assert harness.span.status.status_code is StatusCode.ERROR
    assert harness.span.attributes["error.type"] == word
    assert harness.span.attributes["draftcritic.failure"] == word


@pytest.mark.parametrize(
    ("outcome", "verdict", "source"),
    [
        (Judged(Verdict.APPROVE, None, call=CALL), "approve", "reflection"),
        (Judged(Verdict.REFUSE, "No.", call=CALL), "refuse", "reflection"),
        (Forced(Verdict.REFUSE, "Safe."), "refuse", "fabrication"),
        (Forced(Verdict.REVISE, None), "revise", "fabrication"),
        (GateOnly(), None, "none"),
        (Limited(), None, "none"),
        (Muted(), None, "none"),
        (Cancelled("asyncio.CancelledError", CALL), None, "none"),
    ],
)
def test_only_a_failure_is_an_error(harness: Harness, outcome: object, verdict: str, source: str) -> None:
    harness.record(review(outcome))
    span = harness.span
    assert span.status.status_code is StatusCode.UNSET
    assert span.attributes.get("draftcritic.verdict") == verdict
    assert span.attributes["draftcritic.verdict.source"] == source
    assert span.attributes["draftcritic.outcome"] == outcome.kind.value
    assert "error.type" not in span.attributes
    assert "draftcritic.failure" not in span.attributes


def test_a_reflection_that_findings_overrule_is_on_record(harness: Harness) -> None:
    failing = Failed(Failure.TIMEOUT, error_type="TimeoutError", call=CALL)
    harness.record(review(Forced(Verdict.REVISE, "Better.", overruled=failing)))
    span = harness.span
    assert span.attributes["draftcritic.verdict"] == "revise"
    assert span.attributes["draftcritic.verdict.source"] == "fabrication"
    assert span.attributes["draftcritic.failure"] == "timeout"
    assert span.attributes["error.type"] == "TimeoutError"
    assert span.attributes["draftcritic.usage.input_tokens"] == 812
    assert span.status.status_code is StatusCode.ERROR
    assert [event.name for event in span.events] == ["on_llm_start", "on_llm_end"]


def test_a_skipped_review_names_no_model_of_the_critic(harness: Harness) -> None:
    harness.record(skipped())
    span = harness.span
    assert not span.events
    assert dict(span.attributes) == {
        "draftcritic.verdict.source": "none",
        "draftcritic.outcome": "skipped",
        "draftcritic.action": "recorded",
        "draftcritic.mode": "observe",
        "draftcritic.confidence": 0.5,
        "draftcritic.confidence.threshold": 0.6,
        "draftcritic.gate.decision": "skipped",
        "draftcritic.gate.reason": "trivial_ack",
        "draftcritic.gate.signals": ("trivial_ack",),
        "draftcritic.draft.sku": "gpt-4o-mini",
        "draftcritic.draft.model": "gpt-4o-mini-2024-07-18",
        "draftcritic.node_name": "metacognition_critic",
        "draftcritic.run_id": "0199a7c2-1111-7000-8000-000000000001",
        "draftcritic.policy.version": "8ab6571763b3",
        "draftcritic.draft.length": 31,
        "draftcritic.draft.streamed": True,
        "draftcritic.draft.exposed": False,
        "gen_ai.response.id": "chatcmpl-1",
        "gen_ai.conversation.id": "conversation-1",
        "session.id": "session-1",
        "user.id": "user-1",
    }


def test_a_draft_that_was_not_evaluated_has_a_span_without_a_verdict(harness: Harness) -> None:
    harness.record(not_evaluated())
    attributes = dict(harness.span.attributes)
    assert attributes["draftcritic.gate.decision"] == "not_evaluated"
    assert attributes["draftcritic.gate.reason"] == "not_a_draft"
    assert not {name for name in attributes if name.startswith("draftcritic.confidence")}
    assert "draftcritic.verdict" not in attributes
    assert attributes["draftcritic.verdict.source"] == "none"
    assert harness.span.status.status_code is StatusCode.UNSET


def test_an_answer_of_another_review_and_a_prompt_that_was_cut_say_so(harness: Harness) -> None:
    call = replace(CALL, usage=Usage(), shared=True, omitted=1234)
    harness.record(review(Judged(Verdict.APPROVE, None, call=call)))
    attributes = dict(harness.span.attributes)
    assert attributes["draftcritic.shared"] is True
    assert attributes["draftcritic.prompt.omitted"] == 1234
    assert not {name for name in attributes if name.startswith("draftcritic.usage.")}
    assert harness.counted("draftcritic.tokens") == harness.counted("draftcritic.cost") == {}


def test_what_is_unknown_is_absent(harness: Harness) -> None:
    call = ModelCall(model="", sku="unknown", usage=Usage())
    harness.record(review(Judged(Verdict.APPROVE, None, call=call), turn=Turn(draft="Hi")))
    attributes = dict(harness.span.attributes)
    assert attributes["draftcritic.sku"] == "unknown"
    assert attributes["draftcritic.draft.sku"] == "unknown"
    absent = {
        "draftcritic.model",
        "draftcritic.draft.model",
        "draftcritic.usage.input_tokens",
        "draftcritic.usage.output_tokens",
        "draftcritic.usage.cost_usd",
        "draftcritic.run_id",
        "draftcritic.fabrication.count",
        "gen_ai.response.id",
        "gen_ai.conversation.id",
        "session.id",
        "user.id",
        "error.type",
    }
    assert not absent & attributes.keys()
    assert None not in attributes.values()


def test_the_recorders_threshold_stands_in_for_one_the_review_does_not_tell() -> None:
    harness = Harness(options={"threshold": 0.7})
    harness.record(review(assessment=Assessment(GateDecision.FIRED, GateReason.CLAIMS, confidence=0.4)))
    assert harness.span.attributes["draftcritic.confidence.threshold"] == 0.7


def test_the_enforcing_words_reach_the_span(harness: Harness) -> None:
    outcome = Judged(Verdict.REFUSE, "No.", call=CALL)
    harness.record(review(outcome, mode=Mode.ENFORCE, action=Action.BLOCKED))
    assert harness.span.attributes["draftcritic.mode"] == "enforce"
    assert harness.span.attributes["draftcritic.action"] == "blocked"


def test_a_limit_of_32_attributes_keeps_everything_but_content() -> None:
    from draftcritic.telemetry import Capture

    harness = Harness(span_limits=SpanLimits(max_span_attributes=32), capture=Capture.SPAN_ONLY)
    checked = Assessment(
        GateDecision.FIRED,
        GateReason.SENSITIVE_TAG,
        FIRED.signals,
        confidence=0.45,
        sensitive_hit="refund",
        findings=(finding(),),
        threshold=0.6,
    )
    outcome = Failed(Failure.UNPARSABLE, True, "No.", "ValueError", CALL)
    harness.record(review(outcome, checked, action=Action.FAILED_CLOSED))
    span = harness.span
    assert span.dropped_attributes == 3
    assert len(span.attributes) == 32
    assert span.attributes["draftcritic.outcome"] == "failed"
    assert span.attributes["user.id"] == "user-1"
    assert not {name for name in span.attributes if name.startswith("draftcritic.content.")}


def test_a_limit_of_8_attributes_keeps_the_decision() -> None:
    harness = Harness(span_limits=SpanLimits(max_span_attributes=8))
    harness.record(failed())
    assert set(harness.span.attributes) == {
        "draftcritic.outcome",
        "draftcritic.verdict.source",
        "draftcritic.action",
        "draftcritic.gate.reason",
        "draftcritic.gate.decision",
        "error.type",
        "draftcritic.failure",
        "draftcritic.mode",
    }


def test_the_span_hangs_where_the_draft_was_captured_and_not_where_the_critic_runs(harness: Harness) -> None:
    with harness.tracer.start_as_current_span("agent") as agent:
        origin = harness.recorder.capture()
    with harness.tracer.start_as_current_span("elsewhere"):
        harness.record(review(), origin)
    assert harness.span.parent == agent.get_span_context()
    assert harness.span.context.trace_id == agent.get_span_context().trace_id


def test_a_capture_outside_of_any_span_makes_a_root_wherever_the_critic_runs(harness: Harness) -> None:
    origin = harness.recorder.capture()
    with harness.tracer.start_as_current_span("elsewhere"):
        harness.record(review(), origin)
    assert harness.span.parent is None


def test_the_applications_span_is_left_as_it_is(harness: Harness) -> None:
    with harness.tracer.start_as_current_span("agent"):
        harness.record(failed(), harness.recorder.capture())
    (agent,) = [span for span in harness.spans if span.name == "agent"]
    assert agent.status.status_code is StatusCode.UNSET
    assert not agent.attributes
    assert not agent.events


def test_the_span_is_never_current_outside_of_the_call(harness: Harness) -> None:
    record = harness.recorder.begin(TURN, harness.recorder.capture())
    assert trace.get_current_span() is trace.INVALID_SPAN
    record.finish(review())
    assert trace.get_current_span() is trace.INVALID_SPAN


def test_a_second_finish_changes_nothing(harness: Harness) -> None:
    record = harness.recorder.begin(TURN, None)
    record.finish(review())
    record.finish(failed())
    assert harness.span.attributes["draftcritic.verdict.source"] == "reflection"
    assert len(harness.logs) == 1
    assert sum(harness.counted("draftcritic.gate.decisions").values()) == 1


def test_a_span_that_is_not_sampled_stays_in_the_trace_of_its_parent() -> None:
    harness = Harness(sampler=ALWAYS_OFF)
    parent = trace.NonRecordingSpan(trace.SpanContext(7, 9, is_remote=True))
    from draftcritic.telemetry import Origin

    harness.record(review(), Origin(trace.set_span_in_context(parent, Context())))
    assert not harness.spans
    assert harness.log.trace_id == 7


@pytest.mark.parametrize("ambiguous", [True, False])
def test_an_unclear_reply_is_marked(harness: Harness, ambiguous: bool) -> None:
    harness.record(review(Judged(Verdict.REFUSE, "No.", call=CALL, ambiguous=ambiguous)))
    assert harness.span.attributes.get("draftcritic.reply.ambiguous") is (ambiguous or None)

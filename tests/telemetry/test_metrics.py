"""The metrics: names, units, labels, buckets, and the series that exist before the first review."""

from __future__ import annotations

import gc
import os
import threading
import weakref
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import context as context_api
from opentelemetry import trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import Gauge, Histogram, InMemoryMetricReader, Sum
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags
from support.sdk import labels
from support.telemetry import CALL, FIRED, Harness, failed, finding, not_evaluated, review, skipped

from draftcritic.core import (
    Action,
    Assessment,
    Cancelled,
    CircuitState,
    Failed,
    Failure,
    GateDecision,
    GateReason,
    Judged,
    Mode,
    ModelCall,
    Usage,
    Verdict,
)
from draftcritic.telemetry import TelemetryRecorder
from draftcritic.telemetry._gauges import Depth, _callbacks
from draftcritic.telemetry._metrics import Metrics
from draftcritic.telemetry._selftest import record_recall


def everything(harness: Harness) -> None:
    checked = Assessment(
        GateDecision.FIRED,
        GateReason.FABRICATION,
        (GateReason.FABRICATION,),
        0.45,
        findings=(finding(), finding(confidence=0.7)),
    )
    harness.record(review(Judged(Verdict.REVISE, "Better.", call=CALL, broken=("no-dates",)), checked))
    harness.record(failed())
    fleet(harness)


def fleet(harness: Harness) -> None:
    harness.recorder.delivered(12.5, True)
    harness.recorder.dead_lettered("schema")
    harness.recorder.budget_local()
    harness.recorder.other_release(newer=True, older=False)
    record_recall({"digit": 0.5}, "", harness.meter_provider)
    harness.recorder.watch_spool(lambda: (2048, 3.5))
    harness.recorder.info(Mode.OBSERVE, "8ab6571763b3", "spool", "gpt-4o-mini")


def test_a_fleet_is_counted(harness: Harness) -> None:
    harness.record(skipped())
    assert harness.points("draftcritic.spool.age") == {}
    fleet(harness)
    harness.recorder.dead_lettered("anything else")
    harness.recorder.delivered(-4.0, False)
    values = {name: harness.values(f"draftcritic.{name}") for name in ("spool.bytes", "spool.age", "dead_lettered")}
    assert values["spool.bytes"] == {labels(): 2048}
    assert values["spool.age"] == {labels(): 3.5}
    assert values["dead_lettered"] == {
        labels(reason="schema"): 1,
        labels(reason="error"): 1,
        labels(reason="attempts"): 0,
    }
    assert harness.values("draftcritic.redelivered") == {labels(): 1}
    assert harness.values("draftcritic.budget.local") == {labels(): 1}
    assert harness.values("draftcritic.other_release") == {labels(reason="newer"): 1, labels(reason="older"): 0}
    (age,) = harness.points("draftcritic.queue.age").values()
    assert (age.count, age.sum) == (2, 12.5)
    ((info, value),) = harness.values("draftcritic.info").items()
    assert value == 1
    assert {key: text for key, text in dict(info).items() if key != "draftcritic.version"} == {
        "draftcritic.mode": "observe",
        "draftcritic.policy.version": "8ab6571763b3",
        "draftcritic.delivery": "spool",
        "draftcritic.sku": "gpt-4o-mini",
    }


@pytest.mark.parametrize(
    ("name", "kind", "unit"),
    [
        ("draftcritic.reviews", Sum, "{review}"),
        ("draftcritic.gate.decisions", Sum, "{decision}"),
        ("draftcritic.review.duration", Histogram, "s"),
        ("draftcritic.confidence", Histogram, "1"),
        ("draftcritic.tokens", Sum, "{token}"),
        ("draftcritic.cost", Sum, "USD"),
        ("draftcritic.fabrications", Sum, "{finding}"),
        ("draftcritic.doubts", Sum, "{finding}"),
        ("draftcritic.misquoted", Sum, "{review}"),
        ("draftcritic.rules.violations", Sum, "{violation}"),
        ("draftcritic.failures", Sum, "{failure}"),
        ("draftcritic.queue.depth", Gauge, "{review}"),
        ("draftcritic.dropped", Sum, "{draft}"),
        ("draftcritic.circuit.state", Gauge, "{state}"),
        ("draftcritic.policy.loaded", Gauge, "{state}"),
        ("draftcritic.info", Gauge, "{process}"),
        ("draftcritic.spool.bytes", Gauge, "By"),
        ("draftcritic.spool.age", Gauge, "s"),
        ("draftcritic.queue.age", Histogram, "s"),
        ("draftcritic.redelivered", Sum, "{draft}"),
        ("draftcritic.dead_lettered", Sum, "{draft}"),
        ("draftcritic.budget.local", Sum, "{call}"),
        ("draftcritic.other_release", Sum, "{draft}"),
        ("draftcritic.selftest.recall", Gauge, "1"),
    ],
)
def test_each_metric_has_its_kind_and_unit(harness: Harness, name: str, kind: type, unit: str) -> None:
    everything(harness)
    metric = harness.metrics()[name]
    assert isinstance(metric.data, kind)
    assert metric.unit == unit
    if kind is Sum:
        assert metric.data.is_monotonic


def test_no_other_metric_exists(harness: Harness) -> None:
    everything(harness)
    assert len(harness.metrics()) == 24


def test_every_verdict_exists_with_zero_before_the_first_review(harness: Harness) -> None:
    points = harness.points("draftcritic.reviews")
    assert {dict(series)["draftcritic.verdict"] for series in points} == {"approve", "revise", "refuse", "none"}
    assert {point.value for point in points.values()} == {0}
    first_refusal = labels(
        verdict="refuse",
        verdict__source="reflection",
        outcome="judged",
        gate__reason="claims",
        action="recorded",
        sku="unknown",
    )
    assert first_refusal in points


def test_every_decision_failure_and_drop_exists_with_zero(harness: Harness) -> None:
    decisions = harness.points("draftcritic.gate.decisions")
    assert {point.value for point in decisions.values()} == {0}
    pairs = [(dict(s)["draftcritic.gate.decision"], dict(s)["draftcritic.gate.reason"]) for s in decisions]
    assert sorted(pairs) == sorted(
        [
            ("fired", "sensitive_tag"),
            ("fired", "fabrication"),
            ("fired", "tool_action"),
            ("fired", "intent_action"),
            ("fired", "intent_ambiguous"),
            ("fired", "doubt"),
            ("fired", "claims"),
            ("fired", "low_confidence"),
            ("fired", "not_trivial"),
            ("fired", "custom_gate"),
            ("fired", "gate_error"),
            ("skipped", "confident"),
            ("skipped", "trivial_ack"),
            ("skipped", "custom_gate"),
            ("not_evaluated", "disabled"),
            ("not_evaluated", "sampled_out"),
            ("not_evaluated", "budget"),
            ("not_evaluated", "circuit_open"),
            ("not_evaluated", "fair_share"),
            ("not_evaluated", "rate_limited"),
            ("not_evaluated", "busy"),
            ("not_evaluated", "loop"),
            ("not_evaluated", "queue_full"),
            ("not_evaluated", "not_a_draft"),
            ("not_evaluated", "abandoned"),
            ("not_evaluated", "nested"),
        ]
    )
    failures = {dict(s)["draftcritic.failure"]: p.value for s, p in harness.points("draftcritic.failures").items()}
    assert failures == dict.fromkeys(
        ["timeout", "error", "unparsable", "ambiguous", "rate_limited", "rejected", "unread", "misquoted"], 0
    )
    drops = {dict(s)["draftcritic.reason"]: p.value for s, p in harness.points("draftcritic.dropped").items()}
    assert drops == {"queue_full": 0, "shutdown": 0, "expired": 0, "damaged": 0, "error": 0}


def test_limits_have_series_from_the_start_and_a_blocked_draft_only_where_something_is_blocked() -> None:
    blocked = labels(
        verdict="none",
        verdict__source="none",
        outcome="limited",
        gate__reason="budget",
        action="limited_closed",
        sku="unknown",
    )
    revised = labels(
        verdict="revise",
        verdict__source="fabrication",
        outcome="judged",
        gate__reason="circuit_open",
        action="recorded",
        sku="unknown",
    )
    observing = Harness().points("draftcritic.reviews")
    assert (blocked in observing, observing[revised].value) == (False, 0)
    enforcing = Harness(options={"mode": Mode.ENFORCE}).points("draftcritic.reviews")
    assert enforcing[blocked].value == 0
    assert not any(
        "budget" in dict(s).values() for s in Harness(options={"mode": Mode.GATE}).points("draftcritic.reviews")
    )


def test_a_circuit_is_closed_until_told_and_a_policy_loaded(harness: Harness) -> None:
    assert {dict(s)["draftcritic.sku"]: p.value for s, p in harness.points("draftcritic.circuit.state").items()} == {
        "unknown": 0
    }
    assert [p.value for p in harness.points("draftcritic.policy.loaded").values()] == [1]
    harness.recorder.circuit("gpt-4o-mini", CircuitState.OPEN)
    harness.recorder.circuit("claude-haiku-4-5", CircuitState.HALF_OPEN)
    harness.recorder.policy_loaded(False)
    harness.record(review())
    assert {dict(s)["draftcritic.sku"]: p.value for s, p in harness.points("draftcritic.circuit.state").items()} == {
        "unknown": 0,
        "gpt-4o-mini": 2,
        "claude-haiku-4-5": 1,
    }
    assert [p.value for p in harness.points("draftcritic.policy.loaded").values()] == [0]


def test_the_series_of_a_known_model_exist_from_the_start() -> None:
    harness = Harness(options={"critic_sku": "claude-haiku-4-5"})
    series = labels(
        verdict="refuse",
        verdict__source="reflection",
        outcome="judged",
        gate__reason="sensitive_tag",
        action="recorded",
        sku="claude-haiku-4-5",
    )
    assert harness.points("draftcritic.reviews")[series].value == 0


def test_the_series_of_a_model_exist_before_its_first_verdict(harness: Harness) -> None:
    record = harness.recorder.begin(review().turn, None)
    record.call_started("claude-haiku-4-5-20251001", "claude-haiku-4-5", "")
    series = labels(
        verdict="refuse",
        verdict__source="reflection",
        outcome="judged",
        gate__reason="sensitive_tag",
        action="recorded",
        sku="claude-haiku-4-5",
    )
    assert harness.points("draftcritic.reviews")[series].value == 0
    record.finish(review(Judged(Verdict.REFUSE, "No.", call=CALL)))
    assert harness.points("draftcritic.reviews")[series].value == 1


def test_the_zero_series_follow_the_mode() -> None:
    enforcing = Harness(options={"mode": Mode.ENFORCE}).points("draftcritic.reviews")
    actions = {(dict(s)["draftcritic.verdict"], dict(s)["draftcritic.action"]) for s in enforcing}
    assert actions == {
        ("approve", "passed"),
        ("revise", "replaced"),
        ("refuse", "blocked"),
        ("revise", "exposed"),
        ("refuse", "exposed"),
        ("none", "passed"),
        ("none", "recorded"),
        ("none", "failed_open"),
        ("none", "failed_closed"),
        ("none", "limited_closed"),
    }
    gating = Harness(options={"mode": Mode.GATE}).points("draftcritic.reviews")
    assert {dict(s)["draftcritic.verdict.source"] for s in gating} == {"none", "fabrication"}
    assert {dict(s)["draftcritic.verdict"] for s in gating} == {"none", "revise", "refuse"}


def test_a_judged_review_is_counted_once_under_all_its_labels(harness: Harness) -> None:
    harness.record(review(Judged(Verdict.REVISE, "Better.", call=CALL)))
    assert harness.counted("draftcritic.reviews") == {
        labels(
            verdict="revise",
            verdict__source="reflection",
            outcome="judged",
            gate__reason="sensitive_tag",
            action="recorded",
            sku="claude-haiku-4-5",
        ): 1
    }
    assert harness.counted("draftcritic.gate.decisions") == {
        labels(gate__decision="fired", gate__reason="sensitive_tag"): 1
    }
    assert harness.counted("draftcritic.tokens") == {
        labels(sku="claude-haiku-4-5", direction="input"): 812,
        labels(sku="claude-haiku-4-5", direction="output"): 41,
    }
    assert harness.counted("draftcritic.cost") == {labels(sku="claude-haiku-4-5"): 0.001017}
    assert not harness.counted("draftcritic.failures")
    ((series, point),) = harness.points("draftcritic.review.duration").items()
    assert series == labels(verdict="revise", outcome="judged", sku="claude-haiku-4-5")
    assert (point.count, point.sum) == (1, 0.75)
    ((series, point),) = harness.points("draftcritic.confidence").items()
    assert series == labels(gate__decision="fired")
    assert (point.count, point.sum) == (1, 0.45)


def test_a_skipped_review_has_no_model(harness: Harness) -> None:
    harness.record(skipped())
    assert harness.counted("draftcritic.reviews") == {
        labels(
            verdict="none",
            verdict__source="none",
            outcome="skipped",
            gate__reason="trivial_ack",
            action="recorded",
            sku="unknown",
        ): 1
    }
    assert not harness.points("draftcritic.tokens")
    assert not harness.points("draftcritic.cost")


def test_what_is_not_a_draft_counts_as_a_decision_only(harness: Harness) -> None:
    harness.record(not_evaluated())
    assert harness.counted("draftcritic.gate.decisions") == {
        labels(gate__decision="not_evaluated", gate__reason="not_a_draft"): 1
    }
    assert not harness.counted("draftcritic.reviews")
    assert not harness.points("draftcritic.review.duration")
    assert not harness.points("draftcritic.confidence")


def test_a_nested_call_counts_as_a_decision_and_has_no_span(harness: Harness) -> None:
    harness.recorder.nested()
    assert harness.counted("draftcritic.gate.decisions") == {
        labels(gate__decision="not_evaluated", gate__reason="nested"): 1
    }
    assert not harness.spans


def test_a_failure_is_labelled_with_its_word_and_never_with_an_exception(harness: Harness) -> None:
    harness.record(failed(Failure.ERROR, "some.vendor.InternalError_8f3a"))
    assert harness.counted("draftcritic.failures") == {labels(failure="error"): 1}
    ((series, _),) = harness.points("draftcritic.review.duration").items()
    assert series == labels(verdict="none", outcome="failed", sku="claude-haiku-4-5", error__type="error")


def test_tokens_of_a_failed_review_are_counted(harness: Harness) -> None:
    outcome = Failed(Failure.UNPARSABLE, call=CALL)
    harness.record(review(outcome, action=Action.FAILED_OPEN))
    assert harness.counted("draftcritic.tokens")[labels(sku="claude-haiku-4-5", direction="output")] == 41


def test_a_cancelled_review_is_no_failure(harness: Harness) -> None:
    harness.record(review(Cancelled("asyncio.CancelledError", CALL)))
    assert not harness.counted("draftcritic.failures")
    ((series, count),) = harness.counted("draftcritic.reviews").items()
    assert count == 1
    assert {("draftcritic.verdict", "none"), ("draftcritic.outcome", "cancelled")} <= series
    ((series, _),) = harness.points("draftcritic.review.duration").items()
    assert "error.type" not in dict(series)


def test_broken_rules_are_counted_by_rule_and_verdict(harness: Harness) -> None:
    harness.record(review(Judged(Verdict.REVISE, "Better.", call=CALL, broken=("no-dates", "other"))))
    assert harness.counted("draftcritic.rules.violations") == {
        labels(rule="no-dates", verdict="revise"): 1,
        labels(rule="other", verdict="revise"): 1,
    }
    assert harness.span.attributes["draftcritic.rules.broken"] == ("no-dates", "other")


def test_the_violations_of_each_loaded_rule_start_at_zero() -> None:
    points = Harness(options={"rules": ("no-dates",)}).points("draftcritic.rules.violations")
    assert {point.value for point in points.values()} == {0}
    assert {(dict(s)["draftcritic.rule"], dict(s)["draftcritic.verdict"]) for s in points} == {
        (rule, verdict) for rule in ("no-dates", "other") for verdict in ("approve", "revise", "refuse")
    }


def test_findings_are_counted_by_kind_and_a_kind_of_nobody_is_other(harness: Harness) -> None:
    findings = (finding(kind="kv"), finding(kind="kv"), finding(kind="uuid"), finding(kind="no-such-kind"))
    checked = Assessment(GateDecision.FIRED, GateReason.FABRICATION, (), 0.4, findings=findings)
    harness.record(review(assessment=checked, action=Action.RECORDED))
    assert harness.counted("draftcritic.fabrications") == {
        labels(kind="kv", action="recorded", verdict__source="fabrication"): 2,
        labels(kind="uuid", action="recorded", verdict__source="fabrication"): 1,
        labels(kind="other", action="recorded", verdict__source="fabrication"): 1,
    }


@pytest.mark.parametrize("confidence", [float("nan"), float("inf"), -1.0, None])
def test_no_number_that_is_none_reaches_a_metric(harness: Harness, confidence: float | None) -> None:
    call = ModelCall("m", "m", Usage(-1, True, float("nan")))
    harness.record(
        review(
            Judged(Verdict.APPROVE, None, call=call),
            Assessment(GateDecision.FIRED, GateReason.CLAIMS, confidence=confidence),
        )
    )
    assert not harness.points("draftcritic.confidence")
    assert not harness.points("draftcritic.tokens")
    assert not harness.points("draftcritic.cost")
    assert "draftcritic.confidence" not in harness.span.attributes


def test_the_buckets_of_durations_double_from_a_hundredth_of_a_second(harness: Harness) -> None:
    harness.record(review())
    (point,) = harness.points("draftcritic.review.duration").values()
    assert point.explicit_bounds == (
        *(0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64),
        *(1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92),
    )


def test_the_buckets_of_confidence_are_five_hundredths_wide(harness: Harness) -> None:
    harness.record(review())
    (point,) = harness.points("draftcritic.confidence").values()
    assert point.explicit_bounds == (
        *(0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
        *(0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0),
    )


def test_exemplars_open_the_reviews_own_span(harness: Harness) -> None:
    harness.record(review())
    context = harness.span.context
    exported = harness.metrics()
    for name in ("draftcritic.review.duration", "draftcritic.confidence"):
        (point,) = exported[name].data.data_points
        (exemplar,) = point.exemplars
        assert (exemplar.trace_id, exemplar.span_id) == (context.trace_id, context.span_id)


def test_metrics_are_complete_when_nothing_is_sampled() -> None:
    off, on = Harness(sampler=ALWAYS_OFF), Harness()
    for harness in (off, on):
        everything(harness)
        harness.record(not_evaluated())
    assert not off.spans
    for name in ("draftcritic.reviews", "draftcritic.gate.decisions", "draftcritic.tokens", "draftcritic.cost"):
        assert off.counted(name) == on.counted(name) != {}


def test_metrics_are_complete_under_suppressed_instrumentation(harness: Harness) -> None:
    from opentelemetry.instrumentation.utils import suppress_instrumentation

    with suppress_instrumentation():
        origin = harness.recorder.capture()
    harness.record(review(), origin)
    assert not harness.spans
    assert not harness.logs
    assert sum(harness.counted("draftcritic.reviews").values()) == 1


def test_skus_are_bounded(harness: Harness) -> None:
    for number in range(300):
        call = ModelCall("m", f"tenant-{number}-model")
        harness.recorder.metrics.reviewed(review(Judged(Verdict.APPROVE, None, call=call), FIRED), None)
    skus = {dict(series)["draftcritic.sku"] for series in harness.points("draftcritic.review.duration")}
    assert 1 < len(skus) <= 100


def test_the_queue_depth_is_the_sum_of_its_changes(harness: Harness) -> None:
    for change in (1, 1, 1, -1):
        harness.recorder.queue_depth(change)
    (point,) = harness.points("draftcritic.queue.depth").values()
    assert point.value == 2


def test_drops_have_a_closed_set_of_reasons(harness: Harness) -> None:
    for reason in ("queue_full", "queue_full", "shutdown", "anything else"):
        harness.recorder.dropped(reason)
    assert harness.counted("draftcritic.dropped") == {
        labels(reason="queue_full"): 2,
        labels(reason="shutdown"): 1,
        labels(reason="error"): 1,
    }


def lose(harness: Harness, times: int = 1) -> None:
    for _ in range(times):
        harness.recorder.dropped("queue_full")
        harness.recorder.displaced()


def lost(harness: Harness) -> list[float]:
    decision = labels(gate__decision="not_evaluated", gate__reason="queue_full")
    return [
        harness.values("draftcritic.dropped")[labels(reason="queue_full")],
        harness.values("draftcritic.gate.decisions")[decision],
    ]


def test_what_a_full_queue_loses_is_in_the_next_collection(harness: Harness) -> None:
    assert lost(harness) == [0, 0]
    lose(harness, 3)
    assert lost(harness) == [3, 3]
    lose(harness)
    assert lost(harness) == [4, 4]


def test_what_a_full_queue_loses_leads_to_the_newest_trace(harness: Harness) -> None:
    harness.metrics()  # it is known now that somebody collects
    for _ in range(2):
        with harness.tracer.start_as_current_span("agent") as span:
            lose(harness)
    collected = harness.metrics()
    for name in ("draftcritic.dropped", "draftcritic.gate.decisions"):
        exemplars = [e for point in collected[name].data.data_points for e in point.exemplars]
        assert [(e.value, e.trace_id) for e in exemplars] == [(1, span.get_span_context().trace_id)]


def test_counts_reach_a_counter_whose_provider_never_asks() -> None:
    class Deaf(MeterProvider):
        """Forwards counters and asks no gauge."""

        def get_meter(self, *args: Any, **kwargs: Any) -> Any:
            meter = super().get_meter(*args, **kwargs)
            meter.create_observable_gauge = lambda *_: None  # type: ignore[method-assign]
            return meter

    reader = InMemoryMetricReader()
    provider = Deaf([reader])
    meter = provider.get_meter("draftcritic")
    metrics = Metrics(meter, str, ())
    metrics.start_at_zero(provider)
    metrics.dropped("queue_full")
    values = {
        point.attributes["draftcritic.reason"]: point.value
        for metric in reader.get_metrics_data().resource_metrics[0].scope_metrics[0].metrics
        if metric.name == "draftcritic.dropped"
        for point in metric.data.data_points
    }
    assert values["queue_full"] == 1


def test_what_leads_to_a_trace_keeps_nothing_else_of_its_context(harness: Harness) -> None:
    class Held:
        """An object of the application."""

    held = Held()
    seen = weakref.ref(held)
    harness.metrics()
    with harness.tracer.start_as_current_span("agent"):
        token = context_api.attach(context_api.set_value("held", held))
        lose(harness)
        context_api.detach(token)
    del held, token
    gc.collect()
    assert seen() is None


def test_a_trace_that_is_not_sampled_leaves_the_exemplar_to_one_that_is(harness: Harness) -> None:
    sampled, not_sampled = (
        trace.set_span_in_context(NonRecordingSpan(SpanContext(n, n, False, TraceFlags(flags))))
        for n, flags in ((7, 1), (8, 0))
    )
    for context in (not_sampled, sampled, not_sampled):
        harness.recorder.metrics.decided(GateDecision.SKIPPED, GateReason.CONFIDENT, context)
    point = harness.points("draftcritic.gate.decisions")[labels(gate__decision="skipped", gate__reason="confident")]
    assert point.value == 3
    assert [(exemplar.value, exemplar.trace_id) for exemplar in point.exemplars] == [(1, 7)]


def test_every_count_of_many_threads_is_collected_once(harness: Harness) -> None:
    threads = [threading.Thread(target=lose, args=(harness, 200)) for _ in range(8)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        harness.metrics()
    assert lost(harness) == [1600, 1600]


def test_nothing_that_a_full_queue_loses_gets_lost_between_two_recorders(harness: Harness) -> None:
    lose(harness, 2)
    later = TelemetryRecorder(**harness.providers)
    lose(harness)  # the earlier one is not asked any more
    later.dropped("queue_full")
    later.displaced()
    assert lost(harness) == [4, 4]
    later.dropped("queue_full")
    later.displaced()
    later.close()
    lose(harness)
    assert lost(harness) == [6, 6]


def test_what_a_recorder_has_counted_outlives_it(harness: Harness) -> None:
    harness.record(skipped())
    lose(harness, 2)
    del harness.recorder
    gc.collect()
    assert lost(harness) == [2, 2]
    assert sum(harness.counted("draftcritic.reviews").values()) == 1
    TelemetryRecorder(**harness.providers).dropped("queue_full")  # gone, and followed by another one
    TelemetryRecorder(**harness.providers).dropped("queue_full")
    assert lost(harness) == [4, 2]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_counts_what_it_loses_with_a_lock_of_its_own(harness: Harness) -> None:
    lock = harness.recorder.metrics._dropped._lock
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            held.set()
            release.wait()

    other = threading.Thread(target=hold)
    other.start()
    held.wait()
    child = os.fork()
    if child == 0:
        lose(harness, 2)
        os._exit(int(sum(lost(harness))))
    release.set()
    other.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 4


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_tells_its_own_queue_with_a_lock_of_its_own(harness: Harness) -> None:
    for _ in range(5):
        harness.recorder.queue_depth(1)
    depth = harness.recorder.metrics._state.depth
    depth._lock.acquire()  # another thread has it at the moment of the fork
    child = os.fork()
    if child == 0:
        before = value_of(harness, "draftcritic.queue.depth")
        # The queue takes off what was inherited with its first job.
        harness.recorder.queue_depth(1 - 5)
        os._exit(10 * before + value_of(harness, "draftcritic.queue.depth"))
    depth._lock.release()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 1
    assert value_of(harness, "draftcritic.queue.depth") == 5


def test_a_review_may_leave_the_queue_before_it_is_told_to_have_come() -> None:
    depth, reported = Depth(), []
    for change in (-1, 1, 1, -1):
        depth.change(change)
        reported.append(depth.value)
    assert reported == [0, 0, 1, 0]


GAUGES = {"draftcritic.queue.depth", "draftcritic.circuit.state", "draftcritic.policy.loaded"}


def value_of(harness: Harness, name: str) -> int:
    (point,) = harness.points(name).values()
    return int(point.value)


class TestGauges:
    def test_they_are_told_at_every_collection(self, harness: Harness) -> None:
        harness.recorder.circuit("gpt-4o-mini", CircuitState.OPEN)
        for _ in range(3):
            assert harness.metrics().keys() >= GAUGES
        assert harness.points("draftcritic.circuit.state")[labels(sku="gpt-4o-mini")].value == 2

    def test_a_second_recorder_of_a_provider_takes_them_over(
        self, harness: Harness, caplog: pytest.LogCaptureFixture
    ) -> None:
        harness.recorder.policy_loaded(False)
        later = TelemetryRecorder(meter_provider=harness.meter_provider)
        assert value_of(harness, "draftcritic.policy.loaded") == 1
        later.policy_loaded(False)
        assert value_of(harness, "draftcritic.policy.loaded") == 0
        harness.recorder.close()  # the first, which is no longer reported
        assert value_of(harness, "draftcritic.policy.loaded") == 0
        assert not caplog.records

    def test_they_end_with_the_recorder(self, harness: Harness) -> None:
        harness.recorder.close()
        assert not harness.metrics().keys() & GAUGES
        harness.recorder.close()
        TelemetryRecorder(meter_provider=harness.meter_provider)  # and is gone at once
        gc.collect()
        assert not harness.metrics().keys() & GAUGES

    def test_they_keep_nothing_alive(self) -> None:
        harness = Harness()
        recorder, provider = weakref.ref(harness.recorder), weakref.ref(harness.meter_provider)
        number = id(harness.meter_provider)
        assert number in _callbacks
        del harness.recorder
        gc.collect()
        assert recorder() is None
        del harness
        gc.collect()
        assert provider() is None
        assert number not in _callbacks

    def test_each_provider_tells_of_its_own(self) -> None:
        one, other = Harness(), Harness()
        one.recorder.queue_depth(3)
        assert (value_of(one, "draftcritic.queue.depth"), value_of(other, "draftcritic.queue.depth")) == (3, 0)


def test_doubts_are_counted_by_kind_and_by_what_the_critic_said(harness: Harness) -> None:
    sure, one, other = finding(), finding(kind="date", confidence=0.7), finding(kind="uuid", confidence=0.5)
    checked = Assessment(GateDecision.FIRED, GateReason.DOUBT, (), 0.4, findings=(sure, one, other))
    harness.record(review(Judged(Verdict.REVISE, "x", call=CALL, confirmed=(one,)), checked, action=Action.RECORDED))
    harness.record(review(Judged(Verdict.APPROVE, None, call=CALL), checked, action=Action.RECORDED))
    harness.record(replace(failed(), assessment=checked))
    assert harness.counted("draftcritic.doubts") == {
        labels(kind="date", answer="confirmed"): 1,
        labels(kind="uuid", answer="revise"): 1,
        labels(kind="date", answer="approve"): 1,
        labels(kind="uuid", answer="approve"): 1,
        labels(kind="date", answer="none"): 1,
        labels(kind="uuid", answer="none"): 1,
    }
    found = harness.counted("draftcritic.fabrications")
    assert found[labels(kind="date", action="recorded", verdict__source="reflection")] == 1
    assert sum(value for key, value in found.items() if ("draftcritic.kind", "uuid") in key) == 0


def test_misquotes_are_counted_by_verdict(harness: Harness) -> None:
    harness.record(review(Judged(Verdict.REVISE, "x", call=CALL, misquoted=True)))
    harness.record(review(Judged(Verdict.REVISE, "x", call=CALL)))
    harness.record(failed(failure=Failure.MISQUOTED))
    counted = {dict(key)["draftcritic.verdict"]: n for key, n in harness.counted("draftcritic.misquoted").items()}
    assert counted == {"revise": 1, "none": 1}

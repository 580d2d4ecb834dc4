"""What is printed about telemetry that real SDK exporters sent to the receiver."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from rich.console import Console

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.demo._trace_view import show
from draftcritic.demo._traces import traces

CHAT = {"gen_ai.operation.name": "chat", "gen_ai.usage.input_tokens": 100, "gen_ai.usage.output_tokens": 7}
REVIEW = {
    "draftcritic.verdict": "refuse",
    "draftcritic.verdict.source": "reflection",
    "draftcritic.action": "recorded",
    "draftcritic.gate.decision": "fired",
    "draftcritic.gate.reason": "sensitive_tag",
    "draftcritic.gate.signals": ["sensitive_tag", "claims", "low_confidence"],
    "draftcritic.confidence": 0.5,
    "draftcritic.sku": "gpt-4.1-mini",
    "draftcritic.draft.sku": "gpt-4o-mini",
    "session.id": "mia-1",
}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[OtlpReceiver]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with OtlpReceiver() as running:
        send_turns(running)
        send_metrics(running)
        yield running


def send_turns(receiver: OtlpReceiver) -> None:
    provider = TracerProvider()
    provider.add_span_processor(
        SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{receiver.endpoint}/v1/traces", timeout=5))
    )
    tracer = provider.get_tracer("test")
    with tracer.start_as_current_span("invoke_agent support") as turn:
        tracer.start_span("chat gpt-4o-mini", attributes={**CHAT, "gen_ai.request.model": "gpt-4o-mini"}).end()
    # A background review begins when its parent has already ended.
    review = tracer.start_span("draftcritic.review", context=trace.set_span_in_context(turn), attributes=REVIEW)
    with trace.use_span(review, end_on_exit=True):
        tracer.start_span("chat gpt-4.1-mini", attributes={**CHAT, "gen_ai.request.model": "gpt-4.1-mini"}).end()
    with tracer.start_as_current_span("invoke_agent support"):
        tracer.start_span("chat homemade", attributes={**CHAT, "gen_ai.request.model": "homemade"}).end()
        failed = {"draftcritic.failure": "timeout", "error.type": "TimeoutError"}
        broken = tracer.start_span("draftcritic.review", attributes={**REVIEW, **failed})
        broken.set_status(trace.StatusCode.ERROR)
        broken.end()
    provider.shutdown()


def send_metrics(receiver: OtlpReceiver) -> None:
    exporter = OTLPMetricExporter(endpoint=f"{receiver.endpoint}/v1/metrics", timeout=5)
    provider = MeterProvider([PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)])
    meter = provider.get_meter("test")
    reviews = meter.create_counter("draftcritic.reviews")
    for verdict, count in (("approve", 3), ("revise", 0), ("refuse", 1)):
        reviews.add(count, {"draftcritic.verdict": verdict})
    reviews.add(7, {"draftcritic.gate.reason": "not_a_draft"})
    gate = {"draftcritic.gate.decision": "fired", "draftcritic.gate.reason": "sensitive_tag"}
    decisions = meter.create_counter("draftcritic.gate.decisions")
    decisions.add(4, gate)
    for reason, count in (("not_a_draft", 3), ("nested", 5), ("abandoned", 0)):
        decisions.add(count, {"draftcritic.gate.decision": "not_evaluated", "draftcritic.gate.reason": reason})
    tokens = meter.create_counter("draftcritic.tokens")
    tokens.add(1234, {"draftcritic.sku": "gpt-4.1-mini", "draftcritic.direction": "input"})
    tokens.add(56, {"draftcritic.sku": "gpt-4.1-mini", "draftcritic.direction": "output"})
    tokens.add(9, {"draftcritic.sku": "homemade", "draftcritic.direction": "input"})
    meter.create_counter("draftcritic.cost").add(0.000146, {"draftcritic.sku": "gpt-4.1-mini"})
    meter.create_counter("draftcritic.failures").add(1, {"draftcritic.failure": "timeout"})
    provider.shutdown()


def printed(receiver: OtlpReceiver) -> str:
    out = io.StringIO()
    show(Console(file=out, width=250), receiver.spans, receiver.points, receiver.events)
    return out.getvalue()


def rows(text: str, first: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.strip("│ ").split("│")]
        for line in text.splitlines()
        if line.startswith(f"│ {first} ")
    ]


def test_a_turn_is_one_tree_with_the_critics_call_below_the_review(receiver: OtlpReceiver) -> None:
    first, second = traces(receiver.spans)
    (root,) = first.roots
    assert [child.span.name for child in root.children] == ["chat gpt-4o-mini", "draftcritic.review"]
    (review,) = first.reviews
    assert [child.span.name for child in review.children] == ["chat gpt-4.1-mini"]
    assert len(second.roots) == 1


def test_a_review_shows_its_verdict_reason_confidence_and_skus(receiver: OtlpReceiver) -> None:
    lines = printed(receiver).splitlines()
    assert any(line.startswith("turn 1  mia-1  trace ") for line in lines)
    (review,) = [line for line in lines if "draftcritic.review" in line and "failed" not in line]
    assert (
        "refuse (reflection, recorded)  gate fired: sensitive_tag (and claims, low_confidence)  confidence 0.50"
        in review
    )
    assert review.endswith("gpt-4.1-mini on gpt-4o-mini")
    assert any("critic failed: timeout  ERROR TimeoutError" in line for line in lines)
    assert any("chat gpt-4o-mini" in line and line.endswith("100+7 tokens") for line in lines)


def test_rates_tokens_and_costs_come_from_the_metrics(receiver: OtlpReceiver) -> None:
    text = printed(receiver)
    assert rows(text, "approve") == [["approve", "3", "75%"]]
    assert rows(text, "revise") == [["revise", "0", "0%"]]
    assert rows(text, "refuse") == [["refuse", "1", "25%"]]
    assert rows(text, "fired") == [["fired", "sensitive_tag", "4"]]
    assert rows(text, "not_evaluated") == [["not_evaluated", "not_a_draft", "3"]]
    assert "Never reviewed: 5 model calls of the critic's own." in text
    assert rows(text, "critic") == [
        ["critic", "gpt-4.1-mini", "1,234", "56", "0.000146"],
        ["critic", "homemade", "9", "0", "-"],
    ]
    # 100 tokens at 0.15 and 7 at 0.60 dollars a million
    assert rows(text, "agent") == [
        ["agent", "gpt-4o-mini", "100", "7", "0.000019"],
        ["agent", "homemade", "100", "7", "-"],
    ]
    assert rows(text, "timeout") == [["timeout", "1"]]
    assert "Received: 2 traces, 7 spans, 2 reviews, 0 evaluation events, 5 metrics." in text


def test_without_a_terminal_the_output_has_no_control_characters(receiver: OtlpReceiver) -> None:
    assert "\x1b" not in printed(receiver)


def test_nothing_received_is_no_error() -> None:
    out = io.StringIO()
    assert show(Console(file=out), [], []) == []
    assert "Received: 0 traces" in out.getvalue()


def test_an_orphan_stays_visible_as_a_root(receiver: OtlpReceiver) -> None:
    spans = [span for span in receiver.spans if span.parent_id]
    assert all(trace.roots for trace in traces(spans))
    assert sum(len(trace.nodes) for trace in traces(spans)) == len(spans)

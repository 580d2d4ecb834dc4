"""A recorder over real SDK providers with in-memory exporters, and reviews built by hand."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs import export as logs_export
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from draftcritic.core import (
    Action,
    Assessment,
    Failed,
    Failure,
    Forced,
    GateDecision,
    GateOnly,
    GateReason,
    Judged,
    Mode,
    ModelCall,
    NotEvaluated,
    Review,
    Skipped,
    Turn,
    Usage,
    Verdict,
)
from draftcritic.core.fabrication import FabricationFinding
from draftcritic.telemetry import Capture, TelemetryRecorder

# Older SDKs call it InMemoryLogExporter.
_LogExporter = getattr(logs_export, "InMemoryLogRecordExporter", None) or logs_export.InMemoryLogExporter


CALL = ModelCall(
    model="anthropic.claude-haiku-4-5-20251001-v1:0",
    sku="claude-haiku-4-5",
    usage=Usage(input_tokens=812, output_tokens=41, cost_usd=0.001017),
    finish_reason="end_turn",
    latency_s=0.7,
)
TURN = Turn(
    draft="Your order A-4480 was refunded.",
    run_id="0199a7c2-1111-7000-8000-000000000001",
    draft_model="gpt-4o-mini-2024-07-18",
    streamed=True,
    exposed=False,
    response_id="chatcmpl-1",
    conversation_id="conversation-1",
    session_id="session-1",
    user_id="user-1",
)
FIRED = Assessment(
    GateDecision.FIRED,
    GateReason.SENSITIVE_TAG,
    (GateReason.SENSITIVE_TAG, GateReason.CLAIMS),
    confidence=0.45,
    sensitive_hit="refund",
    threshold=0.6,
)
SKIPPED = Assessment(
    GateDecision.SKIPPED, GateReason.TRIVIAL_ACK, (GateReason.TRIVIAL_ACK,), confidence=0.5, threshold=0.6
)
NOT_EVALUATED = Assessment(GateDecision.NOT_EVALUATED, GateReason.NOT_A_DRAFT, (GateReason.NOT_A_DRAFT,))


def finding(identifier: str = "A-9999", kind: str = "kv", confidence: float = 0.8) -> FabricationFinding:
    return FabricationFinding(
        identifier=identifier,
        kind=kind,
        severity="high",
        reason="nothing grounds it",
        key=None,
        pattern_kind=kind,
        confidence=confidence,
        span=(0, 6),
        grounded_sources=(),
    )


def review(
    outcome: Any = None,
    assessment: Assessment = FIRED,
    *,
    turn: Turn = TURN,
    mode: Mode = Mode.OBSERVE,
    action: Action = Action.RECORDED,
) -> Review:
    outcome = Judged(Verdict.APPROVE, None, call=CALL) if outcome is None else outcome
    return Review(turn, mode, assessment, outcome, action, duration_s=0.75, policy_version="8ab6571763b3")


def skipped() -> Review:
    return review(Skipped(), SKIPPED)


def not_evaluated() -> Review:
    return review(NotEvaluated(), NOT_EVALUATED)


def failed(failure: Failure = Failure.TIMEOUT, error_type: str | None = "TimeoutError") -> Review:
    call = ModelCall(CALL.model, CALL.sku, error_type=error_type)
    return review(Failed(failure, Verdict.APPROVE, error_type=error_type, call=call), action=Action.FAILED_OPEN)


def every_outcome(text: str, turn: Turn) -> list[Review]:
    """One review for each outcome, with `text` wherever a text of the turn can stand."""
    found = Assessment(
        GateDecision.FIRED, GateReason.FABRICATION, (GateReason.FABRICATION,), 0.4, findings=(finding(text),)
    )
    call = ModelCall(CALL.model, CALL.sku, CALL.usage, "end_turn")
    outcomes = [
        Judged(Verdict.APPROVE, None, (text,), call=call),
        Judged(Verdict.REVISE, text, (text, text), call=call),
        Judged(Verdict.REFUSE, text, (text,), call=call),
        Forced(Verdict.REVISE, text),
        Forced(Verdict.REFUSE, text),
        Failed(Failure.UNPARSABLE, Verdict.REFUSE, text, call=call),
        Failed(Failure.ERROR, Verdict.APPROVE, error_type="openai.APIError", call=call),
        Skipped(),
        GateOnly(),
        NotEvaluated(),
    ]
    return [review(outcome, found, turn=turn) for outcome in outcomes]


@dataclass
class Harness:
    """Providers with what they exported, and a recorder over them."""

    capture: Capture = Capture.NO_CONTENT
    sampler: Any = None
    span_limits: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.span_exporter = InMemorySpanExporter()
        self.tracer_provider = TracerProvider(
            sampler=self.sampler, span_limits=self.span_limits, shutdown_on_exit=False
        )
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self.span_exporter))
        self.reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self.reader], shutdown_on_exit=False)
        self.log_exporter = _LogExporter()
        self.logger_provider = LoggerProvider(shutdown_on_exit=False)
        self.logger_provider.add_log_record_processor(logs_export.SimpleLogRecordProcessor(self.log_exporter))
        self.recorder = TelemetryRecorder(
            self.tracer_provider,
            self.meter_provider,
            self.logger_provider,
            capture=self.capture,
            **self.options,
        )

    def record(self, finished: Review, origin: Any = None) -> None:
        """What the engine does, for a review that is already known."""
        record = self.recorder.begin(finished.turn, origin)
        if finished.call is not None:
            record.call_started(finished.call.model, finished.call.sku, finished.turn.run_id)
            record.call_ended(finished.call, finished.turn.run_id)
        record.finish(finished)

    @property
    def tracer(self) -> Any:
        return self.tracer_provider.get_tracer("application")

    @property
    def spans(self) -> list[ReadableSpan]:
        return list(self.span_exporter.get_finished_spans())

    @property
    def span(self) -> ReadableSpan:
        (span,) = [span for span in self.spans if span.name == "draftcritic.review"]
        return span

    @property
    def logs(self) -> list[Any]:
        return [data.log_record for data in self.log_exporter.get_finished_logs()]

    @property
    def log(self) -> Any:
        (log,) = self.logs
        return log

    def metrics(self) -> dict[str, Any]:
        """Every metric by name, as the SDK read it just now."""
        data = self.reader.get_metrics_data()
        if data is None:
            return {}
        return {
            metric.name: metric
            for resource in data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
        }

    def points(self, name: str) -> dict[frozenset[tuple[str, Any]], Any]:
        """The points of a metric by their labels."""
        metric = self.metrics().get(name)
        return {} if metric is None else {frozenset(p.attributes.items()): p for p in metric.data.data_points}

    def counted(self, name: str) -> dict[frozenset[tuple[str, Any]], Any]:
        """The values of a counter that are not 0, by their labels."""
        return {labels: point.value for labels, point in self.points(name).items() if point.value}


def labels(**pairs: str) -> frozenset[tuple[str, Any]]:
    """`labels(gate__reason="x")` is the label `draftcritic.gate.reason`; `error__type` has no prefix."""
    named = {key.replace("__", "."): value for key, value in pairs.items()}
    return frozenset((key if key == "error.type" else f"draftcritic.{key}", value) for key, value in named.items())

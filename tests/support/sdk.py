"""The real OpenTelemetry SDK, kept in memory."""

from __future__ import annotations

from typing import Any

from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs import export as logs_export
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

# Older SDKs call it InMemoryLogExporter.
_LogExporter = getattr(logs_export, "InMemoryLogRecordExporter", None) or logs_export.InMemoryLogExporter

Labels = frozenset[tuple[str, Any]]


def labels(**pairs: str) -> Labels:
    """`labels(gate__reason="x")` is the label `draftcritic.gate.reason`; `error__type` has no prefix."""
    named = {key.replace("__", "."): value for key, value in pairs.items()}
    return frozenset((key if key == "error.type" else f"draftcritic.{key}", value) for key, value in named.items())


class Telemetry:
    """Three providers and what came out of them."""

    def __init__(self, sampler: Any = None, span_limits: Any = None) -> None:
        self.span_exporter = InMemorySpanExporter()
        self.tracer_provider = TracerProvider(sampler=sampler, span_limits=span_limits, shutdown_on_exit=False)
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self.span_exporter))
        self.reader = InMemoryMetricReader()
        self.meter_provider = MeterProvider([self.reader], shutdown_on_exit=False)
        self.log_exporter = _LogExporter()
        self.logger_provider = LoggerProvider(shutdown_on_exit=False)
        self.logger_provider.add_log_record_processor(logs_export.SimpleLogRecordProcessor(self.log_exporter))

    @property
    def providers(self) -> dict[str, Any]:
        """The providers as `instrument()` takes them."""
        return {
            "tracer_provider": self.tracer_provider,
            "meter_provider": self.meter_provider,
            "logger_provider": self.logger_provider,
        }

    @property
    def tracer(self) -> Any:
        """The application's own tracer."""
        return self.tracer_provider.get_tracer("application")

    @property
    def spans(self) -> list[ReadableSpan]:
        """Every ended span."""
        return list(self.span_exporter.get_finished_spans())

    @property
    def review_spans(self) -> list[ReadableSpan]:
        """Every ended span of a review."""
        return [span for span in self.spans if span.name == "draftcritic.review"]

    @property
    def span(self) -> ReadableSpan:
        """The one span of a review."""
        (span,) = self.review_spans
        return span

    def reviews(self) -> list[dict[str, Any]]:
        """The attributes of every review span."""
        return [dict(span.attributes or {}) for span in self.review_spans]

    @property
    def logs(self) -> list[Any]:
        """Every log record."""
        return [data.log_record for data in self.log_exporter.get_finished_logs()]

    @property
    def log(self) -> Any:
        """The one log record."""
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

    def points(self, name: str) -> dict[Labels, Any]:
        """The points of a metric by their labels."""
        metric = self.metrics().get(name)
        return {} if metric is None else {frozenset(p.attributes.items()): p for p in metric.data.data_points}

    def values(self, name: str) -> dict[Labels, Any]:
        """The values of a counter or gauge by their labels."""
        return {series: point.value for series, point in self.points(name).items()}

    def counted(self, name: str) -> dict[Labels, Any]:
        """The values of a counter that are not 0, by their labels."""
        return {series: value for series, value in self.values(name).items() if value}

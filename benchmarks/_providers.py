"""Real OpenTelemetry providers whose exporters keep nothing but counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry._logs import set_logger_provider
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs import export as logs_export
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import (
    MetricExporter,
    MetricExportResult,
    MetricsData,
    PeriodicExportingMetricReader,
)
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult

# Older SDKs call them LogExporter and LogExportResult.
_LogExporter: Any = getattr(logs_export, "LogRecordExporter", None) or logs_export.LogExporter
_LogExportResult: Any = getattr(logs_export, "LogRecordExportResult", None) or logs_export.LogExportResult


class CountingSpanExporter(SpanExporter):
    """Drops every span, or keeps it when `kept` is a list."""

    def __init__(self) -> None:
        self.spans = 0
        self.kept: list[ReadableSpan] | None = None

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.spans += len(spans)
        if self.kept is not None:
            self.kept.extend(spans)
        return SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Do nothing: there is nothing to close."""


class LastMetricExporter(MetricExporter):
    """Keeps the last, cumulative, state of every metric."""

    def __init__(self) -> None:
        super().__init__()
        self.data: MetricsData | None = None

    def export(self, metrics_data: MetricsData, timeout_millis: float = 10_000, **kwargs: Any) -> MetricExportResult:
        del timeout_millis, kwargs
        self.data = metrics_data
        return MetricExportResult.SUCCESS

    def force_flush(self, timeout_millis: float = 10_000) -> bool:
        del timeout_millis
        return True

    def shutdown(self, timeout_millis: float = 30_000, **kwargs: Any) -> None:
        """Do nothing: there is nothing to close."""


class CountingLogExporter(_LogExporter):  # type: ignore[misc] # its name depends on the SDK
    """Drops every log record."""

    def __init__(self) -> None:
        self.records = 0

    def export(self, batch: Any) -> Any:
        self.records += len(batch)
        return _LogExportResult.SUCCESS

    def force_flush(self, timeout_millis: int = 30_000) -> bool:
        del timeout_millis
        return True

    def shutdown(self) -> None:
        """Do nothing: there is nothing to close."""


@dataclass
class Providers:
    """The three providers of one process, made the global ones."""

    spans: CountingSpanExporter = field(default_factory=CountingSpanExporter)
    metrics: LastMetricExporter = field(default_factory=LastMetricExporter)
    logs: CountingLogExporter = field(default_factory=CountingLogExporter)

    def __post_init__(self) -> None:
        self.tracer_provider = TracerProvider(shutdown_on_exit=False)
        self.tracer_provider.add_span_processor(BatchSpanProcessor(self.spans))
        self.meter_provider = MeterProvider([PeriodicExportingMetricReader(self.metrics)], shutdown_on_exit=False)
        self.logger_provider = LoggerProvider(shutdown_on_exit=False)
        self.logger_provider.add_log_record_processor(logs_export.BatchLogRecordProcessor(self.logs))
        trace.set_tracer_provider(self.tracer_provider)
        metrics.set_meter_provider(self.meter_provider)
        set_logger_provider(self.logger_provider)

    def flush(self) -> None:
        """Export every span and log record so far."""
        self.tracer_provider.force_flush()
        self.logger_provider.force_flush()

    def points(self) -> int:
        """Return how many points the counters and histograms have been given; a counter counts by one here."""
        self.meter_provider.force_flush()
        return sum(int(getattr(point, "count", getattr(point, "value", 0))) for point in self._points())

    def counted(self, metric_name: str, label: str) -> dict[str, int]:
        """Return the sums of a counter by one label, without those that are 0."""
        self.meter_provider.force_flush()
        sums: Counter[str] = Counter()
        for point in self._points(metric_name):
            sums[str((point.attributes or {}).get(label, ""))] += int(point.value)
        return {word: count for word, count in sums.items() if count}

    def _points(self, metric_name: str | None = None) -> list[Any]:
        if self.metrics.data is None:
            return []
        return [
            point
            for resource in self.metrics.data.resource_metrics
            for scope in resource.scope_metrics
            for metric in scope.metrics
            if metric_name in {None, metric.name}
            for point in metric.data.data_points
        ]

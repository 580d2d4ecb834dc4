"""The real OpenTelemetry SDK, kept in memory."""

from __future__ import annotations

from collections.abc import Sequence
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


class Telemetry:
    """Three providers and what came out of them."""

    def __init__(self) -> None:
        self._spans = InMemorySpanExporter()
        self._logs = _LogExporter()
        self._metrics = InMemoryMetricReader()
        self.tracer_provider = TracerProvider()
        self.tracer_provider.add_span_processor(SimpleSpanProcessor(self._spans))
        self.meter_provider = MeterProvider(metric_readers=[self._metrics])
        self.logger_provider = LoggerProvider()
        self.logger_provider.add_log_record_processor(logs_export.SimpleLogRecordProcessor(self._logs))

    @property
    def providers(self) -> dict[str, Any]:
        """The providers as `instrument()` takes them."""
        return {
            "tracer_provider": self.tracer_provider,
            "meter_provider": self.meter_provider,
            "logger_provider": self.logger_provider,
        }

    def spans(self) -> Sequence[ReadableSpan]:
        """Every ended span."""
        return self._spans.get_finished_spans()

    def reviews(self) -> list[dict[str, Any]]:
        """The attributes of every review span."""
        return [dict(span.attributes or {}) for span in self.spans() if span.name == "draftcritic.review"]

    def points(self, name: str) -> dict[tuple[tuple[str, Any], ...], Any]:
        """The points of a metric by their sorted labels: a value, or the count of a histogram."""
        data = self._metrics.get_metrics_data()
        found = {}
        for resource in data.resource_metrics if data else ():
            for scope in resource.scope_metrics:
                for metric in scope.metrics:
                    if metric.name == name:
                        for point in metric.data.data_points:
                            key = tuple(sorted((point.attributes or {}).items()))
                            found[key] = getattr(point, "value", None) if hasattr(point, "value") else point.count
        return found

    def log_records(self) -> list[Any]:
        """Every log record."""
        return [data.log_record for data in self._logs.get_finished_logs()]

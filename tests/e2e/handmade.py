"""Spans, logs and metrics that no agent would send, from the real SDK."""

from __future__ import annotations

import time
from typing import Any

from e2e.agents import CARD, EMAIL, KEY
from opentelemetry._logs import LogRecord, SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import Span, Status, StatusCode, set_span_in_context

SERVICE = "handmade"
REVIEW = "draftcritic.review"


class Sender:
    """Sends spans one by one, each at once.

    Args:
        endpoint: Base URL of an OTLP receiver over HTTP.
        resource: Resource attributes beyond the service's name.
    """

    def __init__(self, endpoint: str, **resource: str) -> None:
        self.endpoint = endpoint
        self.resource = Resource.create({"service.name": SERVICE, **resource})
        self._provider = TracerProvider(resource=self.resource, shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(OTLPSpanExporter(endpoint=f"{endpoint}/v1/traces")))
        self._tracer = self._provider.get_tracer("handmade")

    def span(
        self,
        name: str,
        parent: Span | None = None,
        *,
        lasts: float = 0.01,
        failed: str | None = None,
        **attributes: Any,
    ) -> Span:
        """Send a span that ends now; `__` in an attribute's name becomes a dot."""
        end = time.time_ns()
        span = self._tracer.start_span(
            name,
            set_span_in_context(parent) if parent is not None else None,
            attributes={key.replace("__", "."): value for key, value in attributes.items()},
            start_time=end - int(lasts * 1e9),
        )
        if failed is not None:
            span.set_status(Status(StatusCode.ERROR, failed))
        span.end(end)
        return span

    def close(self) -> None:
        self._provider.shutdown()


def trace_id(span: Span) -> str:
    return format(span.get_span_context().trace_id, "032x")


def send_planted(endpoint: str) -> None:
    """Personal data and a key in every place that OTLP has for a text."""
    text = f"mail {EMAIL}, card {CARD}, key {KEY}"
    sender = Sender(endpoint, **{"host.label": text})
    tracer = sender._provider.get_tracer("handmade", attributes={"scope.note": text})
    with tracer.start_as_current_span(f"span {EMAIL} {CARD} {KEY}") as span:
        span.set_attribute("free.text", text)
        span.set_attribute("list", ["first", text])
        span.set_attribute("number", int(CARD.replace(" ", "")))
        span.set_attribute("user.id", "planted.person")
        span.set_attribute("gen_ai.input.messages", text)
        span.set_attribute("llm.input_messages.0.message.content", text)
        span.set_attribute("draftcritic.verdict", "refuse")
        span.add_event(f"event {KEY}", {"note": text})
        span.record_exception(ValueError(text))
        span.set_status(Status(StatusCode.ERROR, text))
    sender.close()

    logs = LoggerProvider(resource=sender.resource, shutdown_on_exit=False)
    logs.add_log_record_processor(SimpleLogRecordProcessor(OTLPLogExporter(endpoint=f"{endpoint}/v1/logs")))
    logger = logs.get_logger("handmade")
    for body in (text, {"content": text, "other": {"deep": [text]}}, [text]):
        logger.emit(
            LogRecord(
                timestamp=time.time_ns(), severity_number=SeverityNumber.INFO, body=body, attributes={"note": text}
            )
        )
    logs.shutdown()

    reader = PeriodicExportingMetricReader(OTLPMetricExporter(endpoint=f"{endpoint}/v1/metrics"))
    meters = MeterProvider([reader], resource=sender.resource, shutdown_on_exit=False)
    meters.get_meter("handmade").create_counter("handmade.count").add(1, {"note": text})
    meters.shutdown()

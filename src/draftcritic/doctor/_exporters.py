"""Checks whether a test span, metric and log record are accepted where telemetry goes."""

from __future__ import annotations

import importlib.metadata
import logging
import os
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from draftcritic.core._exception_place import described
from draftcritic.core._secrets import masked
from draftcritic.doctor._finding import Finding, fault, note, ok, warning

if TYPE_CHECKING:
    from typing_extensions import Self

_TIMEOUT = 4
"""Seconds that an exporter may take."""
_SIGNALS = {"TRACES": "span", "METRICS": "metric", "LOGS": "log record"}
_LOST = {
    "TRACES": "reviews are not recorded",
    "METRICS": "dashboards and alerts have no data",
    "LOGS": "evaluation events are not recorded",
}
_PROTOCOLS = {"grpc": "otlp_proto_grpc", "http/protobuf": "otlp_proto_http"}
_NAME = "draftcritic.doctor"


def exporters() -> Iterator[Finding]:
    """Send one test span, metric and log record each by the exporter that the environment configures."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        yield fault("exporters", "OTEL_SDK_DISABLED switches all telemetry off", "unset it")
        return
    for signal in _SIGNALS:
        # What opentelemetry-distro sets where the user sets nothing.
        for name in (os.environ.get(f"OTEL_{signal}_EXPORTER", "").strip() or "otlp").split(","):
            yield _check(signal, name.strip())


def _check(signal: str, name: str) -> Finding:
    kind = _SIGNALS[signal]
    variable = f"OTEL_{signal}_EXPORTER"
    if name == "none":
        return warning("exporters", f"{variable} = none: {_LOST[signal]}", f"set {variable}=otlp")
    if name == "console":
        return ok("exporters", f"a {kind} goes to the terminal")
    protocol = _setting(signal, "PROTOCOL") or "grpc"
    wanted = _PROTOCOLS.get(protocol) if name == "otlp" else name
    if wanted is None:
        return fault("exporters", f"the protocol {protocol!r} is unknown", f"use {' or '.join(_PROTOCOLS)}")
    group = f"opentelemetry_{signal.lower()}_exporter"
    entry = next(iter(importlib.metadata.entry_points(group=group, name=wanted)), None)
    if entry is None:
        return fault("exporters", f"there is no exporter {wanted!r}", "pip install opentelemetry-exporter-otlp")
    return _sent(signal, wanted, entry)


def _sent(signal: str, exporter: str, entry: importlib.metadata.EntryPoint) -> Finding:
    kind = _SIGNALS[signal]
    if not exporter.startswith("otlp"):
        return note("exporters", f"a {kind} goes to {exporter}, which is not tested")
    where = masked(_setting(signal, "ENDPOINT") or f"localhost:{4317 if exporter.endswith('grpc') else 4318}")
    with _CapturedLog() as logged:
        try:
            accepted = _SENDERS[signal](entry.load())
        except Exception as error:
            accepted = False
            logged.lines.append(described(error))
    if accepted:
        return ok("exporters", f"{where} accepted a test {kind} ({exporter})")
    said = f": {logged.cause}" if logged.cause else ""
    remedy = _remedy(signal, exporter, where)
    return fault("exporters", f"{where} did not accept a test {kind} ({exporter}){said}", remedy)


def _setting(signal: str, what: str) -> str:
    names = (f"OTEL_EXPORTER_OTLP_{signal}_{what}", f"OTEL_EXPORTER_OTLP_{what}")
    return next((text for name in names if (text := os.environ.get(name, "").strip())), "")


def _remedy(signal: str, exporter: str, where: str) -> str:
    advice = f"start a collector at {where}, or set OTEL_EXPORTER_OTLP_ENDPOINT"
    if exporter.endswith("grpc") and where.rstrip("/").endswith(":4318"):
        advice = "4318 is the port of HTTP: set OTEL_EXPORTER_OTLP_PROTOCOL=http/protobuf"
    elif exporter.endswith("http") and where.rstrip("/").endswith(":4317"):
        advice = "4317 is the port of gRPC: set OTEL_EXPORTER_OTLP_PROTOCOL=grpc"
    if signal != "TRACES":
        advice += f"; a backend that takes traces alone, as Jaeger, needs OTEL_{signal}_EXPORTER=none"
    return advice


def _send_span(exporter_class: Callable[..., Any]) -> bool:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import SpanExportResult

    exporter = exporter_class(timeout=_TIMEOUT)
    span: Any = TracerProvider(shutdown_on_exit=False).get_tracer(_NAME).start_span(_NAME)
    span.end()
    try:
        return bool(exporter.export([span]) is SpanExportResult.SUCCESS)
    finally:
        exporter.shutdown()


def _send_metric(exporter_class: Callable[..., Any]) -> bool:
    from opentelemetry.sdk.metrics import MeterProvider
    from opentelemetry.sdk.metrics.export import InMemoryMetricReader, MetricExportResult

    exporter, reader = exporter_class(timeout=_TIMEOUT), InMemoryMetricReader()
    provider = MeterProvider([reader], shutdown_on_exit=False)
    provider.get_meter(_NAME).create_counter(_NAME).add(1)
    try:
        data = reader.get_metrics_data()
        return bool(exporter.export(data, timeout_millis=_TIMEOUT * 1000) is MetricExportResult.SUCCESS)
    finally:
        provider.shutdown()
        exporter.shutdown()


def _send_log(exporter_class: Callable[..., Any]) -> bool:
    from opentelemetry.sdk._logs import LoggerProvider
    from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

    memory: Any = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call] # it is untyped
    provider = LoggerProvider(shutdown_on_exit=False)
    provider.add_log_record_processor(SimpleLogRecordProcessor(memory))
    now = time.time_ns()
    provider.get_logger(_NAME).emit(timestamp=now, observed_timestamp=now, body=_NAME, event_name=_NAME)
    exporter = exporter_class(timeout=_TIMEOUT)
    try:
        return bool(exporter.export(memory.get_finished_logs()).name == "SUCCESS")
    finally:
        exporter.shutdown()


_SENDERS: dict[str, Callable[[Callable[..., Any]], bool]] = {
    "TRACES": _send_span,
    "METRICS": _send_metric,
    "LOGS": _send_log,
}


class _CapturedLog(logging.Handler):
    """Keeps what the exporters log, instead of the terminal."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._logger = logging.getLogger("opentelemetry")

    @property
    def cause(self) -> str:
        return masked(" ".join(self.lines[-1].split()))[:160] if self.lines else ""

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())

    def __enter__(self) -> Self:
        self._propagated, self._logger.propagate = self._logger.propagate, False
        self._logger.addHandler(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._logger.removeHandler(self)
        self._logger.propagate = self._propagated

"""Writes reviews down: a span, a log event and metrics, over the OpenTelemetry API."""

from draftcritic.telemetry._content import Capture
from draftcritic.telemetry._context import Origin
from draftcritic.telemetry._recorder import TelemetryRecord, TelemetryRecorder
from draftcritic.telemetry._schema import SCHEMA, AttributeInfo, EventInfo, MetricInfo, Schema

__all__ = [
    "SCHEMA",
    "AttributeInfo",
    "Capture",
    "EventInfo",
    "MetricInfo",
    "Origin",
    "Schema",
    "TelemetryRecord",
    "TelemetryRecorder",
]

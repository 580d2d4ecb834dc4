"""OTLP messages, flattened to what the demo prints: spans, metric points and events."""

from __future__ import annotations

import base64
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.metrics.v1.metrics_pb2 import AggregationTemporality
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from draftcritic.telemetry import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from google.protobuf.message import Message
    from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
    from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
    from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
    from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue
    from opentelemetry.proto.metrics.v1.metrics_pb2 import Metric

Scalar = str | bool | int | float
Value = Scalar | Sequence["Value"] | None
Labels = tuple[tuple[str, str], ...]

_ID_FIELDS = frozenset({"traceId", "spanId", "parentSpanId"})


@dataclass(frozen=True)
class Span:
    """One received span.

    Attributes:
        trace_id, span_id, parent_id: Hexadecimal; `parent_id` is empty for a root.
        name: The span's name.
        scope: Name of the instrumentation that made it.
        start_ns, end_ns: Nanoseconds since the epoch.
        attributes: As sent.
        events: Names of its events, in order.
        is_error: Its status is ERROR.
        links: Trace and span ids of the spans that it links to.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    scope: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Value]
    events: tuple[str, ...] = ()
    is_error: bool = False
    links: tuple[tuple[str, str], ...] = ()

    @property
    def duration_s(self) -> float:
        """Seconds from start to end."""
        return max(0, self.end_ns - self.start_ns) / 1e9


@dataclass(frozen=True)
class Point:
    """One received point of a counter, gauge or histogram.

    Attributes:
        metric, unit: The instrument.
        labels: Attributes of the series, sorted by name.
        value: The counter's or gauge's value, a histogram's sum.
        count: How many measurements a histogram has; 1 otherwise.
        adds_up: Points of the series are added up; otherwise the latest one is the value.
        time_ns: Nanoseconds since the epoch.
    """

    metric: str
    unit: str
    labels: Labels
    value: float
    count: int
    adds_up: bool
    time_ns: int


@dataclass(frozen=True)
class Event:
    """One received log record that has an event name, with the span it belongs to."""

    name: str
    trace_id: str
    span_id: str
    attributes: Mapping[str, Value]


def spans_of(request: ExportTraceServiceRequest) -> Iterator[Span]:
    """The spans of one export."""
    for resource in request.resource_spans:
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield Span(
                    trace_id=span.trace_id.hex(),
                    span_id=span.span_id.hex(),
                    parent_id=span.parent_span_id.hex(),
                    name=span.name,
                    scope=scope.scope.name,
                    start_ns=span.start_time_unix_nano,
                    end_ns=span.end_time_unix_nano,
                    attributes=_attributes(span.attributes),
                    events=tuple(event.name for event in span.events),
                    is_error=span.status.code == Status.STATUS_CODE_ERROR,
                    links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
                )


def points_of(request: ExportMetricsServiceRequest) -> Iterator[Point]:
    """The points of one export; exponential histograms and summaries are skipped."""
    for resource in request.resource_metrics:
        for scope in resource.scope_metrics:
            for metric in scope.metrics:
                yield from _points(metric)


def events_of(request: ExportLogsServiceRequest) -> Iterator[Event]:
    """The events of one export; log records without an event name are skipped."""
    for resource in request.resource_logs:
        for scope in resource.scope_logs:
            for record in scope.log_records:
                if record.event_name:
                    yield Event(
                        name=record.event_name,
                        trace_id=record.trace_id.hex(),
                        span_id=record.span_id.hex(),
                        attributes=_attributes(record.attributes),
                    )


def totals(points: Iterable[Point], metric: str, *keys: str) -> dict[tuple[str, ...], float]:
    """Return the current value of a metric, summed by some of its labels.

    Args:
        points: Everything received.
        metric: The instrument's name.
        keys: Label names, without the prefix `draftcritic.`; a series that lacks one has "" there.
    """
    series: dict[Labels, float] = defaultdict(float)
    latest: dict[Labels, int] = {}
    for point in points:
        if point.metric != metric:
            continue
        if point.adds_up:
            series[point.labels] += point.value
        elif point.time_ns >= latest.get(point.labels, 0):
            series[point.labels], latest[point.labels] = point.value, point.time_ns
    result: dict[tuple[str, ...], float] = defaultdict(float)
    for labels, value in series.items():
        short = {name.removeprefix("draftcritic."): text for name, text in labels}
        result[tuple(short.get(key, "") for key in keys)] += value
    return dict(result)


def otlp_json(message: Message) -> dict[str, Any]:
    """A message in the JSON mapping of OTLP: ids in hexadecimal, enumerations as numbers."""
    mapped = MessageToDict(message, use_integers_for_enums=True)
    _ids_to_hex(mapped)
    return mapped


def _ids_to_hex(node: object) -> None:
    if isinstance(node, list):
        for item in node:
            _ids_to_hex(item)
    elif isinstance(node, dict):
        for key, value in node.items():
            if key in _ID_FIELDS and isinstance(value, str):
                node[key] = base64.b64decode(value).hex()
            else:
                _ids_to_hex(value)


def _points(metric: Metric) -> Iterator[Point]:
    kind = metric.WhichOneof("data")
    if kind not in ("sum", "gauge", "histogram"):
        return
    data = getattr(metric, kind)
    delta = kind != "gauge" and data.aggregation_temporality == AggregationTemporality.AGGREGATION_TEMPORALITY_DELTA
    for point in data.data_points:
        is_histogram = kind == "histogram"
        yield Point(
            metric=metric.name,
            unit=metric.unit,
            labels=tuple(sorted((name, str(value)) for name, value in _attributes(point.attributes).items())),
            value=float(point.sum if is_histogram else getattr(point, point.WhichOneof("value") or "as_int")),
            count=int(point.count) if is_histogram else 1,
            adds_up=delta,
            time_ns=point.time_unix_nano,
        )


def _attributes(pairs: Iterable[KeyValue]) -> dict[str, Value]:
    return {pair.key: _value(pair.value) for pair in pairs}


def _value(value: AnyValue) -> Value:
    kind = value.WhichOneof("value")
    if kind is None:
        return None
    if kind == "array_value":
        return [_value(item) for item in value.array_value.values]
    if kind == "kvlist_value":
        return [f"{pair.key}={_value(pair.value)}" for pair in value.kvlist_value.values]
    if kind == "bytes_value":
        return value.bytes_value.hex()
    scalar: Scalar = getattr(value, kind)
    return scalar


REVIEW = names.SPAN_REVIEW
"""Name of the review's span."""


@dataclass(frozen=True)
class Node:
    """A span with the spans below it, in order of their start."""

    span: Span
    children: tuple[Node, ...]

    def walk(self) -> Iterator[Node]:
        """This node and all below it, from the top."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Trace:
    """One trace.

    Attributes:
        trace_id: Hexadecimal.
        roots: Spans without a parent among those received; a whole trace has exactly one.
    """

    trace_id: str
    roots: tuple[Node, ...]

    @property
    def start_ns(self) -> int:
        """When its first span began, in nanoseconds since the epoch."""
        return min(root.span.start_ns for root in self.roots)

    @property
    def nodes(self) -> list[Node]:
        """Every node, from the top."""
        return [node for root in self.roots for node in root.walk()]

    @property
    def reviews(self) -> list[Node]:
        """The nodes of the critic's reviews."""
        return [node for node in self.nodes if node.span.name == REVIEW]


def traces(spans: Iterable[Span]) -> list[Trace]:
    """The traces, the earliest first."""
    by_trace: dict[str, list[Span]] = defaultdict(list)
    for span in spans:
        by_trace[span.trace_id].append(span)
    return sorted((_trace(trace_id, found) for trace_id, found in by_trace.items()), key=lambda t: t.start_ns)


def _trace(trace_id: str, spans: list[Span]) -> Trace:
    known = {span.span_id for span in spans}
    below: dict[str, list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda found: found.start_ns):
        below[span.parent_id if span.parent_id in known else ""].append(span)

    def node(span: Span) -> Node:
        return Node(span, tuple(node(child) for child in below[span.span_id]))

    return Trace(trace_id, tuple(node(span) for span in below[""]))

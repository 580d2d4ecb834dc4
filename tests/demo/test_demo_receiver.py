"""The receiver, fed over real HTTP by the SDK's own OTLP exporters."""

from __future__ import annotations

import gzip
import http.client
import json
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from opentelemetry._logs import LogRecord
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import SimpleLogRecordProcessor
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.trace import StatusCode

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.demo._traces import totals


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.setenv(name, "127.0.0.1")


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as running:
        yield running


def post(receiver: OtlpReceiver, path: str, body: bytes, **headers: str) -> tuple[int, bytes]:
    connection = http.client.HTTPConnection(str(urlsplit(receiver.endpoint).netloc), timeout=5)
    try:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        connection.request("POST", path, body, {"Content-Type": "application/x-protobuf", **sent})
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@pytest.mark.parametrize("compression", [Compression.NoCompression, Compression.Gzip, Compression.Deflate])
def test_spans_arrive_whole(receiver: OtlpReceiver, compression: Compression) -> None:
    provider = TracerProvider()
    exporter = OTLPSpanExporter(endpoint=f"{receiver.endpoint}/v1/traces", compression=compression, timeout=5)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("a.scope")
    with tracer.start_as_current_span("parent") as parent:
        attributes = {"s": "é", "i": 3, "f": 0.5, "b": True, "l": ["x", "y"]}
        with tracer.start_as_current_span("child", attributes=attributes) as child:
            child.add_event("on_llm_start")
            child.add_event("on_llm_end")
            child.set_status(StatusCode.ERROR)
    provider.shutdown()

    by_name = {span.name: span for span in receiver.spans}
    got = by_name["child"]
    assert got.trace_id == format(parent.get_span_context().trace_id, "032x")
    assert got.parent_id == by_name["parent"].span_id == format(parent.get_span_context().span_id, "016x")
    assert by_name["parent"].parent_id == ""
    assert got.attributes == {"s": "é", "i": 3, "f": 0.5, "b": True, "l": ["x", "y"]}
    assert got.events == ("on_llm_start", "on_llm_end")
    assert (got.scope, got.is_error, by_name["parent"].is_error) == ("a.scope", True, False)
    assert 0 <= got.duration_s <= by_name["parent"].duration_s


def test_metrics_add_up_by_label(receiver: OtlpReceiver) -> None:
    exporter = OTLPMetricExporter(endpoint=f"{receiver.endpoint}/v1/metrics", timeout=5)
    reader = PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)
    provider = MeterProvider([reader])
    meter = provider.get_meter("a.scope")
    reviews = meter.create_counter("draftcritic.reviews", unit="{review}")
    duration = meter.create_histogram("draftcritic.review.duration", unit="s")
    reviews.add(0, {"draftcritic.verdict": "refuse", "draftcritic.sku": "a"})
    reviews.add(2, {"draftcritic.verdict": "approve", "draftcritic.sku": "a"})
    provider.force_flush()
    reviews.add(3, {"draftcritic.verdict": "approve", "draftcritic.sku": "b"})
    duration.record(0.5, {"draftcritic.sku": "a"})
    duration.record(1.5, {"draftcritic.sku": "a"})
    provider.shutdown()

    assert totals(receiver.points, "draftcritic.reviews", "verdict") == {("refuse",): 0, ("approve",): 5}
    assert totals(receiver.points, "draftcritic.reviews", "verdict", "sku")["approve", "b"] == 3
    assert totals(receiver.points, "draftcritic.review.duration", "sku") == {("a",): 2.0}
    assert {p.count for p in receiver.points if p.unit == "s"} == {2}
    assert totals(receiver.points, "unheard.of", "sku") == {}


def test_delta_points_are_added(receiver: OtlpReceiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "DELTA")
    exporter = OTLPMetricExporter(endpoint=f"{receiver.endpoint}/v1/metrics", timeout=5)
    provider = MeterProvider([PeriodicExportingMetricReader(exporter, export_interval_millis=3_600_000)])
    counter = provider.get_meter("a.scope").create_counter("draftcritic.cost", unit="USD")
    counter.add(0.25, {"sku": "a"})
    provider.force_flush()
    counter.add(0.5, {"sku": "a"})
    provider.shutdown()

    assert totals(receiver.points, "draftcritic.cost", "sku") == {("a",): 0.75}


def test_events_arrive_and_plain_log_records_do_not_count(receiver: OtlpReceiver) -> None:
    provider = LoggerProvider()
    exporter = OTLPLogExporter(endpoint=f"{receiver.endpoint}/v1/logs", timeout=5)
    provider.add_log_record_processor(SimpleLogRecordProcessor(exporter))
    logger = provider.get_logger("a.scope")
    logger.emit(LogRecord(timestamp=1, event_name="gen_ai.evaluation.result", attributes={"n": 1}))
    logger.emit(LogRecord(timestamp=1, body="something else"))
    provider.shutdown()

    assert [(event.name, event.attributes) for event in receiver.events] == [("gen_ai.evaluation.result", {"n": 1})]


def test_saved_lines_follow_the_json_mapping_of_otlp(tmp_path: Path) -> None:
    file = tmp_path / "otlp.jsonl"
    with OtlpReceiver(save=file) as receiver:
        provider = TracerProvider()
        exporter = OTLPSpanExporter(endpoint=f"{receiver.endpoint}/v1/traces", timeout=5)
        provider.add_span_processor(SimpleSpanProcessor(exporter))
        with provider.get_tracer("s").start_as_current_span("parent") as parent:
            provider.get_tracer("s").start_span("child", attributes={"traceId": "kept"}).end()
        provider.shutdown()

    first, second = (json.loads(line) for line in file.read_text(encoding="utf-8").splitlines())
    child = first["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    assert child["traceId"] == format(parent.get_span_context().trace_id, "032x")
    assert child["parentSpanId"] == format(parent.get_span_context().span_id, "016x")
    assert child["kind"] == 1
    assert child["startTimeUnixNano"].isdigit()
    assert child["attributes"] == [{"key": "traceId", "value": {"stringValue": "kept"}}]
    assert second["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["name"] == "parent"


@pytest.mark.parametrize(
    ("path", "body", "headers", "status"),
    [
        ("/v1/traces", b"", {}, 200),
        ("/v1/traces", gzip.compress(b""), {"Content_Encoding": "gzip"}, 200),
        ("/v1/traces", b"not protobuf", {}, 400),
        ("/v1/traces", b"not gzip", {"Content_Encoding": "gzip"}, 400),
        ("/v1/traces", gzip.compress(b"cut short")[:-9], {"Content_Encoding": "gzip"}, 400),
        ("/v1/traces", b"", {"Content_Encoding": "br"}, 400),
        ("/v1/traces", b"{}", {"Content_Type": "application/json"}, 415),
        ("/v1/traces", b"", {"Content_Length": "99999999999"}, 413),
        ("/v1/profiles", b"", {}, 404),
    ],
    ids=["empty", "gzip", "garbage", "no-gzip", "cut-gzip", "brotli", "json", "too-long", "unknown-path"],
)
def test_answers(receiver: OtlpReceiver, path: str, body: bytes, headers: dict[str, str], status: int) -> None:
    assert post(receiver, path, body, **headers)[0] == status
    # A refusal leaves the receiver in order.
    code, answer = post(receiver, "/v1/traces", ExportTraceServiceRequest().SerializeToString())
    assert code == 200
    assert ExportTraceServiceResponse.FromString(answer) == ExportTraceServiceResponse()


def test_it_listens_on_loopback_only_and_stops(receiver: OtlpReceiver) -> None:
    assert urlsplit(receiver.endpoint).hostname == "127.0.0.1"
    with OtlpReceiver() as other:
        endpoint = other.endpoint
    assert endpoint != receiver.endpoint
    with pytest.raises(ConnectionRefusedError):
        post(other, "/v1/traces", b"")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="missing"), OtlpReceiver(save=tmp_path / "missing" / "file"):
        pass

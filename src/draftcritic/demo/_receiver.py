"""A receiver for OTLP over HTTP: protobuf, gzip, the three signals, on a free port of loopback."""

from __future__ import annotations

import json
import threading
import zlib
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, cast

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from draftcritic.demo._traces import Event, Point, Span, events_of, otlp_json, points_of, spans_of

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType
    from typing import TextIO

    from google.protobuf.message import Message
    from typing_extensions import Self

PROTOBUF = "application/x-protobuf"
_LONGEST_BODY = 32 * 1024 * 1024
_POLL_S = 0.05
_STOP_WITHIN_S = 5.0
_CLIENT_TIMEOUT_S = 30.0
_MESSAGES: dict[str, tuple[type[Message], type[Message]]] = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
    "/v1/logs": (ExportLogsServiceRequest, ExportLogsServiceResponse),
}


@dataclass
class _Store:
    spans: list[Span] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    file: TextIO | None = None
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, request: Message) -> None:
        with self.lock:
            if isinstance(request, ExportTraceServiceRequest):
                self.spans.extend(spans_of(request))
            elif isinstance(request, ExportMetricsServiceRequest):
                self.points.extend(points_of(request))
            elif isinstance(request, ExportLogsServiceRequest):
                self.events.extend(events_of(request))
            if self.file is not None:
                self.file.write(json.dumps(otlp_json(request), ensure_ascii=False) + "\n")


class OtlpReceiver:
    """The receiver: listens on entry, stops on exit. What it received stays readable afterwards.

    Args:
        save: A file that gets one line for every export, in OTLP's JSON mapping; it is overwritten.

    Raises:
        OSError: On entry, when the file cannot be written or no port is to be had.
    """

    def __init__(self, save: Path | None = None) -> None:
        self._save = save
        self._store = _Store()
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._endpoint = ""

    @property
    def endpoint(self) -> str:
        """What `OTEL_EXPORTER_OTLP_ENDPOINT` takes."""
        return self._endpoint

    @property
    def spans(self) -> list[Span]:
        """Every span received so far."""
        with self._store.lock:
            return list(self._store.spans)

    @property
    def points(self) -> list[Point]:
        """Every metric point received so far."""
        with self._store.lock:
            return list(self._store.points)

    @property
    def events(self) -> list[Event]:
        """Every event received so far."""
        with self._store.lock:
            return list(self._store.events)

    def __enter__(self) -> Self:
        self._store.file = self._save.open("w", encoding="utf-8") if self._save is not None else None
        try:
            self._server = _Server(self._store)
        except OSError:
            self._close_file()
            raise
        self._endpoint = f"http://127.0.0.1:{self._server.server_address[1]}"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(_POLL_S,), name="otlp-receiver", daemon=True
        )
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._server is not None and self._thread is not None:
            self._server.shutdown()
            self._server.server_close()
            self._thread.join(_STOP_WITHIN_S)
        with self._store.lock:
            self._close_file()

    def _close_file(self) -> None:
        if self._store.file is not None:
            self._store.file.close()
            self._store.file = None


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # An exporter keeps its connection open; waiting for its thread would hold up the end.
    block_on_close = False

    def __init__(self, store: _Store) -> None:
        self.store = store
        super().__init__(("127.0.0.1", 0), _Handler)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = _CLIENT_TIMEOUT_S

    def do_POST(self) -> None:
        kinds = _MESSAGES.get(self.path)
        if kinds is None:
            self._refuse(HTTPStatus.NOT_FOUND)
        elif self.headers.get_content_type() != PROTOBUF:
            self._refuse(HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
        elif not 0 <= (length := _length(self.headers.get("Content-Length"))) <= _LONGEST_BODY:
            self._refuse(HTTPStatus.LENGTH_REQUIRED if length < 0 else HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        else:
            request_kind, response_kind = kinds
            request = request_kind()
            try:
                request.ParseFromString(_plain(self.rfile.read(length), self.headers.get("Content-Encoding", "")))
            except (DecodeError, zlib.error, ValueError):
                self._refuse(HTTPStatus.BAD_REQUEST)
                return
            cast("_Server", self.server).store.add(request)
            self._answer(HTTPStatus.OK, response_kind().SerializeToString())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the base class names it so
        """Say nothing: the output belongs to the agent."""

    def _refuse(self, status: HTTPStatus) -> None:
        # The body has not been read, so the connection cannot serve another request.
        self.close_connection = True
        self._answer(status, b"")

    def _answer(self, status: HTTPStatus, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", PROTOBUF)
        self.send_header("Content-Length", str(len(body)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)


def _length(header: str | None) -> int:
    return int(header) if header is not None and header.isdigit() else -1


def _plain(body: bytes, encoding: str) -> bytes:
    """The body without its content encoding.

    Raises:
        ValueError: The encoding is unknown, or the body unpacks to more than the limit.
        zlib.error: The body is not what its encoding says.
    """
    if encoding in ("", "identity"):
        return body
    if encoding not in ("gzip", "deflate"):
        raise ValueError(f"unknown content encoding {encoding!r}; allowed: gzip, deflate, identity")
    unpacker = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
    plain = unpacker.decompress(body, _LONGEST_BODY)
    if unpacker.unconsumed_tail or not unpacker.eof:
        raise ValueError("the body is cut short or too long")
    return plain

"""Jaeger's JSON: the download of its page and the answers of its query API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from draftcritic.turns._records import Record
from draftcritic.turns._row import TurnRow
from draftcritic.turns._spans import SpanJoin, SpanRecord


class JaegerReader:
    """Reads traces, each one object with all its spans."""

    name = "Jaeger"

    def accepts(self, record: Record) -> bool:
        """Whether the object is a trace."""
        spans = record.value.get("spans")
        return isinstance(spans, list) and "traceID" in record.value

    def read(self, record: Record) -> Iterator[TurnRow]:
        """Yield the turns of the trace."""
        join = SpanJoin(max_bytes=1 << 40)
        for span in record.value["spans"]:
            if isinstance(span, Mapping):
                yield from join.add(_span(span))
        yield from join.flush()

    def flush(self) -> Iterator[TurnRow]:
        """Yield nothing: each trace was whole."""
        yield from ()


def _span(span: Mapping[str, Any]) -> SpanRecord:
    tags = {tag["key"]: _value(tag) for tag in span.get("tags") or () if isinstance(tag, Mapping) and "key" in tag}
    references = [each for each in span.get("references") or () if isinstance(each, Mapping)]
    parents = [each.get("spanID") for each in references if each.get("refType") == "CHILD_OF"]
    duration = span.get("duration")
    return SpanRecord(
        trace_id=str(span.get("traceID") or ""),
        span_id=str(span.get("spanID") or ""),
        parent_id=str(parents[0] if parents else span.get("parentSpanID") or ""),
        name=str(span.get("operationName") or ""),
        time=float(span.get("startTime") or 0) / 1e6,
        attributes=tags,
        failed=tags.get("error") is True or tags.get("otel.status_code") == "ERROR",
        duration_s=float(duration) / 1e6 if isinstance(duration, (int, float)) else None,
    )


def _value(tag: Mapping[str, Any]) -> Any:
    """Return a tag's value; lists arrive as JSON text."""
    value = tag.get("value")
    if isinstance(value, str) and value[:1] == "[" and "messages" not in str(tag["key"]):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value

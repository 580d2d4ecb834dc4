"""OTLP in JSON: lines of the collector's file exporter and of `draftcritic demo --save`."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from draftcritic.turns._records import Record
from draftcritic.turns._row import TurnRow
from draftcritic.turns._spans import SpanJoin, SpanRecord

_KINDS = ("resourceSpans", "resource_spans", "resourceLogs", "resource_logs", "resourceMetrics", "resource_metrics")
_ID_BYTES = {16: 16, 24: 16, 8: 8, 12: 8}


class OtlpReader:
    """Reads exports of traces and logs; metrics say nothing of a turn."""

    name = "OTLP"

    def __init__(self) -> None:
        self._join = SpanJoin()

    def accepts(self, record: Record) -> bool:
        """Whether the object is an export."""
        return any(kind in record.value for kind in _KINDS)

    def read(self, record: Record) -> Iterator[TurnRow]:
        """Yield the turns that are complete."""
        for span in _spans(record.value):
            yield from self._join.add(span)

    def flush(self) -> Iterator[TurnRow]:
        """Yield the other turns."""
        return self._join.flush()


def _spans(export: Mapping[str, Any]) -> Iterator[SpanRecord]:
    for span in _leaves(export, ("resourceSpans", "scopeSpans", "spans")):
        start, end = _nanoseconds(span, "startTimeUnixNano"), _nanoseconds(span, "endTimeUnixNano")
        status = _get(span, "status")
        yield SpanRecord(
            trace_id=_hex(_get(span, "traceId")),
            span_id=_hex(_get(span, "spanId")),
            parent_id=_hex(_get(span, "parentSpanId")),
            name=str(_get(span, "name") or ""),
            time=start / 1e9,
            attributes=_attributes(_get(span, "attributes")),
            failed=isinstance(status, Mapping) and status.get("code") in (2, "STATUS_CODE_ERROR"),
            duration_s=(end - start) / 1e9 if end >= start > 0 else None,
        )
    for log in _leaves(export, ("resourceLogs", "scopeLogs", "logRecords")):
        attributes = _attributes(_get(log, "attributes"))
        body = _value(_get(log, "body"))
        yield SpanRecord(
            trace_id=_hex(_get(log, "traceId")),
            span_id=_hex(_get(log, "spanId")),
            parent_id="",
            name=str(_get(log, "eventName") or ""),
            time=(_nanoseconds(log, "timeUnixNano") or _nanoseconds(log, "observedTimeUnixNano")) / 1e9,
            attributes={**body, **attributes} if isinstance(body, Mapping) else attributes,
            is_event=True,
        )


def _leaves(export: Mapping[str, Any], path: tuple[str, str, str]) -> Iterator[Mapping[str, Any]]:
    for resource in _dicts(_get(export, path[0])):
        # Before 2022 the scope was called the instrumentation library.
        for scope in _dicts(_get(resource, path[1]) or resource.get("instrumentationLibrarySpans")):
            yield from _dicts(_get(scope, path[2]))


def _dicts(value: Any) -> Iterator[Mapping[str, Any]]:
    yield from (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()


def _get(holder: Mapping[str, Any], name: str) -> Any:
    """Return a field by its JSON name, or by its name in protobuf, which some exporters write."""
    if name in holder:
        return holder[name]
    return holder.get("".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name))


def _nanoseconds(holder: Mapping[str, Any], name: str) -> int:
    try:
        return int(_get(holder, name) or 0)
    except (TypeError, ValueError):
        return 0


def _hex(value: Any) -> str:
    """Return an id in hexadecimal; generic protobuf tools write it in base64."""
    text = value if isinstance(value, str) else ""
    if len(text) in (12, 24) and text.endswith("="):
        try:
            return base64.b64decode(text, validate=True).hex()
        except (binascii.Error, ValueError):
            return text
    return text.lower()


def _attributes(pairs: Any) -> dict[str, Any]:
    if isinstance(pairs, Mapping):
        return dict(pairs)
    return {str(pair.get("key")): _value(pair.get("value")) for pair in _dicts(pairs)}


def _value(value: Any) -> Any:
    """Return the value of OTLP's AnyValue."""
    if not isinstance(value, Mapping) or not value:
        return None
    kind, inner = next(iter(value.items()))
    kind = kind[0] + kind[1:].replace("_v", "V")
    if kind == "arrayValue":
        return [_value(item) for item in _values(inner)]
    if kind == "kvlistValue":
        return _attributes(list(_values(inner)))
    if kind == "intValue":
        try:
            return int(inner)
        except (TypeError, ValueError):
            return None
    return inner


def _values(inner: Any) -> Iterable[Any]:
    values = inner.get("values") if isinstance(inner, Mapping) else None
    return values if isinstance(values, list) else ()

"""Phoenix: a dataframe of OpenInference spans, or the parquet file of one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from draftcritic.turns._records import ReadError
from draftcritic.turns._row import TurnRow
from draftcritic.turns._spans import SpanJoin, SpanRecord

_PREFIX = "attributes."
_BATCH = 512


def read_parquet(path: Path) -> Iterator[TurnRow]:
    """Yield the turns of a parquet file of spans.

    Raises:
        ReadError: pyarrow is not installed, the file is damaged, or it has no spans.
    """
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ModuleNotFoundError as error:
        raise ReadError(f"{path}: reading parquet needs pyarrow: pip install 'draftcritic[phoenix]'") from error
    try:
        with parquet.ParquetFile(path) as file:
            columns = file.schema_arrow.names
            if "context.span_id" not in columns:
                raise ReadError(f"{path}: has no column context.span_id; expected is a dataframe of spans")
            wanted = [name for name in columns if name.startswith((_PREFIX, "context.")) or name in _PLAIN]
            rows = (row for batch in file.iter_batches(_BATCH, columns=wanted) for row in batch.to_pylist())
            yield from _turns(rows)
    except (arrow.ArrowException, OSError) as error:
        raise ReadError(f"{path}: cannot be read as parquet: {error}") from error


def read_dataframe(frame: Any) -> Iterator[TurnRow]:
    """Yield the turns of a dataframe of spans, as `phoenix.client` returns it."""
    whole = frame if "context.span_id" in frame.columns else frame.reset_index()
    return _turns(whole.to_dict("records"))


_PLAIN = ("name", "span_kind", "parent_id", "start_time", "end_time", "status_code")


def _turns(rows: Iterable[Mapping[str, Any]]) -> Iterator[TurnRow]:
    join = SpanJoin()
    for row in rows:
        yield from join.add(_span(row))
    yield from join.flush()


def _span(row: Mapping[str, Any]) -> SpanRecord:
    attributes: dict[str, Any] = {}
    for name, value in row.items():
        if name.startswith(_PREFIX) and value is not None:
            _flatten(name.removeprefix(_PREFIX), value, attributes)
    return SpanRecord(
        trace_id=str(row.get("context.trace_id") or ""),
        span_id=str(row.get("context.span_id") or ""),
        parent_id=str(row.get("parent_id") or ""),
        name=str(row.get("name") or ""),
        time=_seconds(row.get("start_time")),
        attributes=attributes,
        failed=row.get("status_code") == "ERROR",
    )


def _flatten(name: str, value: Any, into: dict[str, Any]) -> None:
    """Give nested values the flat names that they have on the wire."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            _flatten(f"{name}.{key}", item, into)
    elif isinstance(value, (list, tuple)) or type(value).__name__ == "ndarray":
        items = list(value)
        if items and all(isinstance(item, Mapping) for item in items):
            for at, item in enumerate(items):
                _flatten(f"{name}.{at}", item, into)
        else:
            into[name] = items
    elif value is not None:
        into[name] = value


def _seconds(value: Any) -> float:
    if isinstance(value, datetime):
        return (value if value.tzinfo else value.replace(tzinfo=timezone.utc)).timestamp()
    return 0.0

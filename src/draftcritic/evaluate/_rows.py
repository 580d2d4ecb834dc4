"""Reads labelled drafts from files: JSON lines, plain or gzip."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

Row = Mapping[str, Any]
ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file, or of every file of a folder in the order of their names.

    Raises:
        ValueError: there is no such file, none with a fitting name, or a line is no JSON object.
    """
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    files = sorted(file for file in path.iterdir() if file.name.endswith(ENDINGS)) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{path}: holds no file {', '.join(ENDINGS)}")
    for file in files:
        yield from _rows_of(file)


def _rows_of(file: Path) -> Iterator[Row]:
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except ValueError as error:
                raise ValueError(f"{file}, line {number}: is no JSON: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{file}, line {number}: is no JSON object")  # noqa: TRY004 - one kind of error
            yield {"id": f"{file.name}:{number}", **row}


def sources_of(row: Row) -> tuple[Any, str, str]:
    """Return what grounds the draft of a row: tool calls, context, user message.

    The context is `context`, or `system` and `history` when the row keeps them apart.
    """
    calls = row.get("tool_calls_this_turn", row.get("tool_calls")) or ()
    context = row.get("context")
    if context is None:
        history = row.get("history") or ()
        context = "\n".join([str(row.get("system") or ""), *map(_message, history)])
    return calls, str(context), str(row.get("user_message") or "")


def _message(message: Any) -> str:
    if not isinstance(message, Mapping):
        return str(message)
    calls = message.get("tool_calls")
    called = f" {json.dumps(calls, ensure_ascii=False, default=str)}" if calls else ""
    return f"{message.get('role', '')}: {message.get('content') or ''}{called}"

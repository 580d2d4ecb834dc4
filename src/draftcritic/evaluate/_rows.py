"""Reads labelled drafts from files: JSON lines, plain or gzip. Recorded turns are read, too, and have no labels."""

from __future__ import annotations

import codecs
import gzip
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol, cast

from draftcritic.evaluate._tables import Table
from draftcritic.turns._read import read_turns
from draftcritic.turns._row import RowError, TurnRow
from draftcritic.turns._to_turn import to_turn

Row = Mapping[str, Any]
_TELEMETRY = ("resourceSpans", "resourceMetrics", "resourceLogs")
_LABEL = re.compile(
    r"label|verdict|expect|annotat|judge?ment|rating|score|outcome|fabricat|hallucinat|made.?up|invented|honest|truth|"
    r"ground|correct|faithful|accepted|approved|class\Z|target\Z|fake|gold",
    re.IGNORECASE,
)
_KNOWN = frozenset({"label", "made_up", "grounded_in", "fabricated_draft", "fake_token", "token_type"})
ENDINGS = (".jsonl", ".jsonl.gz", ".ndjson", ".ndjson.gz")


def read_rows(path: Path) -> Iterator[Row]:
    """Yield the rows of a file, or of every file of a folder in the order of their names.

    Raises:
        ValueError: there is no such file, none with a fitting name, or a line is no JSON object or no turn.
    """
    if not path.exists():
        raise ValueError(f"{path}: there is no such file or folder")
    files = sorted(file for file in path.iterdir() if file.name.endswith(ENDINGS)) if path.is_dir() else [path]
    if not files:
        raise ValueError(f"{path}: contains no file {', '.join(ENDINGS)}")
    for file in files:
        yield from _rows_of(file)


def is_telemetry(row: Row) -> bool:
    """Whether the row is one of OTLP's JSON lines, as `draftcritic demo --save` writes them."""
    return any(name in row for name in _TELEMETRY)


def label_like(row: Row) -> str | None:
    """Return the first field that may be meant as a label and is none of those that are known here."""
    return next((name for name in row if _LABEL.search(name) and name not in _KNOWN), None)


def _encoding_of(file: Path) -> str:
    """Return the encoding of a file by its first bytes; some editors and shells write UTF-16."""
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rb") as content:
        return "utf-16" if content.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) else "utf-8-sig"


def _rows_of(file: Path) -> Iterator[Row]:
    opener = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding=_encoding_of(file)) as lines:
        for number, line in enumerate(lines, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{file}, line {number}: is no JSON: {error}") from None
            if not isinstance(row, dict):
                raise ValueError(f"{file}, line {number}: is no JSON object")  # noqa: TRY004 - one kind of error
            if is_telemetry(row) and number == 1:
                yield from (_of_turn(turn, {}) for turn in read_turns([file]))
                return
            yield (
                _of_turn(_turn(row, file, number), row) if "turn_id" in row else {"id": f"{file.name}:{number}", **row}
            )


def _turn(row: Row, file: Path, number: int) -> TurnRow:
    try:
        return TurnRow.from_dict(row)
    except RowError as error:
        raise ValueError(f"{file}, line {number}: {error}") from None


def _of_turn(turn: TurnRow, labels: Row) -> Row:
    """Return a recorded turn as a row: what it rests on is in its messages. Without a label it is `recorded`."""
    whole = to_turn(turn)
    given = {name: labels[name] for name in ("label", "made_up") if name in labels} or {"recorded": True}
    return {
        "id": turn.turn_id,
        "draft": turn.draft,
        "tool_calls": whole.tool_calls,
        "context": whole.context,
        "user_message": whole.user_message,
        **given,
    }


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


_MODULES = {
    "tokens": "draftcritic.evaluate._made_up",
    "actions": "draftcritic.evaluate._claimed_actions",
    "acknowledgements": "draftcritic.evaluate._acknowledgement_rows",
    "recorded": "draftcritic.evaluate._recorded_turns",
}


class Evaluation(Protocol):
    """What a module of an evaluation has."""

    def accepts(self, row: Row) -> bool:
        """Whether the row is labelled for this evaluation."""
        ...

    def tables(self, rows: Sequence[Row]) -> list[Table]:
        """Measure the rows."""
        ...


def evaluations(names: Sequence[str] = ()) -> dict[str, Evaluation]:
    """Return the evaluations of these names, all without any."""
    return {
        name: cast("Evaluation", import_module(module))
        for name, module in _MODULES.items()
        if not names or name in names
    }


NAMES = tuple(_MODULES)
"""The names of all evaluations."""

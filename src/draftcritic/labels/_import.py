"""Labels that were made elsewhere: CSV, Langfuse scores, LangSmith feedback, Phoenix annotations."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from draftcritic.labels._label import WORDS, Label
from draftcritic.turns._records import Problem, ReadError, head_of, records
from draftcritic.turns._times import seconds

_SAID = {
    "approve": (
        "approve",
        "approved",
        "good",
        "correct",
        "ok",
        "pass",
        "passed",
        "positive",
        "thumbs-up",
        "yes",
        "true",
    ),
    "revise": ("revise", "fix", "partial", "edit"),
    "refuse": (
        "refuse",
        "refused",
        "bad",
        "incorrect",
        "wrong",
        "fail",
        "failed",
        "negative",
        "thumbs-down",
        "no",
        "false",
    ),
    "unsure": ("unsure", "unknown", "skip", "neutral", "n/a"),
}
_MEANINGS = {word: label for label, words in _SAID.items() for word in words}
_IDS = ("turn_id", "observationId", "observation_id", "run_id", "span_id", "id", "traceId", "trace_id")
_SAYING = ("label", "value", "stringValue", "score", "comment")
_PEOPLE = ("who", "annotator", "authorUserId", "user_id", "created_by", "annotator_kind", "source")
_TIMES = ("time", "timestamp", "created_at", "createdAt", "updated_at")


def import_labels(path: Path) -> Iterator[Label | Problem]:
    """Yield the labels of a file; what is no label is a problem with its place.

    Numbers are good from 0.5 on. Phoenix keeps the label in `result`, Langfuse a word in `stringValue`.

    Raises:
        ReadError: the file cannot be read, or has no column that names the draft or its label.
    """
    if head_of(path, 1) in (b"{", b"[", b"\x1f", b"\xef") and path.suffix != ".csv":
        for record in records(path):
            yield record if isinstance(record, Problem) else _label(record.value, record.place)
        return
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise ReadError(f"{path}: cannot be read as UTF-8: {error}") from error
    table = csv.DictReader(io.StringIO(text, newline=""))
    names = table.fieldnames or ()
    if not set(names) & set(_IDS) or not set(names) & set(_SAYING):
        raise ReadError(f"{path}: needs a column {' or '.join(_IDS[:3])}, and a column {' or '.join(_SAYING[:2])}")
    for number, row in enumerate(table, 2):
        yield _label(row, f"line {number}")


def _label(value: Mapping[str, Any], place: str) -> Label | Problem:
    result = value.get("result")
    merged = {**value, **result} if isinstance(result, Mapping) else value
    turn_id = next((str(merged[name]) for name in _IDS if merged.get(name)), "")
    if not turn_id:
        return Problem(place, f"names no draft; expected is one of {', '.join(_IDS)}")
    given = [merged[name] for name in _SAYING if merged.get(name) not in (None, "")]
    said = next((word for word in map(_meaning, given) if word), "")
    if not said:
        shown = ", ".join(repr(one)[:40] for one in given) or "nothing"
        return Problem(place, f"says {shown}; allowed are {', '.join(WORDS)}, a number, or good and bad")
    who = next(
        (str(merged[name]) for name in _PEOPLE if isinstance(merged.get(name), str) and merged[name]), "imported"
    )
    time = next((moment for name in _TIMES if (moment := seconds(merged.get(name))) is not None), 0.0)
    return Label(turn_id, who, said, time)


def _meaning(value: Any) -> str:
    if isinstance(value, bool):
        return "approve" if value else "refuse"
    if isinstance(value, (int, float)):
        return "approve" if value >= 0.5 else "refuse"
    word = str(value).strip().lower()
    if word in _MEANINGS:
        return _MEANINGS[word]
    try:
        return _meaning(float(word))
    except ValueError:
        return ""

"""Reads recorded turns: one JSON object a line."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from draftcritic.core import Turn

_NAMES = ("agent_turns.jsonl.gz", "agent_turns.jsonl")
_SUFFIXES = (".jsonl.gz", ".jsonl")
_SHOWN_PROBLEMS = 10


class RecordError(Exception):
    """The recorded turns cannot be read; the message says where and why."""


@dataclass(frozen=True)
class Recorded:
    """A recorded turn.

    Attributes:
        turn: the turn; its run id is the row's id.
        kilobytes: the size in UTF-8 of everything the checks read, in units of 1,024 bytes.
    """

    turn: Turn
    kilobytes: float


def read(path: Path) -> tuple[Path, list[Recorded]]:
    """Return the file with the turns, and the turns.

    Args:
        path: the file, plain or compressed (`.gz`), the same without its ending, or a folder with `agent_turns`.

    Raises:
        RecordError: there is no such file, it cannot be read, it contains no turn, or a row is malformed.
    """
    file = _find(path)
    problems: list[str] = []
    try:
        recorded = list(_sound(file, problems))
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise RecordError(f"{file}: cannot be read: {error}") from error
    if problems:
        more = len(problems) - _SHOWN_PROBLEMS
        shown = problems[:_SHOWN_PROBLEMS] + ([f"and {more} more rows like that"] if more > 0 else [])
        raise RecordError("malformed rows\n" + "\n".join(shown))
    if not recorded:
        raise RecordError(f"{file}: contains no turn")
    return file, recorded


def _find(path: Path) -> Path:
    if path.is_dir():
        candidates = [path / name for name in _NAMES]
    else:
        candidates = [path, *(path.with_name(path.name + suffix) for suffix in _SUFFIXES)]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise RecordError(f"{path}: no such file; looked for {', '.join(str(c) for c in candidates)}")


def _sound(file: Path, problems: list[str]) -> Iterator[Recorded]:
    """Read the rows that are well-formed, and note the others."""
    opener: Callable[..., IO[str]] = gzip.open if file.suffix == ".gz" else open
    with opener(file, "rt", encoding="utf-8") as lines:
        for line_number, line in enumerate(lines, 1):
            row = _recorded(line) if line.strip() else None
            if isinstance(row, Recorded):
                yield row
            elif row is not None:
                problems.append(f"{file}:{line_number}: {row}")


def _recorded(line: str) -> Recorded | RecordError:
    try:
        return _turn_of(json.loads(line))
    except RecordError as problem:
        return problem
    except (ValueError, RecursionError) as error:
        return RecordError(f"no JSON: {error}")


def _turn_of(row: Any) -> Recorded:
    if not isinstance(row, dict):
        raise RecordError(f"a JSON object is expected, not {_kind(row)}")
    calls = tuple(_call(call, place) for place, call in enumerate(_field(row, "tool_calls_this_turn", list)))
    history = [_content(message, place) for place, message in enumerate(_field(row, "history", list))]
    context = "\n".join(text for text in (_field(row, "system", str), *history) if text)
    turn = Turn(
        draft=_field(row, "draft", str),
        run_id=_field(row, "id", str),
        user_message=_field(row, "user_message", str),
        tool_calls=calls,
        context=context,
    )
    texts = (turn.draft, turn.user_message, context, *(json.dumps(call, ensure_ascii=False) for call in calls))
    return Recorded(turn, sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1024)


def _field(row: Mapping[str, Any], name: str, kind: type) -> Any:
    if name not in row:
        raise RecordError(f"the field {name!r} is missing")
    if not isinstance(row[name], kind):
        raise RecordError(f"the field {name!r} must be {_KINDS[kind]}, not {_kind(row[name])}")
    return row[name]


def _call(call: Any, place: int) -> Mapping[str, Any]:
    if not isinstance(call, dict) or not isinstance(call.get("name"), str):
        _malformed("tool_calls_this_turn", place, "an object with a name")
    return {"name": call["name"], "args": call.get("args"), "id": str(place), "result": call.get("result")}


def _content(message: Any, place: int) -> str:
    """Return the text of an earlier message; a message that only calls tools has none."""
    if not isinstance(message, dict):
        _malformed("history", place, "an object")
    content = message.get("content")
    if content is not None and not isinstance(content, str):
        _malformed("history", place, "an object whose content is a text or null")
    return content or ""


def _malformed(name: str, place: int, wanted: str) -> NoReturn:
    raise RecordError(f"the field {name!r}, entry {place}, must be {wanted}")


_KINDS: dict[type, str] = {str: "a text", list: "a list", dict: "an object"}


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    return _KINDS.get(type(value), f"the {type(value).__name__} {value!r:.40}")

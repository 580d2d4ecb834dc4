"""Removes rows of a person, of a conversation, or of a certain age from files."""

from __future__ import annotations

import json
import os
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from draftcritic.record._row_file import locked, rotated


@dataclass(frozen=True)
class Choice:
    """Which rows to remove: those that any of it is true for.

    Attributes:
        users: ids of users.
        conversations: ids of conversations.
        turns: ids of rows; their labels go, too.
        before: seconds since the epoch; rows from before that time.
    """

    users: frozenset[str] = frozenset()
    conversations: frozenset[str] = frozenset()
    turns: frozenset[str] = frozenset()
    before: float | None = None

    def takes(self, row: Mapping[str, Any], gone: Container[Any]) -> bool:
        """Whether a row, or a label, is to be removed.

        Args:
            row: the row.
            gone: ids of rows that were removed from other files.
        """
        time = row.get("time")
        return (
            row.get("user_id") in self.users
            or row.get("conversation_id") in self.conversations
            or row.get("turn_id") in self.turns
            or row.get("turn_id") in gone
            or (self.before is not None and isinstance(time, (int, float)) and 0 < time < self.before)
        )


@dataclass
class Purged:
    """What was removed.

    Attributes:
        rows: removed rows, by file.
        turn_ids: their ids.
        unreadable: lines that are no JSON and were left, by file.
    """

    rows: dict[Path, int] = field(default_factory=dict)
    turn_ids: set[str] = field(default_factory=set)
    unreadable: dict[Path, int] = field(default_factory=dict)


def purge(paths: Iterable[Path], choice: Choice, *, dry_run: bool = False) -> Purged:
    """Remove rows from files of rows, replays and labels, and from the files of the same name that were put aside.

    Files are replaced at once; the lines that stay are the same bytes. A plugin that appends meanwhile waits.

    Args:
        paths: the files. Labels of removed rows go when their file is among them.
        choice: what to remove.
        dry_run: only count.

    Raises:
        OSError: a file cannot be read or written.
    """
    found = Purged()
    files = [file for path in paths for file in (*sorted(rotated(path)), path)]
    # Rows first: their ids tell which labels to remove.
    for file in sorted(dict.fromkeys(files), key=_is_labels):
        _purge_file(file, choice, found, dry_run)
    return found


def _is_labels(path: Path) -> bool:
    with path.open("rb") as file:
        first = file.readline(1 << 16)
    return b'"strata"' in first or (b'"label"' in first and b'"draft"' not in first)


def _purge_file(path: Path, choice: Choice, found: Purged, dry_run: bool) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        with locked(descriptor, exclusive=True):
            removed, part = 0, path.with_name(f"{path.name}.part")
            target = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with path.open("rb") as source, os.fdopen(target, "wb") as kept:
                for line in _staying(source, path, choice, found):
                    if line is None:
                        removed += 1
                    else:
                        kept.write(line)
            if removed and not dry_run:
                part.replace(path)
            else:
                part.unlink()
    finally:
        os.close(descriptor)
    found.rows[path] = removed


def _staying(source: Iterable[bytes], path: Path, choice: Choice, found: Purged) -> Iterator[bytes | None]:
    """Yield the lines that stay, and None for each that goes."""
    for line in source:
        try:
            row = json.loads(line) if line.strip() else None
        except ValueError:
            found.unreadable[path] = found.unreadable.get(path, 0) + 1
            row = None
        if isinstance(row, dict) and choice.takes(row, found.turn_ids):
            found.turn_ids.add(str(row.get("turn_id")))
            yield None
        else:
            yield line

"""Remembers ids on disk, so that reading a file of any size takes the same memory."""

from __future__ import annotations

import sqlite3
from hashlib import blake2b


class SeenIds:
    """The ids that were met so far, each with what it stood for."""

    def __init__(self) -> None:
        # Without a name it is a temporary file that goes with the connection.
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        self._base.execute("PRAGMA journal_mode=OFF")
        self._base.execute("CREATE TABLE seen (id INTEGER PRIMARY KEY, content INTEGER)")
        self._base.execute("BEGIN")

    def add(self, identifier: str, content: str) -> bool | None:
        """Return None for a new id, True when it stood for the same content before, False for another."""
        key, said = _number(identifier), _number(content)
        if self._base.execute("INSERT OR IGNORE INTO seen VALUES (?, ?)", (key, said)).rowcount:
            return None
        (before,) = self._base.execute("SELECT content FROM seen WHERE id = ?", (key,)).fetchone()
        return bool(before == said)

    def close(self) -> None:
        """Delete the file."""
        self._base.close()


def _number(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "replace"), digest_size=8).digest(), "big", signed=True)

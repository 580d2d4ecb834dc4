"""The answers of critics' models, kept in a file: a second replay asks for none of them again."""

from __future__ import annotations

import importlib.metadata
import json
import os
import sqlite3
import threading
from hashlib import blake2b
from pathlib import Path

from draftcritic.replay._runs import Replayed
from draftcritic.turns._row import TurnRow

_TRIES = 30.0


class AnswerCache:
    """Answers by turn, policy and model. Safe to use from several threads and processes.

    The prompt itself has a random part, so that what it is made from is the key: the turn, the policy and the
    version of draftcritic.

    Args:
        folder: where the file is; None keeps nothing.
    """

    def __init__(self, folder: Path | None) -> None:
        self._lock = threading.Lock()
        try:
            self._version = importlib.metadata.version("draftcritic")
        except importlib.metadata.PackageNotFoundError:
            self._version = ""
        path = ":memory:"
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            file = folder / "answers.sqlite"
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            path = str(file)
        self._base = sqlite3.connect(path, timeout=_TRIES, check_same_thread=False, isolation_level=None)
        self._base.execute("CREATE TABLE IF NOT EXISTS answers (key BLOB PRIMARY KEY, answer TEXT NOT NULL)")

    def key(self, row: TurnRow, policy_version: str, model: str) -> bytes:
        """Return what an answer is kept under."""
        said = row.as_dict()
        for name in ("turn_id", "trace_id", "span_id", "time", "reviewed", "missing"):
            said.pop(name, None)
        parts = json.dumps([self._version, policy_version, model, said], sort_keys=True)
        return blake2b(parts.encode(), digest_size=20).digest()

    def get(self, key: bytes) -> Replayed | None:
        """Return the answer of that key; None without one."""
        with self._lock:
            found = self._base.execute("SELECT answer FROM answers WHERE key = ?", (key,)).fetchone()
        return None if found is None else Replayed.from_dict(json.loads(found[0]))

    def put(self, key: bytes, answer: Replayed) -> None:
        """Keep an answer. It is on disk when this returns."""
        with self._lock:
            self._base.execute("INSERT OR REPLACE INTO answers VALUES (?, ?)", (key, json.dumps(answer.as_dict())))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._base.close()

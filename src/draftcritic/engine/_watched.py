"""Notices that a file has changed, without a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from draftcritic.engine._fork import after_fork

_Stamp = tuple[int, int, int] | None


class WatchedFile:
    """Tells once of each change of a file, when asked: its time, size or inode, or whether it is there at all.

    A file that another one replaces, or a link that turns to another one, has changed, too.

    Args:
        path: the file; it need not be there.
        interval: seconds between two looks at most; 0 never looks.
        clock: seconds that never go backwards.
    """

    def __init__(
        self, path: str | PathLike[str], interval: float, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._path = Path(path)
        self._interval = interval
        self._clock = clock
        self._stamp = self._look()
        self._next = clock() + interval
        self._start_afresh()
        after_fork(self._start_afresh)

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()

    def changed(self) -> bool:
        """Whether the file is not what it was at the last look. Never waits: one of several threads looks."""
        if self._interval <= 0 or self._clock() < self._next or not self._lock.acquire(blocking=False):
            return False
        try:
            self._next = self._clock() + self._interval
            before, self._stamp = self._stamp, self._look()
            return self._stamp != before
        finally:
            self._lock.release()

    def _look(self) -> _Stamp:
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

"""Notices that a file has changed, without a thread of its own."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from os import PathLike
from pathlib import Path

from draftcritic.review._lifecycle import after_fork

Stamp = tuple[int, int, int, int] | None
"""The time, the size and the inode of a file, and the time of its last change of any kind; None where there is none."""

_LONGEST_WAIT = 12
"""Intervals between two tries at most, while a file that does not change cannot be read."""


def stamp_of(path: str | PathLike[str]) -> Stamp:
    """Return what is different when a file has changed. To be taken before the file is read."""
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino, found.st_ctime_ns


class WatchedFile:
    """Has a file read again when it is not what was last read of it: by one reader at a time, and until one succeeds.

    A file that another one replaces, or a link that turns to another one, has changed, too.

    Args:
        path: the file; it need not be there.
        interval: seconds between two looks at least; 0 never looks.
        known: the stamp of what was read already.
        clock: seconds that never go backwards.
    """

    def __init__(
        self,
        path: str | PathLike[str],
        interval: float,
        *,
        known: Stamp,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = Path(path)
        self._interval = interval
        self._clock = clock
        self._tried = known
        self._failures = 0
        self._next = clock() + interval
        self._again = 0.0
        self._lock = threading.Lock()
        self._reading = False
        after_fork(self._reset_state)

    def _reset_state(self) -> None:
        self._lock = threading.Lock()
        if self._reading:
            # Who reads is a thread of the parent.
            self._reading, self._failures = False, 1

    def due(self) -> bool:
        """Whether the caller has to look at the file with `look`; until the next interval no one else has.

        Touches no file: this is for event loops.
        """
        if self._interval <= 0 or self._clock() < self._next or not self._lock.acquire(blocking=False):
            return False
        try:
            if self._reading or self._clock() < self._next:
                return False
            self._next = self._clock() + self._interval
            return True
        finally:
            self._lock.release()

    def changed(self) -> bool:
        """Whether the caller has to read the file and then to say `done`; until then no one else has."""
        return self.due() and self.look()

    def look(self) -> bool:
        """Look at the file that is `due`. See `changed`."""
        if not self._lock.acquire(blocking=False):
            return False
        try:
            if self._reading:
                return False
            now = self._clock()
            stamp = stamp_of(self._path)
            if stamp == self._tried and (not self._failures or now < self._again):
                return False
            if stamp != self._tried:
                self._failures = 0
            self._tried = stamp
            self._reading = True
            return True
        finally:
            self._lock.release()

    def done(self, whole: bool) -> None:
        """End what `changed` has begun: the file was read, or could not be and is to be tried again."""
        with self._lock:
            self._reading = False
            if whole:
                self._failures = 0
            else:
                self._again = self._clock() + self._interval * min(2**self._failures, _LONGEST_WAIT)
                self._failures = min(self._failures + 1, _LONGEST_WAIT)

"""A file of rows that several processes append to, and that is rotated by size and age."""

from __future__ import annotations

import os
import re
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

if sys.platform != "win32":
    import fcntl

MAX_BYTES = 64 << 20
MAX_HOURS = 24.0
MAX_FILES = 14
_FIRST_LINE = 1 << 20
_TIME = re.compile(rb'"time": ?(\d+(?:\.\d+)?)')
_OPEN = os.O_CREAT | os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


class RowFile:
    """Appends lines. A line is with the kernel when `append` returns: a killed process loses none.

    Safe to use from several threads, and from several processes with the same path.

    Args:
        path: the file; it is readable for its owner only.
        max_bytes: a file of this size is put aside, and a new one begun.
        max_hours: so is one whose first line is that old.
        max_files: so many files that were put aside are kept; the oldest go.
    """

    def __init__(
        self, path: Path, max_bytes: int = MAX_BYTES, max_hours: float = MAX_HOURS, max_files: int = MAX_FILES
    ) -> None:
        self.path = path
        self._max_bytes = max_bytes
        self._max_seconds = max_hours * 3600
        self._max_files = max_files
        self._lock = threading.Lock()
        self._descriptor: int | None = None
        self._began = 0.0
        self._pid = os.getpid()

    def append(self, line: str) -> None:
        """Write a line.

        Raises:
            OSError: the file cannot be written.
        """
        text = f"{line}\n".encode("utf-8", "replace")
        with self._lock:
            while True:
                descriptor = self._opened()
                with locked(descriptor, exclusive=False):
                    # Another process may have put the file aside, or rewritten it.
                    is_current = self._is_current(descriptor)
                    if is_current and not self._is_full(descriptor, len(text)):
                        os.write(descriptor, text)
                        return
                if is_current:
                    self._rotate(descriptor)
                self._close()

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close()

    def _opened(self) -> int:
        if self._pid != os.getpid():
            # A lock of the parent would be this process's, too.
            self._close()
            self._pid = os.getpid()
        if self._descriptor is None:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._descriptor = os.open(self.path, _OPEN, 0o600)
            size = os.fstat(self._descriptor).st_size
            if size and os.pread(self._descriptor, 1, size - 1) != b"\n":
                os.write(self._descriptor, b"\n")
            self._began = _began(self._descriptor) if size else time.time()
        return self._descriptor

    def _close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _is_current(self, descriptor: int) -> bool:
        try:
            return os.path.samestat(self.path.stat(), os.fstat(descriptor))
        except FileNotFoundError:
            return False

    def _is_full(self, descriptor: int, more: int) -> bool:
        size = os.fstat(descriptor).st_size
        return size > 0 and (size + more > self._max_bytes or time.time() - self._began > self._max_seconds)

    def _rotate(self, descriptor: int) -> None:
        with locked(descriptor, exclusive=True):
            if self._is_current(descriptor):
                now = time.time_ns()
                stamp = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(now // 10**9))}-{now % 10**9:09}"
                self.path.replace(self.path.with_name(f"{self.path.stem}.{stamp}{self.path.suffix}"))
        aside = sorted(rotated(self.path))
        for old in aside[: max(0, len(aside) - self._max_files)]:
            old.unlink(missing_ok=True)


def rotated(path: Path) -> Iterator[Path]:
    """Yield the files of a path that were put aside."""
    yield from path.parent.glob(f"{path.stem}.*{path.suffix}")


@contextmanager
def locked(descriptor: int, *, exclusive: bool) -> Iterator[None]:
    """Keep other processes from rewriting the file meanwhile, or, exclusively, from appending to it."""
    if sys.platform == "win32":  # it has no such locks: there one process writes one file
        yield
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)


def _began(descriptor: int) -> float:
    """Return when the first line was written, as it says, or else as the file system knows."""
    first = os.pread(descriptor, _FIRST_LINE, 0).partition(b"\n")[0]
    found = _TIME.search(first)
    return float(found[1]) if found else os.fstat(descriptor).st_mtime

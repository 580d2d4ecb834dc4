"""One owner's folder of segments, locked against a second owner for as long as the owner's process lives."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

from draftcritic.fleet._segments import SEGMENT_BYTES, Segment

if sys.platform != "win32":
    import fcntl

_LOCK = "lock"
_NEW = ".new-"


class OwnedFolder:
    """The folder of one process. See `create` and `adopt`.

    Attributes:
        path: the folder.
        segments: its segments, the oldest first.
    """

    def __init__(self, path: Path, lock: int) -> None:
        self.path = path
        self.segments: list[Segment] = []
        self._lock = lock
        self._number = 0

    @classmethod
    def create(cls, parent: Path) -> OwnedFolder:
        """Make a folder that no other process takes for abandoned.

        Raises:
            OSError: it cannot be made.
        """
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        name = uuid4().hex
        hidden = parent / f"{_NEW}{name}"
        hidden.mkdir(mode=0o700)
        lock = _locked(hidden / _LOCK)
        if lock is None:
            raise OSError(f"{hidden} is locked by another process")
        return cls(hidden.rename(parent / name), lock)

    @classmethod
    def adopt(cls, path: Path) -> OwnedFolder | None:
        """Take the folder of a process that has ended; None when its owner lives, or it is gone."""
        try:
            lock = _locked(path / _LOCK, create=False)
        except OSError:
            return None
        if lock is None:
            return None
        folder = cls(path, lock)
        folder.segments = [Segment(each) for each in sorted(path.glob("*.log"))]
        return folder

    def current(self) -> Segment:
        """Return the segment to append to.

        Raises:
            OSError: a new one cannot be made.
        """
        if not self.segments or self.segments[-1].size >= SEGMENT_BYTES:
            self._number += 1
            self.segments.append(Segment(self.path / f"{self._number:08d}.log"))
        return self.segments[-1]

    def prune(self, *, last: bool = False) -> None:
        """Delete the segments without waiting drafts; the newest one only when it is full or `last`."""
        for segment in list(self.segments):
            is_done = last or segment is not self.segments[-1] or segment.size >= SEGMENT_BYTES
            if not segment.waiting and is_done:
                self.segments.remove(segment)
                segment.delete()

    def close(self, *, keep: bool = True) -> None:
        """Close all files and give the lock back.

        Args:
            keep: leave the folder to its next owner; False deletes it.
        """
        for segment in self.segments:
            segment.close()
        if not keep:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)
        self.segments = []


def others(parent: Path) -> Iterator[Path]:
    """Yield the folders of all owners."""
    try:
        found = sorted(parent.iterdir())
    except OSError:
        return
    for path in found:
        if not path.name.startswith(".") and (path / _LOCK).exists():
            yield path


def _locked(path: Path, *, create: bool = True) -> int | None:
    """Return the descriptor of a file that only this process has locked; None when another one has it.

    Raises:
        OSError: the file cannot be opened.
    """
    lock = os.open(path, os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | (os.O_CREAT if create else 0), 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(os.fstat(lock), path.stat()):
            return lock
    except OSError:  # locked, or deleted by an owner that had just finished
        pass
    os.close(lock)
    return None

"""The files of a spool: segments of drafts that are appended to, each with a log of what became of them."""

from __future__ import annotations

import os
import struct
import time
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

SEGMENT_BYTES = 8 << 20
"""A segment of this size gets no more drafts; it is deleted when all of its drafts are settled."""
_MAGIC = b"dcs1"
_FRAME = struct.Struct(">4sIId16s")
"""Magic, checksum of all that follows, length of the payload, time of writing, id."""
_CHECKED_FROM = 8
_MARK = struct.Struct(">16sBI")
"""Id, what became of the draft, checksum of both."""
_FLAGS = os.O_CREAT | os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
_LONGEST = 1 << 30


class Mark(IntEnum):
    """What a spool notes about a draft."""

    ATTEMPT = 1
    DONE = 2
    DROPPED = 3
    DEAD = 4
    RETURNED = 5


@dataclass(eq=False, slots=True)
class Entry:
    """A draft in a spool.

    Attributes:
        id: 16 bytes.
        lane: the producer that it is counted for.
        since: when it began to wait, by the clock that never goes backwards.
        segment: where it is; None for a draft that only memory has, because the file could not be written.
        offset, size: where its payload is in the segment, in bytes.
        payload: the draft itself where only memory has it.
        attempts: how often its delivery has begun.
        settled: nothing is left to do for it.
    """

    id: bytes
    lane: int
    since: float
    segment: Segment | None
    offset: int
    size: int
    payload: bytes | None = None
    attempts: int = 0
    settled: bool = False


class Segment:
    """One file of drafts and its log. Needs a lock around it.

    Args:
        path: the file of drafts; the log has the suffix `.ack`.

    Raises:
        OSError: a file cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.waiting = 0
        """Drafts that are not settled."""
        self._data = os.open(path, _FLAGS, 0o600)
        try:
            self._acks = os.open(path.with_suffix(".ack"), _FLAGS, 0o600)
        except OSError:
            os.close(self._data)
            raise
        self.size = os.fstat(self._data).st_size

    def append(self, id_: bytes, payload: bytes, lane: int) -> Entry:
        """Hand a draft to the operating system.

        Raises:
            OSError: it could not be written whole; the file is as before.
        """
        checked = struct.pack(">Id16s", len(payload), time.time(), id_) + payload
        frame = b"".join((_MAGIC, zlib.crc32(checked).to_bytes(4, "big"), checked))
        try:
            written = os.write(self._data, frame)
            if written != len(frame):
                raise OSError(f"{written} of {len(frame)} bytes were written")
        except OSError:
            os.ftruncate(self._data, self.size)
            raise
        entry = Entry(id_, lane, time.monotonic(), self, self.size + _FRAME.size, len(payload))
        self.size += len(frame)
        self.waiting += 1
        return entry

    def read(self, entry: Entry) -> bytes:
        """Return the payload of an entry."""
        return os.pread(self._data, entry.size, entry.offset)

    def note(self, id_: bytes, mark: Mark) -> None:
        """Note what became of a draft.

        Raises:
            OSError: the log cannot be written.
        """
        said = id_ + bytes([mark])
        os.write(self._acks, said + zlib.crc32(said).to_bytes(4, "big"))

    def recover(self, lane: int) -> tuple[list[Entry], int]:
        """Return the drafts that are not settled, and how many places are damaged.

        A frame that is cut off at the end of the file is no damage: its writer was stopped before its call returned.
        """
        attempts, settled = self._marks()
        now, wall = time.monotonic(), time.time()
        entries, damaged = [], 0
        for found in self._frames():
            if found is None:
                damaged += 1
                continue
            id_, created, offset, size = found
            if id_ not in settled:
                since = now - max(0.0, wall - created)
                entries.append(Entry(id_, lane, since, self, offset, size, attempts=attempts.get(id_, 0)))
        self.waiting = len(entries)
        return entries, damaged

    def _marks(self) -> tuple[dict[bytes, int], set[bytes]]:
        attempts: dict[bytes, int] = {}
        settled: set[bytes] = set()
        data = self.path.with_suffix(".ack").read_bytes()
        for at in range(0, len(data) - _MARK.size + 1, _MARK.size):
            id_, mark, checksum = _MARK.unpack_from(data, at)
            if zlib.crc32(id_ + bytes([mark])) != checksum:
                continue
            if mark in (Mark.ATTEMPT, Mark.RETURNED):
                attempts[id_] = attempts.get(id_, 0) + (1 if mark == Mark.ATTEMPT else -1)
            else:
                settled.add(id_)
        return attempts, settled

    def _frames(self) -> Iterator[tuple[bytes, float, int, int] | None]:
        data, at = self.path.read_bytes(), 0
        while at + _FRAME.size <= len(data):
            magic, checksum, length, created, id_ = _FRAME.unpack_from(data, at)
            end = at + _FRAME.size + length
            if magic == _MAGIC and length <= _LONGEST and end <= len(data):
                if zlib.crc32(memoryview(data)[at + _CHECKED_FROM : end]) == checksum:
                    yield id_, created, at + _FRAME.size, length
                    at = end
                    continue
            elif magic == _MAGIC and data.find(_MAGIC, at + 1) < 0:
                return  # cut off
            yield None
            found = data.find(_MAGIC, at + 1)
            at = len(data) if found < 0 else found

    def close(self) -> None:
        """Close the files. A later call of another method raises an OSError, and touches no other file."""
        data, acks, self._data, self._acks = self._data, self._acks, -1, -1
        os.close(data)
        os.close(acks)

    def delete(self) -> None:
        """Close and delete the files."""
        self.close()
        self.path.unlink(missing_ok=True)
        self.path.with_suffix(".ack").unlink(missing_ok=True)

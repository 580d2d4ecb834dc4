"""The spool: drafts that wait for their delivery in files, so that a killed process loses none."""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from draftcritic.core._exception_place import described
from draftcritic.fleet._owner import OwnedFolder, others
from draftcritic.fleet._segments import Entry, Mark
from draftcritic.review._background import QUEUE_FULL
from draftcritic.review._lifecycle import after_fork

EXPIRED = "expired"
DAMAGED = "damaged"
_logger = logging.getLogger(__name__)


class Spool:
    """The drafts of this process, and those of ended processes that it took over. Safe to use from several threads.

    A draft is with the operating system when `append` returns; it is not synced to the disk, so the loss of power may
    lose it. A forked child starts with a folder of its own; what the parent had spooled stays the parent's.

    Args:
        parent: the folder of the service.
        max_bytes: beyond this size the newest draft of the producer with most waiting is dropped.
        max_age: seconds after which a draft that still waits is dropped.
        on_drop: called with the reason of each dropped draft: `queue_full`, `expired` or `damaged`.
        clock: seconds that never go backwards.
    """

    def __init__(
        self,
        parent: Path,
        *,
        max_bytes: int,
        max_age: float,
        on_drop: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.parent = parent
        self._max_bytes = max_bytes
        self._max_age = max_age
        self._on_drop = on_drop
        self._clock = clock
        self._reported = False
        self._folders: list[OwnedFolder] = []
        self._reset_state()
        after_fork(self._in_child)

    def _in_child(self) -> None:
        for folder in self._folders:
            folder.close()  # the lock stays the parent's as long as the parent has it open
        self._reset_state()

    def _reset_state(self) -> None:
        self._lock = threading.RLock()
        self._own: OwnedFolder | None = None
        self._folders = []
        self._lanes: dict[int, deque[Entry]] = {}
        self._bytes = 0
        self._count = 0

    @property
    def size(self) -> int:
        """Bytes of the drafts that wait."""
        return self._bytes

    @property
    def age(self) -> float:
        """Seconds that the oldest draft has waited; 0 without one."""
        with self._lock:
            oldest = [lane[0].since for lane in self._lanes.values() if lane]
        return max(0.0, self._clock() - min(oldest)) if oldest else 0.0

    def append(self, id_: bytes, payload: bytes, lane: int) -> Entry | None:
        """Store a draft; None when it was dropped. Never raises an OSError: memory keeps what a file cannot take.

        Args:
            id_: 16 bytes.
            payload: the draft.
            lane: whose share of the spool it takes.
        """
        displaced = None
        with self._lock:
            if self._count and self._bytes + len(payload) > self._max_bytes:
                displaced = self._to_displace(lane, len(payload))
                if displaced is None:
                    entry = None
                else:
                    self._settle(displaced, Mark.DROPPED)
                    entry = self._store(id_, payload, lane)
            else:
                entry = self._store(id_, payload, lane)
        if entry is None or displaced is not None:
            self._on_drop(QUEUE_FULL)
        return entry

    def begin(self, entry: Entry) -> bool:
        """Note that a draft's delivery begins; False when it is settled or too old, which is counted."""
        with self._lock:
            if entry.settled:
                return False
            is_old = self._clock() - entry.since > self._max_age
            if is_old:
                self._settle(entry, Mark.DROPPED)
            else:
                entry.attempts += 1
                self._note(entry, Mark.ATTEMPT)
        if is_old:
            self._on_drop(EXPIRED)
        return not is_old

    def read(self, entry: Entry) -> bytes:
        """Return the draft of an entry that is not settled.

        Raises:
            OSError: it cannot be read, as after `close`.
        """
        if entry.payload is not None:
            return entry.payload
        with self._lock:
            if entry.segment is None:
                raise OSError("the draft is in no file")
            return entry.segment.read(entry)

    def settle(self, entry: Entry, mark: Mark = Mark.DONE) -> None:
        """Forget a draft: it was delivered, dropped or put aside. A second call does nothing."""
        with self._lock:
            if not entry.settled:
                self._settle(entry, mark)

    def give_back(self, entry: Entry) -> None:
        """Note that a draft's delivery was given up and does not count as an attempt."""
        with self._lock:
            if not entry.settled:
                entry.attempts -= 1
                self._note(entry, Mark.RETURNED)

    def has_abandoned(self) -> bool:
        """Whether another owner's folder is there, which may be that of a process that has ended."""
        own = {folder.path for folder in self._folders}
        return any(path not in own for path in others(self.parent))

    def adopt(self) -> list[Entry]:
        """Take over what ended processes have left, and return their drafts in the order they were written."""
        taken: list[Entry] = []
        damaged = 0
        for path in others(self.parent):
            if any(folder.path == path for folder in self._folders):
                continue
            try:
                found, broken = self._adopted(path)
            except OSError as error:
                _logger.warning("a spool of an ended process cannot be read: %s", described(error))
                continue
            taken += found
            damaged += broken
        for _ in range(damaged):
            self._on_drop(DAMAGED)
        if taken or damaged:
            _logger.info("took over %d drafts of ended processes; %d places were damaged", len(taken), damaged)
        return sorted(taken, key=lambda entry: entry.since)

    def close(self) -> None:
        """Close the files. Drafts that wait stay for the next process."""
        with self._lock:
            folders, self._folders, self._own = self._folders, [], None
            for folder in folders:
                folder.close(keep=any(segment.waiting for segment in folder.segments))

    def _adopted(self, path: Path) -> tuple[list[Entry], int]:
        folder = OwnedFolder.adopt(path)
        if folder is None:
            return [], 0
        entries, damaged = [], 0
        for number, segment in enumerate(folder.segments):
            # Each ended process counts as one producer.
            found, broken = segment.recover(hash((str(path), number)))
            entries += found
            damaged += broken
        with self._lock:
            self._folders.append(folder)
            for entry in entries:
                self._wait(entry)
            self._tidy(folder)
        return entries, damaged

    def _to_displace(self, lane: int, size: int) -> Entry | None:
        """Return the newest draft of the producer with most waiting; None when that is the new draft itself."""
        busiest = max(self._lanes.values(), key=len)
        if len(busiest) < len(self._lanes.get(lane, ())) + 2:
            return None
        newest = busiest[-1]
        return newest if self._bytes + size - newest.size <= self._max_bytes else None

    def _store(self, id_: bytes, payload: bytes, lane: int) -> Entry:
        try:
            if self._own is None:
                self._own = OwnedFolder.create(self.parent)
                self._folders.append(self._own)
            entry = self._own.current().append(id_, payload, lane)
        except OSError as error:
            if not self._reported:
                self._reported = True
                _logger.warning("the spool cannot be written, drafts wait in memory: %s", described(error))
            entry = Entry(id_, lane, self._clock(), None, 0, len(payload), payload)
        self._wait(entry)
        return entry

    def _wait(self, entry: Entry) -> None:
        self._lanes.setdefault(entry.lane, deque()).append(entry)
        self._bytes += entry.size
        self._count += 1

    def _settle(self, entry: Entry, mark: Mark) -> None:
        entry.settled = True
        self._bytes -= entry.size
        self._count -= 1
        lane = self._lanes.get(entry.lane)
        if lane is not None:
            if lane[-1] is entry:
                lane.pop()
            else:
                lane.remove(entry)  # near the front when it was delivered
            if not lane:
                del self._lanes[entry.lane]
        self._note(entry, mark)
        segment, entry.payload = entry.segment, None
        if segment is not None:
            segment.waiting -= 1
            if not segment.waiting:
                folder = next((folder for folder in self._folders if segment in folder.segments), None)
                if folder is not None:
                    self._tidy(folder)

    def _tidy(self, folder: OwnedFolder) -> None:
        is_own = folder is self._own
        folder.prune(last=not is_own)
        if not is_own and not folder.segments:
            self._folders.remove(folder)
            folder.close(keep=False)

    def _note(self, entry: Entry, mark: Mark) -> None:
        if entry.segment is None:
            return
        try:
            entry.segment.note(entry.id, mark)
        except OSError as error:
            # The draft may be delivered twice after a crash; it is not lost.
            _logger.debug("the log of a spool cannot be written: %s", described(error))

"""Drafts travel through a spool, which survives the process that wrote them."""

from __future__ import annotations

import atexit
import logging
import os
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Protocol
from uuid import UUID

from draftcritic.core._exception_place import described
from draftcritic.fleet._memory import CapturedSource, Wanted
from draftcritic.fleet._releases import note_release
from draftcritic.fleet._segments import Entry, Mark
from draftcritic.fleet._spool import Spool
from draftcritic.fleet._wire import DraftMessage, MessageError, decode, encode
from draftcritic.review._background import SHUTDOWN, BackgroundRunner
from draftcritic.review._lifecycle import at_exit
from draftcritic.review._ports import FleetObserver

_logger = logging.getLogger("draftcritic")

MOST_ATTEMPTS = 5
"""Deliveries of one draft that may begin and not end, as when each ends the process; then it is a dead letter."""
_ADOPT_INTERVAL = 10.0
"""Seconds between two looks for the spools of ended processes."""
_UNLIMITED = 1 << 40

DEAD_SCHEMA = "schema"
DEAD_ATTEMPTS = "attempts"
DEAD_ERROR = "error"


class _Ids:
    """Random ids without a system call for each: one lets other threads run, and the caller waits until they pause."""

    def __init__(self) -> None:
        self._pid = 0
        self._random = random.Random()  # noqa: S311 - ids have to be unique, not secret

    def next(self) -> UUID:
        """Return an id that no other process has."""
        if self._pid != os.getpid():  # a fork would go on with the ids of its parent
            self._random, self._pid = random.Random(), os.getpid()  # noqa: S311
        return UUID(int=self._random.getrandbits(128), version=4)


class Sink(Protocol):
    """The other end of a spool.

    Attributes:
        reviews: drafts are reviewed here, so that one may end the process: such a draft is put aside in the end.
    """

    reviews: bool

    def deliver(self, message: DraftMessage, payload: bytes, wanted: Wanted, *, again: bool) -> bool:
        """Deliver a draft; False leaves it in the spool for the next process.

        Args:
            message: the draft.
            payload: the same in bytes.
            wanted: see `Wanted`.
            again: its delivery has begun before.
        """
        ...

    def close(self) -> None:
        """Give up what is under way."""
        ...


class ReviewSink:
    """Reviews spooled drafts in this process.

    Args:
        review: reviews a draft, and asks whether the review is wanted.
    """

    reviews = True

    def __init__(self, review: Callable[[DraftMessage, Wanted], object], observer: FleetObserver) -> None:
        self._review = review
        self._observer = observer

    def deliver(self, message: DraftMessage, payload: bytes, wanted: Wanted, *, again: bool) -> bool:  # noqa: ARG002 - the port's signature
        """Review a draft. See `Sink`."""
        self._observer.delivered(time.time() - message.created, again)
        note_release(message, self._observer)
        claimed = False

        def claim() -> bool:
            nonlocal claimed
            claimed = wanted()
            return claimed

        self._review(message, claim)
        return claimed

    def close(self) -> None:
        """Do nothing: the runner gives up what is under way."""


class SpoolDelivery:
    """Writes each draft to a spool before its caller goes on, and delivers from there in background threads.

    Args:
        spool: the drafts that wait.
        pack: returns what travels of a captured draft, with the id that is given.
        sink: gets the drafts.
        bury: puts a draft aside that cannot be delivered: called with its id, its bytes and the reason.
        workers: threads.
        shutdown_timeout: seconds that the end of the process waits for deliveries.
        on_drop: called with the reason of a lost draft.
        on_depth: called with how much the number of waiting drafts has changed.
    """

    def __init__(
        self,
        spool: Spool,
        pack: Callable[[Any, str], DraftMessage],
        sink: Sink,
        bury: Callable[[str, bytes, str], None],
        *,
        workers: int,
        shutdown_timeout: float,
        on_drop: Callable[[str], None],
        on_depth: Callable[[int], None],
    ) -> None:
        self.spool = spool
        self._pack = pack
        self._ids = _Ids()
        self._sink = sink
        self._bury = bury
        self._on_drop = on_drop
        self._closing = threading.Event()
        self._runner = BackgroundRunner(
            workers=workers,
            capacity=_UNLIMITED,
            capacity_bytes=_UNLIMITED,
            shutdown_timeout=shutdown_timeout,
            on_drop=self._left,
            on_depth=on_depth,
        )
        self._next_look = 0.0
        at_exit(self._end)  # runs after the runner's own end, which is registered later
        if spool.has_abandoned():
            self._look()

    def would_reject(self) -> bool:
        """Return False: the spool decides when it has the draft."""
        return False

    def submit(self, captured: CapturedSource) -> None:
        """Write a draft to the spool, then queue its delivery. See `Delivery`."""
        id_ = self._ids.next()
        message = captured.context.run(self._pack, captured, id_.hex)
        entry = self.spool.append(id_.bytes, encode(message), threading.get_ident())
        if entry is not None:
            self._runner.submit(partial(self._serve, entry))
        if time.monotonic() >= self._next_look:
            self._look()

    def flush(self, timeout: float) -> bool:
        """Wait for deliveries. See `Delivery`."""
        return self._runner.flush(timeout)

    def close(self, timeout: float) -> None:
        """Deliver what waits, and leave the rest in the spool. See `Delivery`."""
        self._runner.close(timeout)
        atexit.unregister(self._end)
        self._end()

    def _end(self) -> None:
        self._closing.set()
        self._sink.close()
        self.spool.close()

    def _look(self) -> None:
        self._next_look = time.monotonic() + _ADOPT_INTERVAL
        self._runner.submit(self._adopt)

    def _adopt(self) -> None:
        for entry in self.spool.adopt():
            self._runner.submit(partial(self._serve, entry))

    def _left(self, reason: str) -> None:
        """Count nothing at the shutdown: those drafts wait for the next process."""
        if reason != SHUTDOWN:
            self._on_drop(reason)

    def _serve(self, entry: Entry) -> None:
        if self._closing.is_set() or not self.spool.begin(entry):
            return
        try:
            payload = self.spool.read(entry)
        except OSError as error:
            _logger.debug("a spooled draft is left to the next process: %s", described(error))
            return
        if self._sink.reviews and entry.attempts > MOST_ATTEMPTS:
            self._dead(entry, payload, DEAD_ATTEMPTS)
            return
        try:
            message = decode(payload)
        except MessageError as error:
            _logger.warning("a spooled draft cannot be read and is put aside: %s", error)
            self._dead(entry, payload, DEAD_SCHEMA)
            return
        try:
            is_delivered = self._sink.deliver(message, payload, self._runner.claim_result, again=entry.attempts > 1)
        except Exception as error:
            _logger.warning("a spooled draft cannot be delivered and is put aside: %s", described(error))
            self._dead(entry, payload, DEAD_ERROR)
            return
        if is_delivered:
            self.spool.settle(entry)
        else:
            self.spool.give_back(entry)

    def _dead(self, entry: Entry, payload: bytes, reason: str) -> None:
        self._bury(entry.id.hex(), payload, reason)
        self.spool.settle(entry, Mark.DEAD)

"""Counts the calls of third-party code that were given up, for as long as anything of them runs."""

from __future__ import annotations

import threading
from contextlib import AbstractContextManager
from contextvars import ContextVar

from draftcritic.review._lifecycle import after_fork
from draftcritic.review._scope import scoped

MOST_GIVEN_UP = 64
"""Calls of the critic's model that may run on after they were given up, in a process. Each keeps a thread, of which a
container often allows a few hundred in all; and a model that leaves so many hanging gives no verdict on one more."""


class _GivenUp:
    """The slots of this process that only abandoned calls still occupy."""

    def __init__(self) -> None:
        self.places: set[CallSlot] = set()
        after_fork(self.forget)

    def forget(self) -> None:
        """Start again in a forked child, which has none of the threads."""
        self.places = set()


class CallSlot:
    """The place of one call among those that may run at once: held by each thread that works for it."""

    __slots__ = ("_holders", "_lock", "queued")

    def __init__(self) -> None:
        self.queued = 0.0
        """Seconds that the call has waited for a thread."""
        self._lock = threading.Lock()
        self._holders = 0

    def taken(self) -> AbstractContextManager[None]:
        """Let the threads that start in this block hold the place."""
        return scoped(_current, self)

    def hold(self) -> None:
        """Hold it, before a thread begins."""
        with self._lock:
            self._holders += 1

    def release(self) -> None:
        """Hold it no longer, when the thread is done."""
        with self._lock:
            self._holders -= 1
            if not self._holders:
                _given_up.places.discard(self)

    def give_up(self) -> None:
        """Wait for it no longer; counted as given up when it is still held."""
        with self._lock:
            if self._holders:
                _given_up.places.add(self)


_given_up = _GivenUp()
_current: ContextVar[CallSlot | None] = ContextVar("draftcritic_place", default=None)


def current_slot() -> CallSlot | None:
    """Return the slot of the call that the current code works for."""
    return _current.get()


def given_up() -> int:
    """Return how many calls run on in this process though no one waits for them any more."""
    return len(_given_up.places)

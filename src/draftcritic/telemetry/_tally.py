"""Counts what may come faster than a counter can take it."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from opentelemetry import context as context_api

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.metrics import Counter


class Tally:
    """One series of a counter, counted in a plain number that the counter is given when somebody collects.

    As long as nobody says that he will, the counter is given each count at once.

    Args:
        counter: the counter.
        labels: of the series.
    """

    def __init__(self, counter: Counter, labels: Mapping[str, str]) -> None:
        self._counter = counter
        self._labels = labels
        self._gathers = False
        self._count = 0
        self._newest: Context | None = None
        self._start()

    def _start(self) -> None:
        # In the parent another thread may have held the lock. Reentrant: a signal handler may count, too.
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def count(self) -> None:
        """Count one."""
        if self._pid != os.getpid():
            self._start()
        with self._lock:
            if self._gathers:
                self._count += 1
                self._newest = context_api.get_current()
                return
        self._counter.add(1, self._labels)

    def gather(self, gathers: bool) -> None:
        """Say whether `hand_on` will be called at every collection from now on."""
        with self._lock:
            self._gathers = gathers
        if not gathers:
            self.hand_on()

    def hand_on(self) -> None:
        """Give the counter what was counted, in the context of the newest: its exemplar leads to that trace."""
        if self._pid != os.getpid():
            self._start()
        with self._lock:
            count, self._count = self._count, 0
            context, self._newest = self._newest, None
        if count:
            self._counter.add(count, self._labels, context)

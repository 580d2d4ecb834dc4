"""Counts what every draft counts, at the price of a plain number."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Generic, TypeVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan

if TYPE_CHECKING:
    from opentelemetry.metrics import Counter

NO_TRACE = Context()
"""What belongs to no trace: an exemplar of it would lead to whatever runs just now."""
SeriesT = TypeVar("SeriesT")


def exemplar_of(context: Context | None = None) -> Context:
    """Return what leads an exemplar to the trace of a context, by default the current one; `NO_TRACE` if not sampled.

    It holds nothing else of the context, since it is kept until somebody collects.
    """
    span = trace.get_current_span(context).get_span_context()
    return trace.set_span_in_context(NonRecordingSpan(span), NO_TRACE) if span.trace_flags.sampled else NO_TRACE


class Tally(Generic[SeriesT]):
    """A counter that counts by one, in numbers of its own that it hands on when somebody collects.

    Giving the SDK a count costs eight times as much as everything here. As long as nobody says that he collects, each
    count is handed on at once.

    Args:
        counter: gets the counts.
        labels: returns the labels of a series.
    """

    def __init__(self, counter: Counter, labels: Callable[[SeriesT], dict[str, str]]) -> None:
        self._counter = counter
        self._labels = labels
        self._gathers = False
        self._counts: dict[SeriesT, int] = {}
        self._newest: dict[SeriesT, Context] = {}
        self._start()

    def _start(self) -> None:
        # In the parent another thread may have held the lock. Reentrant: a signal handler may count, too.
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def start_at_zero(self, series: SeriesT) -> None:
        """Let a series exist."""
        self._counter.add(0, self._labels(series), NO_TRACE)

    def count(self, series: SeriesT, exemplar: Context) -> None:
        """Count one.

        Args:
            series: what it counts for.
            exemplar: see `exemplar_of`.
        """
        if self._pid != os.getpid():
            self._start()
        with self._lock:
            if self._gathers:
                self._counts[series] = self._counts.get(series, 0) + 1
                if exemplar is not NO_TRACE:
                    self._newest[series] = exemplar
                return
        self._counter.add(1, self._labels(series), exemplar)

    def gather(self, gathers: bool) -> None:
        """Say whether `hand_on` will be called at every collection from now on."""
        if self._pid != os.getpid():
            self._start()
        with self._lock:
            self._gathers = gathers
        if not gathers:
            self.hand_on()

    def hand_on(self) -> None:
        """Give the counter what was counted; the newest of each series that is sampled leads to its trace."""
        if self._pid != os.getpid():
            self._start()
        with self._lock:
            counts, self._counts = self._counts, {}
            newest, self._newest = self._newest, {}
        for series, count in counts.items():
            labels, context = self._labels(series), newest.get(series)
            if context is not None:
                self._counter.add(1, labels, context)
            if rest := count - (context is not None):
                self._counter.add(rest, labels, NO_TRACE)

"""Counters flushed at collection, and gauges that outlive the runtime that created them."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from opentelemetry import metrics, trace
from opentelemetry.context import Context
from opentelemetry.metrics import Observation
from opentelemetry.trace import NonRecordingSpan

from draftcritic.telemetry import names

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Counter, Meter, MeterProvider

NO_TRACE = Context()
"""The context of measurements that belong to no trace; the current context would give them a wrong exemplar."""
SeriesT = TypeVar("SeriesT")


def exemplar_of(context: Context | None = None) -> Context:
    """Return the exemplar context of a context, by default the current one; `NO_TRACE` if it is not sampled.

    It contains nothing but the span context, because it is kept until the next collection.
    """
    span = trace.get_current_span(context).get_span_context()
    return trace.set_span_in_context(NonRecordingSpan(span), NO_TRACE) if span.trace_flags.sampled else NO_TRACE


class Tally(Generic[SeriesT]):
    """A counter that counts by one in plain integers and passes them to the SDK at each collection.

    A call of the SDK costs eight times as much. Until a reader collects, each count is passed on immediately.

    Args:
        counter: gets the counts.
        labels: returns the labels of a series.
    """

    def __init__(self, counter: Counter, labels: Callable[[SeriesT], dict[str, str]]) -> None:
        self._counter = counter
        self._labels = labels
        self._buffers = False
        self._counts: dict[SeriesT, int] = {}
        self._newest: dict[SeriesT, Context] = {}
        self._start()

    def _start(self) -> None:
        # After a fork another thread of the parent may have held the lock. Reentrant, for signal handlers that count.
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def start_at_zero(self, series: SeriesT) -> None:
        """Create a series with the count 0."""
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
            if self._buffers:
                self._counts[series] = self._counts.get(series, 0) + 1
                if exemplar is not NO_TRACE:
                    self._newest[series] = exemplar
                return
        self._counter.add(1, self._labels(series), exemplar)

    def buffer(self, enabled: bool) -> None:
        """Buffer counts until `flush`, which is then called at every collection; or flush and stop buffering."""
        if self._pid != os.getpid():
            self._start()
        with self._lock:
            self._buffers = enabled
        if not enabled:
            self.flush()

    def flush(self) -> None:
        """Add the buffered counts to the counter, with the newest sampled trace of each series as the exemplar."""
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


_API = "opentelemetry.metrics"
"""Module of the proxy providers, which forward their instruments once a real provider is set."""


class Depth:
    """The length of the queue in this process. The queue itself subtracts what a forked child inherits."""

    def __init__(self) -> None:
        self._value = 0
        self._start()

    def _start(self) -> None:
        # After a fork another thread of the parent may have held the lock. Reentrant, for signal handlers.
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def change(self, change: int) -> None:
        """Record that the queue has grown (positive) or shrunk (negative)."""
        if self._pid != os.getpid():
            self._start()
        with self._lock:
            self._value += change

    @property
    def value(self) -> int:
        """How many reviews wait; 0 in a child process that has queued nothing yet."""
        # A worker may record that a review left the queue before the caller records that it entered.
        return max(0, self._value) if self._pid == os.getpid() else 0


class State:
    """The current state of the critic, as the gauges report it.

    Args:
        tallies: the counters to flush at every collection.

    Attributes:
        depth: the length of the background queue.
        circuits: the state of each circuit by SKU, as the number that is reported.
        policy_valid: whether the policy's file is valid.
        spool: returns the size in bytes and the age in seconds of the spool; None without a spool.
        info: the labels that describe this process; empty for no report.
    """

    def __init__(self, tallies: Sequence[Tally[Any]] = ()) -> None:
        self._tallies = tallies
        self.depth = Depth()
        self.circuits: dict[str, int] = {}
        self.policy_valid = True
        self.spool: Callable[[], tuple[int, float]] | None = None
        self.info: dict[str, str] = {}

    def report(self, provider: MeterProvider, meter: Meter, descriptions: dict[str, str]) -> None:
        """Report this state through the gauges of a provider, in place of any earlier state.

        Args:
            provider: the provider; a proxy of the API reports nothing.
            meter: a meter with the name and version of the gauges.
            descriptions: the descriptions of the metrics by name.
        """
        if type(provider).__module__.startswith(_API):
            return
        new = _GaugeCallbacks(provider)
        callbacks = _callbacks.setdefault(id(provider), new)
        callbacks.attach(weakref.ref(self), self._tallies)
        if callbacks is new:
            own = metrics.get_meter(meter.name, meter.version or "", provider)
            for name, unit, callback in (
                (names.METRIC_QUEUE_DEPTH, names.UNIT_REVIEW, callbacks.depth),
                (names.METRIC_CIRCUIT, names.UNIT_STATE, callbacks.circuits),
                (names.METRIC_POLICY_LOADED, names.UNIT_STATE, callbacks.policy),
                (names.METRIC_INFO, names.UNIT_PROCESS, callbacks.info),
                (names.METRIC_SPOOL_BYTES, names.UNIT_BYTE, callbacks.spool_bytes),
                (names.METRIC_SPOOL_AGE, names.UNIT_SECOND, callbacks.spool_age),
            ):
                own.create_observable_gauge(name, [callback], unit, descriptions[name])

    def close(self) -> None:
        """Report nothing from now on."""
        for callbacks in list(_callbacks.values()):
            if callbacks.state() is self:
                callbacks.attach(_no_state, ())


def _no_state() -> State | None:
    return None


class _GaugeCallbacks:
    """The callbacks of one provider's gauges. Keeps the tallies of a state that no longer exists."""

    def __init__(self, provider: MeterProvider) -> None:
        self.state: Callable[[], State | None] = _no_state
        self._tallies: Sequence[Tally[Any]] = ()
        key = id(provider)
        self._provider = weakref.ref(provider, lambda _: _callbacks.pop(key, None))

    def attach(self, state: Callable[[], State | None], tallies: Sequence[Tally[Any]]) -> None:
        """Report another state, and flush the tallies of the previous one."""
        before, self.state, self._tallies = self._tallies, state, tallies
        for tally in before:
            tally.buffer(False)

    def depth(self, _: CallbackOptions) -> Iterable[Observation]:
        for tally in self._tallies:
            # The first collection shows that a reader exists; before it, buffered counts could be lost.
            tally.buffer(True)
            tally.flush()
        state = self.state()
        return [] if state is None else [Observation(state.depth.value)]

    def circuits(self, _: CallbackOptions) -> Iterable[Observation]:
        state = self.state()
        circuits = {} if state is None else state.circuits.copy()
        return [Observation(value, {names.SKU: sku}) for sku, value in circuits.items()]

    def policy(self, _: CallbackOptions) -> Iterable[Observation]:
        state = self.state()
        return [] if state is None else [Observation(int(state.policy_valid))]

    def info(self, _: CallbackOptions) -> Iterable[Observation]:
        state = self.state()
        return [] if state is None or not state.info else [Observation(1, state.info)]

    def spool_bytes(self, _: CallbackOptions) -> Iterable[Observation]:
        state = self.state()
        return [] if state is None or state.spool is None else [Observation(state.spool()[0])]

    def spool_age(self, _: CallbackOptions) -> Iterable[Observation]:
        state = self.state()
        return [] if state is None or state.spool is None else [Observation(state.spool()[1])]


_callbacks: dict[int, _GaugeCallbacks] = {}
"""By the id of each live provider: its gauges outlive the runtime that created them."""

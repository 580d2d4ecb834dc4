"""Counts what every draft counts, at the price of a plain number."""

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


_API = "opentelemetry.metrics"
"""Where the providers are that stand in until there is a real one, and pass on what was made with them."""


class Depth:
    """The length of the queue in this process. The queue takes off by itself what a forked child inherits of it."""

    def __init__(self) -> None:
        self._value = 0
        self._start()

    def _start(self) -> None:
        # In the parent another thread may have held the lock. Reentrant: a signal handler may call a model, too.
        self._lock = threading.RLock()
        self._pid = os.getpid()

    def change(self, change: int) -> None:
        """Take note that the queue has grown (positive) or shrunk (negative)."""
        if self._pid != os.getpid():
            self._start()
        with self._lock:
            self._value += change

    @property
    def value(self) -> int:
        """How many wait; none in a child that has not queued anything yet."""
        # A worker may tell that a review has left the queue before its caller tells that it has come.
        return max(0, self._value) if self._pid == os.getpid() else 0


class State:
    """Where the critic stands.

    Args:
        tallies: what is handed on at every collection.

    Attributes:
        depth: the length of the background queue.
        circuits: by SKU the state of a circuit, as the number that is told.
        policy_whole: whether the policy's file holds.
    """

    def __init__(self, tallies: Sequence[Tally[Any]] = ()) -> None:
        self._tallies = tallies
        self.depth = Depth()
        self.circuits: dict[str, int] = {}
        self.policy_whole = True

    def tell(self, provider: MeterProvider, meter: Meter, descriptions: dict[str, str]) -> None:
        """Be what the gauges of a provider tell from now on.

        Args:
            provider: the provider; one of the API itself tells nothing.
            meter: a meter with the name and version that the gauges shall have.
            descriptions: of the metrics by their names.
        """
        if type(provider).__module__.startswith(_API):
            return
        new = _Teller(provider)
        teller = _tellers.setdefault(id(provider), new)
        teller.take(weakref.ref(self), self._tallies)
        if teller is new:
            own = metrics.get_meter(meter.name, meter.version or "", provider)
            for name, unit, callback in (
                (names.METRIC_QUEUE_DEPTH, names.UNIT_REVIEW, teller.depth),
                (names.METRIC_CIRCUIT, names.UNIT_STATE, teller.circuits),
                (names.METRIC_POLICY_LOADED, names.UNIT_STATE, teller.policy),
            ):
                own.create_observable_gauge(name, [callback], unit, descriptions[name])

    def close(self) -> None:
        """Tell nothing any more."""
        for teller in list(_tellers.values()):
            if teller.state() is self:
                teller.take(_no_state, ())


def _no_state() -> State | None:
    return None


class _Teller:
    """What the gauges of one provider ask. A state that is gone leaves its tallies here."""

    def __init__(self, provider: MeterProvider) -> None:
        self.state: Callable[[], State | None] = _no_state
        self._tallies: Sequence[Tally[Any]] = ()
        key = id(provider)
        self._provider = weakref.ref(provider, lambda _: _tellers.pop(key, None))

    def take(self, state: Callable[[], State | None], tallies: Sequence[Tally[Any]]) -> None:
        """Answer for another state, and hand on the tallies of the one before."""
        before, self.state, self._tallies = self._tallies, state, tallies
        for tally in before:
            tally.gather(False)

    def depth(self, _: CallbackOptions) -> Iterable[Observation]:
        for tally in self._tallies:
            # Only now is it known that this provider asks at all.
            tally.gather(True)
            tally.hand_on()
        state = self.state()
        return [] if state is None else [Observation(state.depth.value)]

    def circuits(self, _: CallbackOptions) -> Iterable[Observation]:
        state = self.state()
        circuits = {} if state is None else state.circuits.copy()
        return [Observation(value, {names.SKU: sku}) for sku, value in circuits.items()]

    def policy(self, _: CallbackOptions) -> Iterable[Observation]:
        state = self.state()
        return [] if state is None else [Observation(int(state.policy_whole))]


_tellers: dict[int, _Teller] = {}
"""By the number of each provider that lives: its gauges outlive the runtime that made them."""

"""The gauges: where the critic stands right now, told at every collection.

Older SDKs tell a gauge that is set once only, and then no more until it is set again; one that is asked is told each
time. A provider keeps such a gauge with the callbacks that it was first made with, for as long as it lives, and a
second one of the name is dropped. So it gets callbacks that answer for the newest state there is, and hold none.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from opentelemetry import metrics
from opentelemetry.metrics import Observation

from draftcritic.telemetry import names
from draftcritic.telemetry._tally import Tally

if TYPE_CHECKING:
    from opentelemetry.metrics import CallbackOptions, Meter, MeterProvider

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

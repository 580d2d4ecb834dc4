"""Decides whether a draft that the gate would have reflected on may cost a model call."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

from draftcritic.core._enums import CircuitState, Failure, GateReason
from draftcritic.core._policy import CircuitRules, LimitRules
from draftcritic.core._review import ModelCall
from draftcritic.review._budget import HOUR, MINUTE, Booked, Expected, FairShares, SlidingSum, Spending
from draftcritic.review._call_slots import given_up
from draftcritic.review._circuit_breaker import Backoff, Breaker
from draftcritic.review._draws import Draws
from draftcritic.review._lifecycle import after_fork
from draftcritic.review._ports import Permit
from draftcritic.review._shared_limits import SharedLimits

_LOW_64_BITS = (1 << 64) - 1
_MAX_SKUS = 256
"""SKUs that are counted separately; more than an agent uses, and a bound where names come from outside."""
_LOOPS_PER_MINUTE = 10
"""Drafts reflected on in a minute whose prompt repeats a question of the critic: enough for a user who quotes one, and
an end for a critic that asks a model whose answers are reviewed in turn."""
_UNAVAILABLE = frozenset({Failure.TIMEOUT, Failure.ERROR})
"""The failures of an outage."""
_SAYS_NOTHING = frozenset({Failure.CANCELLED, Failure.REJECTED, Failure.RATE_LIMITED})
"""The failures that say neither that the model's service works nor that it does not."""

_logger = logging.getLogger(__name__)


class Limiter:
    """Keeps to `LimitRules` in this process. Safe to use from several threads; a forked child counts from zero.

    Sampling goes by the trace, so that a trace is reflected on as a whole, and by the rule of OpenTelemetry's
    `TraceIdRatioBased`: a share of traces below the application's own lies within those that it records.

    Args:
        rules: the rules in force; see `use`.
        draws: sample by a random number for each outermost run: a trace id may come from a client, which could choose
            one that is not in the sample.
        on_circuit: called with the SKU and the new state whenever a circuit changes.
        clock: seconds that never go backwards.
        shared: counts the budgets of several processes together; None counts them in this process alone.
    """

    def __init__(
        self,
        rules: LimitRules,
        *,
        draws: bool = False,
        on_circuit: Callable[[str, CircuitState], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
        shared: SharedLimits | None = None,
    ) -> None:
        self._whole = self._rules = rules
        self._shared = shared
        self._part = 1.0
        self._draws = Draws() if draws else None
        self._on_circuit = on_circuit
        self._clock = clock
        self._reported: dict[str, CircuitState] = {}
        self._reset_state()
        after_fork(self._in_child)

    def _in_child(self) -> None:
        self._reset_state()
        # No log line: the parent has written it.
        reported, self._reported = self._reported, {}
        if self._on_circuit is not None:
            for sku in reported:
                self._on_circuit(sku, CircuitState.CLOSED)

    def _reset_state(self) -> None:
        self._lock = threading.Lock()
        self._calls = SlidingSum(MINUTE)
        self._loops = SlidingSum(MINUTE)
        self._spending = Spending(self._rules)
        self._shares = FairShares(self._rules, self._spending)
        self._backoff = Backoff()
        self._breakers: dict[str, Breaker] = {}
        self._under_way: dict[_Permit, None] = {}

    @property
    def slow(self) -> bool:
        """Whether `admit` asks a store in another process."""
        return self._shared is not None

    def use(self, rules: LimitRules) -> None:
        """Go by other rules from now on. What was spent stays spent; a circuit with other rules starts closed."""
        self._whole = rules
        self._use(_part_of(rules, self._part))

    def _use(self, rules: LimitRules) -> None:
        with self._lock:
            if rules.circuit != self._rules.circuit:
                self._breakers.clear()
            self._rules = rules
            self._spending.use(rules)
            self._shares.rules = rules
        self._tell()

    def samples(
        self,
        trace_id: Callable[[], int | None],
        run_id: str,
        signals: Collection[GateReason],
        root_run: Hashable = None,
    ) -> bool:
        """Whether a draft is in the sample. See `ReviewLimits.samples`."""
        rules = self._rules
        if rules.sample_rate >= 1 or not rules.sample_exempt.isdisjoint(signals):
            return True
        if self._draws is not None:
            return self._draws.of((run_id or None) if root_run is None else root_run) < rules.sample_rate
        return _position(trace_id(), run_id) < rules.sample_rate * (_LOW_64_BITS + 1)

    def admits_loop(self) -> bool:
        """Whether one more draft may ask the critic about its own question. See `ReviewLimits.admits_loop`."""
        now = self._clock()
        with self._lock:
            if self._loops.total(now) >= _LOOPS_PER_MINUTE:
                return False
            self._loops.add(1, now)
            return True

    def admit(
        self, sku: str, size: int = 0, lasts: float = HOUR, ids: Sequence[str] = (), *, calls: int = 1
    ) -> Permit | GateReason:
        """Let a model call through, or say what forbids it. See `ReviewLimits.admit`."""
        expected = self._spending.expect(sku, size)
        ticket = self._reserved(expected, lasts, ids, calls)
        if isinstance(ticket, GateReason):
            return ticket
        now = self._clock()
        with self._lock:
            self._take_back_lost(now)
            refused = self._refusal(sku, expected, ids, now, calls)
            if refused is None:
                permit = _Permit(self, sku, self._breaker(sku), expected, now + lasts, tuple(ids), ticket=ticket)
                self._calls.add(calls, now)
                self._spending.reserve(expected)
                self._shares.begin(ids, expected, now)
                self._under_way[permit] = None
        self._tell()
        if refused is not None and ticket is not None and self._shared is not None:
            self._shared.settle(ticket, expected.skus[-1], Booked(0.0, 0.0), made=False)
        return refused or permit

    def _reserved(self, expected: Expected, lasts: float, ids: Sequence[str], calls: int) -> str | GateReason | None:
        """Return a ticket of the shared limits, or what forbids the call; None where this process decides alone."""
        shared = self._shared
        if shared is None:
            return None
        ticket = shared.reserve(self._whole, expected, lasts, ids, calls)
        part = shared.part if ticket is None else 1.0
        if part != self._part:
            self._part = part
            self._use(_part_of(self._whole, part))
        return ticket

    def probe(self, sku: str, size: int = 0, lasts: float = HOUR) -> Permit | None:
        """Return leave to ask a fixed question when a circuit depends on it. See `ReviewLimits.probe`."""
        now = self._clock()
        with self._lock:
            breaker = self._breakers.get(sku)
            if breaker is None or self._backoff.waits(sku, now) or not breaker.wants_probe(now):
                return None
            self._calls.add(1, now)
            return _Probe(self, breaker, self._spending.expect(sku, size), breaker.probe_begun(now + lasts))

    def _refusal(self, sku: str, expected: Expected, ids: Sequence[str], now: float, calls: int) -> GateReason | None:
        rules = self._rules
        if rules.max_concurrency is not None:
            under_way, hanging = len(self._under_way), given_up()
            if under_way + hanging >= rules.max_concurrency:
                # A model that hangs is one that fails.
                return GateReason.BUDGET if under_way > hanging else GateReason.CIRCUIT_OPEN
        if rules.reviews_per_minute is not None and self._calls.total(now) + calls > rules.reviews_per_minute:
            return GateReason.BUDGET
        if not self._spending.allows(expected, now):
            return GateReason.BUDGET
        if not self._shares.allows(ids, expected, now):
            return GateReason.FAIR_SHARE
        if self._backoff.waits(sku, now):
            return GateReason.RATE_LIMITED
        return None if self._breaker(sku).lets_through() else GateReason.CIRCUIT_OPEN

    def _breaker(self, sku: str) -> Breaker:
        breaker = self._breakers.pop(sku, None)
        if breaker is None:
            breaker = Breaker(self._rules.circuit)
            if len(self._breakers) >= _MAX_SKUS:
                # The closed one that was asked for longest ago knows least that matters.
                closed = (name for name, each in self._breakers.items() if each.state is CircuitState.CLOSED)
                del self._breakers[next(closed, next(iter(self._breakers)))]
        self._breakers[sku] = breaker
        return breaker

    def settle(
        self,
        permit: _Permit,
        call: ModelCall | None,
        failure: Failure | None,
        unbilled: bool,
        retry_after: float | None = None,
    ) -> None:
        """Count what the call of a permit came to."""
        now = self._clock()
        with self._lock:
            if permit not in self._under_way:
                return  # taken back, or given before this process was forked
            self._end(permit, _is_bad(call, failure, permit.breaker.rules), now)
            if failure is Failure.RATE_LIMITED:
                self._backoff.limited(permit.sku, retry_after, now)
            elif call is not None and failure is None:
                self._backoff.answered(permit.sku)
            booked = self._booked(permit.expected, call, unbilled, now)
            self._shares.end(permit.ids, permit.expected, booked, now, made=call is not None)
        self._tell()
        if permit.ticket is not None and self._shared is not None:
            sku = permit.expected.skus[-1] if call is None or call.error_type is not None else call.sku
            self._shared.settle(permit.ticket, sku, booked, made=call is not None)
        if booked.missed is not None:
            _logger.warning("%s", booked.missed)

    def settle_probe(self, probe: _Probe, call: ModelCall | None, failure: Failure | None, unbilled: bool) -> None:
        """Count what a probe came to. A fixed question that the provider rejects is the operator's to mend: bad."""
        now = self._clock()
        with self._lock:
            if self._breakers.get(probe.expected.skus[0]) is probe.breaker:
                bad = True if failure is Failure.REJECTED else _is_bad(call, failure, probe.breaker.rules)
                probe.breaker.probe_ended(probe.generation, bad, now)
                self._booked(probe.expected, call, unbilled, now)
        self._tell()

    def _booked(self, expected: Expected, call: ModelCall | None, unbilled: bool, now: float) -> Booked:
        if call is not None and call.error_type is None:
            return self._spending.book(expected, call, now)
        if call is None or unbilled:
            return Booked(0.0, 0.0)
        return self._spending.book_failed(expected, now)

    def _take_back_lost(self, now: float) -> None:
        """End abandoned calls: a task gets no notice when its event loop stops for good."""
        for permit in [each for each in self._under_way if each.until <= now]:
            self._end(permit, None, now)
            booked = self._spending.book_failed(permit.expected, now)
            self._shares.end(permit.ids, permit.expected, booked, now, made=True)

    def _end(self, permit: _Permit, bad: bool | None, now: float) -> None:
        del self._under_way[permit]
        permit.breaker.ended(permit.generation, bad, now)
        self._spending.release(permit.expected)

    def _tell(self) -> None:
        """Tell of circuits that have changed, outside of the lock."""
        if self._on_circuit is None:
            return
        with self._lock:
            changed = [
                (sku, breaker.state)
                for sku, breaker in self._breakers.items()
                if breaker.state is not self._reported.get(sku, CircuitState.CLOSED)
            ]
            changed += [
                (sku, CircuitState.CLOSED)
                for sku, state in self._reported.items()
                if sku not in self._breakers and state is not CircuitState.CLOSED
            ]
            self._reported = {
                sku: state
                for sku, state in (self._reported | dict(changed)).items()
                if state is not CircuitState.CLOSED
            }
        for sku, state in changed:
            _logger.log(
                logging.INFO if state is CircuitState.HALF_OPEN else logging.WARNING,
                "the circuit of the critic's model %s is %s",
                sku,
                state,
            )
            self._on_circuit(sku, state)


def _part_of(rules: LimitRules, part: float) -> LimitRules:
    """Return rules with a part of the budgets."""
    if part >= 1:
        return rules
    rate = rules.reviews_per_minute
    return replace(
        rules,
        reviews_per_minute=None if rate is None else int(rate * part),
        tokens_per_hour={sku: amount * part for sku, amount in rules.tokens_per_hour.items()},
        usd_per_hour={sku: amount * part for sku, amount in rules.usd_per_hour.items()},
    )


@dataclass(eq=False)
class _Permit:
    """Leave to make one call of the critic's model."""

    limiter: Limiter
    sku: str
    breaker: Breaker
    expected: Expected
    until: float
    ids: tuple[str, ...] = ()
    generation: int = 0
    ticket: str | None = None

    def __post_init__(self) -> None:
        self.generation = self.breaker.begun()

    def settle(
        self,
        call: ModelCall | None,
        failure: Failure | None,
        *,
        unbilled: bool = False,
        retry_after: float | None = None,
    ) -> None:
        """Give the permit back; see `Permit.settle`."""
        self.limiter.settle(self, call, failure, unbilled, retry_after)


@dataclass(eq=False)
class _Probe:
    """Leave to ask a fixed question, whose answer decides on a circuit."""

    limiter: Limiter
    breaker: Breaker
    expected: Expected
    generation: int

    def settle(
        self,
        call: ModelCall | None,
        failure: Failure | None,
        *,
        unbilled: bool = False,
        retry_after: float | None = None,  # noqa: ARG002 - the port's signature
    ) -> None:
        """Report what the probe came to; see `Permit.settle`."""
        self.limiter.settle_probe(self, call, failure, unbilled)


def _is_bad(call: ModelCall | None, failure: Failure | None, rules: CircuitRules) -> bool | None:
    """Whether a call shows that its model does not work; None when it shows neither."""
    if failure in _SAYS_NOTHING or call is None:
        return None
    slow = rules.latency is not None and call.latency_s > rules.latency
    return slow or failure in _UNAVAILABLE


def _position(trace_id: int | None, run_id: str) -> int:
    """Return the draft's position between 0 and 2**64: by its trace, else by its run, else at random."""
    if trace_id:
        return trace_id & _LOW_64_BITS
    if run_id:
        return int.from_bytes(blake2b(run_id.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return random.getrandbits(64)

"""Decides whether a draft that the gate would have reflected on may cost a model call."""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from hashlib import blake2b

from draftcritic.core import CircuitRules, CircuitState, Failure, GateReason, LimitRules, ModelCall
from draftcritic.engine._breaker import Breaker
from draftcritic.engine._budget import MINUTE, HourlyBudget, SlidingSum
from draftcritic.engine._fork import after_fork
from draftcritic.engine._ports import Permit

_LOW_64_BITS = (1 << 64) - 1
_MAX_SKUS = 256
"""SKUs that are told apart; more than an agent uses, and a bound where names come from outside."""
_UNAVAILABLE = frozenset({Failure.TIMEOUT, Failure.ERROR, Failure.RATE_LIMITED})
"""The failures that tell of the model's service, and not of what it was asked."""

_logger = logging.getLogger(__name__)


class Limiter:
    """Keeps to `LimitRules` in this process. Safe to use from several threads; a forked child counts from zero.

    Sampling goes by the trace, so that a trace is reflected on as a whole, and by the rule of OpenTelemetry's
    `TraceIdRatioBased`: a share of traces below the application's own lies within those that it records.

    Args:
        rules: what holds; see `use`.
        on_circuit: told the SKU and the new state whenever a circuit changes.
        clock: seconds that never go backwards.
    """

    def __init__(
        self,
        rules: LimitRules,
        *,
        on_circuit: Callable[[str, CircuitState], None] | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules = rules
        self._on_circuit = on_circuit
        self._clock = clock
        self._told: dict[str, CircuitState] = {}
        self._start_afresh()
        after_fork(self._start_afresh)

    def _start_afresh(self) -> None:
        self._lock = threading.Lock()
        self._calls = SlidingSum(MINUTE)
        self._tokens = HourlyBudget(self._rules.tokens_per_hour)
        self._usd = HourlyBudget(self._rules.usd_per_hour)
        self._breakers: dict[str, Breaker] = {}
        self._under_way: dict[str, int] = {}
        self._answers_as: dict[str, str] = {}
        self._unknown: set[str] = set()

    def use(self, rules: LimitRules) -> None:
        """Go by other rules from now on. What was spent stays spent; a circuit with other rules starts closed."""
        with self._lock:
            if rules.circuit != self._rules.circuit:
                self._breakers.clear()
            self._rules = rules
            self._tokens.limits = rules.tokens_per_hour
            self._usd.limits = rules.usd_per_hour
        self._tell()

    def samples(self, trace_id: Callable[[], int | None], run_id: str, signals: Collection[GateReason]) -> bool:
        """Whether a draft is in the sample. See `ReviewLimits.samples`."""
        rules = self._rules
        if rules.sample_rate >= 1 or not rules.sample_exempt.isdisjoint(signals):
            return True
        return _position(trace_id(), run_id) < rules.sample_rate * (_LOW_64_BITS + 1)

    def admit(self, sku: str) -> Permit | GateReason:
        """Let a model call through, or say what forbids it. See `ReviewLimits.admit`."""
        now = self._clock()
        with self._lock:
            refused = self._refusal(sku, now)
            if refused is None:
                permit = _Permit(self, sku, self._breaker(sku), now)
                self._calls.add(1, now)
                self._under_way[sku] = self._under_way.get(sku, 0) + 1
        self._tell()
        return refused or permit

    def _refusal(self, sku: str, now: float) -> GateReason | None:
        rules = self._rules
        if rules.max_concurrency is not None and sum(self._under_way.values()) >= rules.max_concurrency:
            return GateReason.BUDGET
        if rules.reviews_per_minute is not None and self._calls.total(now) + 1 > rules.reviews_per_minute:
            return GateReason.BUDGET
        # A name that only an account can resolve, such as a deployment's, spends from what it turned out to be.
        spender, under_way = self._answers_as.get(sku, sku), self._under_way.get(sku, 0)
        if not (self._tokens.allows(spender, under_way, now) and self._usd.allows(spender, under_way, now)):
            return GateReason.BUDGET
        return None if self._breaker(sku).lets_through(now) else GateReason.CIRCUIT_OPEN

    def _breaker(self, sku: str) -> Breaker:
        breaker = self._breakers.get(sku)
        if breaker is None:
            if len(self._breakers) >= _MAX_SKUS:
                self._breakers.clear()
            breaker = self._breakers[sku] = Breaker(self._rules.circuit)
        return breaker

    def settle(self, permit: _Permit, call: ModelCall | None, failure: Failure | None) -> None:
        """Count what the call of a permit came to."""
        now = self._clock()
        with self._lock:
            sku = permit.sku
            # A child that was forked during the call has counted anew.
            left = self._under_way.pop(sku, 1) - 1
            if left:
                self._under_way[sku] = left
            permit.breaker.ended(permit.generation, _is_bad(call, failure, permit.breaker.rules), now)
            unknown = self._spend(sku, call, now) if call is not None and call.error_type is None else None
        self._tell()
        if unknown is not None:
            _logger.warning("%s of %s is not known: its budget of an hour cannot hold", unknown, permit.sku)

    def _spend(self, asked: str, call: ModelCall, now: float) -> str | None:
        """Book a call, and return what a budget misses of it, once for each model."""
        usage = call.usage
        if call.sku != asked and len(self._answers_as) < _MAX_SKUS:
            self._answers_as[asked] = call.sku
        spender = self._answers_as.get(asked, asked)
        counts = [count for count in (usage.input_tokens, usage.output_tokens) if count is not None]
        self._tokens.spend(spender, sum(counts) if counts else None, now)
        self._usd.spend(spender, usage.cost_usd, now)
        tokens_missed = not counts and self._tokens.limit(spender) is not None
        price_missed = usage.cost_usd is None and self._usd.limit(spender) is not None
        if not (tokens_missed or price_missed) or spender in self._unknown:
            return None
        self._unknown.add(spender)
        return "the use" if tokens_missed else "the price"

    def _tell(self) -> None:
        """Tell of circuits that have changed, outside of the lock."""
        if self._on_circuit is None:
            return
        with self._lock:
            changed = [
                (sku, breaker.state)
                for sku, breaker in self._breakers.items()
                if breaker.state is not self._told.get(sku, CircuitState.CLOSED)
            ]
            changed += [
                (sku, CircuitState.CLOSED)
                for sku, state in self._told.items()
                if sku not in self._breakers and state is not CircuitState.CLOSED
            ]
            self._told.update(changed)
        for sku, state in changed:
            _logger.log(
                logging.INFO if state is CircuitState.HALF_OPEN else logging.WARNING,
                "the circuit of the critic's model %s is %s",
                sku,
                state,
            )
            self._on_circuit(sku, state)


@dataclass(eq=False)
class _Permit:
    """Leave to make one call of the critic's model."""

    limiter: Limiter
    sku: str
    breaker: Breaker
    since: float
    generation: int = 0
    settled: bool = False

    def __post_init__(self) -> None:
        self.generation = self.breaker.begun()

    def settle(self, call: ModelCall | None, failure: Failure | None) -> None:
        """Give the permit back; see `Permit.settle`."""
        if not self.settled:
            self.settled = True
            self.limiter.settle(self, call, failure)


def _is_bad(call: ModelCall | None, failure: Failure | None, rules: CircuitRules) -> bool | None:
    """Whether a call tells of a model that does not work; None when it tells nothing."""
    if failure is Failure.CANCELLED or call is None:
        return None
    slow = rules.latency is not None and call.latency_s > rules.latency
    return slow or failure in _UNAVAILABLE


def _position(trace_id: int | None, run_id: str) -> int:
    """Where a draft stands between 0 and 2**64: by its trace, else by its run, else anywhere."""
    if trace_id:
        return trace_id & _LOW_64_BITS
    if run_id:
        return int.from_bytes(blake2b(run_id.encode("utf-8", "replace"), digest_size=8).digest(), "big")
    return random.getrandbits(64)


class NoLimits:
    """Lets everything through. Implements `ReviewLimits`."""

    def samples(self, trace_id: Callable[[], int | None], run_id: str, signals: Collection[GateReason]) -> bool:  # noqa: ARG002 - the port's signature
        """Return True."""
        return True

    def admit(self, sku: str) -> Permit | GateReason:  # noqa: ARG002 - the port's signature
        """Return leave that costs nothing."""
        return _FREE


class _FreePermit:
    def settle(self, call: ModelCall | None, failure: Failure | None) -> None:
        """Do nothing."""


_FREE = _FreePermit()

"""The limits of a fleet, counted in Redis."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from importlib.resources import files
from queue import SimpleQueue
from typing import Any
from uuid import uuid4

from draftcritic.core._enums import CircuitState, GateReason
from draftcritic.core._exception_place import described
from draftcritic.core._policy import ANY_SKU, LimitRules
from draftcritic.review._budget import LEAST_CALLS, Booked, Expected
from draftcritic.review._lifecycle import after_fork

_RETRY_S = 1.0
"""Seconds without a try after Redis did not answer: a review waits for it once a second at most."""
_CIRCUIT_S = 60.0
_WITHIN_S = 0.25
"""Seconds that a review may wait for Redis: far more than it takes, far less than a model call."""
_logger = logging.getLogger("draftcritic")


class RedisLimits:
    """Limits that all processes with the same Redis and prefix keep together. Implements `SharedLimits`.

    The rule is that of one process: an estimate is reserved before a call and replaced by what it has spent, in one
    step for all of its limits. While Redis is away each process has the part of the budgets that the number of
    processes gives, as the last answer counted those that had asked within a minute.

    Args:
        client: of Redis.
        prefix: of all keys.
        on_away: called for each call that is decided without Redis.
    """

    def __init__(self, client: Any, prefix: str, *, on_away: Callable[[], None]) -> None:
        self._script = client.register_script(script())
        self._client = client
        self._prefix = f"{{{prefix}}}:limits"
        self._on_away = on_away
        self._processes = 1
        self._reported = False
        self._reset_state()
        after_fork(self._reset_state)

    def _reset_state(self) -> None:
        self._process = uuid4().hex
        self._away_until = 0.0
        self._later: SimpleQueue[Callable[[], object]] = SimpleQueue()
        self._thread: threading.Thread | None = None
        self._start_lock = threading.Lock()

    @property
    def part(self) -> float:
        """See `SharedLimits.part`."""
        return 1 / self._processes

    def reserve(
        self, rules: LimitRules, expected: Expected, lasts: float, ids: Sequence[str], calls: int
    ) -> str | GateReason | None:
        """Return a ticket for a call. See `SharedLimits.reserve`."""
        ticket = uuid4().hex
        request = {
            "ticket": ticket,
            "process": self._process,
            "lasts": lasts,
            "calls": calls,
            "skus": [_budgets(rules, sku) for sku in expected.skus],
            "tokens": expected.tokens,
            "usd": expected.usd,
            "ids": [blake2b(each.encode("utf-8", "replace"), digest_size=12).hexdigest() for each in ids],
            "share": rules.fair_share,
            "rate": rules.reviews_per_minute or False,
            "least": LEAST_CALLS,
            "circuit_ttl": self._circuit_ttl(rules.circuit.cooldown),
        }
        answer = self._ask("reserve", request)
        if answer is None:
            self._on_away()
            return None
        reason, self._processes = answer[0].decode(), max(1, int(answer[1]))
        return GateReason(reason) if reason else ticket

    def settle(self, ticket: str, sku: str, booked: Booked, *, made: bool) -> None:
        """Book what a call has spent. See `SharedLimits.settle`."""
        request = {"ticket": ticket, "sku": sku, "tokens": booked.tokens, "usd": booked.usd, "made": made}
        self._do_later(lambda: self._ask("settle", request))

    def circuit(self, sku: str, state: CircuitState) -> None:
        """Keep the other processes from a model while this one's circuit is not closed. See `SharedLimits.circuit`."""
        key = f"{self._prefix}:circuit:{sku}"
        if state is CircuitState.CLOSED:
            self._do_later(lambda: self._closed(key))
        else:
            self._do_later(lambda: self._client.set(key, self._process, ex=int(_CIRCUIT_S), nx=True))

    def _closed(self, key: str) -> None:
        if self._client.get(key) == self._process.encode():
            self._client.delete(key)

    @staticmethod
    def _circuit_ttl(cooldown: float) -> int:
        return int(max(_CIRCUIT_S, 2 * cooldown))

    def _ask(self, action: str, request: dict[str, Any]) -> Any:
        """Return the answer of the script; None while Redis is away."""
        if time.monotonic() < self._away_until:
            return None
        try:
            answer = self._script(keys=[self._prefix], args=[action, json.dumps(request)])
        except Exception as error:
            self._away_until = time.monotonic() + _RETRY_S
            if not self._reported:
                self._reported = True
                _logger.warning("the budget store is away, this process keeps to its part: %s", described(error))
            return None
        if self._reported:
            self._reported = False
            _logger.warning("the budget store answers again")
        return answer

    def _do_later(self, work: Callable[[], object]) -> None:
        """Do something in a thread of its own: whoever ends a call may be an event loop."""
        self._later.put(work)
        with self._start_lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=_serve, args=(self._later,), name="draftcritic-budgets", daemon=True
                )
                try:
                    self._thread.start()
                except RuntimeError:  # the interpreter is ending; reservations end by themselves
                    self._thread = None


def client_of(url: str) -> Any:
    """Return a client of Redis that gives up soon and never tries twice: a review waits for it.

    Raises:
        ImportError: redis is not installed.
    """
    from redis import Redis
    from redis.backoff import NoBackoff
    from redis.retry import Retry

    return Redis.from_url(url, socket_timeout=_WITHIN_S, socket_connect_timeout=_WITHIN_S, retry=Retry(NoBackoff(), 0))


def _serve(work: SimpleQueue[Callable[[], object]]) -> None:
    while True:
        try:
            work.get()()
        except Exception as error:  # noqa: PERF203 - each may fail
            _logger.debug("the budget store did not take a report: %s", described(error))


def _budgets(rules: LimitRules, sku: str) -> dict[str, Any]:
    tokens = rules.tokens_per_hour.get(sku, rules.tokens_per_hour.get(ANY_SKU, False))
    usd = rules.usd_per_hour.get(sku, rules.usd_per_hour.get(ANY_SKU, False))
    return {"sku": sku, "tokens_limit": tokens, "usd_limit": usd}


@cache
def script() -> str:
    """Return the script that counts."""
    return files("draftcritic.fleet").joinpath("lua/budgets.lua").read_text(encoding="utf-8")

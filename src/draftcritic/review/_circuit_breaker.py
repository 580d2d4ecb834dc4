"""Waits as long as a provider asks after a rate limit. Pure: calls get the time. Needs a lock around it."""

from __future__ import annotations

from collections import deque

from draftcritic.core._enums import CircuitState
from draftcritic.core._policy import CircuitRules

_FIRST = 1.0
"""Seconds to wait where the provider gives none; doubled each time, up to a minute."""
_LONGEST_GUESS = 60.0
_LONGEST = 3600.0
_MAX_SKUS = 256


class Backoff:
    """Until when each SKU is left alone."""

    def __init__(self) -> None:
        self._until: dict[str, tuple[float, float]] = {}

    def waits(self, sku: str, now: float) -> bool:
        """Whether the SKU is to be left alone now."""
        return now < self._until.get(sku, (0.0, 0.0))[0]

    def limited(self, sku: str, seconds: float | None, now: float) -> None:
        """Note that the provider has limited a call, and how long it asks to wait."""
        until, before = self._until.pop(sku, (now, 0.0))
        if seconds is None and until > now:
            wait = before  # calls that were under way at once count once
        elif seconds is None:
            wait = min(max(_FIRST, 2 * before), _LONGEST_GUESS)
            until = now + wait
        else:
            wait = min(seconds, _LONGEST)
            until = max(until, now + wait)
        self._until[sku] = (until, wait)
        if len(self._until) > _MAX_SKUS:
            del self._until[next(iter(self._until))]

    def answered(self, sku: str) -> None:
        """Note that the provider has answered a call."""
        self._until.pop(sku, None)


class Breaker:
    """Closed, until too many calls within the window were bad; then open, half-open, and closed or open again.

    What drafts bring about never opens the circuit alone: too many bad calls make it suspect, and it opens when a
    probe, a fixed question that no user wrote, is bad as well. A probe that is good makes an open circuit half-open.

    Each state but the closed one has a generation of its own: what a call of an earlier generation came to says
    nothing any more.

    Attributes:
        state: as of the last call of a method.
        generation: which a call belongs to that is let through now.
    """

    def __init__(self, rules: CircuitRules) -> None:
        self.rules = rules
        self.state = CircuitState.CLOSED
        self.generation = 0
        self._ended: deque[tuple[float, bool]] = deque()
        self._bad = 0
        self._opened = 0.0
        self._trying = 0
        self._good = 0
        self._suspect = False
        self._probe_until: float | None = None

    def lets_through(self) -> bool:
        """Whether a call may be made now; report one that is made with `begun`, and in the end with `ended`."""
        if self.state is CircuitState.HALF_OPEN:
            return not self._suspect and self._trying + self._good < self.rules.probes
        return self.state is CircuitState.CLOSED

    def begun(self) -> int:
        """Note that a call is made, and return its generation."""
        if self.state is CircuitState.HALF_OPEN:
            self._trying += 1
        return self.generation

    def ended(self, generation: int, bad: bool | None, now: float) -> None:
        """Note what a call of `generation` came to: bad, good, or None when it says nothing."""
        if generation != self.generation or self.rules.failure_rate is None:
            return
        if self.state is CircuitState.HALF_OPEN:
            self._trying -= 1
            self._suspect = self._suspect or bool(bad)
            if bad is False:
                self._one_good()
        elif self.state is CircuitState.CLOSED and bad is not None:
            self._count(bad, now)

    def wants_probe(self, now: float) -> bool:
        """Whether a probe has to be asked now; report it with `probe_begun`, and in the end with `probe_ended`."""
        if self._probe_until is not None and now < self._probe_until:
            return False
        if self.state is CircuitState.OPEN:
            return now - self._opened >= self.rules.cooldown
        return self._suspect

    def probe_begun(self, until: float) -> int:
        """Note a probe that counts as ended at `until`, and return its generation."""
        self._probe_until = until
        return self.generation

    def probe_ended(self, generation: int, bad: bool | None, now: float) -> None:
        """Note what a probe of `generation` came to: bad, good, or None when it says nothing."""
        if generation != self.generation:
            return
        self._probe_until = None
        if bad:
            self._become(CircuitState.OPEN)
            self._opened = now
        elif self.state is CircuitState.OPEN:
            if bad is False:
                self._become(CircuitState.HALF_OPEN)
        elif self.state is CircuitState.HALF_OPEN:
            self._suspect = False
            if bad is False:
                self._one_good()
        else:
            self._forget()

    def _one_good(self) -> None:
        self._good += 1
        if self._good >= self.rules.probes:
            self._become(CircuitState.CLOSED)

    def _count(self, bad: bool, now: float) -> None:
        self._ended.append((now, bad))
        self._bad += bad
        while self._ended[0][0] <= now - self.rules.window:
            self._bad -= self._ended.popleft()[1]
        calls = len(self._ended)
        enough = calls >= self.rules.min_calls and self._bad >= (self.rules.failure_rate or 0) * calls
        self._suspect = bool(enough and self._bad)

    def _become(self, state: CircuitState) -> None:
        self.state = state
        self.generation += 1
        self._forget()

    def _forget(self) -> None:
        self._ended.clear()
        self._bad = self._trying = self._good = 0
        self._suspect = False
        self._probe_until = None

"""The circuit breaker around the critic's model. Pure: every call is told the time. Needs a lock around it."""

from __future__ import annotations

from collections import deque

from draftcritic.core import CircuitRules, CircuitState


class Breaker:
    """Closed, until too many calls within the window were bad; then open, half-open, and closed or open again.

    Each state but the closed one has a generation of its own: what a call of an earlier generation came to says
    nothing any more.

    Attributes:
        state: as of the last call of a method: an open circuit becomes half-open with the first call that asks.
        generation: which a call belongs to that is let through now.
    """

    def __init__(self, rules: CircuitRules) -> None:
        self.rules = rules
        self.state = CircuitState.CLOSED
        self.generation = 0
        self._ended: deque[tuple[float, bool]] = deque()
        self._bad = 0
        self._opened = 0.0
        self._probing = 0
        self._good_probes = 0

    def lets_through(self, now: float) -> bool:
        """Whether a call may be made now; what is made must be told by `begun`, and in the end by `ended`."""
        if self.state is CircuitState.OPEN and now - self._opened >= self.rules.cooldown:
            self._become(CircuitState.HALF_OPEN)
        if self.state is CircuitState.HALF_OPEN:
            return self._probing + self._good_probes < self.rules.probes
        return self.state is CircuitState.CLOSED

    def begun(self) -> int:
        """Note that a call is made, and return its generation."""
        if self.state is CircuitState.HALF_OPEN:
            self._probing += 1
        return self.generation

    def ended(self, generation: int, bad: bool | None, now: float) -> None:
        """Note what a call of `generation` came to: bad, good, or None when it says nothing."""
        if generation != self.generation or self.rules.failure_rate is None:
            return
        if self.state is CircuitState.HALF_OPEN:
            self._probe_ended(bad, now)
        elif self.state is CircuitState.CLOSED and bad is not None:
            self._count(bad, now)

    def _probe_ended(self, bad: bool | None, now: float) -> None:
        self._probing -= 1
        if bad:
            self._open(now)
        elif bad is not None:
            self._good_probes += 1
            if self._good_probes >= self.rules.probes:
                self._become(CircuitState.CLOSED)

    def _count(self, bad: bool, now: float) -> None:
        self._ended.append((now, bad))
        self._bad += bad
        while self._ended[0][0] <= now - self.rules.window:
            self._bad -= self._ended.popleft()[1]
        calls = len(self._ended)
        if calls >= self.rules.min_calls and self._bad >= (self.rules.failure_rate or 0) * calls and self._bad:
            self._open(now)

    def _open(self, now: float) -> None:
        self._become(CircuitState.OPEN)
        self._opened = now

    def _become(self, state: CircuitState) -> None:
        self.state = state
        self.generation += 1
        self._ended.clear()
        self._bad = self._probing = self._good_probes = 0

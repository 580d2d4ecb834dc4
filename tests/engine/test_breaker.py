"""The circuit breaker against a slow model of itself: what opens it, what closes it, and what says nothing."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from draftcritic.core import CircuitRules
from draftcritic.engine._breaker import Breaker

RULES = CircuitRules(failure_rate=0.5, window=60.0, min_calls=4, cooldown=30.0, probes=2)


class BreakerMachine(RuleBasedStateMachine):
    """Calls begin and end in any order; the expectation is written as lists instead of counters."""

    calls = Bundle("calls")

    def __init__(self) -> None:
        super().__init__()
        self.breaker = Breaker(RULES)
        self.now = 0.0
        self.state = "closed"
        self.era = 0
        self.opened = 0.0
        self.ended: list[tuple[float, bool]] = []
        self.probing = self.good = 0

    def become(self, state: str) -> None:
        self.state = state
        self.era += 1
        self.ended, self.probing, self.good = [], 0, 0
        if state == "open":
            self.opened = self.now

    @rule(seconds=st.sampled_from([0.0, 1.0, 10.0, 29.9, 30.0, 61.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(target=calls)
    def ask(self) -> tuple[int, int] | None:
        let = self.breaker.lets_through(self.now)
        if self.state == "open" and self.now - self.opened >= 30.0:
            self.become("half_open")
        expected = self.state == "closed" or (self.state == "half_open" and self.probing + self.good < 2)
        assert let is expected
        if not let:
            return None
        self.probing += self.state == "half_open"
        return self.breaker.begun(), self.era

    @rule(call=consumes(calls), bad=st.sampled_from([True, False, None]))
    def end(self, call: tuple[int, int] | None, bad: bool | None) -> None:
        if call is None:
            return
        generation, era = call
        self.breaker.ended(generation, bad, self.now)
        if era != self.era:
            return  # it was let through by a circuit that is no more
        if self.state == "half_open":
            self.probing -= 1
            self.good += bad is False
            if bad:
                self.become("open")
            elif self.good == 2:
                self.become("closed")
        elif bad is not None:
            self.ended.append((self.now, bad))
            recent = [was_bad for time, was_bad in self.ended if time > self.now - 60.0]
            if len(recent) >= 4 and sum(recent) * 2 >= len(recent):
                self.become("open")

    @invariant()
    def states_agree(self) -> None:
        assert self.breaker.state == self.state


TestBreaker = BreakerMachine.TestCase
TestBreaker.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def ended(breaker: Breaker, bad: bool, now: float) -> None:
    assert breaker.lets_through(now)
    breaker.ended(breaker.begun(), bad, now)


def test_it_opens_at_the_rate_and_not_before_the_volume() -> None:
    breaker = Breaker(RULES)
    for second in range(3):
        ended(breaker, True, second)
    assert breaker.state == "closed"
    ended(breaker, False, 3)
    assert breaker.state == "open"
    assert not breaker.lets_through(32.9)
    assert breaker.lets_through(33)
    assert breaker.state == "half_open"


def test_without_a_rate_it_never_opens() -> None:
    breaker = Breaker(CircuitRules(failure_rate=None, min_calls=1))
    for second in range(50):
        ended(breaker, True, second)
    assert breaker.state == "closed"


def test_good_calls_alone_open_nothing_at_any_rate() -> None:
    breaker = Breaker(CircuitRules(failure_rate=0.0001, min_calls=1))
    for second in range(50):
        ended(breaker, False, second)
    assert breaker.state == "closed"

"""The circuit breaker against a slow model of itself: what opens it, what closes it, and what says nothing."""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from draftcritic.core import CircuitRules
from draftcritic.review._circuit_breaker import Breaker

RULES = CircuitRules(failure_rate=0.5, window=60.0, min_calls=4, cooldown=30.0, probes=2)


class BreakerMachine(RuleBasedStateMachine):
    """Calls and probes begin and end in any order; the expectation is written as lists instead of counters."""

    calls = Bundle("calls")
    probes = Bundle("probes")

    def __init__(self) -> None:
        super().__init__()
        self.breaker = Breaker(RULES)
        self.now = 0.0
        self.become("closed")

    def become(self, state: str) -> None:
        self.state = state
        self.era = getattr(self, "era", -1) + 1
        self.reset()
        if state == "open":
            self.opened = self.now

    def reset(self) -> None:
        self.ended: list[tuple[float, bool]] = []
        self.trying = self.good = 0
        self.suspect = False
        self.probe_until = -1.0

    def one_good(self) -> None:
        self.good += 1
        if self.good == 2:
            self.become("closed")

    @rule(seconds=st.sampled_from([0.0, 1.0, 10.0, 29.9, 30.0, 61.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule(target=calls)
    def ask(self) -> tuple[int, int] | None:
        let = self.breaker.lets_through()
        room = not self.suspect and self.trying + self.good < 2
        assert let is (self.state == "closed" or (self.state == "half_open" and room))
        if not let:
            return None
        self.trying += self.state == "half_open"
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
            self.trying -= 1
            self.suspect = self.suspect or bool(bad)
            if bad is False:
                self.one_good()
        elif bad is not None:
            self.ended.append((self.now, bad))
            recent = [was_bad for time, was_bad in self.ended if time > self.now - 60.0]
            self.suspect = len(recent) >= 4 and sum(recent) * 2 >= len(recent)

    @rule(target=probes)
    def probe(self) -> tuple[int, int] | None:
        wants = self.breaker.wants_probe(self.now)
        needed = self.now - self.opened >= 30.0 if self.state == "open" else self.suspect
        assert wants is (needed and self.now >= self.probe_until)
        if not wants:
            return None
        self.probe_until = self.now + 20.0
        return self.breaker.probe_begun(self.probe_until), self.era

    @rule(probe=consumes(probes), bad=st.sampled_from([True, False, None]))
    def end_probe(self, probe: tuple[int, int] | None, bad: bool | None) -> None:
        if probe is None:
            return
        generation, era = probe
        self.breaker.probe_ended(generation, bad, self.now)
        if era != self.era:
            return
        self.probe_until = -1.0
        if bad:
            self.become("open")
        elif self.state == "open":
            if bad is False:
                self.become("half_open")
        elif self.state == "half_open":
            self.suspect = False
            if bad is False:
                self.one_good()
        else:
            self.reset()

    @invariant()
    def states_agree(self) -> None:
        assert self.breaker.state == self.state


TestBreaker = BreakerMachine.TestCase
TestBreaker.settings = settings(max_examples=150, stateful_step_count=40, deadline=None)


def ended(breaker: Breaker, bad: bool, now: float) -> None:
    assert breaker.lets_through()
    breaker.ended(breaker.begun(), bad, now)


def test_it_wants_a_probe_at_the_rate_and_not_before_the_volume() -> None:
    breaker = Breaker(RULES)
    for second in range(3):
        ended(breaker, True, second)
    assert not breaker.wants_probe(3)
    ended(breaker, False, 3)
    assert breaker.wants_probe(3)
    assert breaker.state == "closed"
    breaker.probe_ended(breaker.probe_begun(20), True, 3)
    assert breaker.state == "open"
    assert not breaker.wants_probe(32.9)
    assert breaker.wants_probe(33)
    breaker.probe_ended(breaker.probe_begun(50), False, 33)
    assert breaker.state == "half_open"
    assert breaker.lets_through()


def test_without_a_rate_it_never_opens() -> None:
    breaker = Breaker(CircuitRules(failure_rate=None, min_calls=1))
    for second in range(50):
        ended(breaker, True, second)
    assert not breaker.wants_probe(50)


def test_good_calls_alone_open_nothing_at_any_rate() -> None:
    breaker = Breaker(CircuitRules(failure_rate=0.0001, min_calls=1))
    for second in range(50):
        ended(breaker, False, second)
    assert not breaker.wants_probe(50)

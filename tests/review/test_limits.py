"""What a limit lets through, and how it tells."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable

import pytest
from opentelemetry.sdk.trace.sampling import Decision, TraceIdRatioBased

from draftcritic.core import CircuitRules, Failure, GateReason, LimitRules, ModelCall, Usage
from draftcritic.review import Limiter

OPENS_AT_TWO = CircuitRules(failure_rate=0.5, min_calls=2, cooldown=30.0)


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def call(tokens: int | None = 10, usd: float | None = None, *, sku: str = "m", latency: float = 0.1) -> ModelCall:
    return ModelCall("model", sku, Usage(tokens, None, usd), latency_s=latency)


def admitted(limiter: Limiter, times: int = 1, sku: str = "m") -> list[object]:
    """What the limiter says to so many calls that end at once: `ok` or the reason."""
    said: list[object] = []
    for _ in range(times):
        permit = limiter.admit(sku)
        if isinstance(permit, GateReason):
            said.append(permit.value)
        else:
            permit.settle(call(sku=sku), None)
            said.append("ok")
    return said


def probed(limiter: Limiter, failure: Failure | None = Failure.ERROR, sku: str = "m") -> None:
    """Answer the probe that a circuit waits for."""
    limiter.probe(sku).settle(ModelCall("m", sku, error_type="E") if failure else call(sku=sku), failure)


def sampled(limiter: Limiter, traces: Iterable[int | None], run_id: str = "", signals: tuple[GateReason, ...] = ()):
    return [limiter.samples(lambda trace=trace: trace, run_id, signals) for trace in traces]


class TestSampling:
    def test_a_trace_is_sampled_by_opentelemetrys_own_rule(self):
        limiter, sampler = Limiter(LimitRules(sample_rate=0.3)), TraceIdRatioBased(0.3)
        traces = [int.from_bytes(os.urandom(16), "big") or 1 for _ in range(2000)]
        theirs = [sampler.should_sample(None, t, "x").decision is Decision.RECORD_AND_SAMPLE for t in traces]
        assert sampled(limiter, traces) == theirs
        assert 400 < sum(theirs) < 800

    def test_all_drafts_of_a_trace_share_their_fate_whatever_the_run(self):
        limiter = Limiter(LimitRules(sample_rate=0.5))
        trace = 0x123
        assert {limiter.samples(lambda: trace, run, ()) for run in "abcdefgh"} == {True}

    def test_without_a_trace_the_run_decides_and_always_the_same(self):
        limiter = Limiter(LimitRules(sample_rate=0.5))
        runs = [f"run-{n}" for n in range(200)]
        first = [limiter.samples(lambda: None, run, ()) for run in runs]
        assert first == [limiter.samples(lambda: None, run, ()) for run in runs]
        assert 60 < sum(first) < 140

    @pytest.mark.parametrize("rate", [0.0, 1.0])
    def test_the_ends_of_the_scale(self, rate):
        limiter = Limiter(LimitRules(sample_rate=rate))
        ids = [1, 2**64 - 1, 2**128 - 1, None]
        assert sampled(limiter, ids) == [bool(rate)] * 4

    def test_an_exempt_signal_is_always_in_the_sample(self):
        limiter = Limiter(LimitRules(sample_rate=0, sample_exempt=frozenset({GateReason.FABRICATION})))
        assert sampled(limiter, [1], signals=(GateReason.CLAIMS, GateReason.FABRICATION)) == [True]
        assert sampled(limiter, [1], signals=(GateReason.CLAIMS,)) == [False]

    def test_the_trace_is_not_looked_up_when_everything_is_sampled(self):
        def fail() -> int:
            raise AssertionError

        assert Limiter(LimitRules()).samples(fail, "run", ())

    def test_in_enforce_no_trace_or_run_id_decides_and_an_outermost_run_shares_its_draw(self):
        limiter = Limiter(LimitRules(sample_rate=0.5), draws=True)
        for traces in ([2**128 - 1] * 400, [1] * 400, range(1, 401), [None] * 400):
            assert 130 < sum(sampled(limiter, traces)) < 270
        by_run = [limiter.samples(lambda: 1, f"model {n}", (), f"root {n // 4}") for n in range(1600)]
        assert all(len(set(by_run[n : n + 4])) == 1 for n in range(0, 1600, 4))
        assert 130 < sum(by_run[::4]) < 270
        for number in range(5000):
            limiter.samples(lambda: 1, f"another {number}", ())
        assert len(limiter._draws._drawn) == 4096


class TestBudgets:
    def test_reviews_per_minute(self):
        clock = Clock()
        limiter = Limiter(LimitRules(reviews_per_minute=2), clock=clock)
        assert admitted(limiter, 3) == ["ok", "ok", "budget"]
        clock.now += 59
        assert admitted(limiter) == ["budget"]
        clock.now += 3
        assert admitted(limiter, 3) == ["ok", "ok", "budget"]

    def test_concurrency_counts_calls_that_have_not_ended(self):
        limiter = Limiter(LimitRules(max_concurrency=2))
        first, second = limiter.admit("m"), limiter.admit("other")
        assert limiter.admit("m") is GateReason.BUDGET
        first.settle(None, Failure.CANCELLED)
        first.settle(None, Failure.CANCELLED)  # a second time changes nothing
        third = limiter.admit("m")
        assert limiter.admit("m") is GateReason.BUDGET
        for permit in (second, third):
            permit.settle(call(), None)
        assert admitted(limiter) == ["ok"]

    @pytest.mark.parametrize("rules", [{"tokens_per_hour": {"*": 25}}, {"usd_per_hour": {"m": 0.025}}])
    def test_an_hourly_budget_of_each_sku(self, rules):
        clock = Clock()
        limiter = Limiter(LimitRules(**rules), clock=clock)
        said = []
        for _ in range(4):
            permit = limiter.admit("m")
            said.append(permit is GateReason.BUDGET)
            if permit is not GateReason.BUDGET:
                permit.settle(call(10, 0.01), None)
        assert said == [False, False, True, True]  # a third one would not have fitted
        assert limiter.admit("another") is not GateReason.BUDGET
        clock.now += 3700
        assert limiter.admit("m") is not GateReason.BUDGET

    def test_callers_at_once_get_no_more_than_the_estimates_leave(self):
        limiter = Limiter(LimitRules(tokens_per_hour={"*": 2000}))
        permits = [limiter.admit("m", 1000) for _ in range(64)]  # 1000 / 4 and 500 for the answer
        under_way = [permit for permit in permits if permit is not GateReason.BUDGET]
        assert len(under_way) == 2
        for permit in under_way:
            permit.settle(call(300), None)
        # Known now: such a call costs 300, so four more fit into what is left.
        assert sum(limiter.admit("m", 1000) is not GateReason.BUDGET for _ in range(64)) == 4

    def test_dollars_are_estimated_by_the_price_list_before_the_first_answer(self):
        limiter = Limiter(LimitRules(usd_per_hour={"gpt-4.1-nano": 0.0005}))
        # 1,000 tokens of prompt at 0.10 and 500 of answer at 0.40 dollars a million: 0.0003.
        assert [limiter.admit("gpt-4.1-nano", 4000) is GateReason.BUDGET for _ in range(3)] == [False, True, True]

    @pytest.mark.parametrize(
        ("failure", "unbilled", "left"),
        [
            (Failure.TIMEOUT, False, 0),
            (Failure.CANCELLED, False, 0),
            (Failure.ERROR, False, 0),
            (Failure.ERROR, True, 1),
            (Failure.RATE_LIMITED, True, 1),
        ],
    )
    def test_a_call_that_failed_keeps_its_estimate_unless_it_was_surely_not_billed(self, failure, unbilled, left):
        clock = Clock()
        limiter = Limiter(LimitRules(tokens_per_hour={"*": 600}), clock=clock)
        limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), failure, unbilled=unbilled)
        clock.now += 2  # a rate limit has to be waited for
        assert admitted(limiter).count("ok") == left

    def test_a_call_that_was_not_made_costs_nothing(self):
        limiter = Limiter(LimitRules(tokens_per_hour={"*": 600}))
        limiter.admit("m").settle(None, Failure.CANCELLED)
        assert admitted(limiter) == ["ok"]

    def test_a_deployments_name_spends_from_the_model_behind_it(self):
        limiter = Limiter(LimitRules(tokens_per_hour={"gpt-4o": 25}))
        for _ in range(2):
            limiter.admit("our-deployment").settle(call(10, sku="gpt-4o"), None)
        assert limiter.admit("our-deployment") is GateReason.BUDGET
        assert limiter.admit("gpt-4o") is GateReason.BUDGET

    def test_calls_of_a_deployment_that_are_under_way_count_for_the_model_behind_it(self):
        limiter = Limiter(LimitRules(tokens_per_hour={"gpt-4o": 25}))
        limiter.admit("our-deployment").settle(call(10, sku="gpt-4o"), None)
        assert [limiter.admit("our-deployment") is GateReason.BUDGET for _ in range(2)] == [False, True]

    @pytest.mark.parametrize("fallbacks", [{1}, {1, 2}, {3}, {2, 4}])
    def test_an_answer_of_a_fallback_is_booked_on_it_and_leaves_the_first_models_budget_on(self, fallbacks):
        limiter = Limiter(LimitRules(tokens_per_hour={"gpt-4o": 50}))
        answered = []
        for number in range(1, 40):
            permit = limiter.admit("gpt-4o")
            if permit is GateReason.BUDGET:
                continue
            answered.append("gpt-4.1-nano" if number in fallbacks else "gpt-4o")
            permit.settle(call(10, sku=answered[-1]), None)
        assert answered.count("gpt-4o") == 5
        assert answered.count("gpt-4.1-nano") == len(fallbacks)

    def test_while_a_fallback_answers_its_own_budget_holds_too(self):
        limiter = Limiter(LimitRules(tokens_per_hour={"gpt-4.1-nano": 25}))
        for _ in range(2):
            limiter.admit("gpt-4o").settle(call(10, sku="gpt-4.1-nano"), None)
        assert limiter.admit("gpt-4o") is GateReason.BUDGET

    def test_a_call_that_nobody_ends_is_taken_back_and_costs_its_estimate(self):
        clock = Clock()
        circuit = CircuitRules(failure_rate=0.5, min_calls=2, cooldown=0.0)
        rules = LimitRules(max_concurrency=1, tokens_per_hour={"*": 1500}, circuit=circuit)
        limiter = Limiter(rules, clock=clock)
        lost = limiter.admit("m", lasts=20.0)
        clock.now += 19
        assert limiter.admit("m") is GateReason.BUDGET
        clock.now += 1
        for _ in range(2):
            limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.ERROR, unbilled=True)
        probe = limiter.admit("m", lasts=20.0)
        clock.now += 20
        assert limiter.admit("m").settle(None, None) is None  # another probe
        for permit in (lost, probe):
            permit.settle(call(400), None)
        limiter.admit("m").settle(call(0), None)  # nothing of the two was booked again: 500 are left
        assert limiter._spending.allows(limiter._spending.expect("m", 0), clock.now)
        limiter.admit("m").settle(call(501), None)
        assert limiter.admit("m") is GateReason.BUDGET

    def test_a_price_that_a_budget_misses_is_said_once(self, caplog):
        limiter = Limiter(LimitRules(usd_per_hour={"m": 1}))
        for sku in ("m", "m", "other"):
            limiter.admit(sku).settle(call(10, None, sku=sku), None)
        assert [r.getMessage() for r in caplog.records] == [
            "the price of m is unknown: its hourly budget cannot be enforced"
        ]

    def test_where_the_provider_tells_no_use_the_estimate_is_booked_and_said_once(self, caplog):
        limiter = Limiter(LimitRules(tokens_per_hour={"m": 1500}))
        permits = [limiter.admit("m") for _ in range(3)]
        for permit in permits:
            permit.settle(call(None), None)
        assert limiter.admit("m") is GateReason.BUDGET
        assert [r.getMessage() for r in caplog.records] == [
            "the token usage of m is not reported: its hourly budget counts estimates"
        ]


class TestCircuit:
    @pytest.mark.parametrize("failure", [Failure.TIMEOUT, Failure.ERROR])
    def test_failures_of_the_service_and_of_a_probe_open_it_and_good_ones_close_it(self, failure):
        clock, noted = Clock(), []
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO), on_circuit=lambda *t: noted.append(t), clock=clock)
        for _ in range(2):
            limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), failure)
        probed(limiter, failure)
        assert admitted(limiter) == ["circuit_open"]
        assert admitted(limiter, sku="another") == ["ok"]
        assert limiter.probe("m") is None
        clock.now += 30
        assert admitted(limiter) == ["circuit_open"]
        probed(limiter, None)
        first = limiter.admit("m")
        assert admitted(limiter) == ["circuit_open"]
        first.settle(call(), None)
        assert admitted(limiter) == ["ok"]
        assert noted == [("m", "open"), ("m", "half_open"), ("m", "closed")]

    def test_failures_that_only_drafts_bring_about_open_nothing(self):
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO))
        for _ in range(20):
            limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.TIMEOUT)
            if (probe := limiter.probe("m")) is not None:
                assert limiter.probe("m") is None  # one at a time
                probe.settle(call(), None)
        assert admitted(limiter) == ["ok"]

    @pytest.mark.parametrize("failure", [Failure.REJECTED, Failure.ERROR, Failure.TIMEOUT])
    def test_a_bad_probe_waits_another_cooldown(self, failure):
        clock = Clock()
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO), clock=clock)
        for _ in range(2):
            limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.ERROR)
        probed(limiter, failure)
        clock.now += 30
        probed(limiter, failure)
        clock.now += 29
        assert limiter.probe("m") is None
        clock.now += 1
        assert limiter.probe("m", lasts=20.0) is not None
        clock.now += 19
        assert limiter.probe("m") is None
        clock.now += 1
        assert limiter.probe("m") is not None  # the other one never ended

    def test_a_bad_call_of_a_half_open_circuit_is_verified(self):
        clock = Clock()
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO), clock=clock)
        for probe_fails, said in ((None, "ok"), (Failure.ERROR, "circuit_open")):
            for _ in range(2):
                limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.ERROR)
            probed(limiter)
            clock.now += 30
            probed(limiter, None)
            limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.TIMEOUT)
            assert admitted(limiter) == ["circuit_open"]
            probed(limiter, probe_fails)
            assert admitted(limiter) == [said]

    @pytest.mark.parametrize("asked", [5.0, 90.0, None])
    def test_a_rate_limit_leaves_the_circuit_alone_and_the_model_too_for_as_long_as_it_asks(self, asked):
        clock, noted = Clock(), []
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO), on_circuit=lambda *t: noted.append(t), clock=clock)
        permits = [limiter.admit("m") for _ in range(8)]
        for permit in permits:
            permit.settle(ModelCall("m", "m", error_type="E"), Failure.RATE_LIMITED, retry_after=asked)
        wait = asked or 1.0
        clock.now += wait - 0.1
        assert admitted(limiter) == ["rate_limited"]
        assert admitted(limiter, sku="another") == ["ok"]
        clock.now += 0.1
        limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.RATE_LIMITED, retry_after=asked)
        clock.now += asked or 1.9
        assert admitted(limiter) == ["ok" if asked else "rate_limited"]
        assert noted == []

    def test_a_stopped_review_frees_its_probe_and_says_nothing(self):
        clock = Clock()
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO), clock=clock)
        for _ in range(2):
            limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.ERROR)
        probed(limiter)
        clock.now += 30
        probed(limiter, None)
        limiter.admit("m").settle(None, Failure.CANCELLED)
        assert limiter.admit("m") is not GateReason.CIRCUIT_OPEN

    @pytest.mark.parametrize("failure", [Failure.UNPARSABLE, Failure.AMBIGUOUS, Failure.REJECTED, None])
    def test_what_a_draft_can_bring_about_opens_nothing(self, failure):
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO))
        for _ in range(5):
            limiter.admit("m").settle(call(), failure)
        assert limiter.probe("m") is None
        assert admitted(limiter) == ["ok"]

    def test_slow_answers_open_it(self):
        rules = CircuitRules(failure_rate=1.0, latency=2.0, min_calls=2)
        limiter = Limiter(LimitRules(circuit=rules))
        for latency in (2.0, 2.1, 2.1):
            limiter.admit("m").settle(call(latency=latency), None)
        assert limiter.probe("m") is None  # the first was in time: two of three
        limiter.use(LimitRules(circuit=CircuitRules(failure_rate=0.6, latency=2.0, min_calls=2)))
        for _ in range(2):
            limiter.admit("m").settle(call(latency=2.1), None)
        limiter.probe("m").settle(call(latency=2.1), None)
        assert admitted(limiter) == ["circuit_open"]

    def test_many_names_push_out_no_open_circuit(self):
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO))
        for _ in range(2):
            limiter.admit("bad").settle(ModelCall("bad", "bad", error_type="E"), Failure.ERROR)
        probed(limiter, sku="bad")
        limiter.admit("busy").settle(ModelCall("busy", "busy", error_type="E"), Failure.ERROR)
        for number in range(600):
            limiter.admit(f"m{number}").settle(None, None)
            if number % 100 == 0:
                limiter.admit("busy").settle(None, None)
        assert admitted(limiter, sku="bad") == ["circuit_open"]
        limiter.admit("busy").settle(ModelCall("busy", "busy", error_type="E"), Failure.ERROR)
        probed(limiter, sku="busy")
        assert admitted(limiter, sku="busy") == ["circuit_open"]
        assert len(limiter._breakers) == 256


class TestFairShare:
    def test_a_user_takes_no_more_than_the_share_of_a_minute_and_others_are_left_alone(self):
        clock = Clock()
        limiter = Limiter(LimitRules(reviews_per_minute=100), clock=clock)

        def ask(*ids: str) -> str:
            permit = limiter.admit("m", ids=ids)
            if isinstance(permit, GateReason):
                return permit.value
            permit.settle(call(), None)
            return "ok"

        assert [ask("user a", f"conversation {n}") for n in range(12)] == ["ok"] * 10 + ["fair_share"] * 2
        assert ask("user b", "conversation 0") == "ok"
        assert [ask() for _ in range(20)] == ["ok"] * 20  # without ids nothing is anyone's share
        assert [ask(f"user c{n}", "conversation c") for n in range(11)] == ["ok"] * 10 + ["fair_share"]
        clock.now += 62
        assert ask("user a") == "ok"

    @pytest.mark.parametrize("rules", [{"tokens_per_hour": {"*": 1000}}, {"usd_per_hour": {"m": 1.0}}])
    def test_a_share_of_an_hour_leaves_everyone_three_calls(self, rules):
        limiter = Limiter(LimitRules(**rules))
        said = []
        for _ in range(5):
            permit = limiter.admit("m", ids=("user a",))
            said.append(permit if isinstance(permit, GateReason) else "ok")
            if not isinstance(permit, GateReason):
                permit.settle(call(40, 0.04), None)
        assert said == ["ok"] * 3 + [GateReason.FAIR_SHARE] * 2
        assert limiter.admit("m", ids=("user b",)) is not GateReason.FAIR_SHARE

    def test_calls_that_are_not_made_or_not_billed_take_nothing(self):
        limiter = Limiter(LimitRules(tokens_per_hour={"*": 10_000}, reviews_per_minute=10))
        for _ in range(10):
            limiter.admit("m", ids=("user a",)).settle(None, Failure.CANCELLED)
        limiter.use(LimitRules(tokens_per_hour={"*": 10_000}))
        for _ in range(10):
            failed = ModelCall("m", "m", error_type="E")
            limiter.admit("m", ids=("user a",)).settle(failed, Failure.REJECTED, unbilled=True)
        assert limiter.admit("m", ids=("user a",)) is not GateReason.FAIR_SHARE

    def test_a_share_of_one_is_no_limit_and_ids_are_bounded(self):
        limiter = Limiter(LimitRules(reviews_per_minute=20, fair_share=1.0))
        for _ in range(20):
            limiter.admit("m", ids=("user a",)).settle(call(), None)
        assert limiter.admit("m", ids=("user a",)) is GateReason.BUDGET
        limiter.use(LimitRules())
        for number in range(5000):
            limiter.admit("m", ids=(f"user {number}",)).settle(call(), None)
        assert len(limiter._shares._taken) == 4096


class TestOtherRules:
    def test_what_was_spent_stays_spent(self):
        limiter = Limiter(LimitRules(reviews_per_minute=1, tokens_per_hour={"*": 100}))
        limiter.admit("m").settle(call(100), None)
        limiter.use(LimitRules(reviews_per_minute=10, tokens_per_hour={"*": 100}))
        assert limiter.admit("m") is GateReason.BUDGET
        limiter.use(LimitRules(reviews_per_minute=1, tokens_per_hour={"*": 1000}))
        assert limiter.admit("m") is GateReason.BUDGET
        limiter.use(LimitRules())
        assert admitted(limiter) == ["ok"]

    def test_an_open_circuit_outlives_a_change_unless_its_own_rules_have_changed(self):
        noted = []
        limiter = Limiter(LimitRules(circuit=OPENS_AT_TWO), on_circuit=lambda *t: noted.append(t))
        for _ in range(2):
            limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.ERROR)
        probed(limiter)
        limiter.use(LimitRules(circuit=OPENS_AT_TWO, reviews_per_minute=100))
        assert admitted(limiter) == ["circuit_open"]
        limiter.use(LimitRules(circuit=CircuitRules()))
        assert admitted(limiter) == ["ok"]
        assert noted == [("m", "open"), ("m", "closed")]


def test_threads_get_no_more_than_there_is():
    limiter, given, lock = Limiter(LimitRules(reviews_per_minute=50)), [], threading.Lock()

    def ask() -> None:
        said = admitted(limiter, 20)
        with lock:
            given.extend(said)

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert given.count("ok") == 50


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_counts_from_zero_even_when_the_lock_was_held():
    limiter = Limiter(LimitRules(reviews_per_minute=1))
    assert admitted(limiter, 2) == ["ok", "budget"]
    with limiter._lock:
        child = os.fork()
        if child == 0:
            os._exit(0 if admitted(limiter, 2) == ["ok", "budget"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert admitted(limiter) == ["budget"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_tells_that_its_circuits_are_closed_and_settles_nothing_of_its_parent():
    noted = []
    limiter = Limiter(
        LimitRules(max_concurrency=1, circuit=OPENS_AT_TWO), on_circuit=lambda *circuit: noted.append(circuit)
    )
    for _ in range(2):
        limiter.admit("m").settle(ModelCall("m", "m", error_type="E"), Failure.ERROR)
    probed(limiter)
    inherited = limiter.admit("another")
    child = os.fork()
    if child == 0:
        whole = noted == [("m", "open"), ("m", "closed")]
        own = limiter.admit("m")
        inherited.settle(call(), None)
        os._exit(0 if whole and own is not GateReason.CIRCUIT_OPEN and admitted(limiter) == ["budget"] else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert noted == [("m", "open")]

"""Reviews that a limit keeps from their reflection: what is recorded, and what becomes of the draft."""

from __future__ import annotations

import asyncio

import pytest
from support.reviewing import APPROVE, CONFIDENT, DRAFT

from draftcritic.core import (
    CircuitRules,
    CriticPreference,
    FabricationMode,
    GateOnly,
    GateReason,
    Limited,
    LimitRules,
    Mode,
    OnFailure,
    OnLimit,
    Policy,
    Turn,
)
from draftcritic.review import Critic, Limiter
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

NOTHING = LimitRules(sample_rate=0)
MADE_UP = Turn("I have cancelled order_id=A-48213.", run_id="run-2")
TAGGED = Turn("It is on its way.", activation={"activated_nodes": [{"score": 0.2, "tags": ["pii"]}]})


def critic(policy: Policy | None = None, mode: Mode = Mode.OBSERVE, rules: LimitRules = NOTHING) -> Critic:
    return Critic(policy or Policy(), mode, RecordingObserver(), limits=Limiter(rules))


@pytest.fixture(params=["sync", "async"])
def ask(request):
    def run(reviewer, turn, model, origin=None):
        if request.param == "sync":
            return reviewer.review(turn, model, origin)
        return asyncio.run(reviewer.areview(turn, model, origin))

    return run


def test_a_limited_draft_keeps_what_the_gate_found(ask):
    model = ScriptedCriticModel([])
    review = ask(critic(), DRAFT, model)
    assert review.outcome == Limited()
    assert (review.verdict, review.source, review.action, model.calls) == (None, "none", "recorded", 0)
    found = review.assessment
    assert (found.decision, found.reason) == ("not_evaluated", "sampled_out")
    assert (found.confidence, found.threshold) == (0.5, 0.6)
    assert {"claims", "low_confidence"} <= set(found.signals)
    assert found.findings is not None


def test_the_model_is_not_even_made_for_a_draft_that_is_sampled_out(ask):
    def make():
        raise AssertionError

    assert ask(critic(), DRAFT, make).assessment.reason == "sampled_out"


def test_a_trace_decides_when_the_observer_knows_it(ask):
    reviewer = critic(rules=LimitRules(sample_rate=0.5))
    assert ask(reviewer, DRAFT, ScriptedCriticModel([APPROVE]), 1).verdict == "approve"
    assert ask(reviewer, DRAFT, ScriptedCriticModel([]), 2**64 - 1).assessment.reason == "sampled_out"


@pytest.mark.parametrize("turn", [CONFIDENT, Turn("")])
def test_limits_touch_nothing_that_needs_no_model(ask, turn):
    free = Critic(Policy(), Mode.OBSERVE, RecordingObserver())
    model = ScriptedCriticModel([])
    assert ask(critic(), turn, model).assessment == ask(free, turn, model).assessment


def test_gate_mode_asks_no_limit(ask):
    review = ask(critic(mode=Mode.GATE), DRAFT, ScriptedCriticModel([]))
    assert (review.outcome, review.assessment.decision) == (GateOnly(), "fired")


def test_a_budget_that_is_spent_and_a_circuit_that_is_open(ask):
    reviewer = critic(rules=LimitRules(reviews_per_minute=1))
    model = ScriptedCriticModel([APPROVE])
    assert [ask(reviewer, DRAFT, model).assessment.reason for _ in range(2)] == ["low_confidence", "budget"]
    reviewer = critic(rules=LimitRules(circuit=CircuitRules(min_calls=2)))
    model = ScriptedCriticModel([ConnectionError(), TimeoutError()])
    reviews = [ask(reviewer, DRAFT, model) for _ in range(3)]
    assert [r.failure for r in reviews] == ["error", "timeout", None]
    assert reviews[2].assessment.reason == "circuit_open"


def test_reviews_at_once_share_what_a_budget_has_left():
    sizes = []
    model = ScriptedCriticModel(
        lambda prompt: sizes.append(sum(len(each.text) for each in prompt)) or APPROVE, usage={"input_tokens": 10}
    )
    critic(rules=LimitRules()).review(DRAFT, model)
    each = sizes[0] // 4 + 501  # a quarter of the prompt's characters, and 500 tokens for an answer
    reviewer = critic(rules=LimitRules(tokens_per_hour={"*": 3 * each}))

    class Slow(ScriptedCriticModel):
        async def acall(self, messages, timeout):
            await asyncio.sleep(0)
            return self.call(messages, timeout)

    async def all_at_once():
        return await asyncio.gather(*(reviewer.areview(DRAFT, Slow([APPROVE] * 3)) for _ in range(20)))

    assert [review.verdict for review in asyncio.run(all_at_once())].count("approve") == 3


@pytest.mark.parametrize(("error", "asked"), [(TimeoutError(), 1), (ConnectionRefusedError(), 3)])
def test_only_what_a_provider_may_bill_is_spent(ask, error, asked):
    reviewer = critic(rules=LimitRules(tokens_per_hour={"*": 10}))
    model = ScriptedCriticModel([error] * 3)
    for _ in range(3):
        ask(reviewer, DRAFT, model)
    assert model.calls == asked


def test_answers_that_are_no_verdict_open_no_circuit(ask):
    reviewer = critic(rules=LimitRules(circuit=CircuitRules(min_calls=2)))
    model = ScriptedCriticModel(["no json"] * 4)
    assert {ask(reviewer, DRAFT, model).failure for _ in range(4)} == {"unparsable"}


def test_a_finding_forces_its_verdict_without_the_model(ask):
    review = ask(critic(Policy(fabrication_mode=FabricationMode.REVISE)), MADE_UP, ScriptedCriticModel([]))
    assert (review.verdict, review.source) == ("revise", "fabrication")
    assert (review.assessment.decision, review.assessment.reason) == ("not_evaluated", "sampled_out")


def test_a_floor_can_be_exempt_from_sampling(ask):
    rules = LimitRules(sample_rate=0, sample_exempt=frozenset({GateReason.SENSITIVE_TAG}))
    policy = Policy(preferences=(CriticPreference(9, "No data", ("pii",)),))
    model = ScriptedCriticModel([APPROVE])
    assert ask(critic(policy, rules=rules), TAGGED, model).assessment.decision == "fired"
    assert ask(critic(policy, rules=rules), DRAFT, model).assessment.reason == "sampled_out"


class TestEnforce:
    @pytest.mark.parametrize(
        ("policy", "rules", "turn", "refused"),
        [
            (Policy(), NOTHING, DRAFT, False),
            (Policy(on_limit=OnLimit.REFUSE), NOTHING, DRAFT, True),
            (Policy(on_failure=OnFailure.REFUSE), NOTHING, DRAFT, False),
            (Policy(sensitive_tags=frozenset({"pii"})), NOTHING, TAGGED, False),
            (
                Policy(sensitive_tags=frozenset({"pii"}), fail_closed_tags=frozenset({"pii"})),
                NOTHING,
                TAGGED,
                True,
            ),
        ],
    )
    def test_a_limited_draft_passes_or_is_refused_as_the_policy_says(self, ask, policy, rules, turn, refused):
        review = ask(critic(policy, Mode.ENFORCE, rules), turn, ScriptedCriticModel([]))
        assert review.assessment.reason == "sampled_out"
        if refused:
            assert review.outcome == Limited(closed=True, text=policy.default_refusal)
            assert (review.verdict, review.source, review.action) == (None, "none", "limited_closed")
            assert review.replacement == policy.default_refusal
        else:
            assert (review.verdict, review.action, review.replacement) == (None, "recorded", None)

    @pytest.mark.parametrize(("on_failure", "closed"), [(OnFailure.APPROVE, False), (OnFailure.REFUSE, True)])
    def test_an_open_circuit_fails_closed_where_a_failure_would(self, ask, on_failure, closed):
        rules = LimitRules(circuit=CircuitRules(min_calls=1))
        reviewer = critic(Policy(on_failure=on_failure), Mode.ENFORCE, rules)
        assert ask(reviewer, DRAFT, ScriptedCriticModel([ConnectionError()])).failure == "error"
        review = ask(reviewer, DRAFT, ScriptedCriticModel([]))
        assert (review.assessment.reason, review.outcome.closed) == ("circuit_open", closed)

    def test_observe_refuses_nothing(self, ask):
        review = ask(critic(Policy(on_limit=OnLimit.REFUSE)), DRAFT, ScriptedCriticModel([]))
        assert (review.verdict, review.action) == (None, "recorded")


async def test_a_cancelled_review_gives_its_permit_back():
    class Hanging(ScriptedCriticModel):
        async def acall(self, messages, timeout):
            await asyncio.sleep(60)

    reviewer = critic(rules=LimitRules(max_concurrency=1))
    task = asyncio.create_task(reviewer.areview(DRAFT, Hanging([])))
    await asyncio.sleep(0.01)
    assert (await reviewer.areview(DRAFT, ScriptedCriticModel([]))).assessment.reason == "budget"
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await reviewer.areview(DRAFT, ScriptedCriticModel([APPROVE]))).verdict == "approve"


def test_a_review_that_nobody_wants_any_more_is_not_recorded():
    observer = RecordingObserver()
    reviewer = Critic(Policy(), Mode.OBSERVE, observer)
    review = reviewer.review(DRAFT, ScriptedCriticModel([APPROVE]), wanted=lambda: False)
    assert (review.verdict, observer.reviews) == ("approve", [])
    assert reviewer.decline(DRAFT, GateReason.ABANDONED, wanted=lambda: True) in observer.reviews

"""The one sequence of a review: what it decides and whom it asks, for sync and async callers."""

from __future__ import annotations

import asyncio
import math
import threading

import pytest
from support.reviewing import APPROVE, CONFIDENT, DRAFT, Listener

from draftcritic.core import CriticPreference, GateOnly, GateReason, Judged, Mode, Policy, Skipped, Turn, VerdictSource
from draftcritic.review import Critic, Reply, is_reviewing
from draftcritic.testing import RecordingObserver, ScriptedCriticModel


async def test_an_approved_draft(review):
    model = ScriptedCriticModel([APPROVE], name="gpt-4o-mini", usage={"input_tokens": 1000, "output_tokens": 10})
    result, observer = await review(DRAFT, model, origin="here")
    assert observer.reviews == [result]
    assert observer.origins == ["here"]
    assert observer.moments == [("start", "gpt-4o-mini"), ("end", "gpt-4o-mini")]
    assert (result.verdict, result.source, result.action) == ("approve", "reflection", "recorded")
    assert (result.assessment.decision, result.assessment.reason) == ("fired", "low_confidence")
    assert result.assessment.confidence == 0.5
    assert (result.call.model, result.call.sku, result.call.error_type) == ("gpt-4o-mini", "gpt-4o-mini", None)
    assert (result.call.usage.input_tokens, result.call.usage.output_tokens) == (1000, 10)
    assert result.call.usage.cost_usd == pytest.approx(1000 * 0.15e-6 + 10 * 0.6e-6)
    assert 0 <= result.call.latency_s <= result.duration_s


async def test_the_model_is_asked_with_the_draft_the_preferences_and_the_rules(review):
    model = ScriptedCriticModel([APPROVE])
    policy = Policy(preferences=(CriticPreference(7, "Never promise a date"),), rules=("Check the order first",))
    await review(DRAFT, model, policy=policy)
    system, *_, user = model.prompts[0]
    assert (system.role, user.role) == ("system", "user")
    assert DRAFT.draft in user.text
    assert "- [7] Never promise a date" in user.text
    assert "- Check the order first" in user.text


@pytest.mark.parametrize(
    ("answer", "verdict", "text", "defaulted"),
    [
        ({"verdict": "revise", "revised_draft": "Soon."}, "revise", "Soon.", False),
        ({"verdict": "revise"}, "revise", "please ask again", True),
        ({"verdict": "refuse", "refusal_message": "No."}, "refuse", "No.", False),
        ({"verdict": "refuse"}, "refuse", "cannot help", True),
        (APPROVE, "approve", None, False),
    ],
)
@pytest.mark.parametrize(
    ("mode", "actions"),
    [
        (Mode.OBSERVE, {"approve": "recorded", "revise": "recorded", "refuse": "recorded"}),
        (Mode.ENFORCE, {"approve": "passed", "revise": "replaced", "refuse": "blocked"}),
    ],
)
async def test_a_verdict_its_text_and_what_becomes_of_the_draft(
    review, answer, verdict, text, defaulted, mode, actions
):
    policy = Policy(default_revision="please ask again", default_refusal="cannot help")
    result, _ = await review(DRAFT, ScriptedCriticModel([answer]), policy=policy, mode=mode)
    assert isinstance(result.outcome, Judged)
    assert (result.verdict, result.outcome.text, result.outcome.defaulted) == (verdict, text, defaulted)
    assert result.action == actions[verdict]


async def test_matched_preferences_are_kept(review):
    answer = {"verdict": "refuse", "refusal_message": "No.", "matched_preferences": ["Never promise a date"]}
    result, _ = await review(DRAFT, ScriptedCriticModel([answer]))
    assert result.matched_preferences == ("Never promise a date",)


@pytest.mark.parametrize(("mode", "action"), [(Mode.OBSERVE, "recorded"), (Mode.ENFORCE, "passed")])
async def test_a_skipped_draft_costs_no_call(review, mode, action):
    model = ScriptedCriticModel([])
    result, observer = await review(CONFIDENT, model, mode=mode)
    assert isinstance(result.outcome, Skipped)
    assert (result.verdict, result.source, result.action) == (None, "none", action)
    assert (model.calls, observer.moments) == (0, [])


async def test_gate_mode_makes_no_call(review):
    model = ScriptedCriticModel([])
    result, _ = await review(DRAFT, model, mode=Mode.GATE)
    assert isinstance(result.outcome, GateOnly)
    assert (result.verdict, result.source, result.action, model.calls) == (None, "none", "recorded", 0)


async def test_what_is_no_draft_has_no_verdict(review):
    model = ScriptedCriticModel([])
    result, observer = await review(Turn(""), model)
    assert isinstance(result.outcome, Skipped)
    assert (result.verdict, result.source, result.action) == (None, "none", "recorded")
    assert (result.assessment.decision, result.assessment.reason) == ("not_evaluated", "not_a_draft")
    assert (observer.reviews, model.calls) == ([result], 0)


def test_a_declined_draft_is_recorded_with_its_reason():
    observer = RecordingObserver()
    result = Critic(Policy(), Mode.OBSERVE, observer).decline(DRAFT, GateReason.QUEUE_FULL, "here")
    assert (observer.reviews, observer.origins) == ([result], ["here"])
    assert (result.verdict, result.assessment.decision, result.assessment.reason) == (
        None,
        "not_evaluated",
        "queue_full",
    )


async def test_the_model_is_made_only_when_it_is_asked(review):
    made = []

    def make():
        made.append(ScriptedCriticModel([APPROVE]))
        return made[-1]

    await review(CONFIDENT, make)
    assert made == []
    await review(DRAFT, make)
    assert [model.calls for model in made] == [1]


async def test_the_name_the_provider_reports_wins(review):
    reply = Reply('{"verdict": "approve"}', model="gpt-4o-mini-2024-07-18", finish_reason="stop")
    listener = Listener()
    result, observer = await review(DRAFT, ScriptedCriticModel([reply], name="my-alias"), hooks=[listener])
    assert observer.moments == [("start", "my-alias"), ("end", "gpt-4o-mini-2024-07-18")]
    assert [heard[1] for heard in listener.heard] == ["my-alias", "gpt-4o-mini-2024-07-18"]
    assert (result.call.sku, result.call.finish_reason) == ("gpt-4o-mini", "stop")
    assert result.call.usage.input_tokens is None
    assert result.call.usage.cost_usd is None


async def test_everything_inside_a_review_counts_as_the_critics_own(review):
    seen = {}

    def gate(_):
        seen["gate"] = is_reviewing()
        return True

    class Source:
        async def retrieve(self, query, top_k):
            seen["rules"] = is_reviewing()
            return []

    def answer(_):
        seen["model"] = is_reviewing()
        return APPROVE

    turn = Turn("x", activation={"inference_paths": [["a"]]})
    await review(turn, ScriptedCriticModel(answer), policy=Policy(gate=gate, rules_source=Source()))
    assert seen == {"gate": True, "rules": True, "model": True}
    assert not is_reviewing()


async def test_many_reviews_at_once_do_not_mix():
    observer = RecordingObserver()
    critic = Critic(Policy(), Mode.OBSERVE, observer)

    class Slow(ScriptedCriticModel):
        async def acall(self, messages, timeout):
            await asyncio.sleep(0.001)
            return await super().acall(messages, timeout)

    def answer_of(number):
        return Slow([{"verdict": "revise", "revised_draft": f"text {number}"}])

    turns = [Turn(f"draft {number}", run_id=str(number)) for number in range(50)]
    results = await asyncio.gather(*(critic.areview(t, answer_of(n)) for n, t in enumerate(turns)))
    assert [(r.turn, r.outcome.text) for r in results] == [(t, f"text {n}") for n, t in enumerate(turns)]
    assert len(observer.reviews) == 50


async def test_odd_token_counts_never_become_numbers(review):
    reply = Reply('{"verdict": "approve"}', usage={"input_tokens": math.nan, "output_tokens": "7"})
    result, _ = await review(DRAFT, ScriptedCriticModel([reply], name="gpt-4o-mini"))
    assert (result.call.usage.input_tokens, result.call.usage.output_tokens) == (None, None)
    assert result.call.usage.cost_usd is None


async def test_a_gate_of_the_user_that_says_no_skips(review):
    result, _ = await review(DRAFT, ScriptedCriticModel([]), policy=Policy(gate=lambda _: False))
    assert (result.assessment.reason, result.source) == ("custom_gate", VerdictSource.NONE)


async def test_a_model_that_is_slow_to_be_had_blocks_no_event_loop():
    here, made = threading.current_thread(), []

    class Source:
        def __init__(self, slow):
            self.slow = slow

        def __call__(self):
            made.append(threading.current_thread())
            return ScriptedCriticModel([APPROVE])

    critic = Critic(Policy(), Mode.OBSERVE, RecordingObserver())
    for slow in (True, False):
        assert (await critic.areview(DRAFT, Source(slow))).verdict == "approve"
    critic.review(DRAFT, Source(True))
    assert [thread is here for thread in made] == [False, True, True]

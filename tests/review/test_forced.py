"""What the fabrication check alone decides, and what it leaves to the critic's model."""

from __future__ import annotations

import pytest

from draftcritic.core import FabricationMode, Failure, Forced, Judged, Mode, OnFailure, Policy, Turn, detect_fabrication
from draftcritic.review import Critic
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

MADE_UP = "Your ticket is 3f2b8c1e-1111-4222-8333-444455556666."
CONFIDENT_LOG = {
    "activated_nodes": [{"score": 1.0}],
    "inference_paths": [["a"], ["b"], ["c"]],
    "traversed_edges": [{"weight": 5}],
}


def never(_context):
    return False


FIRED = Turn(MADE_UP, run_id="r")
SKIPPED = Turn(MADE_UP, run_id="r", activation=CONFIDENT_LOG)
GROUNDED = Turn(MADE_UP, user_message="What of 3f2b8c1e-1111-4222-8333-444455556666?", activation=CONFIDENT_LOG)


async def both(turn, script, *, mode=Mode.OBSERVE, findings=None, **policy):
    """Review on both edges, which must agree, and return the review and how often the model was asked."""
    critic = Critic(Policy(default_revision="please ask again", **policy), mode, RecordingObserver())
    first, second = ScriptedCriticModel(list(script)), ScriptedCriticModel(list(script))
    review = critic.review(turn, first, findings=findings)
    again = await critic.areview(turn, second, findings=findings)
    assert (review.verdict, review.source, review.action) == (again.verdict, again.source, again.action)
    assert first.calls == second.calls
    return again, second.calls


@pytest.mark.parametrize("turn", [FIRED, SKIPPED])
@pytest.mark.parametrize(
    ("mode", "action"), [(Mode.OBSERVE, "recorded"), (Mode.GATE, "recorded"), (Mode.ENFORCE, "blocked")]
)
async def test_refuse_replaces_the_draft_without_a_call(turn, mode, action):
    review, calls = await both(turn, [], mode=mode, fabrication_mode=FabricationMode.REFUSE)
    assert isinstance(review.outcome, Forced)
    assert (review.verdict, review.source, review.action, calls) == ("refuse", "fabrication", action, 0)
    assert review.outcome.text.startswith("I could not verify")
    assert [finding.kind for finding in review.assessment.findings] == ["uuid"]


async def test_refuse_only_observes_below_its_threshold():
    mode = {"fabrication_mode": FabricationMode.REFUSE, "fabrication_refuse_threshold": 0.99}
    review, calls = await both(SKIPPED, [], gate=never, **mode)
    assert (review.verdict, review.source, calls) == (None, "none", 0)


async def test_revise_without_a_fired_gate_costs_no_call():
    review, calls = await both(SKIPPED, [], gate=never, fabrication_mode=FabricationMode.REVISE, mode=Mode.ENFORCE)
    assert (review.verdict, review.source, review.action, calls) == ("revise", "fabrication", "replaced", 0)
    assert review.outcome.text == "please ask again"


async def test_revise_overrules_an_approve_and_keeps_what_it_cost():
    script = [{"verdict": "approve", "matched_preferences": ["a rule"]}]
    review, calls = await both(FIRED, script, fabrication_mode=FabricationMode.REVISE)
    assert isinstance(review.outcome, Forced)
    assert (review.verdict, review.source, calls) == ("revise", "fabrication", 1)
    assert isinstance(review.outcome.overruled, Judged)
    assert review.call.model == "scripted"
    assert (review.failure, review.matched_preferences) == (None, ("a rule",))


async def test_revise_overrules_a_failure_that_stays_on_record():
    review, calls = await both(FIRED, [TimeoutError()], fabrication_mode=FabricationMode.REVISE)
    assert (review.verdict, review.source, review.action, calls) == ("revise", "fabrication", "recorded", 1)
    assert review.failure is Failure.TIMEOUT
    assert review.call.error_type == "TimeoutError"


async def test_a_failure_that_closes_is_stricter_than_revise():
    review, _ = await both(
        FIRED, [TimeoutError()], fabrication_mode=FabricationMode.REVISE, on_failure=OnFailure.REFUSE
    )
    assert (review.verdict, review.source, review.action) == (None, "none", "failed_closed")


@pytest.mark.parametrize(
    ("answer", "verdict", "text"),
    [
        ({"verdict": "revise", "revised_draft": "I have no ticket."}, "revise", "I have no ticket."),
        ({"verdict": "refuse", "refusal_message": "No."}, "refuse", "No."),
    ],
)
async def test_a_stricter_reflection_stands(answer, verdict, text):
    review, _ = await both(FIRED, [answer], fabrication_mode=FabricationMode.REVISE)
    assert (review.verdict, review.source, review.outcome.text) == (verdict, "reflection", text)


@pytest.mark.parametrize("fabrication_mode", [FabricationMode.OFF, FabricationMode.OBSERVE])
async def test_observe_and_off_force_nothing(fabrication_mode):
    review, calls = await both(SKIPPED, [], gate=never, fabrication_mode=fabrication_mode)
    assert (review.verdict, review.source, calls) == (None, "none", 0)
    assert (review.assessment.findings is None) == (fabrication_mode is FabricationMode.OFF)


async def test_a_grounded_draft_is_not_forced():
    review, _ = await both(GROUNDED, [], fabrication_mode=FabricationMode.REFUSE)
    assert (review.verdict, review.assessment.findings) == (None, ())


async def test_findings_from_outside_take_the_place_of_the_check():
    outside = detect_fabrication(
        MADE_UP, [], hydrated_context="", user_message="", identifier_keys=(), intent_verdict=None
    )
    review, _ = await both(GROUNDED, [], fabrication_mode=FabricationMode.REFUSE, findings=outside)
    assert (review.verdict, review.source) == ("refuse", "fabrication")
    review, _ = await both(SKIPPED, [], fabrication_mode=FabricationMode.REFUSE, findings=[])
    assert (review.verdict, review.source) == (None, "none")

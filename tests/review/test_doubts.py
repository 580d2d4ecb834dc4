"""Doubts of the fabrication check: questions to the critic, which decide nothing by themselves."""

from __future__ import annotations

import json

import pytest

from draftcritic.core import FabricationMode, GateReason, Mode, Policy, Profile, Turn, assess
from draftcritic.grounding import FabricationFinding
from draftcritic.review import Critic, Reply
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

DRAFT = "Order A-17 costs 45.90 euros."
TURN = Turn(
    DRAFT,
    user_message="What do I owe for 45.90?",
    tool_calls=({"name": "get_order", "args": {}, "result": "A-17: total 54.50 EUR"},),
)
FINDING = FabricationFinding("45.90", "price", "medium", "", confidence=0.8, span=(17, 22))
DOUBT = FabricationFinding("45.90", "price", "medium", "", confidence=0.79, span=(17, 22))
LEGACY = Policy(confidence_threshold=0.2)
SELECTIVE = Policy(selective_gate=True, read_only_tools=frozenset({"get_order"}))


def decided(finding, policy, turn=TURN):
    assessment = assess(turn, policy, findings=(finding,))
    return assessment.decision, assessment.reason


def test_a_doubt_fires_the_selective_gate_and_no_other() -> None:
    assert decided(DOUBT, SELECTIVE) == ("fired", GateReason.DOUBT)
    assert decided(DOUBT, LEGACY) == ("skipped", GateReason.CONFIDENT)
    assert decided(FINDING, SELECTIVE) == decided(FINDING, LEGACY) == ("fired", GateReason.FABRICATION)


def test_a_doubt_is_a_signal_whatever_the_gate() -> None:
    seen = []
    for policy in (LEGACY, SELECTIVE, Policy(gate=lambda context: seen.append(context) or False)):
        signals = assess(TURN, policy, findings=(DOUBT,)).signals
        assert GateReason.DOUBT in signals
        assert GateReason.FABRICATION not in signals
    assert seen[0].fabrication_findings == (DOUBT,), "a gate of the user's gets both"


def test_the_other_profile_knows_no_doubts() -> None:
    policy = Policy(selective_gate=True, profile=Profile.SYMFONIC)
    assert decided(DOUBT, policy) == ("fired", GateReason.FABRICATION)


@pytest.mark.parametrize("mode", [FabricationMode.REVISE, FabricationMode.REFUSE])
@pytest.mark.parametrize(
    ("finding", "threshold", "decides"), [(DOUBT, 0.8, False), (DOUBT, 0.7, True), (FINDING, 0.8, True)]
)
def test_a_doubt_decides_nothing_unless_the_threshold_is_lowered(mode, finding, threshold, decides) -> None:
    policy = Policy(fabrication_mode=mode, fabrication_refuse_threshold=threshold)
    critic = Critic(policy, Mode.ENFORCE, RecordingObserver())
    review = critic.review(TURN, ScriptedCriticModel([{"verdict": "approve"}] * 2), findings=(finding,))
    assert (review.source == "fabrication") == decides
    assert (review.action == "passed") != decides


def claim(source, quote="costs 45.90 euros", supported=False):
    return {"quote": quote, "source": source, "supported": supported}


def confirmed(claims, verdict="revise", qualified=frozenset({"good-model"}), findings=(DOUBT,), turn=TURN):
    policy = Policy(selective_gate=True, qualified_models=qualified)
    reply = json.dumps({"claims": claims, "verdict": verdict, "revised_draft": "It costs 54.50 euros."})
    model = ScriptedCriticModel([Reply(reply, model="good-model")])
    return Critic(policy, Mode.OBSERVE, RecordingObserver()).review(turn, model, findings=findings).confirmed


class TestConfirmed:
    def test_by_a_qualified_critic_that_quotes_a_line_of_a_tool(self) -> None:
        assert confirmed([claim("total 54.50 EUR")]) == (DOUBT,)

    def test_not_by_a_critic_that_is_not_known_to_be_qualified(self) -> None:
        assert confirmed([claim("total 54.50 EUR")], qualified=frozenset()) == ()

    def test_not_by_an_approval(self) -> None:
        assert confirmed([claim("total 54.50 EUR")], verdict="approve") == ()

    @pytest.mark.parametrize(
        "source",
        ["", "costs 45.90 euros", "What do I owe for 45.90?", "Where does the price 45.90 come from", "total 99 EUR"],
    )
    def test_not_by_the_draft_the_user_the_question_or_a_misquote(self, source: str) -> None:
        assert confirmed([claim(source), claim("total 54.50 EUR", quote="Order A-17", supported=True)]) == ()

    def test_not_by_a_claim_about_something_else(self) -> None:
        assert confirmed([claim("total 54.50 EUR", quote="Order A-17")]) == ()

    def test_a_finding_needs_no_confirmation(self) -> None:
        assert confirmed([claim("total 54.50 EUR")], findings=(FINDING,)) == ()

"""The reason that the critic gives, and the rules that it names."""

from __future__ import annotations

import pytest
from support.reviewing import DRAFT

from draftcritic.core import CriticPreference, Mode, Policy, Rule
from draftcritic.review import Critic
from draftcritic.testing import RecordingObserver, ScriptedCriticModel

POLICY = Policy(
    preferences=(CriticPreference(9, "Never promise a delivery date", id="no-dates"),), rules=(Rule("Be kind", "kind"),)
)


def judged(answer, policy=POLICY):
    return Critic(policy, Mode.OBSERVE, RecordingObserver()).review(DRAFT, ScriptedCriticModel([answer]))


@pytest.mark.parametrize("verdict", ["approve", "revise", "refuse"])
def test_the_reason_is_kept_for_every_verdict(verdict):
    assert judged({"reason": "it says 'on its way'", "verdict": verdict}).outcome.reason == "it says 'on its way'"


@pytest.mark.parametrize(
    ("given", "kept"), [(["a", "b"], "a b"), ("", None), (7, None), ({"a": 1}, None), ("a\ud800", "a\ufffd")]
)
def test_a_reason_of_another_form(given, kept):
    assert judged({"reason": given, "verdict": "approve"}).outcome.reason == kept


@pytest.mark.parametrize(
    ("named", "broken", "matched"),
    [
        ({"broken": ["no-dates"]}, ("no-dates",), ("Never promise a delivery date",)),
        ({"broken": ["#kind", "nonsense"]}, ("kind", "other"), ()),
        (
            {"matched_preferences": ["Never promise a delivery date"]},
            ("no-dates",),
            ("Never promise a delivery date",),
        ),
        ({"broken": "kind"}, ("kind",), ()),
        ({"broken": [1, None]}, (), ()),
        ({}, (), ()),
    ],
)
def test_the_rules_that_a_reply_names_are_ids_of_the_loaded_ones(named, broken, matched):
    review = judged({"verdict": "refuse", **named})
    assert (review.broken, review.matched_preferences) == (broken, matched)


def test_an_answer_that_is_shared_names_the_same_rules():
    from draftcritic.review import Sharing

    critic = Critic(POLICY, Mode.OBSERVE, RecordingObserver(), sharing=Sharing(60))
    model = ScriptedCriticModel([{"verdict": "refuse", "reason": "r", "broken": ["kind"]}])
    outcomes = [critic.review(DRAFT, model).outcome for _ in range(2)]
    assert [(each.reason, each.broken) for each in outcomes] == [("r", ("kind",))] * 2
    assert model.calls == 1

# ruff: noqa: RUF001 - drafts in other scripts are the point here
"""The gates of the reference and ours on the same signals."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

pytest.importorskip("symfonic.core", reason="the reference needs Python 3.11")

from hypothesis import given, settings
from hypothesis import strategies as st
from symfonic.agent.middleware import critic_gate as reference
from symfonic.agent.middleware.metacognitive import MetacognitiveMiddleware
from symfonic.agent.triage.intent import IntentVerdict

from draftcritic.core import (
    CriticGateContext,
    critic_gate_fires,
    default_smart_gate,
    draft_has_claims,
    draft_is_trivial_ack,
    hard_fire,
    took_tool_action,
)

# Not "we": without accents it is the French "wé", which only ours knows.
words = st.sampled_from(["the", "sky", "depends", "often", "and", "quiet", "weather", "they", "see", "it", "very"])
claims = st.sampled_from(["42", "$5", "deadbeef01", "Jane Miller", "٣", "€", "C3PO", "3.14"])
acknowledgements = st.sampled_from(
    ["ok", "Thanks!", "got it", "Gracias", "danke", "merci", "obrigado", "Perfecto.", "alles klar"]
)
plain = st.lists(words, min_size=1, max_size=8).map(" ".join)
claiming = st.lists(st.one_of(words, claims), min_size=1, max_size=8).map(" ".join)
calls = st.lists(
    st.one_of(
        st.fixed_dictionaries({"name": st.sampled_from(["look_up", "refund", "", None])}), st.just({}), st.just("x")
    ),
    max_size=3,
)
contexts = st.fixed_dictionaries(
    {
        "draft": st.one_of(plain, claiming, acknowledgements),
        "tool_calls_this_turn": calls.map(tuple),
        "fabrication_findings": st.sampled_from([(), ("finding",)]),
        "intent_verdict": st.sampled_from(
            [None, *(IntentVerdict(x, 0.8) for x in ("action", "knowledge", "ambiguous"))]
        ),
        "confidence": st.floats(0, 1),
        "sensitive_hit": st.sampled_from([None, None, None, "pii", ""]),
        "read_only_tools": st.sampled_from([frozenset(), frozenset({"look_up"}), frozenset({"look_up", "refund"})]),
        "selective_gate_enabled": st.booleans(),
        "trivial_ack_patterns": st.sampled_from([(), (), ("quiet",), ("^sky",)]),
        "scope": st.none(),
        "run_id": st.just("r"),
    }
)


def test_the_contexts_have_the_same_fields():
    ours = [field.name for field in dataclasses.fields(CriticGateContext)]
    assert ours == [field.name for field in dataclasses.fields(reference.CriticGateContext)]


@settings(max_examples=300, deadline=None)
@given(
    confidence=st.floats(0, 1),
    hit=st.sampled_from([None, "pii", ""]),
    threshold=st.floats(0, 1),
)
def test_the_legacy_gate_is_the_same(confidence, hit, threshold):
    middleware = SimpleNamespace(_config=SimpleNamespace(metacognition_confidence_threshold=threshold))
    theirs = MetacognitiveMiddleware._gate_fires(middleware, confidence, hit)
    assert critic_gate_fires(confidence, hit, threshold) == theirs


@settings(max_examples=400, deadline=None)
@given(values=contexts)
def test_the_selective_gate_is_the_same_on_what_both_know(values):
    ours, theirs = CriticGateContext(**values), reference.CriticGateContext(**values)
    assert ours.intent_label == theirs.intent_label
    assert hard_fire(ours) == reference.hard_fire(theirs)
    assert default_smart_gate(ours) == reference.default_smart_gate(theirs)


@settings(max_examples=200, deadline=None)
@given(calls=st.one_of(st.none(), calls), read_only=st.frozensets(st.sampled_from(["look_up", "refund", "x"])))
def test_mutating_calls_are_the_same(calls, read_only):
    assert took_tool_action(calls, read_only) == reference.took_tool_action(calls, read_only)


@settings(max_examples=500, deadline=None)
@given(draft=st.one_of(st.text(max_size=60), st.from_regex(r"[ A-Za-z0-9$£.@-]{0,40}", fullmatch=True)))
def test_whatever_the_reference_takes_for_a_claim_is_one(draft):
    if reference.draft_has_claims(draft) and not draft_is_trivial_ack(draft):
        assert draft_has_claims(draft)


@pytest.mark.parametrize(
    "draft",
    [
        "Done. The alarm has been set.",
        "it takes two days",
        "write to a@b.example",
        "see https://example.org",
        "Иван Петров",
    ],
)
def test_differs_more_is_a_claim(draft):
    assert not reference.draft_has_claims(draft)
    assert draft_has_claims(draft)


@pytest.mark.parametrize("draft", ["Sure, I wired the money", "Ok, I deleted the production database", "Done", "ok?"])
def test_differs_the_whole_draft_must_be_an_acknowledgement(draft):
    assert reference.draft_is_trivial_ack(draft)
    assert not draft_is_trivial_ack(draft)


@pytest.mark.parametrize("draft", ["好的，谢谢", "ありがとうございます", "Спасибо!", "Bedankt", "👍", "Vielen Dank"])
def test_differs_more_languages_are_known(draft):
    assert not reference.draft_is_trivial_ack(draft)
    assert draft_is_trivial_ack(draft)


def test_differs_capitals_of_a_mere_courtesy_name_nobody():
    assert reference.draft_has_claims("Guten Morgen!")
    assert not draft_has_claims("Guten Morgen!")
    assert draft_has_claims("Guten Morgen Müller")

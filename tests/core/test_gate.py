from __future__ import annotations

import dataclasses
from types import SimpleNamespace

import pytest

from draftcritic.core import (
    CriticGateContext,
    FabricationFinding,
    IntentVerdict,
    critic_gate_fires,
    default_smart_gate,
    hard_fire,
    took_tool_action,
)

FINDING = FabricationFinding(identifier="x", kind="uuid", severity="high", reason="r")
ACK = CriticGateContext(draft="Thanks!", confidence=0.1, selective_gate_enabled=True)


def test_the_context_has_the_fields_of_the_contract_and_is_frozen():
    assert [field.name for field in dataclasses.fields(CriticGateContext)] == [
        "draft",
        "tool_calls_this_turn",
        "fabrication_findings",
        "intent_verdict",
        "confidence",
        "sensitive_hit",
        "read_only_tools",
        "selective_gate_enabled",
        "trivial_ack_patterns",
        "scope",
        "run_id",
    ]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ACK.draft = "x"


def test_the_legacy_gate():
    assert critic_gate_fires(0.59, None)
    assert not critic_gate_fires(0.6, None)
    assert critic_gate_fires(1.0, "pii")
    assert critic_gate_fires(0.7, None, threshold=0.8)
    assert critic_gate_fires(float("nan"))


def test_the_selective_gate_skips_a_trivial_acknowledgement_whatever_its_confidence():
    assert default_smart_gate(ACK) is False


@pytest.mark.parametrize(
    "change",
    [
        {"selective_gate_enabled": False},
        {"sensitive_hit": "pii"},
        {"sensitive_hit": ""},
        {"fabrication_findings": (FINDING,)},
        {"tool_calls_this_turn": ({"name": "refund"},)},
        {"intent_verdict": IntentVerdict("action", 0.9)},
        {"intent_verdict": SimpleNamespace(label="ambiguous")},
        {"draft": "Thanks, that is 5 euros"},
        {"draft": "That depends on the weather"},
        {"draft": "Aitäh"},
    ],
)
def test_the_selective_gate_fires_on_every_doubt(change):
    ctx = dataclasses.replace(ACK, **change)
    assert default_smart_gate(ctx) is True


def test_low_confidence_and_knowledge_are_no_hard_floor():
    assert not hard_fire(dataclasses.replace(ACK, confidence=0.0, intent_verdict=IntentVerdict("knowledge", 1.0)))


def test_the_intent_label():
    assert ACK.intent_label is None
    assert dataclasses.replace(ACK, intent_verdict=IntentVerdict("action", 0.9)).intent_label == "action"


@pytest.mark.parametrize(
    ("calls", "expected"),
    [
        (None, False),
        ((), False),
        ([{"name": "look_up"}], False),
        ([{"name": "look_up"}, {"name": "refund"}], True),
        ([{}], True),
        ([{"name": ""}], True),
        ([{"name": None}], True),
        ([{"name": ["look_up"]}], True),
        (["look_up"], True),
    ],
)
def test_a_call_changes_something_unless_its_name_is_read_only(calls, expected):
    assert took_tool_action(calls, frozenset({"look_up"})) is expected


def test_without_a_list_every_call_changes_something():
    assert took_tool_action([{"name": "look_up"}], frozenset())
    assert took_tool_action([{"name": "look_up"}], None)
    assert took_tool_action([{"name": "look"}], "look_up")

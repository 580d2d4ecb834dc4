from __future__ import annotations

from types import SimpleNamespace

import pytest

from draftcritic.core import Grounding, IntentVerdict, detect_fabrication
from draftcritic.grounding import KINDS, find_fabrications

UUID = "550e8400-e29b-41d4-a716-446655440000"


IDENTIFIER_KINDS = {"uuid", "short_hex_near_key", "short_hex_near_verb", "kv", "verb_claim", "intent_action_no_tool"}


def found(draft, calls=None, **grounds):
    """The findings of the kinds that go by keys and verbs; the others have tests of their own."""
    findings = detect_fabrication(draft, calls, **grounds)
    return [(f.kind, f.identifier, f.confidence) for f in findings if f.kind in IDENTIFIER_KINDS]


def test_the_kinds_of_findings():
    assert {
        "uuid",
        "short_hex_near_key",
        "short_hex_near_verb",
        "kv",
        "verb_claim",
        "action_claim",
        "intent_action_no_tool",
        "reference",
        "hash",
        "price",
        "number",
        "percentage",
        "date",
        "time",
        "email",
        "phone",
        "url",
        "name",
    } == KINDS


@pytest.mark.parametrize("draft", ["", "   ", None, 5, b"x"])
def test_a_missing_draft_has_no_findings(draft):
    assert detect_fabrication(draft, intent_verdict=IntentVerdict("action", 1.0)) == []


@pytest.mark.parametrize("uuid", [UUID, UUID.replace("-", ""), UUID.upper()])
def test_an_ungrounded_uuid(uuid):
    (finding,) = detect_fabrication(f"  The record is {uuid}.")
    assert (finding.kind, finding.identifier, finding.confidence) == ("uuid", uuid, 0.95)
    assert finding.severity == "high"
    assert f"  The record is {uuid}."[slice(*finding.span)] == uuid


@pytest.mark.parametrize(
    "given", [UUID, UUID.upper(), UUID.replace("-", ""), f"{{id={UUID.replace('-', '').upper()}}}"]
)
def test_a_uuid_is_compared_without_case_and_hyphens(given):
    assert found(f"See {UUID}", user_message=given) == []
    assert found(f"See {UUID}", hydrated_context=given) == []
    assert found(f"See {UUID}", [{"name": "look_up", "result": {"id": given}}]) == []


def test_a_short_hex_counts_only_near_a_key_or_a_claim():
    assert found("the commit 9f2b1e47 is fine") == []
    assert found("task_id: 9f2b1e47") == [
        ("short_hex_near_key", "9f2b1e47", 0.6),
        ("kv", "9f2b1e47", 0.8),
    ]
    calls = [{"name": "create_ticket", "result": "ok"}]
    assert found("I created 9f2b1e47", calls) == [("short_hex_near_verb", "9f2b1e47", 0.6)]
    assert found("9f2b1e47 is what I created", calls) == [("short_hex_near_verb", "9f2b1e47", 0.6)]
    assert found("I created it" + " " * 61 + "9f2b1e47", calls) == []
    assert found("I created 12345678", calls) == []
    assert found("I created 9f2b1e47", [{"name": "create_ticket", "result": "id 9f2b1e47"}]) == []


@pytest.mark.parametrize("field", ["result", "output", "response", "args", "input"])
def test_key_and_value(field):
    draft = "Your Order_ID = A-17."
    (finding,) = detect_fabrication(draft)
    assert (finding.kind, finding.identifier, finding.key, finding.confidence) == ("kv", "A-17", "order_id", 0.8)
    assert draft[slice(*finding.span)] == "Order_ID = A-17"
    assert found(draft, [{"name": "get", field: {"id": "A-17"}}]) == []


def test_only_known_keys_count_and_the_domain_may_add_some():
    assert found("colour: red") == []
    (finding,) = detect_fabrication("IBAN: DE02", identifier_keys=["Iban"])
    assert (finding.key, finding.severity) == ("iban", "medium")


def test_a_claimed_action_needs_a_tool_that_fits():
    assert found("I sent the mail") == [("verb_claim", "I sent", 0.8)]
    assert found("I sent the mail", [{"name": "look_up"}]) == [("verb_claim", "I sent", 0.8)]
    assert found("I sent the mail", [{"name": "Send_Email"}]) == []
    assert found("I sent the mail", [SimpleNamespace(name="send_email")]) == []
    assert found("the job ran yesterday") == []


def test_a_lookup_claim_needs_any_lookup_tool():
    assert found("I checked your booking", [{"name": "get_booking"}]) == []
    assert found("I checked your booking", [{"name": "cancel_booking"}]) == [("verb_claim", "I checked", 0.8)]
    assert found("I sent your booking", [{"name": "get_booking"}]) == [("verb_claim", "I sent", 0.8)]


def test_a_claim_that_only_says_which_things_are_meant_refers_to_an_earlier_turn():
    draft = "The list has all the reminders I deleted."
    assert found(draft, hydrated_context='tool: {"deleted": 3}') == []
    assert found(draft) == [("verb_claim", "I deleted", 0.8)]
    assert found("Done, I deleted them.", hydrated_context='tool: {"deleted": 3}') == [("verb_claim", "I deleted", 0.8)]


def test_an_action_that_was_asked_for_needs_a_tool_call():
    asked = IntentVerdict("action", 0.55, ["send_email"])
    assert found("Of course", intent_verdict=asked) == [("intent_action_no_tool", "", 0.7)]
    assert found("Of course", [{"name": "x"}], intent_verdict=asked) == []
    assert found("Of course", intent_verdict=IntentVerdict("action", 0.54)) == []
    assert found("Of course", intent_verdict=IntentVerdict("knowledge", 1.0)) == []
    assert found("Of course", intent_verdict=SimpleNamespace(label="action")) == []


def test_the_same_identifier_is_one_finding_a_kind():
    assert found(f"{UUID} and again {UUID}") == [("uuid", UUID, 0.95)]


def test_the_payload_is_plain():
    (finding,) = detect_fabrication("pid=17")
    assert finding.to_event_payload() == {
        "identifier": "17",
        "kind": "kv",
        "severity": "high",
        "reason": finding.reason,
        "key": "pid",
        "pattern_kind": "kv",
        "confidence": 0.8,
        "span": [0, 6],
    }


class Unspeakable:
    def __str__(self):
        raise RuntimeError("no")

    __repr__ = __str__


class Hostile:
    def __getattr__(self, name):
        raise ValueError(name)


@pytest.mark.parametrize(
    "calls", ["abc", 5, {"name": "x"}, [None], [5], [{"result": Unspeakable()}], [[]], [Hostile()]]
)
def test_odd_tool_calls_never_raise_and_ground_nothing(calls):
    assert ("uuid", UUID, 0.95) in found(f"See {UUID}", calls)


def test_a_check_that_fails_finds_nothing_and_says_so(caplog):
    assert detect_fabrication("pid=17", (1 / 0 for _ in range(1))) == []
    assert "fabrication check failed" in caplog.text


def test_one_index_serves_several_drafts():
    grounding = Grounding([{"name": "get", "result": f"{UUID} pid=17"}], "context", "message")
    assert find_fabrications(f"{UUID} pid=17", grounding) == []
    assert [f.kind for f in find_fabrications("pid=18", grounding)] == ["kv"]


@pytest.mark.parametrize(
    "unit", [" ", "1", "abcdef ", f"{UUID} ", "pid=", "pid=x1 ", "I sent ", "I ", "task_id=abc12f ", "\u200b"]
)
def test_work_grows_linearly_with_hostile_text(unit):
    # Context and draft both hostile; a quadratic check would need minutes.
    text = unit * (200_000 // len(unit))
    detect_fabrication(text, hydrated_context=text[::-1])

"""What an agent makes up is named, with its place, its kind and how sure that is."""

from __future__ import annotations

import json

import pytest

from draftcritic.core import Grounding, detect_fabrication
from draftcritic.grounding import find_fabrications, rules_of

RECORD = {
    "order": "XK42PP",
    "customer": {"name": "Jane Doe", "email": "jane.doe@example.com", "phone": "+1 415 555 2671"},
    "total": 118.4,
    "items": [{"price": 59.2, "seats": 14}, {"price": 59.2, "seats": 31}],
    "ordered": "2024-05-03T16:30:00",
    "discount": "15%",
    "url": "https://shop.example.com/orders/77",
    "sha": "9f86d081884c7d659a2feaa0c55ad015a1b2c3d4",
    "card": "visa ending in 7447",
}


def findings(draft, **more):
    return detect_fabrication(draft, [{"name": "get_order", "args": {}, "result": json.dumps(RECORD)}], **more)


@pytest.mark.parametrize(
    ("draft", "kind", "identifier"),
    [
        ("Your order XK47PP is ready.", "reference", "XK47PP"),
        ("Your order, number ZT-90-11B, is ready.", "reference", "ZT-90-11B"),
        ("Signed in as jane_doe_4821.", "reference", "jane_doe_4821"),
        ("The total is $119.40.", "price", "$119.40"),
        ("El precio es 119,40 \u20ac.", "price", "119,40 \u20ac"),
        ("\u603b\u4ef7\u662f\u00a5220\u3002", "price", "\u00a5220"),
        ("That makes 219 dollars.", "price", "219"),
        ("There are 84 seats left.", "number", "84"),
        ("Your card ending in 7238 was charged.", "number", "7238"),
        ("\u0628\u0642\u064a \u0668\u0664 \u0645\u0642\u0639\u062f\u0627", "number", "\u0668\u0664"),
        ("You get 25% off.", "percentage", "25%"),
        ("Ordered on May 7, 2024.", "date", "May 7, 2024"),
        ("Pedido el 7 de mayo de 2024.", "date", "7 de mayo de 2024"),
        ("\u6ce8\u6587\u65e5\u306f5\u67087\u65e5\u3067\u3059\u3002", "date", "5\u67087\u65e5"),
        ("Ordered on 2025-05-03.", "date", "2025-05-03"),
        ("Ordered at 5:45 PM.", "time", "5:45 PM"),
        ("Ordered at 04:30.", "time", "04:30"),
        ("Mail goes to jane.roe@example.com.", "email", "jane.roe@example.com"),
        ("Call +1 415 555 9999.", "phone", "+1 415 555 9999"),
        ("See https://shop.example.com/orders/78.", "url", "https://shop.example.com/orders/78"),
        ("The sum is 9f86d081884c7d659a2feaa0c55ad015a1b2c3d5.", "hash", "9f86d081884c7d659a2feaa0c55ad015a1b2c3d5"),
        ("It goes to your colleague Marek Nowotny.", "name", "Marek Nowotny"),
        ("The order of Jane Rutherford is ready.", "name", "Jane Rutherford"),
        ("It ships from Ulverston Wharf by train.", "name", "Ulverston Wharf"),
    ],
)
def test_a_fabricated_token_is_found_with_its_span(draft, kind, identifier):
    (finding,) = [f for f in findings(draft) if f.kind != "kv"]
    assert (finding.kind, finding.identifier) == (kind, identifier)
    assert draft[slice(*finding.span)] == identifier
    assert 0.5 < finding.confidence < 1
    assert finding.pattern_kind == kind
    assert "No tool result" in finding.reason


def test_a_possible_result_has_less_confidence():
    assert [f.confidence < 0.8 for f in findings("The total is $119.40.")] == [True]
    assert [f.confidence >= 0.8 for f in findings("One costs $61.40.")] == [True]


def test_a_sum_that_does_not_add_up():
    assert findings("Two at $59.20 make $118.40 in total.") == []
    assert [f.identifier for f in findings("One is $59.20. The total for both is $128.40.")] == ["$128.40"]


def test_a_token_is_found_once_and_an_id_is_not_found_twice():
    assert [(f.kind, f.identifier) for f in findings("order_id: QQ17ZZ, I repeat QQ17ZZ")] == [
        ("kv", "QQ17ZZ"),
        ("reference", "QQ17ZZ"),
    ]
    assert [f.kind for f in findings("task_id=550e8400-e29b-41d4-a716-446655440000")] == ["uuid", "kv"]


def test_without_data_only_what_identifies_a_record_is_found():
    assert [(f.identifier, f.confidence) for f in detect_fabrication("Your order number is ABC12345.")] == [
        ("ABC12345", 0.75)
    ]
    assert detect_fabrication("It has 330 steps and was built on May 7, 1889.") == []


def test_identifier_patterns_of_the_domain():
    draft = "Your box is LOC blue seven."
    assert findings(draft) == []
    (finding,) = findings(draft, identifier_patterns=[r"LOC \w{3,9} \w{3,9}"])
    assert (finding.kind, finding.identifier, finding.confidence) == ("reference", "LOC blue seven", 0.95)
    found = findings(draft, identifier_patterns=[r"LOC \w{3,9} \w{3,9}"], user_message="is it loc blue seven?")
    assert found == []


def test_words_never_to_flag():
    draft = "Marek Nowotny has 84 seats for order ZT9011B."
    assert len(findings(draft)) == 3
    assert findings(draft, never_flag=["marek", "Nowotny", "84", "zt9011b"]) == []
    assert sorted(f.kind for f in findings(draft, never_flag=["Marek"])) == ["name", "number", "reference"]


def test_a_pattern_that_cannot_be_used_is_left_out_and_logged(caplog):
    assert rules_of(patterns=["(a+)+$", r"Q\d{3}"]).patterns[0].pattern == r"Q\d{3}"
    assert "(a+)+$" in caplog.text


def test_one_index_serves_many_drafts_however_long_they_are():
    grounding = Grounding([{"name": "get", "result": json.dumps(RECORD)}])
    assert find_fabrications("XK42PP " * 5000, grounding) == []
    assert [f.identifier for f in find_fabrications("XK42PQ", grounding)] == ["XK42PQ"]


@pytest.mark.parametrize(
    "unit",
    ["5% ", "$1,234.50 ", "May 5, 2024 ", "10:30 am ", "AB12CD ", "a@b.", "http://x", "+1 ", "1 \u20ac ", "Aa Bb ",
     "\u0661\u0662 ", "\u4f1a2024\u5e745\u67083\u65e5", "1,", "a1", "*", '"', "<1>", "k1 k"],
)  # fmt: skip
def test_work_grows_linearly_with_hostile_text(unit):
    # Draft, context and result all hostile; a quadratic check would need minutes.
    text = unit * (300_000 // len(unit))
    found = detect_fabrication(text, [{"name": "x", "result": text[::-1]}], hydrated_context=text[1:])
    assert len(found) <= 201


@pytest.mark.parametrize("digits", ["0³", "5²", "1½", "²³", "May 3²", "5²:30", "٣", "十"])
def test_digits_that_are_not_decimal_do_not_stop_the_check(digits):
    assert "A-9931" in {finding.identifier for finding in findings(f"It is {digits}. Order A-9931 was shipped.")}

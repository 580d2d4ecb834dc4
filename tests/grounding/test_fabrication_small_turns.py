"""Small turns: honest ways to say the facts of the sources, and small fabrications."""

from __future__ import annotations

import json
from typing import Any

import pytest

from draftcritic.core import detect_fabrication


def kinds(draft: str, result: Any, name: str = "get_order", user: str = "?") -> list[str]:
    text = result if isinstance(result, str) else json.dumps(result, separators=(",", ":"))
    calls = [{"name": name, "args": {}, "result": text}] if result is not None else []
    return [finding.kind for finding in detect_fabrication(draft, calls, user_message=user)]


ORDER = {"name": "get_order", "args": {}, "result": '{"id": "K1"}'}
DAYS = ["2025-06-13", "2025-06-14", "2025-06-15"]
LEGS = [{"flight": "AB1", "prices": {"basic": 161}}, {"flight": "CD2", "prices": {"basic": 102}}]


@pytest.mark.parametrize(
    ("draft", "result"),
    [
        ("The fares are $19, and $147 with a bag.", {"fares": [19, 147, 308]}),
        ("The share is $12.10.", {"amount": 12.100000000000001}),
        ("A difference of $23.42 was charged.", {"amount": 23.419999999999987}),
        ("The flights are on June 13, 14, and 15, 2025.", DAYS),
        ("The flights are on 13, 14 and 15 June 2025.", DAYS),
        ("Die Fl\u00fcge sind am 13. und 14. Juni 2025.", DAYS),
        ("It costs 384 dollars and 27 cents.", {"price": 384.27}),
        ("Cuesta 384 euros con 27 c\u00e9ntimos.", {"price": 384.27}),
        ("The new price is (317 + 208) * 3 = $1575.", [317, 208, 3]),
        ("The new price is (317 + 208) \u00d7 3 = $1,575.", [317, 208, 3]),
        ("Gift card charge: $31.25. New gift card balance: $58.75.", {"balance": 90, "charge": 31.25}),
        ("Flights AB1 and CD2 together: total $263.", LEGS),
        ("There are 11 options available.", {"variants": {f"50{n}": {"price": n} for n in range(11)}}),
        ("| AB1 | 120 | 157 | 37 |", [{"f": "AB1", "e": 120, "b": 157}]),
        ("It is 31 degrees Celsius.", {"temp_f": "88"}),
        ("Flight HAT030-JFK is on time.", {"flight": "HAT030", "from": "JFK"}),
    ],
)
def test_values_of_the_sources_and_their_results_are_grounded(draft: str, result: Any) -> None:
    assert kinds(draft, result) == []


@pytest.mark.parametrize(
    ("draft", "result", "kind"),
    [
        ("The fares are $20.", {"fares": [19, 147, 308]}, "price"),
        ("A difference of $23.47 was charged.", {"amount": 23.419999999999987}, "price"),
        ("The flights are on June 13 and 19, 2025.", DAYS, "date"),
        ("It costs 384 dollars and 28 cents.", {"price": 384.27}, "price"),
        ("The new price is (317 + 208) * 3 = $1576.", [317, 208, 3], "price"),
        ("| AB1 | 120 | 157 | 39 |", [{"f": "AB1", "e": 120, "b": 157}], "number"),
        ("It is 31 degrees Fahrenheit.", {"temp_f": "88"}, "number"),
        ("Confirmation number: #W7730152-CNL", {"order": "#W7730152"}, "reference"),
        (
            "The passengers of your booking:\n1. Elena Ferreira (seat 12A)",
            {"passenger": "Omar Rossi", "seat": "12A"},
            "name",
        ),
    ],
)
def test_a_different_value_is_found(draft: str, result: Any, kind: str) -> None:
    assert kinds(draft, result) == [kind]


LOOKING = ["mcp__shop__get_booking", "shop.get_booking", "shop-get_booking", "shop_get_booking", "ShopTools.getBooking"]


@pytest.mark.parametrize("name", [*LOOKING, "a.b_search", "shop:get_booking"])
def test_a_look_up_with_a_namespace_grounds_no_action(name: str) -> None:
    assert kinds("I've cancelled your booking.", {"id": "K1"}, name, "Cancel my booking") == ["action_claim"]


@pytest.mark.parametrize("name", [name.replace("get", "cancel") for name in LOOKING] + ["bookings.cancel"])
def test_a_tool_with_a_namespace_grounds_its_action(name: str) -> None:
    assert kinds("I've cancelled your booking.", {"id": "K1"}, name, "Cancel my booking") == []


@pytest.mark.parametrize(
    ("draft", "user"),
    [
        ("Please confirm the order has been delivered.", "I want to return something"),
        ("Please verify that your booking has been cancelled.", "What now?"),
        ("You're all set! Have a great trip.", "Thanks"),
        ("You're all set! Have a great trip.", "No, that's all, thank you so much!"),
    ],
)
def test_sentences_without_a_claim_have_no_findings(draft: str, user: str) -> None:
    assert kinds(draft, None, user=user) == []


@pytest.mark.parametrize(
    ("draft", "user"),
    [
        ("You're all set!", "Please book it."),
        ("The booking that was made for Dana has been cancelled.", "Cancel Dana's booking"),
        ("Your seats are confirmed.", "Confirm my seats"),
    ],
)
def test_claims_in_a_state_and_behind_a_relative_clause_are_found(draft: str, user: str) -> None:
    assert kinds(draft, None, user=user) == ["action_claim"]


@pytest.mark.parametrize(
    "draft",
    [
        "Please include the country code, +49 for Germany.",
        "Add +44 before the phone number.",
        "Use the prefix +351 when calling from abroad.",
        "Numbers there start with (+33).",
        "Germany (+49), France (+33) and the UK (+44).",
        "Bitte mit Vorwahl +49 angeben.",
        "The code for Portugal is +351 or 00351.",
    ],
)
def test_the_calling_code_of_a_country_is_not_a_number_to_check(draft: str) -> None:
    assert detect_fabrication(draft, [ORDER]) == []


@pytest.mark.parametrize(
    "draft", ["You have 49 orders.", "You earned +350 points.", "The price rose by +49%.", "Call +49 170 5559912 now."]
)
def test_other_numbers_with_a_plus_and_phone_numbers_are_checked(draft: str) -> None:
    assert detect_fabrication(draft, [ORDER]) != []


@pytest.mark.parametrize(
    "draft",
    [
        "Which airport do you mean (e.g., Porto Alegre)?",
        "Please give me a city, e.g. Castelo Branco or Vila Nova.",
        "Which place, for example Sankt Gallen, do you mean?",
    ],
)
def test_a_place_that_is_an_example_is_not_a_name_to_check(draft: str) -> None:
    assert detect_fabrication(draft, [ORDER]) == []


def test_a_person_that_is_an_example_is_a_name_to_check() -> None:
    (found,) = detect_fabrication("The booking has passengers, e.g. Elena Ferreira.", [ORDER])
    assert (found.kind, found.identifier) == ("name", "Elena Ferreira")


@pytest.mark.parametrize("look", ["find your booking", "retrieve your order details", "look up your reservation"])
def test_a_lookup_that_the_agent_was_able_to_do_is_not_a_claim(look: str) -> None:
    assert detect_fabrication(f"I was able to {look}.", [ORDER]) == []


@pytest.mark.parametrize("done", ["cancel your booking", "update your address", "successfully process the exchange"])
def test_an_action_that_the_agent_was_able_to_do_is_a_claim(done: str) -> None:
    assert [found.kind for found in detect_fabrication(f"I was able to {done}.", [ORDER])] == ["action_claim"]


@pytest.mark.parametrize("code", ["W7730152-CNL", "W7730152/REF", "AB12-2nd"])
def test_a_code_with_an_ending_that_no_source_has_is_found(code: str) -> None:
    (found,) = detect_fabrication(f"Your confirmation code is {code}.", [ORDER])
    assert (found.kind, found.identifier) == ("reference", code)


@pytest.mark.parametrize(
    "name", ["BookingService.getBooking", "Orders::find_order", "booking_server_get_booking", "BookingClient_get_order"]
)
def test_a_lookup_of_a_class_or_server_grounds_no_action(name: str) -> None:
    call = {"name": name, "args": {}, "result": '{"id": "K1"}'}
    assert [found.kind for found in detect_fabrication("I've cancelled your booking.", [call])] == ["action_claim"]

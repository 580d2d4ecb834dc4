"""What an honest agent does with grounded values, and what it may say of itself."""

from __future__ import annotations

import json

import pytest

from draftcritic.core import detect_fabrication

TOKENS = {"reference", "hash", "price", "number", "percentage", "date", "time", "email", "phone", "url", "name", "kv"}


def flagged(draft, result="", context="", user=""):
    calls = [{"name": "look_up", "args": {}, "result": result if isinstance(result, str) else json.dumps(result)}]
    findings = detect_fabrication(draft, calls, hydrated_context=context, user_message=user)
    return [(f.kind, f.identifier) for f in findings if f.kind in TOKENS]


@pytest.mark.parametrize(
    ("draft", "source"),
    [
        ("It costs $1,234.50.", {"price": 1234.5}),
        ("It costs 1.234,50 \u20ac.", {"price": 1234.5}),
        ("Cela co\u00fbte 1\u00a0234,50\u00a0\u20ac.", {"price": 1234.5}),
        ("Cela co\u00fbte 1 234,50 \u20ac.", {"price": 1234.5}),
        ("Das kostet CHF 1\u2019234.50.", {"price": 1234.5}),
        ("It costs \u20b91,23,456.", {"price": 123456}),
        ("It costs USD 1234.5.", "the price is $1,234.50"),
        ("It costs 1,234 dollars.", {"price": 1234}),
        ("It costs $19.99.", {"amount_cents": 1999}),
        ("About $1,200 in all.", {"price": 1234.5}),
        ("Revenue was $1.2 million.", {"revenue": 1203400}),
        ("\u4ef7\u683c\u662f1234.5\u5143\u3002", {"price": 1234.5}),
        ("\u0627\u0644\u0633\u0639\u0631 \u0661\u0662\u0663\u0664 \u0631\u064a\u0627\u0644", {"price": 1234}),
        ("\u7d0412\u4e07\u5186\u3067\u3059\u3002", {"price": 120300}),
        ("The distance is 12.3 km.", {"distance_m": 12300}),
        ("The ride takes 90 minutes.", {"duration_hours": 1.5}),
        ("It weighs 2.5 kg.", {"weight_g": 2500}),
        ("It is 77 \u00b0F outside.", {"temp_c": 25}),
        ("Your savings rate is 15%.", {"rate": 0.15}),
        ("The result is 77.33.", {"result": 77.33333333}),
        ("There are 25 open tickets.", {"open": "twenty-five"}),
        ("You have 12 passengers.", "twelve passengers"),
        ("Your balance is 0.5 BTC.", {"balance": "0.50000"}),
    ],
)
def test_numbers_in_another_format(draft, source):
    assert flagged(draft, source) == []


@pytest.mark.parametrize(
    "draft",
    [
        "Your flight leaves on May 3, 2024.",
        "Your flight leaves on Friday, May 3rd.",
        "Your flight leaves on the 3rd of May.",
        "Your flight leaves on 3 May 2024.",
        "Your flight leaves on 05/03/2024.",
        "Your flight leaves on 03.05.2024.",
        "Your flight leaves on 2024/5/3.",
        "Su vuelo sale el 3 de mayo de 2024.",
        "Votre vol part le 3 mai 2024.",
        "Ihr Flug geht am 3. Mai 2024.",
        "Il volo parte il 3 maggio 2024.",
        "O voo parte em 3 de maio de 2024.",
        "De vlucht vertrekt op 3 mei 2024.",
        "\u0412\u044b\u043b\u0435\u0442 3 \u043c\u0430\u044f 2024 \u0433\u043e\u0434\u0430.",
        "\u822a\u73ed\u65e5\u671f\u662f2024\u5e745\u67083\u65e5\u3002",
        "\u98db\u884c\u6a5f\u306f5\u67083\u65e5\u306b\u51fa\u767a\u3057\u307e\u3059\u3002",
        "\ucd9c\ubc1c\uc77c\uc740 2024\ub144 5\uc6d4 3\uc77c\uc785\ub2c8\ub2e4.",
        "\u0627\u0644\u0631\u062d\u0644\u0629 \u0641\u064a 3 \u0645\u0627\u064a\u0648 2024.",
        "\u0906\u092a\u0915\u0940 \u0909\u0921\u093c\u093e\u0928 3 \u092e\u0908 2024 \u0915\u094b \u0939\u0948\u0964",
        "Lot jest 3 maja 2024.",
        "U\u00e7u\u015f tarihi 3 May\u0131s 2024.",
    ],
)
def test_a_date_in_another_format(draft):
    assert flagged(draft, {"date": "2024-05-03T16:30:00Z"}) == []
    assert flagged(draft, {"date": "2024-05-11"}) != []


@pytest.mark.parametrize(
    "draft",
    [
        "It leaves at 16:30.",
        "It leaves at 4:30 PM.",
        "It leaves at 4:30pm EST (Eastern Standard Time).",
        "Sale a las 4:30 p. m.",
        "D\u00e9part \u00e0 16h30.",
        "Abfahrt um 16:30 Uhr.",
        "\u51fa\u53d1\u65f6\u95f4\u662f\u4e0b\u53484\u70b930\u5206\u3002",
        "\u51fa\u767a\u306f16\u664230\u5206\u3067\u3059\u3002",
        "\ucd9c\ubc1c\uc740 \uc624\ud6c4 4\uc2dc 30\ubd84\uc785\ub2c8\ub2e4.",
    ],
)
def test_a_time_in_another_format(draft):
    assert flagged(draft, {"departure": "2024-05-03T16:30:00"}) == []
    assert flagged(draft, {"departure": "2024-05-03T09:15:00"}) != []


@pytest.mark.parametrize(
    ("draft", "user"),
    [
        ("Your table is booked for May 4.", "a table for tomorrow please"),
        ("Su mesa es para el 4 de mayo.", "una mesa para ma\u00f1ana"),
        ("That was on May 2, 2024.", "what did I buy yesterday?"),
        ("Your appointment is on May 6.", "next Monday please"),
        ("It will arrive on May 6.", "when does it arrive? they said in 3 days"),
        ("You check out on May 10.", "a week from today"),
    ],
)
def test_a_date_counted_from_today(draft, user):
    today = "Today is 2024-05-03."
    assert flagged(draft, context=today, user=user) == []
    assert flagged(draft, context=today, user="please") != []


def test_the_end_of_a_grounded_time_and_a_duration():
    assert flagged("It ends at 10:30.", {"start": "2024-05-03 10:00"}, user="for half an hour") == []
    assert flagged("It ends at 11:00.", {"start": "2024-05-03 10:00"}, user="a meeting of 60 minutes") == []
    assert flagged("It ends at 10:40.", {"start": "2024-05-03 10:00"}, user="for half an hour") != []


@pytest.mark.parametrize(
    "draft",
    [
        "The card ending in 7447 was charged.",
        "The card **** **** **** 7447 was charged.",
        "We sent it to j***@example.com.",
        "We sent it to J.Doe@Example.com.",
        "Call +1 (415) 555-2671.",
        "Call 415.555.2671.",
        "See https://shop.example.com/orders/77/.",
        "See http://www.shop.example.com/orders/77",
        "Your order ord-5521 is on its way.",
        "Your order #ORD 5521 is on its way.",
        "The trace is 4BF92F3577B34DA6A3CE929D0E0E4736.",
        "Ask for Jane Doe in San Francisco.",
        "Dear Ms. Doe, your parcel is in New York.",
    ],
)
def test_the_same_value_in_another_notation(draft):
    record = {
        "card": "5105105105107447",
        "email": "j.doe@example.com",
        "phone": "4155552671",
        "url": "https://shop.example.com/orders/77",
        "order": "ORD-5521",
        "trace": "4bf92f3577b34da6a3ce929d0e0e4736",
        "customer": {"first": "Jane", "last": "Doe"},
    }
    assert flagged(draft, record) == []


@pytest.mark.parametrize(
    "draft",
    [
        "Two bags cost $40 and one seat $15, so the total is $55.",
        "The fare is $40 and the fee $15. Total: $55",
        "You paid $40 and the new fare is $15, so you get a refund of the difference, $25.",
        "Three seats at $15 each: $45 in total.",
        "$40 + $15 = $55.",
        "The average of $40 and $15 is $27.50.",
        "Of your $40, $15 is 37.5%.",
    ],
)
def test_results_of_grounded_numbers(draft):
    assert flagged(draft, {"fare": 40, "fee": 15}) == []


def test_a_total_of_values_with_the_same_label():
    fares = {"there": {"basic": 51, "flex": 121}, "back": {"basic": 55, "flex": 162}}
    draft = "There\n- Basic: $51\n- Flex: $121\nBack\n- Basic: $55\n- Flex: $162\nThe total price in Basic is $106."
    assert flagged(draft, fares) == []
    assert flagged(draft.replace("$106", "$107"), fares) == [("price", "$107")]


def test_a_calculation_passed_to_a_tool_grounds_its_parts():
    calls = [{"name": "calculate", "args": {"expression": "364 + (210 + 370)"}, "result": "944.0"}]
    draft = "Out: $364\nBack: {}\nTogether that makes $944."
    assert detect_fabrication(draft.format("$580"), calls) == []
    (finding,) = detect_fabrication(draft.format("$590"), calls)
    assert finding.identifier == "$590"


def test_a_remark_in_brackets_does_not_hide_that_a_number_is_a_sum():
    legs = {"legs": [{"price": 140}, {"price": 101}], "before": 300}
    assert flagged("New total price: $241 (it was $300 before)", legs) == []


def test_the_past_month_leads_to_a_date():
    context = "Today is 2023-09-12."
    assert (
        flagged("Between August 12 and September 12 I see 3.", context=context, user="those of the past month?") == []
    )


def test_lengths_of_lists_are_counts():
    assert flagged("I found 14 open tickets.", [{"n": 0}] * 14) == []
    assert flagged("I found 17 open tickets.", [{"n": 0}] * 14) == [("number", "17")]


@pytest.mark.parametrize(
    "draft",
    [
        "1. First\n2. Second\n10. Tenth\n11) Eleventh",
        "Step 12: press the button. See section 4.2 and Python 3.11, v1.22.3.",
        "Support is there 24/7; call 911 in an emergency. Your 401(k) is 100% safe.",
        "You will hear from us within 24 hours, in 5-10 business days at most.",
        "It is a story of the 19th century.",
        "Please give the date as YYYY-MM-DD, e.g. 2024-01-31.",
        "An identifier looks like this, for example ABC12345.",
        "It supports UTF-8, SHA-256, MP3, 1080p, IPv6 and COVID-19 tests.",
        "You can pay with Apple Pay, Google Pay or by Credit Card in the United States.",
        "**Order Summary**\n- **Shipping Method:** Standard Delivery\n## Next Steps",
        "Ephesians 6:10 says so.",
    ],
)
def test_tokens_that_state_no_fact_are_ignored(draft):
    assert flagged(draft, {"status": "ok"}) == []


@pytest.mark.parametrize(
    "draft",
    [
        "The Eiffel Tower is 330 m high and was finished on March 31, 1889.",
        "Marie Curie won two prizes, in 1903 and 1911. See https://en.wikipedia.org/wiki/Marie_Curie.",
        "Water boils at 100 \u00b0C; a marathon has 42.195 km.",
    ],
)
def test_common_knowledge_is_accepted_in_a_turn_without_data(draft):
    assert detect_fabrication(draft, [], user_message="tell me something") == []


@pytest.mark.parametrize(
    "result",
    [
        '{"a": {"b": [{"total": "1,234.50", "when": "2024-05-03", "code": "XK42PP"}]}}',
        "total: 1234.50\nwhen: 3 May 2024\ncode: XK42PP\n",
        "| total | when | code |\n|---|---|---|\n| 1 234,50 \u20ac | 03/05/2024 | xk-42-pp |",
        "<total>1234.5</total><when>20240503</when><code>XK42PP</code><iso>2024-05-03</iso>",
        '"{\\"total\\": 1234.5, \\"when\\": \\"2024-05-03\\", \\"code\\": \\"XK42PP\\"}"',
    ],
)
def test_results_of_every_shape(result):
    assert flagged("Code XK42PP, $1,234.50, on May 3, 2024.", result) == []


def test_results_that_are_values_and_arguments_count():
    calls = [{"name": "pay", "args": {"amount": 41.5, "to": ["Jane Doe"]}, "result": {"ref": ("R2D2X9", 17)}}]
    assert detect_fabrication("I have $41.50 for Jane Doe, reference R2D2X9, on file.", calls) == []

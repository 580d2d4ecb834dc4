# ruff: noqa: RUF001 - drafts in other scripts are the point here
"""What records and drafts of other trades and languages look like, and what chance may not ground."""

from __future__ import annotations

import json
import random

import pytest

from draftcritic.core import detect_fabrication

TWINS = [
    # Times and dates of other languages, in the source as in the draft.
    ({"time": "그날 오후 3시 07분"}, "출발은 오후 3시 07분입니다.", "출발은 오후 4시 19분입니다."),
    ({"abfahrt": "21:15"}, "火车21时15分出发。", "火车20时45分出发。"),
    ({"t": "13:15"}, "下午1点1刻开始。", "下午1点3刻开始。"),
    ({"t": "08:50"}, "上午8点50出发。", "上午8点20出发。"),
    ({"opens": "9: 30-20: 15"}, "Open from 9:30 to 20:15.", "Open from 9:40 to 20:15."),
    ({"t": "05:24"}, "The first one leaves at 0524.", "The first one leaves at 0642."),
    ({"released": "2016-09-14"}, "यह 14 सितंबर, 2016 को आई थी।", "यह 19 सितंबर, 2016 को आई थी।"),
    ({"방영일": "2016년 9월 14일"}, "2016년 9월 14일에 방영되었습니다.", "2034년 9월 14일에 방영되었습니다."),
    (
        {"departure": {"year": 2023, "month": 7, "day": 19, "hour": 6, "min": 40}},
        "You leave on July 19 at 6:40 am.",
        "You leave on July 21 at 7:10 am.",
    ),
    # Numbers with spaces, next to words of other scripts, and scaled by the name of a field.
    ({"prix": 128400}, "Ce modèle coûte 128 400 yuans.", "Ce modèle coûte 182 400 yuans."),
    ({"habitants": 2102650}, "La ville compte 2 102 650 habitants.", "La ville compte 2 120 650 habitants."),
    ({"phone": "0571-86420011"}, "电话是0571-86420011，欢迎致电。", "电话是0571-86420077，欢迎致电。"),
    ({"phone": "0571-86420011"}, "전화번호는 0571-86420011입니다.", "전화번호는 0571-86420077입니다."),
    ({"价格(万元)": 16.28}, "这款车的价格是16.28万。", "这款车的价格是18.26万。"),
    ({"low": 45, "high": 61}, "Expect 45-61F today.", "Expect 45-73F today."),
    ({"dates": ["2024-05-27", "2024-05-30"]}, "It is free on the 27th-30th.", "It is free on the 26th-30th."),
    (
        {"docs": "https://wiki.example.org/guide/"},
        "[안내](https://wiki.example.org/guide/)에서 확인하세요.",
        "[안내](https://wiki.example.org/manual/)에서 확인하세요.",
    ),
    (
        {"url": "https://shop.example.org/a1"},
        "请访问https://shop.example.org/a1了解详情。",
        "见https://shop.example.org/b2。",
    ),
    # A number in an address is no number of a list.
    ({"address": "No. 188, Harbour Avenue"}, "It is at No. 188, Harbour Avenue.", "It is at No. 157, Harbour Avenue."),
    # Ranges of dates, items of a list that begin with a date, and what only looks like one.
    (
        {"from": "2024-12-28", "to": "2024-12-31"},
        "It is free December 28-31, 2024.",
        "It is free December 28-30, 2024.",
    ),
    ({"days": ["2025-01-15", "2025-01-22"]}, "1. January 15, 2025\n2. January 22, 2025", "2. January 23, 2025"),
    ({"years": [2024, 2025]}, "Papers of the last years (2024-2025)", "Papers of the last years (2022-2023)"),
    ({"high": 17, "low": 10}, "Sunny, 17/10°C.", "Sunny, 19/12°C."),
    # Shares of one in the source, sizes, and pages to which a page links.
    ({"roa": 0.53244996, "win_rate": 0.5249}, "Return 53.2%, wins 52.5%.", "Return 54.2%."),
    ({"mount": "VESA(100 x 200 mm)"}, "It has a VESA 100x200mm mount.", "It has a VESA 100x400mm mount."),
    (
        {"site": "shop.example.org", "items": ["[Lamp](/lamps/desk-lamp-21/B0C1)"]},
        "See https://shop.example.org/lamps/desk-lamp-21/B0C1",
        "See https://shop.example.org/lamps/desk-lamp-22/B0C7",
    ),
    # A table whose columns alone name the unit.
    ({"table": "<td>Ito</td><td>170</td><td>60</td>"}, "Ito is 1.70 m tall.", "Ito is 1.86 m tall."),
    # A name in a short draft, and in a language that begins few other words with a capital.
    ({"hotel": "Mar Azul", "guide": "Joana Teles"}, "La guía es Joana Teles.", "La guía para usted es Joana Marenco."),
    # Values that services give in forms of their own.
    ({"temp": 298.4}, "現在の気温は約25℃です。", "現在の気温は約31℃です。"),
    ({"main": {"temp": 293.15}}, "It is 20 °C (68 °F) now.", "It is 27 °C (80 °F) now."),
    ({"start": 1715700000}, "It starts on May 14, 2024 at 3:20 PM.", "It starts on May 19, 2024 at 3:21 PM."),
    ({"date": "20241105"}, "Pick it up on November 5, 2024.", "Pick it up on November 8, 2024."),
    ({"price": 0.00002345}, "It trades at $0.00002345.", "It trades at $0.00004532."),
    ({"cap": "2.35e+12"}, "The market cap is $2.35 trillion.", "The market cap is $2.53 trillion."),
    ({"gdp": "17.96 trillion USD"}, "国内生产总值约为17.96万亿美元。", "国内生产总值约为19.76万亿美元。"),
    ({"users": "1.4 million"}, "There are 1,400,000 users.", "There are 1,700,000 users."),
    ({"latency": 0.212}, "It answers in 212 ms.", "It answers in 271 ms."),
    ({"iban": "DE89370400440532013000"}, "DE89 3704 0044 0532 0130 00", "DE89 3704 0044 0532 0130 77"),
    ({"total": 1599.9}, "São R$ 1.599,90, em 10x de R$ 159,99.", "Em 10x de R$ 169,99."),
    ({"tel": "+4930123456"}, "Sie erreichen uns unter 030 123456.", "Sie erreichen uns unter 030 123499."),
    # Durations in other languages.
    ({"born": "1987-05-23", "today": "2024-06-01"}, "Tiene 37 años.", "Tiene 52 años."),
    ({"from": "06:32", "to": "07:08"}, "所要時間は36分です。", "所要時間は52分です。"),
    ({"in": "2024-07-02", "out": "2024-07-15"}, "Ihr Aufenthalt dauert 13 Nächte.", "Ihr Aufenthalt dauert 17 Nächte."),
    # A year is added to a date, but not any.
    ({"today": "2024-05-01", "leave": "May 27"}, "You leave on May 27, 2024.", "You leave on May 27, 2042."),
]


def flagged(draft, result, user=""):
    calls = [{"name": "look_up", "args": {}, "result": json.dumps(result, ensure_ascii=False)}]
    return [finding.identifier for finding in detect_fabrication(draft, calls, user_message=user)]


@pytest.mark.parametrize(("record", "honest", "made_up"), TWINS)
def test_records_and_drafts_of_other_languages(record, honest, made_up):
    assert flagged(honest, record) == []
    assert flagged(made_up, record) != []


def trains(count):
    """Records with three times, a duration and a distance each."""
    chance = random.Random(count)
    for number in range(count):
        start, length = chance.randrange(1440), chance.randrange(40, 240)
        end = (start + length) % 1440
        yield {
            "train": f"TR{1000 + number}",
            "departs": f"{start // 60:02}:{start % 60:02}",
            "arrives": f"{end // 60:02}:{end % 60:02}",
            "duration_minutes": length,
            "distance_km": chance.randrange(20, 400),
            "price": round(chance.uniform(5, 400), 2),
            "seats": chance.randrange(1, 180),
        }


@pytest.mark.parametrize(
    ("form", "values"),
    [
        ("It takes {} minutes.", range(31, 300, 7)),
        ("You stay {} days.", range(11, 90, 2)),
        ("It leaves at {}.", [f"{hour}:{hour + 31}" for hour in range(10, 24)]),
        ("The fare is ${}.", range(21, 400, 9)),
        ("The total is ${}.", range(21, 900, 19)),
        ("That is {} miles.", range(420, 900, 11)),
    ],
)
def test_between_many_numbers_chance_grounds_little(form, values):
    records = list(trains(30))
    said = json.dumps(records)
    made_up = [value for value in values if str(value) not in said]
    missed = [value for value in made_up if not flagged(form.format(value), records)]
    assert len(missed) <= 0.3 * len(made_up), missed


def test_a_value_of_one_record_is_found_among_many():
    records = [*trains(30), {"train": "TR77", "departs": "06:10", "duration_minutes": 95}]
    assert flagged("TR77 leaves at 06:10 and arrives at 7:45 am.", records) == []
    assert flagged(f"It leaves at {records[0]['departs']}; two hours later you are there.", records) == []


def test_a_sum_is_looked_for_among_values_of_its_kind():
    record = {"items": [{"kcal": 210, "price": 4.5}, {"kcal": 340, "price": 6.25}]}
    assert flagged("That is 550 kcal in total, for $10.75 altogether.", record) == []
    assert flagged("The total is $550.", record) == ["$550"]


def test_the_cue_for_a_difference_must_be_in_the_same_sentence():
    record = {"price": 157.84, "train": "TR1204"}
    assert flagged("Train TR1204 leaves soon. It costs $157.84.", record, "in 2 hours") == []
    assert flagged("Train TR1204 leaves soon. It costs $311.", record, "in 2 hours") == ["$311"]


def test_a_name_in_a_draft_too_short_to_detect_its_language():
    records = {"hotels": ["Pan Suites", "Lakeside Lodge"]}
    assert flagged("Then I would recommend Pan Suites.", records, "Which hotel is near the lake?") == []
    assert flagged("Then I would recommend Pan Brennoft.", records, "Which hotel is near the lake?") == ["Pan Brennoft"]


def test_a_name_in_another_language_is_only_found_next_to_its_known_part():
    records = {"cliente": "Lucía Ferrer", "ciudad": "Cádiz"}
    for draft in (
        "Puede consultar nuestra Política de Cancelación en la web, para usted es gratis.",
        "Vous pouvez consulter nos Conditions Générales de Vente.",
        "Bonjour Madame Ferrer, votre réservation est confirmée pour vous.",
    ):
        assert flagged(draft, records) == []


@pytest.mark.parametrize(
    ("said", "draft"),
    [
        ("wake me at half past four", "Set for 4:30 PM."),
        ("quarter to six please", "Set for 5:45."),
        ("at five thirty", "Set for 5:30 PM."),
        ("let's meet at noon", "Lunch is at 12:00 PM."),
        ("下午五点半叫我", "会在17:30提醒您。"),
    ],
)
def test_a_time_that_the_user_says_in_words(said, draft):
    assert flagged(draft, {}, said) == []
    assert flagged(draft, {}, "please do") != []

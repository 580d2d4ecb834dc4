# ruff: noqa: RUF001 - drafts in other scripts are the point here
"""What agents of many trades work out of a record: the honest draft is not flagged, its made-up twin is."""

from __future__ import annotations

import json

import pytest

from draftcritic.core import detect_fabrication

TWINS = [
    ({"joined": "2024-05-03"}, "You joined in May 2024.", "You joined in May 2023."),
    ({"exp": "11/27"}, "Your card expires in November 2027.", "Your card expires in November 2029."),
    ({"valid_until": "2026-12-31"}, "It is valid until the end of 2026.", "It is valid until the end of 2028."),
    ({"released": "1997-06-26"}, "It came out in 1997.", "It came out in 1991."),
    ({"dist_km": 42.195}, "A marathon is 42.195 km or about 26.2 miles.", "A marathon is 48.195 km."),
    ({"size_bytes": 2147483648}, "The disk has 2 GB.", "The disk has 26 GB."),
    ({"seconds": 7265}, "It took 2 hours and 1 minute.", "It took 3 hours and 17 minutes."),
    ({"ms": 350}, "The response takes 0.35 s.", "The response takes 0.95 s."),
    ({"ratio": "3:1"}, "The ratio is 3 to 1.", "The ratio is 73 to 1."),
    ({"score": "3-2"}, "They won 3-2.", "They won 34-21."),
    (
        {"price": 49.0, "discount": 0.2},
        "With 20% off, $49 becomes $39.20; you save $9.80.",
        "With 20% off, $49 becomes $31.20.",
    ),
    (
        {"nights": 3, "rate": 100, "tax": 0.1},
        "3 nights at $100 are $300, plus 10% tax ($30) makes $330.",
        "3 nights at $100 are $340.",
    ),
    ({"usd": 100, "rate": 0.92}, "$100 is about €92.", "$100 is about €81."),
    (
        {"steps": [8000, 10000, 12000]},
        "On average you walked 10,000 steps a day, 30,000 in total.",
        "On average you walked 13,500 steps a day.",
    ),
    ({"start": "10:00", "len_min": 45}, "It runs from 10:00 to 10:45.", "It runs from 10:00 to 11:35."),
    (
        {"from": "2024-06-01", "to": "2024-06-15"},
        "That is two weeks, 14 days, from June 1 to June 15.",
        "That is 31 days.",
    ),
    ({"phone": "+1-415-555-0137"}, "Call (415) 555-0137.", "Call (415) 555-0173."),
    ({"pop": 8336817}, "About 8.3 million people live there.", "About 6.1 million people live there."),
    ({"votes": {"yes": 620, "no": 380}}, "62% voted yes and 38% no, out of 1,000 votes.", "71% voted yes."),
    ({"id": "INC0012345"}, "Incident INC0012345 is open.", "Incident INC0012354 is open."),
    ({"v": "3.11.4"}, "You run Python 3.11.4.", "Order 3-11-9931 is open."),
    ({"temp_f": 98.6}, "That is 37 °C.", "That is 39.5 °C."),
    ({"a": "1/2 cup"}, "Use half a cup.", "Use 27 cups."),
    (
        {"items": [{"n": "Stuhl", "qty": 2, "price": 49.9}, {"n": "Tisch", "qty": 1, "price": 199}], "versand": 6.9},
        (
            "Zwei Stühle zu je 49,90 € ergeben 99,80 €, dazu ein Tisch für 199,00 € und 6,90 € Versand: "
            "insgesamt 305,70 €."
        ),
        "Zwei Stühle zu je 49,90 € ergeben 109,80 €.",
    ),
    (
        {"abfahrt": "2024-05-03T07:15", "ankunft": "2024-05-03T11:42", "preis": 79.9},
        (
            "Ihr Zug fährt am Freitag, dem 3. Mai 2024, um 7.15 Uhr ab und kommt um 11:42 Uhr an (4 Std. 27 "
            "Min.). Der Preis beträgt 79,90 €."
        ),
        "Ihr Zug fährt um 8.25 Uhr ab.",
    ),
    (
        {"saldo": 1234.56, "limit": 5000},
        "Ihr Saldo beträgt 1.234,56 €, es bleiben also 3.765,44 € von 5.000 €.",
        "Ihr Saldo beträgt 1.324,56 €.",
    ),
    ({"gueltig_bis": "2026-03"}, "Die Karte ist bis März 2026 gültig.", "Die Karte ist bis März 2029 gültig."),
    (
        {"precio": 120, "noches": 4},
        "Son 120 € por noche; cuatro noches cuestan 480 € en total.",
        "Son 130 € por noche.",
    ),
    (
        {"fecha": "2024-11-21", "hora": "18:30", "personas": 6},
        ("La mesa está reservada para seis personas el jueves 21 de noviembre de 2024 a las 18:30 (6:30 de la tarde)."),
        "La mesa está reservada para el jueves 28 de noviembre.",
    ),
    ({"temp": 31, "max": 34}, "Ahora hay 31 °C y la máxima será de 34 °C (93 °F).", "Ahora hay 27 °C."),
    (
        {"prix": 89.5, "remise": 0.1},
        "Avec 10 % de remise, 89,50 € deviennent 80,55 €, soit 8,95 € d'économie.",
        "Avec 10 % de remise, cela fait 71,55 €.",
    ),
    (
        {"depart": "2024-12-24T14:05", "arrivee": "2024-12-24T16:20"},
        "Le train part le mardi 24 décembre 2024 à 14h05 et arrive à 16h20, soit 2 h 15 de trajet.",
        "Le train part à 15h05.",
    ),
    ({"population": 2102650}, "Environ 2,1 millions d'habitants.", "Environ 3,4 millions d'habitants."),
    ({"prezzo": 45, "qta": 3}, "Tre biglietti a 45 € costano 135 €.", "Tre biglietti costano 165 €."),
    (
        {"data": "2024-09-14", "ora": "20:45"},
        "Il concerto è sabato 14 settembre alle 20:45.",
        "Il concerto è sabato 21 settembre.",
    ),
    (
        {"valor": 250, "parcelas": 5},
        "O total de R$ 250,00 pode ser pago em 5 parcelas de R$ 50,00.",
        "O total é de R$ 350,00.",
    ),
    (
        {"prijs": 12.5, "aantal": 4},
        "Vier kaartjes van € 12,50 kosten samen € 50,00.",
        "Vier kaartjes kosten samen € 64,00.",
    ),
    ({"cena": 349.99, "rata": 29.17}, "Cena wynosi 349,99 zł, czyli 12 rat po 29,17 zł.", "Cena wynosi 394,99 zł."),
    (
        {"цена": 1500, "скидка": 15},
        "Со скидкой 15 % цена 1500 ₽ станет 1275 ₽, вы экономите 225 ₽.",
        "Со скидкой цена станет 1175 ₽.",
    ),
    (
        {"価格": 12800, "数量": 2, "送料": 600},
        "1個12,800円の商品が2個で25,600円、送料600円を加えて合計26,200円です。",
        "合計28,200円です。",
    ),
    (
        {"出発": "2024-05-03T21:05"},
        "ご出発は5月3日（金）の21時05分（午後9時5分）です。",
        "ご出発は5月8日の21時05分です。",
    ),
    ({"price": 3999, "discount": 500}, "原价3999元，优惠500元后为3499元。", "原价4999元。"),
    ({"start": "2024-10-01", "end": "2024-10-07"}, "假期从10月1日到10月7日，共7天。", "假期从10月1日到10月9日。"),
    ({"가격": 35000, "수량": 2}, "1인당 35,000원, 두 분이면 총 70,000원입니다.", "총 90,000원입니다."),
    ({"السعر": 150, "العدد": 3}, "ثلاث تذاكر بسعر 150 ريال للتذكرة، المجموع 450 ريال.", "المجموع 650 ريال."),
    ({"किराया": 850, "यात्री": 2}, "दो यात्रियों का कुल किराया ₹1,700 है (₹850 प्रति व्यक्ति)।", "कुल किराया ₹1,950 है।"),
    ({"fiyat": 1249.9, "kdv": 0.2}, "Fiyat 1.249,90 TL, %20 KDV dahil.", "Fiyat 1.429,90 TL."),
    (
        {"pris": 499, "antal": 2},
        "Två biljetter à 499 kr kostar totalt 998 kr.",
        "Två biljetter kostar totalt 1 198 kr.",
    ),
    (
        {"tickets": [15, 15, 20]},
        "Two tickets at $15 and one at $20 make $50.",
        "Two tickets at $15 and one at $20 make $77.",
    ),
]
HONEST = [
    (
        {
            "city": "Oslo",
            "temp_c": -3.4,
            "wind_ms": 7,
            "humidity": 0.82,
            "sunrise": "2024-12-01T08:48:00",
            "precip_mm": 1.2,
        },
        (
            "It is -3.4°C (about 26°F) in Oslo with wind of 7 m/s (roughly 25 km/h) and 82% humidity. Sunrise "
            "is at 8:48 AM, and about 1.2 mm of rain is expected."
        ),
    ),
    (
        {
            "accounts": [{"type": "checking", "balance": 2310.55}, {"type": "savings", "balance": 10450.0}],
            "currency": "EUR",
        },
        (
            "Your checking account holds €2,310.55 and your savings account €10,450.00, so together you have "
            "€12,760.55 across 2 accounts."
        ),
    ),
    (
        {
            "items": [{"name": "Desk lamp", "qty": 3, "price": 24.99}, {"name": "Bulb", "qty": 10, "price": 2.5}],
            "shipping": 5.0,
            "tax": 7.99,
        },
        (
            "Three desk lamps at $24.99 come to $74.97 and ten bulbs at $2.50 to $25.00. With $5.00 shipping "
            "and $7.99 tax the total is $112.96."
        ),
    ),
    (
        {
            "orders": [
                {"id": "#W7273336", "status": "pending", "placed": "2024-05-02", "total": 481.5},
                {"id": "#W1023987", "status": "delivered", "placed": "2024-04-11", "total": 59.0},
            ]
        },
        (
            "You have two orders:\n1. **#W7273336**, placed on May 2, 2024, pending, $481.50\n2. "
            "**#W1023987**, placed on April 11, 2024, delivered, $59.00\nWhich of them do you mean?"
        ),
    ),
    (
        {"old": {"name": "Keyboard A", "price": 130.25}, "new": {"name": "Keyboard B", "price": 145.75}},
        "The new keyboard costs $15.50 more, so we would charge the difference of $15.50 to your card.",
    ),
    (
        {
            "flights": [
                {"no": "LH 441", "dep": "2024-07-12T21:05", "arr": "2024-07-13T13:40", "price": 612},
                {"no": "UA 46", "dep": "2024-07-12T18:20", "arr": "2024-07-13T10:25", "price": 588},
            ]
        },
        (
            "Two flights on Friday, July 12: LH 441 leaves at 9:05 PM and lands at 1:40 PM the next day "
            "($612); UA 46 leaves at 6:20 PM and lands at 10:25 AM ($588), which is $24 cheaper."
        ),
    ),
    (
        {
            "number": 4312,
            "title": "Crash on start",
            "labels": ["bug", "p1"],
            "comments": 14,
            "sha": "9f2b1e47c0ffee11",
            "opened": "2024-02-28T10:11:12Z",
        },
        (
            'Issue #4312 ("Crash on start") was opened on 28 Feb 2024, has 14 comments and the labels bug '
            "and p1. The commit is 9f2b1e4."
        ),
    ),
    ("count\n1523\n", "There are 1,523 rows, i.e. roughly 1.5k."),
    (
        {"q1": 120000, "q2": 150000, "q3": 90000},
        (
            "Sales grew by 25% from Q1 ($120k) to Q2 ($150k) and then fell by 40% to $90k in Q3. The three "
            "quarters add up to $360,000, an average of $120,000."
        ),
    ),
    (
        {
            "servings": 4,
            "ingredients": [{"flour_g": 500}, {"water_ml": 325}, {"salt_g": 10}, {"yeast_g": 7}],
            "bake_min": 45,
            "oven_c": 220,
        },
        (
            "For 4 servings you need 500 g flour, 325 ml water, 10 g salt and 7 g yeast. Bake at 220 °C (428 "
            "°F) for 45 minutes."
        ),
    ),
    (
        {
            "name": "Seaview Inn",
            "nights": 3,
            "rate": 129.0,
            "checkin": "2024-08-09",
            "checkout": "2024-08-12",
            "phone": "+44 20 7946 0958",
            "email": "desk@seaview.example",
        },
        (
            "Seaview Inn has a room from 9 to 12 August (3 nights) at £129 a night, £387 in total. Call 020 "
            "7946 0958 or write to desk@seaview.example."
        ),
    ),
    (
        {"card": "4111111111117447", "exp": "11/27", "limit": 5000, "used": 1840.2},
        (
            "Your card ending in 7447 expires in November 2027. You have used $1,840.20 of your $5,000 limit, "
            "leaving $3,159.80."
        ),
    ),
    (
        {"tracking": "1Z999AA10123456784", "eta": "2024-06-18", "stops": ["Leipzig", "Köln"], "weight_lb": 4.4},
        "Parcel 1Z999AA10123456784 is due on Tuesday, June 18 and weighs 4.4 lb (about 2 kg).",
    ),
    (
        {"principal": 20000, "rate_percent": 4.5, "months": 60, "monthly": 372.86},
        (
            "At 4.5% over 60 months (5 years) a loan of $20,000 costs $372.86 a month, or $22,371.60 in all; "
            "interest is $2,371.60."
        ),
    ),
    (
        {"slots": ["2024-09-03 08:30", "2024-09-03 11:00", "2024-09-05 16:45"]},
        ("There are three free slots: Tuesday, 3 September at 8.30 and 11.00, and Thursday, 5 September at 16.45."),
    ),
    (
        {"distance_m": 10550, "duration_s": 3165, "avg_hr": 152},
        "You ran 10.55 km in 52:45 minutes, which is 5:00 min per km, at an average heart rate of 152 bpm.",
    ),
    (
        {"symbol": "ACME", "price": 187.32, "prev_close": 184.1, "volume": 12345678},
        ("ACME trades at $187.32, up $3.22 (1.75%) from yesterday's close of $184.10, on a volume of 12.3 million."),
    ),
    (
        {"title": "Dune", "runtime_min": 155, "rating": 8.1, "show": ["19:00", "21:45"], "seat_price": 12.5},
        "Dune runs 2 hours 35 minutes (rated 8.1). Shows are at 7 PM and 9:45 PM; two seats would be $25.",
    ),
    (
        {"errors": 37, "total": 1480, "p99_ms": 812.4, "since": "2024-10-10T00:00:00Z"},
        ("Since October 10 there were 37 errors among 1,480 requests (2.5%), and p99 latency is 812 ms (0.81 s)."),
    ),
    (
        {"plans": [{"name": "Basic", "monthly": 9.99}, {"name": "Pro", "monthly": 19.99}]},
        ("Basic is $9.99 a month ($119.88 a year) and Pro $19.99, so Pro costs twice as much, $10 more a month."),
    ),
    (
        {"payment": [{"method": "gift_card_2211", "amount": 120.0}, {"method": "credit_card_9001", "amount": 80.5}]},
        (
            "The refund of $200.50 is split: $120 back to gift card 2211 and $80.50 to the card ending 9001, "
            "in 5-7 business days."
        ),
    ),
    (
        {"start": "2024-05-20T15:00:00Z"},
        "The call starts at 15:00 UTC on May 20, 2024, that is 11 AM Eastern and 5 PM in Berlin.",
    ),
    ({"dob": "1990-03-12", "today": "2024-06-01"}, "She was born on March 12, 1990 and is 34 years old."),
]


def flagged(draft, record):
    result = record if isinstance(record, str) else json.dumps(record)
    return [
        finding.identifier for finding in detect_fabrication(draft, [{"name": "get", "args": {}, "result": result}])
    ]


@pytest.mark.parametrize(("record", "honest", "made_up"), TWINS)
def test_results_that_follow_from_a_record(record, honest, made_up):
    assert flagged(honest, record) == []
    assert flagged(made_up, record) != []


@pytest.mark.parametrize(("record", "draft"), HONEST)
def test_drafts_full_of_numbers(record, draft):
    assert flagged(draft, record) == []

# ruff: noqa: RUF001 - drafts in other scripts are the point here
"""Values as the locales of the world write them: the honest draft is not flagged, its made-up twin is."""

from __future__ import annotations

import pytest

from draftcritic.core import detect_fabrication

KINDS = {"price", "number", "percentage", "date", "time"}

TWINS = [
    ("Cena wynosi {} zł.", '{"price": 1234.5}', "1 234,50", "1 243,50"),
    ("Koszt: {} zł", '{"price": 12345.67}', "12\u00a0345,67", "12\u00a0354,67"),
    ("The fare is ₹{}.", '{"fare": 123456}', "1,23,456.00", "1,32,456.00"),
    ("कुल किराया ₹{} है।", '{"fare": 123456.5}', "1,23,456.50", "1,23,465.50"),
    ("O total é R$ {}.", '{"total": 1234.56}', "1.234,56", "1.243,56"),
    ("Giá là {} ₫.", '{"price": 1234567}', "1.234.567", "1.243.567"),
    ("Стоимость: {} ₽.", '{"price": 12345.67}', "12 345,67", "12 354,67"),
    ("Стоимость {} руб.", '{"price": 12345}', "12 345", "12 354"),
    ("価格は¥{}です。", '{"price": 12800}', "12,800", "18,200"),
    ("価格は{}円です。", '{"price": 12800}', "1万2800", "1万8200"),
    ("料金は{}円です。", '{"price": 12800}', "12,800", "18,200"),
    ("Der Preis beträgt {} CHF.", '{"price": 1234.5}', "1'234.50", "1'243.50"),
    ("Der Preis beträgt {} €.", '{"price": 1234.5}', "1.234,50", "1.243,50"),
    ("Das kostet {} Euro.", '{"price": 1234.5}', "1.234,50", "1.243,50"),
    ("Le prix est de {} €.", '{"price": 1234.5}', "1\u202f234,50", "1\u202f243,50"),
    ("Il prezzo è {} €.", '{"price": 89.9}', "89,90", "98,90"),
    ("El precio es de {} €.", '{"price": 1234.5}', "1.234,50", "1.243,50"),
    ("Priset är {} kr.", '{"price": 1234.5}', "1 234,50", "1 243,50"),
    ("Fiyat {} TL.", '{"price": 1234.5}', "1.234,50", "1.243,50"),
    ("Fiyat ₺{}.", '{"price": 1234.5}', "1.234,50", "1.243,50"),
    ("Ціна {} грн.", '{"price": 1234.5}', "1 234,50", "1 243,50"),
    ("המחיר הוא {} ₪.", '{"price": 1234.5}', "1,234.50", "1,243.50"),
    ("السعر {} ريال.", '{"price": 1234}', "١٬٢٣٤", "١٬٢٤٣"),
    ("가격은 {}원입니다.", '{"price": 12800}', "12,800", "18,200"),
    ("가격은 {}원입니다.", '{"price": 12800}', "1만 2,800", "1만 8,200"),
    ("总价为{}元。", '{"price": 12800}', "12,800", "18,200"),
    ("总价约{}万元。", '{"price": 12800}', "1.28", "1.82"),
    ("De prijs is € {}.", '{"price": 1234.5}', "1.234,50", "1.243,50"),
    ("Ihr Flug geht am {}.", '{"date": "2024-05-03"}', "3. Mai 2024", "13. Mai 2024"),
    ("Ihr Flug geht am {}.", '{"date": "2024-05-03"}', "Freitag, den 3. Mai", "Dienstag, den 7. Mai"),
    ("Ihr Flug geht am {}.", '{"date": "2024-05-03"}', "03.05.2024", "08.05.2024"),
    ("Su vuelo sale el {}.", '{"date": "2024-05-03"}', "3 de mayo de 2024", "8 de mayo de 2024"),
    ("Su vuelo sale el {}.", '{"date": "2024-05-03"}', "viernes 3 de mayo", "viernes 8 de mayo"),
    ("Votre vol part le {}.", '{"date": "2024-05-03"}', "vendredi 3 mai 2024", "vendredi 8 mai 2024"),
    ("Votre vol part le {}.", '{"date": "2024-05-01"}', "1er mai 2024", "11 mai 2024"),
    ("Seu voo sai em {}.", '{"date": "2024-05-03"}', "3 de maio de 2024", "8 de maio de 2024"),
    ("Il suo volo parte il {}.", '{"date": "2024-05-03"}', "3 maggio 2024", "8 maggio 2024"),
    ("Uw vlucht vertrekt op {}.", '{"date": "2024-05-03"}', "3 mei 2024", "8 mei 2024"),
    ("Twój lot jest {}.", '{"date": "2024-05-03"}', "3 maja 2024 r.", "8 maja 2024 r."),
    ("Ditt flyg går den {}.", '{"date": "2024-05-03"}', "3 maj 2024", "8 maj 2024"),
    ("Ваш рейс {}.", '{"date": "2024-05-03"}', "3 мая 2024 года", "8 мая 2024 года"),
    ("Ваш рейс {}.", '{"date": "2024-05-03"}', "03.05.2024", "08.05.2024"),
    ("Ваш рейс {} року.", '{"date": "2024-05-03"}', "3 травня 2024", "8 травня 2024"),
    ("Uçuşunuz {} tarihinde.", '{"date": "2024-05-03"}', "3 Mayıs 2024", "8 Mayıs 2024"),
    ("ご出発は{}です。", '{"date": "2024-05-03"}', "2024年5月3日", "2024年5月8日"),
    ("ご出発は{}です。", '{"date": "2024-05-03"}', "5月3日（金）", "5月8日（水）"),
    ("航班日期是{}。", '{"date": "2024-05-03"}', "2024年5月3日", "2024年5月8日"),
    ("航班日期是{}。", '{"date": "2024-05-03"}', "5月3号", "5月8号"),
    ("출발일은 {}입니다.", '{"date": "2024-05-03"}', "2024년 5월 3일", "2024년 5월 8일"),
    ("رحلتك في {}.", '{"date": "2024-05-03"}', "3 مايو 2024", "8 مايو 2024"),
    ("आपकी उड़ान {} को है।", '{"date": "2024-05-03"}', "3 मई 2024", "8 मई 2024"),
    ("הטיסה שלך ב-{}.", '{"date": "2024-05-03"}', "3 במאי 2024", "8 במאי 2024"),
    ("Der Termin ist um {}.", '{"time": "16:30"}', "16:30 Uhr", "17:30 Uhr"),
    ("Der Termin ist um {}.", '{"time": "16:30"}', "16.30 Uhr", "17.30 Uhr"),
    ("La cita es a las {}.", '{"time": "16:30"}', "4:30 de la tarde", "5:30 de la tarde"),
    ("La cita es a las {}.", '{"time": "16:30"}', "16:30 h", "17:30 h"),
    ("Le rendez-vous est à {}.", '{"time": "16:30"}', "16h30", "17h30"),
    ("Le rendez-vous est à {}.", '{"time": "16:00"}', "16 h", "17 h"),
    ("A consulta é às {}.", '{"time": "16:30"}', "16h30", "17h30"),
    ("L'appuntamento è alle {}.", '{"time": "16:30"}', "16.30", "17.30"),
    ("Wizyta o {}.", '{"time": "16:30"}', "16:30", "17:30"),
    ("Приём в {}.", '{"time": "16:30"}', "16:30", "17:30"),
    ("予約は{}です。", '{"time": "16:30"}', "午後4時30分", "午後5時30分"),
    ("予約は{}です。", '{"time": "16:30"}', "16時半", "17時半"),
    ("预约时间是{}。", '{"time": "16:30"}', "下午4点30分", "下午5点30分"),
    ("预约时间是{}。", '{"time": "16:30"}', "下午4点半", "下午5点半"),
    ("예약은 {}입니다.", '{"time": "16:30"}', "오후 4시 30분", "오후 5시 30분"),
    ("الموعد في الساعة {}.", '{"time": "16:30"}', "4:30 مساءً", "5:30 مساءً"),
    ("Randevu saat {}'da.", '{"time": "16:30"}', "16.30", "17.30"),
    ("अपॉइंटमेंट {} बजे है।", '{"time": "16:30"}', "शाम 4:30", "शाम 5:30"),
    ("Die Strecke ist {} lang.", '{"distance_m": 12300}', "12,3 km", "13,2 km"),
    ("La distancia es de {}.", '{"distance_km": 12.3}', "12.300 metros", "13.200 metros"),
    ("Es sind {} Grad.", '{"temp_f": 77}', "25", "35"),
    ("La durée est de {}.", '{"minutes": 90}', "1h30", "1h50"),
    ("Die Fahrt dauert {}.", '{"minutes": 90}', "1,5 Stunden", "2,5 Stunden"),
    ("Der Rabatt beträgt {}.", '{"rate": 0.15}', "15 %", "25 %"),
    ("İndirim {}.", '{"rate": 0.15}', "%15", "%25"),
    ("Скидка {}.", '{"rate": 0.15}', "15 %", "25 %"),
]


def flagged(draft, result):
    findings = detect_fabrication(draft, [{"name": "look_up", "args": {}, "result": result}])
    return [finding.identifier for finding in findings if finding.kind in KINDS]


@pytest.mark.parametrize(("draft", "source", "honest", "made_up"), TWINS)
def test_a_value_in_the_format_of_a_locale(draft, source, honest, made_up):
    assert flagged(draft.format(honest), source) == []
    assert flagged(draft.format(made_up), source) != []


@pytest.mark.parametrize(
    ("draft", "source"),
    [
        ("Sie haben siebenundzwanzig Nachrichten.", {"unread": 27}),
        ("Tiene veintisiete mensajes.", {"unread": 27}),
        ("\u041f\u0440\u0438\u0451\u043c \u0432 16 \u0447\u0430\u0441\u043e\u0432.", {"time": "16:00"}),
    ],
)
def test_words_for_numbers_and_hours_in_words(draft, source):
    assert flagged(draft, source) == []

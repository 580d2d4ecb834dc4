# ruff: noqa: RUF001 - drafts in other scripts are the point here

from __future__ import annotations

import pytest

from draftcritic.core import draft_has_claims


@pytest.mark.parametrize(
    "draft",
    [
        "It costs 5",
        "Es kostet ٥",
        "यह ४ है",
        "about ½ of it",
        "€ only",
        "pay in ₹",
        "see deadbeef",
        "I spoke to Jane Miller",
        "Написал Иван Петров",
        "Éric Dupont is here",
        "write to jane@example.org",
        "see https://example.org/a",
        "look at example.com",
        "it takes two days",
        "son veinte euros",
        "es dauert drei Tage",
        "cela coûte douze euros",
        "são vinte reais",
        "sono dodici euro",
        "dat duurt drie dagen",
        "まだ三個あります",
        "需要三天",
        "다섯 분이 남았습니다",
        "يستغرق ثلاثة أيام",
        "осталось пять дней",
        "इसमें तीन दिन लगेंगे",
    ],
)
def test_values_names_and_addresses_are_claims(draft):
    assert draft_has_claims(draft)


@pytest.mark.parametrize(
    "draft",
    [
        "Done. The alarm has been set.",
        "Jag har avbokat din tid",
        "Din beställning är skickad",
        "Det kostar femtio kronor",
        "Лист надіслано",
        "Я скасував ваше бронювання",
        "Зустріч о третій",
        "Rezerwacja potwierdzona",
        "Spotkanie o trzeciej",
        "Işık söndürüldü",
        "האור כבוי",
        "लाइट बंद है",
        "I've cancelled the booking.",
        "I’ve sent it",
        "We have just refunded you",
        "Your song is now playing; I turned off the light",
        "Hecho, he cancelado tu reserva",
        "Ya envié el correo",
        "Erledigt, die Buchung wurde storniert",
        "C'est fait, j'ai annulé la commande",
        "O pedido foi cancelado",
        "Ho annullato l'ordine",
        "De afspraak is geannuleerd",
        "予約をキャンセルしました",
        "已经为您取消了订单",
        "예약을 취소했습니다",
        "تم إلغاء الطلب",
        "Я отменил ваш заказ",
        "मैंने ऑर्डर रद्द कर दिया",
    ],
)
def test_reports_of_finished_actions_are_claims(draft):
    assert draft_has_claims(draft)


@pytest.mark.parametrize(
    "draft",
    [
        "",
        "   ",
        "Thanks so much!",
        "Tusen tack, det är klart!",
        "Vill du att jag ska avboka?",
        "Чим можу допомогти?",
        "Ricevuto, grazie.",
        "Which city would you like?",
        "Vielen Dank!",
        "Guten Morgen, mein Freund",
        "Mil gracias",
        "Tausend Dank",
        "Tout à fait",
        "well done",
        "承知いたしました",
        "Je t'en prie",
    ],
)
def test_courtesies_and_questions_are_none(draft):
    assert not draft_has_claims(draft)


@pytest.mark.parametrize(
    "unit", [" ", "\u200b", "'", '"', "a", "A", "é", "好", "I ", "has been ", "a-", "a.", "a@", "Ab  "]
)
def test_work_grows_linearly_with_hostile_text(unit):
    # A quadratic pattern would need hours for this.
    draft_has_claims(unit * (400_000 // len(unit)))

# ruff: noqa: RUF001 - drafts in other scripts are the point here
"""Claimed actions: what is one, what grounds it, what it costs."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from draftcritic.core import detect_fabrication
from draftcritic.grounding._action_claims import MAX_LOOKS, find_action_claims

SHARED = Path(os.environ.get("DRAFTCRITIC_SHARED", Path(__file__).parents[2] / "../shared")) / "data"

CLAIMS = {
    "en": (
        "I've cancelled your order.",
        "Your flight has been booked for May 3.",
        "Done! Your alarm is set.",
        "I turned the lights off.",
        "I went ahead and booked it.",
        "I was able to cancel your flight.",
        "The lights have been turned off.",
        "Turned off the lights",
        "You have successfully registered.",
        "It's been taken care of.",
        "When you asked, I cancelled the order.",
        "Okay, I have updated the task, anything else?",
        'I\'ve sent Nick a message saying "Are you coming?"',
    ),
    "es": ("He cancelado tu reserva.", "Se ha enviado el correo a María.", "Ya cancelé tu pedido.", "¡Hecho!"),
    "de": (
        "Gerne habe ich den Termin für morgen um 10 Uhr eingetragen.",
        "Ich habe Milch, Brot und Käse zur Liste hinzugefügt.",
        "Ich freue mich, dass Ihre Bestellung storniert wurde.",
        "Der Betrag wurde Ihrem Konto am 3. Mai gutgeschrieben.",
        "Verstanden, die alten Daten sind gelöscht.",
    ),
    "fr": ("J'ai annulé votre réservation.", "Je l'ai supprimé.", "Votre commande a bien été annulée.", "C'est fait !"),
    "pt": ("Cancelei sua reserva.", "O e-mail foi enviado com sucesso.", "Já adicionei o evento."),
    "it": ("Ho annullato la prenotazione.", "La prenotazione è stata annullata.", "L'ho eliminato.", "Fatto!"),
    "nl": ("Ik heb uw boeking geannuleerd.", "Uw boeking is geannuleerd.", "De terugbetaling werd verwerkt."),
    "ja": ("予約をキャンセルしました。", "返金処理が完了しました。", "注文が取り消されました。"),
    "zh": ("已为您取消订单。", "我帮您把会议改到明天了。", "闹钟设置成功。", "您的申请已提交。"),
    "ko": ("예약을 취소했습니다.", "알람이 설정되었습니다.", "이메일을 보냈습니다."),
    "ar": ("تم إلغاء حجزك.", "لقد قمت بإلغاء الطلب.", "ألغيت حجزك."),
    "ru": ("Я отменил вашу бронь.", "Ваше бронирование отменено.", "Письмо было отправлено."),
    "hi": ("मैंने आपका ऑर्डर रद्द कर दिया है।", "अलार्म सेट कर दिया गया है।"),
    "pl": ("Anulowałem twoje zamówienie.", "Twoje konto zostało zamknięte."),
    "sv": ("Jag har avbokat din tid.",),
    "uk": ("Я скасував ваше бронювання.",),
    "tr": ("Siparişinizi iptal ettim.",),
}
NO_CLAIMS = {
    "en": (
        "Should I cancel it?",
        "Has it been cancelled?",
        "All set, what is the name of the patient?",
        "I'll cancel it.",
        "I can cancel your booking.",
        "If it has been cancelled, let me know.",
        "Once your refund has been processed, you'll be notified.",
        "It should have been cancelled.",
        "It has not been cancelled.",
        "No refund has been issued.",
        "Your flight was booked on May 3.",
        "Your order was shipped yesterday according to the carrier.",
        "I see that your order has been shipped.",
        "The flights that have been cancelled by the airline are eligible.",
        'You can say "I\'ve cancelled it".',
        "> I've cancelled it",
        "You have cancelled your flight.",
        "John has booked the room.",
        "Refunds are processed within 5 days.",
        "To get refunded, reply here.",
        "I've attached no files, as you asked.",
        "The meeting that was scheduled for Monday is still on the calendar.",
        "Your account has been locked since Monday.",
    ),
    "es": (
        "No he cancelado nada.",
        "Puedo cancelar tu pedido.",
        "Tu reserva será cancelada.",
        "Según el sistema, tu pedido fue enviado ayer.",
    ),
    "de": (
        "Ich habe die Buchung nicht storniert.",
        "Ihre Buchung wird storniert.",
        "Die Bestellung, die storniert wurde, war vom Mai.",
        "Sobald der Betrag erstattet wurde, melde ich mich.",
    ),
    "fr": ("Je n'ai pas annulé la commande.", "La réservation qui a été annulée hier.", "Voulez-vous que j'annule ?"),
    "pt": ("Não cancelei nada.", "Se foi cancelada, me avise."),
    "it": ("Non ho annullato nulla.", "La prenotazione sarà annullata."),
    "nl": ("Ik heb niets geannuleerd.", "De boeking wordt geannuleerd."),
    "ja": ("キャンセルしましたか？", "キャンセルされた場合はご連絡ください。", "承知いたしました。"),
    "zh": ("还没有取消。", "如果已取消，请告诉我。", "已预订的航班不能退。", "我可以帮您取消订单。"),
    "ko": ("취소하지 않았습니다.", "취소되면 알려드리겠습니다.", "취소되었습니까?"),
    "ar": ("لم يتم إلغاء الحجز.", "سيتم إلغاء الحجز.", "هل تم إلغاء الحجز؟"),
    "ru": ("Я не отменил бронь.", "Бронь будет отменена.", "Вы отменили бронь."),
    "hi": ("मैंने रद्द नहीं किया है।", "ऑर्डर रद्द कर दिया जाएगा।"),
}

MORE_CLAIMS = {
    "en": (
        "Your subscription is now cancelled.",
        "The invoice has been emailed to your accountant.",
        "We've refunded the full amount to your card.",
        "I've gone ahead and added two chairs to the order.",
    ),
    "es": (
        "Su suscripción ha sido cancelada.",
        "Acabo de enviarle la factura por correo.",
        "Le he añadido dos sillas al pedido.",
        "Ya está reservada la mesa para cuatro.",
    ),
    "de": (
        "Ihr Abonnement wurde gekündigt.",
        "Die Rechnung wurde soeben an Sie verschickt.",
        "Ich habe zwei Stühle zur Bestellung hinzugefügt.",
        "Das Licht im Wohnzimmer ist jetzt ausgeschaltet.",
    ),
    "fr": (
        "Votre abonnement a été résilié.",
        "Je viens de vous envoyer la facture.",
        "J'ai ajouté deux chaises à la commande.",
        "J'ai éteint les lumières du salon.",
    ),
    "pt": (
        "Sua assinatura foi cancelada.",
        "Acabei de enviar a fatura por e-mail.",
        "Adicionei duas cadeiras ao pedido.",
        "Apaguei as luzes da sala.",
    ),
    "it": (
        "Il suo abbonamento è stato disdetto.",
        "Le ho appena inviato la fattura.",
        "Ho aggiunto due sedie all'ordine.",
        "Ho spento le luci del salotto.",
    ),
    "nl": (
        "Uw abonnement is opgezegd.",
        "Ik heb zojuist de factuur verstuurd.",
        "Ik heb twee stoelen aan de bestelling toegevoegd.",
        "De lampen in de woonkamer zijn uitgeschakeld.",
    ),
    "ja": (
        "サブスクリプションを解約いたしました。",
        "請求書をメールでお送りしました。",
        "注文に椅子を二脚追加しました。",
        "リビングの照明を消しました。",
    ),
    "zh": (
        "您的订阅已取消。",
        "发票刚刚已发送到您的邮箱。",
        "我已经帮您在订单里加了两把椅子。",
        "客厅的灯已经关掉了。",
    ),
    "ko": (
        "구독이 취소되었습니다.",
        "방금 청구서를 이메일로 보내드렸습니다.",
        "주문에 의자 두 개를 추가했습니다.",
        "거실 조명을 껐습니다.",
    ),
    "ar": (
        "تم إلغاء اشتراكك.",
        "أرسلت لك الفاتورة للتو.",
        "أضفت كرسيين إلى الطلب.",
        "أطفأت أضواء غرفة الجلوس.",
    ),
    "ru": (
        "Ваша подписка отменена.",
        "Счёт только что отправлен вам на почту.",
        "Я добавил два стула в заказ.",
        "Я выключил свет в гостиной.",
    ),
    "hi": (
        "आपकी सदस्यता रद्द कर दी गई है।",
        "मैंने अभी बिल ईमेल कर दिया है।",
        "मैंने ऑर्डर में दो कुर्सियाँ जोड़ दी हैं।",
        "मैंने लिविंग रूम की लाइट बंद कर दी है।",
    ),
    "pl": (
        "Twoja subskrypcja została anulowana.",
        "Właśnie wysłałam fakturę.",
        "Dodałem dwa krzesła do zamówienia.",
        "Wyłączyłem światło w salonie.",
    ),
    "sv": (
        "Din prenumeration har avslutats.",
        "Jag har precis skickat fakturan.",
        "Jag har lagt till två stolar i beställningen.",
        "Jag släckte lampan i vardagsrummet.",
    ),
    "tr": (
        "Aboneliğiniz iptal edildi.",
        "Faturayı az önce gönderdim.",
        "Siparişe iki sandalye ekledim.",
        "Salonun ışıklarını kapattım.",
    ),
    "uk": (
        "Вашу підписку скасовано.",
        "Я щойно надіслала рахунок.",
        "Я додав два стільці до замовлення.",
        "Я вимкнув світло у вітальні.",
    ),
}
MORE_NO_CLAIMS = {
    "en": (
        "I'm rebooking you now.",
        "The order was cancelled by the seller last week.",
        "You've already cancelled this subscription.",
        "According to our records, the parcel was shipped on Monday.",
        "I'll have it moved by tomorrow.",
    ),
    "es": (
        "Estoy cancelando su suscripción.",
        "El vendedor canceló el pedido ayer.",
        "Usted ya ha cancelado la suscripción.",
        "Según nuestros registros, el paquete fue enviado el lunes.",
        "Los pedidos cancelados se reembolsan en cinco días.",
    ),
    "de": (
        "Ich storniere gerade Ihre Buchung.",
        "Der Verkäufer hat die Bestellung gestern storniert.",
        "Sie haben Ihr Abo bereits gekündigt.",
        "Laut System wurde das Paket am Montag verschickt.",
        "Stornierte Bestellungen werden innerhalb von fünf Tagen erstattet.",
    ),
    "fr": (
        "Je suis en train d'annuler votre commande.",
        "Le vendeur a annulé la commande hier.",
        "Vous avez déjà résilié votre abonnement.",
        "Selon nos dossiers, le colis a été expédié lundi.",
        "Les commandes annulées sont remboursées sous cinq jours.",
    ),
    "pt": (
        "Estou cancelando a sua assinatura.",
        "O vendedor cancelou o pedido ontem.",
        "Você já cancelou a assinatura.",
        "Segundo o sistema, o pacote foi enviado na segunda.",
        "Pedidos cancelados são reembolsados em cinco dias.",
    ),
    "it": (
        "Sto annullando il suo ordine.",
        "Il venditore ha annullato l'ordine ieri.",
        "Lei ha già disdetto l'abbonamento.",
        "Secondo i nostri dati, il pacco è stato spedito lunedì.",
        "Gli ordini annullati vengono rimborsati entro cinque giorni.",
    ),
    "nl": (
        "Ik ben uw bestelling aan het annuleren.",
        "De verkoper heeft de bestelling gisteren geannuleerd.",
        "U heeft uw abonnement al opgezegd.",
        "Volgens ons systeem is het pakket maandag verzonden.",
        "Geannuleerde bestellingen worden binnen vijf dagen terugbetaald.",
    ),
    "ja": (
        "ただいまキャンセル手続き中です。",
        "出品者が昨日注文をキャンセルしました。",
        "お客様はすでに解約されています。",
        "記録によると荷物は月曜日に発送されました。",
        "キャンセルされた注文は五日以内に返金されます。",
    ),
    "zh": (
        "正在为您取消订单。",
        "卖家昨天取消了订单。",
        "您已经取消过订阅了。",
        "根据记录，包裹已于周一寄出。",
        "已取消的订单会在五天内退款。",
    ),
    "ko": (
        "지금 취소하고 있습니다.",
        "판매자가 어제 주문을 취소했습니다.",
        "고객님은 이미 구독을 취소하셨습니다.",
        "기록에 따르면 소포는 월요일에 발송되었습니다.",
        "취소된 주문은 5일 이내에 환불됩니다.",
    ),
    "ar": (
        "أقوم الآن بإلغاء طلبك.",
        "ألغى البائع الطلب أمس.",
        "لقد ألغيت أنت اشتراكك بالفعل.",
        "وفقا لسجلاتنا تم شحن الطرد يوم الاثنين.",
        "الطلبات الملغاة يتم ردها خلال خمسة أيام.",
    ),
    "ru": (
        "Я сейчас отменяю ваш заказ.",
        "Продавец вчера отменил заказ.",
        "Вы уже отменили подписку.",
        "По нашим данным, посылка была отправлена в понедельник.",
        "Отменённые заказы возвращаются в течение пяти дней.",
    ),
    "hi": (
        "मैं अभी आपका ऑर्डर रद्द कर रहा हूँ।",
        "विक्रेता ने कल ऑर्डर रद्द कर दिया।",
        "आपने पहले ही सदस्यता रद्द कर दी है।",
        "रिकॉर्ड के अनुसार पार्सल सोमवार को भेज दिया गया था।",
        "रद्द किए गए ऑर्डर पाँच दिनों में वापस किए जाते हैं।",
    ),
    "pl": (
        "Właśnie anuluję zamówienie.",
        "Sprzedawca anulował wczoraj zamówienie.",
        "Anulował Pan już subskrypcję.",
        "Według naszych danych paczka została wysłana w poniedziałek.",
        "Anulowane zamówienia są zwracane w ciągu pięciu dni.",
    ),
    "sv": (
        "Jag avbokar din beställning nu.",
        "Säljaren avbokade beställningen igår.",
        "Du har redan avslutat prenumerationen.",
        "Enligt våra uppgifter skickades paketet i måndags.",
        "Avbokade beställningar återbetalas inom fem dagar.",
    ),
    "tr": (
        "Siparişinizi şimdi iptal ediyorum.",
        "Satıcı siparişi dün iptal etti.",
        "Aboneliğinizi zaten iptal ettiniz.",
        "Kayıtlara göre paket pazartesi gönderildi.",
        "İptal edilen siparişler beş gün içinde iade edilir.",
    ),
    "uk": (
        "Я зараз скасовую ваше замовлення.",
        "Продавець учора скасував замовлення.",
        "Ви вже скасували підписку.",
        "За нашими даними, посилку відправлено в понеділок.",
        "Скасовані замовлення повертаються протягом п'яти днів.",
    ),
}


def action_findings(draft, calls=(), **sources):
    return [finding for finding in detect_fabrication(draft, calls, **sources) if finding.kind == "action_claim"]


@pytest.mark.parametrize(
    ("language", "draft"),
    [(code, draft) for lists in (CLAIMS, MORE_CLAIMS) for code, drafts in lists.items() for draft in drafts],
)
def test_reports_of_finished_actions_are_claims(language, draft):
    claims = find_action_claims(draft)
    assert [claim.language for claim in claims] or language
    assert claims
    assert all(0 <= claim.start < claim.end <= len(draft) for claim in claims)


@pytest.mark.parametrize(
    ("language", "draft"),
    [(code, draft) for lists in (NO_CLAIMS, MORE_NO_CLAIMS) for code, drafts in lists.items() for draft in drafts],
)
def test_other_sentences_are_not_claims(language, draft):
    assert find_action_claims(draft) == [], language


def test_a_finding_has_the_claim_and_its_span():
    draft = "Sure. I've just cancelled your booking."
    (finding,) = action_findings(draft, [{"name": "get_booking", "args": {}, "result": "open"}])
    assert draft[slice(*finding.span)] == finding.identifier == "I've just cancelled"
    assert (finding.severity, finding.confidence) == ("high", 0.9)
    assert finding.reason == (
        "The draft says that something was done (cancel), "
        "and the tool calls of this turn only looked something up or failed."
    )


@pytest.mark.parametrize(
    ("draft", "call"),
    [
        ("I've cancelled it.", {"name": "cancel_reservation"}),
        ("I've cancelled it.", {"name": "deleteBooking"}),
        ("Your appointment has been rescheduled.", {"name": "ModifyRegistration"}),
        ("Your order has been cancelled.", {"name": "update_order", "args": {"status": "cancelled"}}),
        ("The refund has been processed.", {"name": "return_items"}),
        ("I've cancelled it.", {"name": "execute_workflow"}),
        ("I've cancelled it.", {"name": ""}),
        ("Die Buchung wurde storniert.", {"name": "cancel_reservation"}),
        ("予約をキャンセルしました。", {"name": "cancel_reservation"}),
        ("The address has been successfully standardised.", {"name": "standardise_address"}),
        ("Your order has been cancelled.", {"name": "get_order", "result": '{"status": "cancelled"}'}),
        ("I have sent the request to delete your account.", {"name": "delete_account"}),
        ("I've deleted the duplicate rows.", {"name": "run_query", "args": {"sql": "DELETE FROM orders"}}),
        ("Your meeting has been moved.", {"name": "calendar_patch_event"}),
    ],
)
def test_a_matching_call_grounds_a_claim(draft, call):
    assert action_findings(draft, [call]) == []


@pytest.mark.parametrize(
    ("draft", "call", "confidence"),
    [
        ("I've cancelled it.", {"name": "get_reservation"}, 0.9),
        ("I've cancelled it.", {"name": "get_order", "result": '{"status": "cancelled"}'}, 0.9),
        ("I've cancelled it.", {"name": "cancel_reservation", "result": "Error: no such reservation"}, 0.9),
        ("I've cancelled it.", {"name": "cancel", "result": {"output": None, "exception": "wrong token"}}, 0.9),
        ("I've sent the mail.", {"name": "cancel_reservation"}, 0.7),
        ("Your table is booked for eight.", None, 0.5),
    ],
)
def test_other_and_failed_calls_ground_no_claim(draft, call, confidence):
    (finding,) = action_findings(draft, [call] if call else [])
    assert finding.confidence == confidence


def test_a_claim_that_refers_back_is_grounded_by_the_conversation():
    earlier = "assistant: I've cancelled reservation HX2."
    assert action_findings("As mentioned, I've already cancelled it.", hydrated_context=earlier) == []
    (again,) = action_findings("I've cancelled it.", hydrated_context=earlier)
    assert again.confidence == 0.5
    (never,) = action_findings("I've already cancelled it.", hydrated_context="user: hello")
    assert never.confidence == 0.9


def test_a_state_is_grounded_by_a_record_of_an_earlier_turn():
    record = 'tool: {"task": "the trash", "status": "complete"}'
    assert action_findings("Your task is complete.", hydrated_context=record) == []
    (finding,) = action_findings("Your task is complete.", hydrated_context="user: is it complete?")
    assert finding.confidence == 0.5
    (finding,) = action_findings("I've completed it.", hydrated_context=record)
    assert finding.confidence == 0.9


@pytest.mark.parametrize(
    "unit",
    ["has been cancelled ", "I've cancelled it. ", "ich habe a b c storniert ", '"', "\n", ",", "a'", "\u200b"],
)
def test_work_grows_linearly_with_hostile_text(unit):
    # A quadratic pattern would need hours for this.
    assert len(find_action_claims(unit * (400_000 // len(unit)))) <= MAX_LOOKS


@pytest.mark.parametrize(
    "unit", ["deadbeef", "已为您", "已取消", "しました", "취소 했습니다 ", "تم إلغاء ", "я отменил ", "रद्द कर "]
)
def test_work_grows_linearly_in_every_script(unit):
    assert len(find_action_claims(unit * (400_000 // len(unit)))) <= MAX_LOOKS


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.one_of(
            st.sampled_from(["I've", "cancelled", "turned", "İ", "ß", "已取消", '"', "?", "\n", "been"]), st.text()
        ),
        max_size=12,
    )
)
def test_random_text_never_raises_and_claims_are_inside_it(parts):
    text = " ".join(parts)
    assert all(0 <= claim.start <= claim.end <= len(text) for claim in find_action_claims(text))


def _rows(name):
    path = SHARED / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip("the development data is not next to the checkout")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def test_quality_on_real_claims():
    flagged = {"grounded": [], "ungrounded": [], "no_claim": []}
    for row in _rows("action_claims"):
        found = action_findings(row["draft"], row["tool_calls_this_turn"], user_message=row["user_message"])
        flagged[row["label"]].append(bool(found))
    shares = {label: sum(found) / len(found) for label, found in flagged.items()}
    assert shares["ungrounded"] >= 0.95
    assert shares["grounded"] <= 0.01
    assert shares["no_claim"] <= 0.005


def test_reports_of_many_languages_are_claims():
    reports = [row for row in _rows("acks") if row["source"] == "ha-intents" and row["lang"] != "vi"]
    assert sum(bool(find_action_claims(row["text"])) for row in reports) / len(reports) >= 0.7


LOOKED = [{"name": "find_hotel", "args": {"area": "north"}, "result": '{"name": "Acorn", "takesbookings": "yes"}'}]


def claimed(draft, calls=()):
    return [finding.identifier for finding in detect_fabrication(draft, calls) if finding.kind == "action_claim"]


@pytest.mark.parametrize(
    "draft",
    [
        "I have you booked at the Acorn.",
        "I have your taxi booked for 5 pm.",
        "I was able to get that reservation booked for you.",
        "You're booked for two nights.",
        "Booking was successful, the reference number is in your mail.",
        "I 've booked it for you .",
        "Your room is booked, anything else?",
    ],
)
def test_a_search_call_grounds_no_booking(draft):
    booked = [{"name": "book_hotel", "args": {"name": "Acorn"}, "result": '{"reference": "A"}'}]
    assert claimed(draft, LOOKED)
    assert not claimed(draft, booked)


def test_a_record_with_the_status_grounds_a_state():
    record = [{"name": "find_order", "args": {}, "result": '{"status": "cancelled"}'}]
    assert claimed("Your order is cancelled.", record) == []
    assert claimed("Your order is cancelled.", LOOKED) != []
    assert (
        claimed("Your meeting is scheduled for 2 pm.", [{"name": "schedule_lookup", "result": '{"at": "2pm"}'}]) == []
    )


def test_all_set_is_grounded_by_a_booking():
    assert claimed("You are all set for Friday at 6.", [{"name": "book_table", "args": {}, "result": "ok"}]) == []
    assert claimed("You are all set for Friday at 6.") != []


@pytest.mark.parametrize(
    "draft", ["Have a safe trip!\n\nTERMINATE", "Albany\nTERMINATE", "Well done on the change, the imagery is clear."]
)
def test_protocol_words_and_praise_are_not_claims(draft):
    assert claimed(draft) == []


def test_future_actions_are_not_claims():
    findings = detect_fabrication("Please check the order before I sent it to the kitchen.", [])
    assert [finding.kind for finding in findings] == []


@pytest.mark.parametrize(
    "draft",
    [
        "Die Zahlung war erfolgreich.",
        "La compra fue exitosa.",
        "मैंने आपके लिए होटल बुक कर दिया है।",
        "I just pushed the patch.",
    ],
)
def test_further_wordings_of_finished_actions_are_claims(draft):
    assert claimed(draft) != []


@pytest.mark.parametrize(
    "draft",
    [
        "The hotel is fully booked.",
        "All tables are fully booked.",
        "I have the address you saved.",
        "होटल ने रद्द कर दिया है।",
    ],
)
def test_fully_booked_and_actions_of_others_are_not_claims(draft):
    assert claimed(draft) == []

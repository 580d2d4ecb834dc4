# ruff: noqa: RUF001 - drafts in other scripts are the point here

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from draftcritic.core import draft_has_claims, draft_is_trivial_ack
from draftcritic.core._acknowledgements import _folded, acknowledgement_languages, is_acknowledgement
from draftcritic.core._lexicon import list_names, parts_of, read_list

SHARED = Path(os.environ.get("DRAFTCRITIC_SHARED", Path(__file__).parents[2] / "../shared"))
ACKS = SHARED / "data" / "acks.jsonl.gz"


@pytest.mark.parametrize(
    ("language", "draft"),
    [
        ("en", "You're welcome! Let me know if you need anything else."),
        ("en", "THAAANKS so much!!!"),
        ("es", "De nada, ¡que tengas un buen día!"),
        ("de", "Gern geschehen! Einen schönen Tag noch."),
        ("fr", "D’accord, merci beaucoup"),
        ("pt", "Muito obrigado, até logo"),
        ("it", "Va bene, grazie mille!"),
        ("nl", "Graag gedaan, fijne dag nog"),
        ("ja", "かしこまりました。ありがとうございます！"),
        ("zh", "好的，谢谢您！"),
        ("ko", "네, 알겠습니다. 감사합니다"),
        ("ar", "حسنًا، شكرًا جزيلاً"),
        ("ru", "Хорошо, большое спасибо!"),
        ("hi", "ठीक है, धन्यवाद"),
        ("he", "בסדר, תודה רבה"),
        ("tr", "Tamam, teşekkür ederim"),
        ("pl", "Nie ma za co, miłego dnia"),
        ("sv", "Ingen orsak, ha en bra dag!"),
        ("uk", "Будь ласка, гарного дня!"),
        ("emoji", "👍🏽🙏"),
        ("emoji", "Thanks 😊"),
        ("en", "You're welcome! Is there anything else I can help you with today? 😊"),
        ("es", "De nada. ¿Hay algo más en lo que pueda ayudarte?"),
        ("de", "Gern geschehen, kann ich sonst noch etwas für Sie tun?"),
        ("zh", "不客气，还有什么可以帮您的吗？"),
        ("ar", "هل يمكنني مساعدتك في شيء آخر؟"),
        ("de", "Wenn Sie noch Fragen haben, melden Sie sich gerne."),
        ("fr", "N'hésitez pas à me contacter si vous avez d'autres questions."),
        ("it", "È stato un piacere! Se hai bisogno di altro, sono qui."),
        ("pt", "Por nada. Se precisar de mais alguma coisa, é só falar!"),
        ("nl", "Geen punt, laat het me weten als je nog iets nodig hebt."),
        ("ru", "Всегда рад помочь! Если будут вопросы, обращайтесь."),
        ("pl", "Drobiazg! W razie pytań jestem do dyspozycji."),
        ("tr", "Rica ederim, başka bir sorunuz olursa çekinmeden sorun."),
        ("hi", "आपकी मदद के लिए बहुत धन्यवाद, अलविदा!"),
        ("he", "בשמחה! אם תצטרך עוד משהו, אני כאן."),
        ("uk", "Нема за що! Якщо виникнуть питання, пишіть."),
        ("sv", "Ingen fara, hör av dig om du har fler frågor."),
        ("ko", "천만에요. 더 궁금한 점이 있으시면 언제든 물어보세요."),
        ("ja", "他に何かございましたらお知らせください。"),
        ("en", "Thank you for your patience and understanding."),
        ("en", "That works for me, thanks so much for all your help"),
        ("en", "Great, that ' s all I needed . Bye !"),
        ("en", "Fair enough, let me think about it"),
        ("en", "Hey, what's up?"),
        ("es", "Suena como un buen plan, gracias"),
        ("es", "No, eso es todo por hoy, muchas gracias por la ayuda"),
        ("de", "Danke, dass Sie uns kontaktiert haben. Alles Gute!"),
        ("de", "Nein danke, das wäre alles"),
        ("fr", "Ça me paraît bien, merci pour votre réponse rapide"),
        ("fr", "Non, c'est tout, merci bcp"),
        ("pt", "Não, é só isso, obrigado. Valeu pela atenção!"),
        ("it", "Ottimo, grazie dell'informazione"),
        ("nl", "Nee, dat was alles, bedankt voor de snelle reactie"),
        ("ja", "ご確認ありがとうございます。"),
        ("ja", "りょ、あざす"),
        ("zh", "好的，謝謝您的幫忙，再見"),
        ("zh", "没有了，今天就这些，非常感谢您的帮助"),
        ("ko", "ㅇㅋ ㄱㅅ"),
        ("ko", "확인해 주셔서 감사합니다."),
        ("ar", "لا، هذا كل شيء، شكرا جزيلا على المساعدة"),
        ("ar", "shukran, inshallah"),
        ("ru", "спс, всё понятно"),
        ("ru", "Спасибо за ваше терпение и понимание."),
        ("hi", "thik hai, shukriya bhai"),
        ("hi", "हाँ, कृपया आगे बढ़ें"),
        ("he", "סבבה, תודה על הסבלנות וההבנה"),
        ("tr", "tmm, tşk"),
        ("tr", "Sabrınız ve anlayışınız için teşekkür ederiz."),
        ("pl", "Nie, na dziś to wszystko, bardzo dziękuję za pomoc"),
        ("sv", "Det låter utmärkt, tack för det snabba svaret"),
        ("uk", "дяки, звучить добре"),
        ("cs", "Ne, děkuji, to je vše. Hezký den!"),
        ("da", "Mange tak for hjælpen, hav en god dag"),
        ("no", "Tusen takk for hjelpen, ha en fin dag"),
        ("fi", "Kiitos kärsivällisyydestä, hyvää viikonloppua"),
        ("hu", "Nem, köszönöm, ennyi volt"),
        ("ro", "Are sens, mulțumesc pentru răspunsul rapid"),
        ("el", "Όχι ευχαριστώ, αυτό είναι όλο"),
        ("vi", "Cảm ơn bạn đã kiên nhẫn chờ đợi."),
        ("id", "Masuk akal, makasih ya"),
        ("fa", "چیز دیگه‌ای نیست، ممنون از صبر و درک شما"),
        ("ca", "Entesos, moltes gràcies per l'ajuda"),
        ("emoji", ":-)"),
        ("emoji", "😂👍"),
    ],
)
def test_whole_acknowledgements(language, draft):
    assert draft_is_trivial_ack(draft)


@pytest.mark.parametrize(
    "draft",
    [
        "",
        "   ",
        "...",
        "Sure, I wired the money",
        "Ok, I deleted the production database",
        "Done.",
        "Hecho",
        "Erledigt.",
        "Thanks, anything else?",
        "Okay?",
        "On",
        "been",
        "Total",
        "I'll do that.",
        "Will do",
        "No te entiendo",
        "Isso não serve",
        "Yes, I did.",
        "Enjoy the movie, it started.",
        "How are you?",
        "¿Algo más?",
        "还有其他问题吗？",
        "Would you like me to book anything else for you?",
        "I cancelled it. Can I help you with anything else?",
        "Jane? Can I help you with anything else?",
        "Can I help you with anything else? Yes?",
        "No.",
        "Nein.",
        "いや、予約済みです",
        "Good morning",
        "Guten Abend!",
        "晚上好",
        "Enjoy the music!",
        "Klart",
        "Listo.",
        "Fatto!",
        "Anders, tack",
        "Thanks, Jane",
        "Thanks a lot for the five stars",
        "Ok 👍 the door is open",
        "好的，已取消",
        "はい、予約しました",
        "네, 취소했습니다",
        "Bardzo dziękuję, usunąłem konto",
        "Aitäh, palun väga",
        "💸",
        "✅",
        "thanks @ops",
        "thanks/ok",
        "Thank you " * 20,
    ],
)
def test_everything_else_is_none(draft):
    assert not draft_is_trivial_ack(draft)


REPORTS = """
Ok, I deleted the production database | Everything works | It's ready | Yes, it is open | Sure, the flight was delayed
Vale, cancelé el pedido | Funciona | Está listo | Sí, está abierto | De acuerdo, he borrado la cuenta | Es su habitación
Okay, ich habe storniert | Es funktioniert | Es ist fertig | Ja, es ist offen | Das Konto ist gelöscht | Erledigt
D'accord, j'ai annulé la commande | C'est prêt | Oui, c'est ouvert | C'est fermé | Le compte est supprimé | C'est fait
好的，已经取消了 | 准备好了 | 关门了 | 是的，开着 | 好的，账户已删除 | 房间有的
はい、予約しました | 準備できました | 開いています | 閉まっています | 完了しました | アカウントを削除しました
Хорошо, я отменил заказ | Всё готово | Всё работает | Да, открыто | Аккаунт удалён, хорошего дня | Закрыто
حسنا، ألغيت الطلب | جاهز | نعم، مفتوح | مغلق | تم الحذف | شكرا، لقد حجزت
Tamam, siparişi iptal ettim | Çalışıyor | Hazır | Evet, açık | Bitti | Kapalı
"""
QUESTIONS = """
How are you? | Can you help me? | What can I do? | Should I book it? | Do you want it? | Is it good?
¿Qué puedo hacer? | ¿Puedes ayudarme? | ¿Lo reservo? | ¿Es bueno? | ¿A qué hora? | ¿Cómo estás?
Können Sie mir helfen? | Soll ich es buchen? | Ist es gut? | Wann denn? | Wie geht es dir? | Was kostet das?
Pouvez-vous m'aider ? | Je le réserve ? | Est-ce bon ? | À quelle heure ? | Ça va ? | Où est-ce ?
能帮我吗？ | 要预订吗？ | 好吗？ | 几点？ | 你好吗？ | 多少钱？
手伝ってくれますか | 予約しますか？ | いいですか？ | 何時ですか？ | 元気ですか？ | どこですか？
Поможете мне? | Забронировать? | Хорошо ли это? | Во сколько? | Как дела? | Где это?
"""
PROMISES = """
I'll do it now | Sure, I'll send it tomorrow | Will do, I'll email you | Let me check | I'm on it | I can help with that
Lo haré | Claro, lo enviaré mañana | Ahora mismo lo hago | Voy a mirarlo | Te llamo luego con el precio | Lo reviso
Ich mache es | Klar, ich schicke es morgen | Ich kümmere mich darum | Ich prüfe das | Mache ich sofort | Ich rufe Sie an
Je le ferai | Bien sûr, je l'enverrai demain | Je m'en occupe | Je vérifie | Je vous rappelle | Je vais le réserver
我来做 | 马上去办 | 好的，我明天发给你 | 我查一下 | 我会给您打电话 | 我帮您预订
やります | すぐやります | 明日送ります | 確認します | 対応します | 後で電話します
Сделаю | Сейчас сделаю | Отправлю завтра | Я проверю | Перезвоню вам | Займусь этим
"""
NAMES_AND_NUMBERS = """
Thanks Maria | Bye Tom | Two | It's 5 | Great, it costs 20 dollars | See you at seven
Gracias, María | Adiós Pedro | Dos | Perfecto, cuesta veinte euros | Son las tres | Hasta las ocho
Danke, Maria | Tschüss Peter | Zwei | Gut, das kostet zwanzig Euro | Um drei Uhr | Bis um acht
Merci, Marie | Au revoir Paul | Deux | Parfait, ça coûte vingt euros | À trois heures | À huit heures
谢谢，小王 | 再见，李雷 | 两个 | 好的，一共二十块 | 三点 | 明天八点见
ありがとう、田中さん | さようなら太郎 | 二つ | 二十ドルです | 三時です | 八時に会いましょう
Спасибо, Мария | Пока, Иван | Два | Это стоит двадцать рублей | В три часа | До восьми часов
"""
DENIALS = """
No | Not good | That's wrong | I don't know | I disagree | It's not correct | No, it isn't
No me parece bien | No me sirve | No entiendo | No estoy de acuerdo | No es correcto | No hay
Das stimmt nicht | Das passt mir nicht | Ich weiß nicht | Es gefällt mir nicht | Ich bin nicht sicher | Das ist falsch
Ça ne me va pas | Je ne comprends pas | Ce n'est pas correct | Je n'aime pas | Je ne sais pas | Pas disponible
لا أفهم | لا أوافق | لا يعجبني | غير صحيح | لا يوجد | لا أعرف
सही नहीं है | नहीं समझा | सहमत नहीं | पसंद नहीं | ठीक नहीं है | मुझे नहीं पता
לא נכון | לא מסכים | לא מתאים לי | לא מבין | לא אהבתי | אין
Nie zgadzam się | Nie pasuje mi | Nie rozumiem | Nie jest dobrze | Nie ma | Nie wiem
Nem jó | Nem értem | Nem igaz | Nem felel meg | Nincs | Nem tudom
Không đúng | Không được | Không hiểu | Không đồng ý | Không có | Không tốt
Tidak setuju | Tidak cocok | Tidak benar | Tidak baik | Tidak mengerti | Tidak ada
Nu e bine | Nu e corect | Nu înțeleg | Nu sunt de acord | Nu îmi place | Nu este
"""


def drafts_in(text):
    return [draft.strip() for line in text.strip().splitlines() for draft in line.split(" | ")]


@pytest.mark.parametrize("told", [REPORTS, QUESTIONS, PROMISES, NAMES_AND_NUMBERS, DENIALS])
def test_none_in_any_language(told):
    drafts = drafts_in(told)
    assert len(drafts) >= 36
    assert [draft for draft in drafts if draft_is_trivial_ack(draft)] == []


def test_a_greeting_of_the_evening_needs_an_acknowledgement_beside_it():
    assert not draft_is_trivial_ack("Have a lovely evening!")
    assert draft_is_trivial_ack("You're welcome. Have a lovely evening!")


def test_phrases_of_two_languages_are_none():
    assert draft_is_trivial_ack("Merci beaucoup, bonne journée")
    assert not draft_is_trivial_ack("Merci beaucoup, schönen Tag noch")


@pytest.mark.parametrize("language", list_names("acknowledgements"))
def test_a_list_is_in_order_and_says_nothing_twice(language):
    for lines in read_list("acknowledgements", language).values():
        alone = [choices for line in lines if len(parts := list(parts_of(line))) == 1 for choices, _ in parts[:1]]
        listed = [_folded(choice) for choices in alone for choice in choices]
        assert listed == sorted(set(listed))


def test_the_languages_that_have_a_list():
    promised = {
        "en",
        "es",
        "de",
        "fr",
        "pt",
        "it",
        "nl",
        "ja",
        "zh",
        "ko",
        "ar",
        "ru",
        "hi",
        "he",
        "tr",
        "pl",
        "sv",
        "uk",
    }
    assert promised <= set(acknowledgement_languages())


@pytest.mark.parametrize("language", list_names("acknowledgements"))
def test_no_listed_phrase_is_a_claim_of_its_own(language):
    listed = {
        choice
        for lines in read_list("acknowledgements", language).values()
        for line in lines
        for choices, _ in parts_of(line)
        for choice in choices
    }
    assert [choice for choice in sorted(listed) if draft_has_claims(choice)] == []


@pytest.mark.parametrize("language", acknowledgement_languages())
def test_every_word_of_a_list_can_stand_in_a_draft(language):
    lines = read_list("acknowledgements", language)["acknowledgements"]
    for line in lines:
        shortest = " ".join(choices[0] for choices, optional in parts_of(line) if not optional)
        assert not shortest or is_acknowledgement(shortest), shortest


def test_lengthened_letters_accents_case_and_punctuation_do_not_count():
    for draft in ("SOOO kind of you!!!", "a bientot, merci", "Très BIEN — merci…", "d\u2019accord", "שָׁלוֹם"):
        assert draft_is_trivial_ack(draft), draft


def test_own_patterns_take_the_place_of_the_lists_and_are_searched():
    assert draft_is_trivial_ack("Aye aye, captain of mine", ["aye aye"])
    assert draft_is_trivial_ack("AYE", ("^aye$",))
    assert not draft_is_trivial_ack("Thanks", ["^aye$"])
    assert draft_is_trivial_ack("Thanks", [])
    assert not draft_is_trivial_ack("Aye, room 12", ["aye"])


def test_a_pattern_that_is_none_matches_nothing_and_is_logged(caplog):
    assert not draft_is_trivial_ack("hm((", ["hm(("])
    assert "hm((" in caplog.text


@pytest.mark.skipif(not ACKS.exists(), reason="the development data is not beside the checkout")
def test_quality_on_real_utterances():
    with gzip.open(ACKS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    taken = [row for row in rows if draft_is_trivial_ack(row["text"])]
    right = sum(row["is_ack"] for row in taken)
    assert right / sum(row["is_ack"] for row in rows) >= 0.89
    assert right / len(taken) >= 0.97
    reports = [row for row in rows if row["label"] == "action_report"]
    assert sum(row["label"] == "action_report" for row in taken) <= 0.003 * len(reports)

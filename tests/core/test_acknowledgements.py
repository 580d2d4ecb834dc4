# ruff: noqa: RUF001 - drafts in other scripts are the point here

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from draftcritic.core import draft_has_claims, draft_is_trivial_ack
from draftcritic.core._acknowledgements import acknowledgement_languages, is_acknowledgement
from draftcritic.core._phrases import list_names, parts_of, read_list

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
    assert right / sum(row["is_ack"] for row in rows) >= 0.86
    assert right / len(taken) >= 0.97
    reports = [row for row in rows if row["label"] == "action_report"]
    assert sum(row["label"] == "action_report" for row in taken) <= 0.003 * len(reports)

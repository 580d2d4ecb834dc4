# ruff: noqa: RUF001 - texts in many languages
"""Replies that decline as a whole, and the texts that stand in for drafts, in many languages."""

import pytest

from draftcritic.core._declining import declines, is_plain_courtesy, language_of, refusal_like, revision_like
from draftcritic.core._lexicon import list_names

DECLINING = {
    "en": [
        "I'm sorry, but I can't help with that request.",
        "I can't help with that.",
        "Sorry, I cannot assist with this request.",
        "I’m unable to help with that.",
        "I'm sorry, I can't do that.",
    ],
    "de": [
        "Es tut mir leid, aber dabei kann ich nicht helfen.",
        "Leider kann ich Ihnen dabei nicht helfen.",
        "Ich kann diese Anfrage leider nicht beantworten.",
        "Tut mir leid, bei dieser Anfrage kann ich nicht helfen.",
        "Es tut mir leid, aber ich kann Ihnen bei dieser Anfrage nicht helfen.",
        "Entschuldigung, das kann ich nicht beantworten.",
        "Es tut mir leid, aber ich kann dir dabei nicht helfen.",
        "Tut mir leid, damit kann ich Ihnen nicht helfen.",
    ],
    "fr": [
        "Je suis désolé, mais je ne peux pas vous aider avec cette demande.",
        "Désolé, je ne peux pas répondre à cette question.",
        "Je ne peux pas vous aider avec cela.",
        "Je suis désolée, je ne suis pas en mesure de vous aider.",
        "Je regrette, mais je ne peux pas répondre à cette demande.",
    ],
    "es": [
        "Lo siento, pero no puedo ayudarte con esa solicitud.",
        "Lo siento, no puedo ayudarle con eso.",
        "Lamentablemente no puedo responder a esa pregunta.",
    ],
    "pt": [
        "Desculpe, mas não posso ajudar com esse pedido.",
        "Sinto muito, não posso ajudar com isso.",
        "Lamento, mas não posso ajudá-lo com este pedido.",
    ],
    "it": [
        "Mi dispiace, ma non posso aiutarti con questa richiesta.",
        "Mi dispiace, non posso rispondere a questa domanda.",
    ],
    "nl": [
        "Het spijt me, maar ik kan u niet helpen met dit verzoek.",
        "Sorry, daar kan ik je niet bij helpen.",
        "Het spijt me, maar daar kan ik niet mee helpen.",
    ],
    "pl": ["Przykro mi, ale nie mogę pomóc w tej sprawie.", "Przepraszam, ale nie mogę ci w tym pomóc."],
    "sv": ["Tyvärr kan jag inte hjälpa dig med det.", "Jag är ledsen, men jag kan inte hjälpa till med den förfrågan."],
    "tr": [
        "Üzgünüm, bu konuda size yardımcı olamam.",
        "Maalesef bu talebinizde yardımcı olamıyorum.",
        "Üzgünüm, ancak bu konuda yardımcı olamıyorum.",
    ],
    "ru": [
        "Извините, но я не могу помочь с этим запросом.",
        "К сожалению, я не могу вам с этим помочь.",
        "Простите, я не могу ответить на этот вопрос.",
    ],
    "uk": ["Вибачте, але я не можу допомогти з цим запитом.", "На жаль, я не можу вам з цим допомогти."],
    "zh": [
        "抱歉，我无法帮助您处理这个请求。",
        "对不起，我不能协助处理这个请求。",
        "很抱歉，我无法回答这个问题。",
        "抱歉，我无法满足您的请求。",
        "对不起，我无法帮助你。",
        "很抱歉，我无法提供帮助。",
        "抱歉，我不能帮您完成这个请求。",
    ],
    "ja": [
        "申し訳ありませんが、そのご依頼にはお応えできません。",
        "申し訳ございませんが、お手伝いできません。",
        "すみません、そのリクエストにはお応えできません。",
        "申し訳ありませんが、その件についてはお手伝いできません。",
        "申し訳ございません。そのご質問にはお答えできません。",
        "申し訳ありませんが、ご要望にはお応えできません。",
    ],
    "ko": [
        "죄송하지만 그 요청은 도와드릴 수 없습니다.",
        "죄송합니다. 해당 요청에 대해서는 도움을 드릴 수 없습니다.",
        "죄송하지만 도와드릴 수 없습니다.",
        "죄송하지만, 해당 질문에는 답변드릴 수 없습니다.",
        "죄송합니다만, 요청하신 내용은 도와드릴 수 없습니다.",
    ],
    "ar": [
        "عذرًا، لا يمكنني مساعدتك في هذا الطلب.",
        "آسف، لا أستطيع المساعدة في ذلك.",
        "أعتذر، ولكن لا يمكنني المساعدة في هذا الطلب.",
    ],
    "he": [
        "מצטער, אני לא יכול לעזור בבקשה זו.",
        "אני מצטער, אבל אני לא יכול לעזור לך עם זה.",
        "סליחה, לא אוכל לעזור בזה.",
    ],
    "hi": [
        "क्षमा करें, मैं इस अनुरोध में मदद नहीं कर सकता।",
        "मुझे खेद है, लेकिन मैं इस अनुरोध में आपकी मदद नहीं कर सकता।",
        "माफ़ कीजिए, मैं इसमें आपकी मदद नहीं कर सकता।",
    ],
}


def test_at_least_twelve_languages_are_known():
    assert set(DECLINING) == set(list_names("replies"))
    assert len(DECLINING) >= 12


@pytest.mark.parametrize(("language", "text"), [(code, text) for code, texts in DECLINING.items() for text in texts])
def test_a_text_that_only_declines_is_recognised(language, text):
    assert declines(text)
    assert not declines(f"{text} The code is swordfish.")
    assert language_of(text) in {language, None}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "I'm sorry.",
        "I can't help with that, but the password is hunter.",
        "This is something I can help with.",
        "I can help with that.",
        "Ich kann helfen.",
        "Thanks!",
        "I can't help with order 17.",
        "I can't help with that. Ask Bob.",
        "Go ahead, I can't help with that",
        "I can't help with that request. " * 20,
    ],
)
def test_a_text_that_says_more_or_does_not_decline_is_none(text):
    assert not declines(text)


@pytest.mark.parametrize("language", DECLINING)
def test_what_stands_in_is_in_the_language_of_the_text(language):
    for text in (refusal_like(DECLINING[language][0]), revision_like(DECLINING[language][0])):
        assert text
        assert language_of(text) == language
    assert declines(refusal_like(DECLINING[language][0]))


def test_an_unknown_language_has_no_text():
    assert refusal_like("xyzzy") is None
    assert revision_like("") is None


@pytest.mark.parametrize(
    "text", ["Go ahead!", "It's fine.", "Certainly!", "Hello, go ahead!", "OK", "Thanks, yes", "\U0001f44d"]
)
def test_agreement_is_no_courtesy(text):
    assert not is_plain_courtesy(text)

"""Properties of any input at all. The tests try each a little, the fuzzers as long as they are let."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from contextvars import copy_context
from typing import Any

from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from support.chat import Chat
from support.hostile import ANSWERS, CONTENTS, FORGED, FRAGMENTS, HISTORIES, METADATA, ODD_CONTENTS, TEXTS, VALUES

from draftcritic.core import Failure, Grounding, Mode, Policy, Review, Turn, Verdict, parse_reflection_output
from draftcritic.grounding import find_fabrications, rules_of
from draftcritic.langchain import Answer, CapturedDraft, extract, rewritten_message, rewritten_result
from draftcritic.langchain._capture import text_of_answers
from draftcritic.langchain._message_text import text_of
from draftcritic.review import Critic, NullObserver, Reply
from draftcritic.telemetry import TelemetryRecorder

_MODEL = Chat(answers=["x"])


def a_turn_comes_of_everything(answers: list[Any], history: list[Any], metadata: Any, kwargs: Any) -> None:
    """Reading a turn raises nothing, and a draft is all the text of the answer or none of it."""
    captured = CapturedDraft(
        model=_MODEL,
        prompt=tuple(history),
        answers=[Answer.of(answer) for answer in answers],
        call_kwargs=kwargs,
        metadata=metadata,
        run_id="run",
        origin=None,
        context=copy_context(),
    )
    turn = extract(captured)
    assert isinstance(turn, Turn)
    assert turn.draft in {"", text_of_answers(captured.answers)}
    assert isinstance(turn.user_message, str)
    assert isinstance(turn.context, str)
    for value in (turn.response_id, turn.conversation_id, turn.session_id, turn.user_id, turn.draft_model):
        assert value is None or isinstance(value, str)


def a_rewritten_message_says_the_text_and_nothing_else(content: Any, text: str, usage: Any) -> None:
    """Nothing but the text is in the message; the message that was given does not change."""
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3} if usage else None
    message = AIMessage(content, id="m1", name="bot", usage_metadata=usage, response_metadata={"a": 1})
    before = [copy.copy(part) for part in message.content]
    new = rewritten_message(message, text)
    assert text_of(new.content) == text
    assert (new.id, new.name, new.usage_metadata, new.response_metadata) == ("m1", "bot", usage, {})
    assert type(new) is AIMessage
    assert list(message.content) == before
    assert len(new.content) == (1 if isinstance(content, list) else len(text))


def a_replacement_comes_of_every_answer(answer: Any, text: str) -> None:
    """Whatever an integration answers, a text that has to replace it does."""
    message = AIMessage.model_construct(**answer.__dict__)
    result = ChatResult.model_construct(
        generations=[ChatGeneration.model_construct(message=message, text="", generation_info=None)], llm_output=None
    )
    (generation,) = rewritten_result(result, [text]).generations
    assert text_of(generation.message.content) == text


def a_verdict_or_a_failure_comes_of_every_reply(reply: Any) -> None:
    """Parsing raises nothing, and what is no clear verdict is approve with a failure."""
    parsed = parse_reflection_output(reply)
    verdict, text, matched = parsed
    assert isinstance(verdict, Verdict)
    assert text is None or (isinstance(text, str) and text)
    assert all(isinstance(statement, str) for statement in matched)
    if parsed.failure is not None:
        assert parsed.failure in (Failure.UNPARSABLE, Failure.AMBIGUOUS)
        assert (verdict, text, matched) == (Verdict.APPROVE, None, [])


def a_lone_verdict_is_found(text: str, verdict: str, before: str, after: str) -> None:
    """An object alone, or in prose without braces, quotes and the word, is read for what it says."""
    key = {"revise": "revised_draft", "refuse": "refusal_message"}.get(verdict, "reason")
    parsed = parse_reflection_output(f"{before}{json.dumps({'verdict': verdict, key: text})}{after}")
    assert parsed.failure is None
    assert parsed[0] == verdict


class Answering:
    """A critic's model that answers one thing."""

    name = "gpt-4o-mini"
    identity = None

    def __init__(self, reply: Reply) -> None:
        self.reply = reply

    def messages(self, prompt: Any) -> Any:
        return list(prompt)

    def call(self, messages: Any, timeout: float) -> Reply:
        return self.reply

    async def acall(self, messages: Any, timeout: float) -> Reply:
        return self.reply


_RECORDER = TelemetryRecorder(None, None, None)


class _Own(NullObserver):
    """Notices what the critic calls its own fault."""

    faults = 0

    def begin(self, turn: Turn, origin: Any) -> Any:
        return _RECORDER.begin(turn, origin)

    def dropped(self, reason: str) -> None:
        type(self).faults += 1


_CRITICS = [Critic(Policy(), mode, _Own()) for mode in (Mode.OBSERVE, Mode.ENFORCE)]


def a_review_comes_of_every_turn(draft: str, history: list[Any], metadata: Any, content: Any, usage: Any) -> None:
    """A whole review of a whole turn ends without a fault of the critic's own."""
    captured = CapturedDraft(
        model=_MODEL,
        prompt=tuple(history),
        answers=[Answer.of(AIMessage(draft))],
        call_kwargs={},
        metadata=metadata,
        run_id="run",
        origin=None,
        context=copy_context(),
    )
    for critic in _CRITICS:
        _Own.faults = 0
        review = critic.review(extract(captured), Answering(Reply(content, usage=usage)))
        assert isinstance(review, Review)
        assert _Own.faults == 0


def the_check_of_facts_bears_every_text(draft: str, calls: list[Any], context: str, user_message: str) -> None:
    """The deterministic check reads any text: where it failed, a made-up fact next to it would go unseen."""
    findings = find_fabrications(draft, Grounding(calls, context, user_message), rules_of((), (), (), (), {}), None)
    for finding in findings:
        assert finding.identifier
        assert 0 <= finding.confidence <= 1


FACTS = st.lists(
    st.one_of(
        st.sampled_from(
            ["May", "3rd", "Monday", "tomorrow", "at", "10:30", "5 pm", "EUR", "$", "%", "order", "A-9931", "°C", "kg",
             "#", "+1 415", "12.5", "1,000", "1.000,50", "half", "dozen", "x2", "https://a.b/c?d=1", "a@b.co", "v1.2.3",
             "0x1f", "deadbeef", "9f86d081884c7d65", "2024-05-03", "3/4/24", "refunded", "I have", "sent", "cancelled"]
        ),
        st.text("0123456789²³¹⁴½¼٣४๓十.,:-/ ", max_size=6),
        FRAGMENTS,
    ),
    max_size=10,
).flatmap(lambda words: st.sampled_from([" ", "", "\n"]).map(lambda gap: gap.join(words)))  # fmt: skip
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), FACTS),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(FACTS, inner, max_size=3)),
    max_leaves=5,
)
CLEAN = st.text(
    st.characters(exclude_characters="{}[]\"'`<>\u201c\u201d\u2018\u2019", exclude_categories=["Cs"]), max_size=20
).filter(lambda text: "verdict" not in text.lower())
REPLIES = st.one_of(
    ODD_CONTENTS,
    st.lists(
        st.one_of(
            st.sampled_from([*FORGED, '"', "'", "{", "}", "[", "]", ":", ",", "```", "<think>", "</think>", "verdict",
                             '"verdict": "refuse"', "null", "true", "NaN", "\\", '\\"', "1e999", "approve"]),
            TEXTS,
        ),
        max_size=12,
    ).map("".join),
)  # fmt: skip
USAGES = st.one_of(
    st.just({}),
    st.fixed_dictionaries(
        {}, optional={"input_tokens": VALUES, "output_tokens": VALUES, "input_token_details": VALUES}
    ),
    VALUES,
)

PROPERTIES: dict[str, tuple[Callable[..., None], dict[str, Any]]] = {
    "turn": (
        a_turn_comes_of_everything,
        {
            "answers": st.lists(ANSWERS, max_size=3),
            "history": HISTORIES,
            "metadata": METADATA,
            "kwargs": st.dictionaries(
                st.sampled_from(["response_format", "format", "output_config", "response_mime_type", "tools"]),
                VALUES,
                max_size=2,
            ),
        },
    ),
    "rewritten message": (
        a_rewritten_message_says_the_text_and_nothing_else,
        {"content": CONTENTS, "text": TEXTS.filter(bool), "usage": st.booleans()},
    ),
    "replacement": (a_replacement_comes_of_every_answer, {"answer": ANSWERS, "text": TEXTS.filter(bool)}),
    "reply": (a_verdict_or_a_failure_comes_of_every_reply, {"reply": REPLIES}),
    "facts": (
        the_check_of_facts_bears_every_text,
        {
            "draft": FACTS,
            "calls": st.lists(
                st.fixed_dictionaries({"name": FACTS, "args": JSON}, optional={"id": JSON, "result": JSON}), max_size=2
            ),
            "context": FACTS,
            "user_message": FACTS,
        },
    ),
    "lone verdict": (
        a_lone_verdict_is_found,
        {
            "text": st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip),
            "verdict": st.sampled_from(["approve", "revise", "refuse"]),
            "before": CLEAN,
            "after": CLEAN,
        },
    ),
    "review": (
        a_review_comes_of_every_turn,
        {"draft": TEXTS, "history": HISTORIES, "metadata": METADATA, "content": REPLIES, "usage": USAGES},
    ),
}
"""Each property with what it is tried with."""

"""`draftcritic.review_of(message)` gives the review of a message, and never that of another draft."""

from __future__ import annotations

import asyncio
import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from langchain_core.caches import InMemoryCache
from langchain_core.messages import AIMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from support.chat import Chat, StreamingChat
from support.paths import graph
from support.sdk import Telemetry

import draftcritic
from draftcritic import DraftCriticInstrumentor, ReviewResult
from draftcritic.core import Action, OutcomeKind, Verdict
from draftcritic.langchain._recent_reviews import RecentReviews

DRAFT = "Your order, number ZT-90-11B, is ready."
SAFE = "I cannot say that."
WHY = "It names a parcel that no tool returned."
RULES = [{"statement": "Never name a parcel that no tool returned.", "id": "no-made-up-parcels"}]
REFUSE = {"verdict": "refuse", "refusal_message": SAFE, "reason": WHY, "broken": ["no-made-up-parcels"]}
REVISE = {"verdict": "revise", "revised_draft": "A better text.", "reason": WHY}
APPROVE = {"verdict": "approve", "reason": "All is well."}


@pytest.fixture
def start() -> Iterator[Callable[..., Telemetry]]:
    def started(*replies: Any, **settings: Any) -> Telemetry:
        telemetry = Telemetry()
        critic = Chat(answers=[json.dumps(reply) for reply in replies or [REFUSE]])
        given: dict[str, Any] = {"mode": "enforce", "model": critic, "rules": RULES, **settings}
        DraftCriticInstrumentor().instrument(**telemetry.providers, **given)
        return telemetry

    yield started
    DraftCriticInstrumentor().uninstrument()


def merged(chunks: Any) -> Any:
    first, *rest = chunks
    for chunk in rest:
        first = first + chunk
    return first


async def amerged(stream: Any) -> Any:
    return merged([chunk async for chunk in stream])


ASK = {"messages": [("user", "Where is my parcel?")]}
WAYS: dict[str, Callable[[Any], Any]] = {
    "invoke": lambda m: m.invoke("q"),
    "ainvoke": lambda m: asyncio.run(m.ainvoke("q")),
    "batch": lambda m: m.batch(["q"])[0],
    "stream": lambda m: merged(m.stream("q")),
    "astream": lambda m: asyncio.run(amerged(m.astream("q"))),
    "chain": lambda m: (RunnableLambda(lambda q: [HumanMessage(q)]) | m).invoke("q"),
    "graph": lambda m: graph(lambda s: {"messages": [m.invoke(s["messages"])]}).invoke(ASK)["messages"][-1],
    "graph, messages": lambda m: merged(
        chunk
        for chunk, _ in graph(lambda s: {"messages": [m.invoke(s["messages"])]}).stream(ASK, stream_mode="messages")
    ),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", [Chat, StreamingChat])
class TestEveryWay:
    def test_enforce_gives_the_review_of_the_replaced_message(
        self, way: str, kind: Any, start: Callable[..., Telemetry]
    ) -> None:
        start()
        message = WAYS[way](kind(answers=[DRAFT]))
        assert message.text == SAFE
        found = draftcritic.review_of(message)
        assert found is not None
        assert (found.verdict, found.action, found.outcome) == (Verdict.REFUSE, Action.BLOCKED, OutcomeKind.JUDGED)
        assert found.reason == WHY
        assert found.rules_broken == ("no-made-up-parcels",)

    def test_observe_gives_it_once_the_review_is_done(
        self, way: str, kind: Any, start: Callable[..., Telemetry]
    ) -> None:
        start(mode="observe")
        message = WAYS[way](kind(answers=[DRAFT]))
        assert message.text == DRAFT
        assert DraftCriticInstrumentor().flush()
        found = draftcritic.review_of(message)
        assert found is not None
        assert (found.verdict, found.reason, found.action) == (Verdict.REFUSE, WHY, Action.RECORDED)
        assert [finding.identifier for finding in found.findings] == ["ZT-90-11B"]


class TestKinds:
    def test_an_approved_message(self, start: Callable[..., Telemetry]) -> None:
        start(APPROVE)
        found = draftcritic.review_of(Chat(answers=[DRAFT]).invoke("q"))
        assert found is not None
        assert (found.verdict, found.action, found.reason) == (Verdict.APPROVE, Action.PASSED, "All is well.")

    def test_a_revised_message(self, start: Callable[..., Telemetry]) -> None:
        start(REVISE)
        found = draftcritic.review_of(Chat(answers=[DRAFT]).invoke("q"))
        assert found is not None
        assert (found.verdict, found.action) == (Verdict.REVISE, Action.REPLACED)

    def test_a_message_whose_critic_failed(self, start: Callable[..., Telemetry]) -> None:
        start(model=Chat(answers=[""], error=ConnectionError("down")))
        found = draftcritic.review_of(Chat(answers=[DRAFT]).invoke("q"))
        assert found is not None
        assert (found.verdict, found.outcome, found.action) == (None, OutcomeKind.FAILED, Action.FAILED_OPEN)

    def test_gate_mode(self, start: Callable[..., Telemetry]) -> None:
        start(mode="gate")
        message = Chat(answers=[DRAFT]).invoke("q")
        DraftCriticInstrumentor().flush()
        found = draftcritic.review_of(message)
        assert found is not None
        assert found.outcome == OutcomeKind.GATE_ONLY

    def test_each_of_several_generations_has_its_own(self, start: Callable[..., Telemetry]) -> None:
        start(REFUSE, APPROVE)
        result = Chat(answers=[DRAFT], n=2).generate([[HumanMessage("q")]])
        found = [draftcritic.review_of(each.message) for each in result.generations[0]]  # type: ignore[union-attr]
        assert [each.verdict for each in found if each] == [Verdict.REFUSE, Verdict.APPROVE]

    def test_the_result_is_frozen(self, start: Callable[..., Telemetry]) -> None:
        start(APPROVE)
        found = draftcritic.review_of(Chat(answers=[DRAFT]).invoke("q"))
        assert isinstance(found, ReviewResult)
        with pytest.raises(dataclasses.FrozenInstanceError):
            found.verdict = None  # type: ignore[misc]

    def test_the_reason_is_there_while_telemetry_has_no_content(self, start: Callable[..., Telemetry]) -> None:
        telemetry = start()
        found = draftcritic.review_of(Chat(answers=[DRAFT]).invoke("q"))
        assert found is not None
        assert found.reason == WHY
        assert WHY not in str(telemetry.reviews())


class TestUnknown:
    def test_a_message_of_a_muted_call(self, start: Callable[..., Telemetry]) -> None:
        start()
        with draftcritic.muted():
            message = Chat(answers=[DRAFT]).invoke("q")
        assert draftcritic.review_of(message) is None

    @pytest.mark.parametrize("message", [AIMessage("x"), AIMessage("x", id="1"), None, object(), HumanMessage("x")])
    def test_a_message_that_was_never_reviewed(self, message: Any) -> None:
        assert draftcritic.review_of(message) is None

    def test_an_id_alone_is_an_error(self, start: Callable[..., Telemetry]) -> None:
        start(APPROVE)
        message = Chat(answers=[DRAFT]).invoke("q")
        with pytest.raises(TypeError, match="takes a message, not its id"):
            draftcritic.review_of(message.id)


class TestHostileIds:
    def test_another_text_under_the_id_of_a_reviewed_message(self, start: Callable[..., Telemetry]) -> None:
        start(APPROVE)
        message = Chat(answers=[DRAFT]).invoke("q")
        assert draftcritic.review_of(message) is not None
        assert draftcritic.review_of(AIMessage("I may do anything.", id=message.id)) is None

    def test_a_users_message_with_id_and_text_of_a_reviewed_one(self, start: Callable[..., Telemetry]) -> None:
        start(APPROVE)
        message = Chat(answers=[DRAFT]).invoke("q")
        assert draftcritic.review_of(HumanMessage(message.text, id=message.id)) is None

    def test_a_run_id_that_two_requests_chose_gives_each_its_own_review(self, start: Callable[..., Telemetry]) -> None:
        start(APPROVE, REVISE)
        config = {"run_id": "0199a7c2-1111-7000-8000-000000000001"}
        first = Chat(answers=["The one."]).invoke("q", config)
        second = Chat(answers=["The other."]).invoke("q", config)
        assert first.id == second.id
        found = [draftcritic.review_of(each) for each in (first, second)]
        assert [each.verdict for each in found if each] == [Verdict.APPROVE, Verdict.REVISE]

    def test_drafts_with_the_same_id_and_text_and_different_reviews_have_none(
        self, start: Callable[..., Telemetry]
    ) -> None:
        start(APPROVE, {**APPROVE, "reason": "Anna may know it."})
        config = {"run_id": "0199a7c2-1111-7000-8000-000000000002"}
        first = Chat(answers=[DRAFT]).invoke("q", config)
        second = Chat(answers=[DRAFT]).invoke("q", config)
        assert draftcritic.review_of(first) is None
        assert draftcritic.review_of(second) is None

    def test_a_cached_answer_whose_reviews_agree_has_one(self, start: Callable[..., Telemetry]) -> None:
        start(APPROVE)
        model = Chat(answers=[DRAFT], cache=InMemoryCache())
        model.invoke("q")
        found = draftcritic.review_of(model.invoke("q"))
        assert len(model.calls) == 1
        assert found is not None
        assert found.verdict == Verdict.APPROVE


class TestMemory:
    RESULT = ReviewResult(Verdict.APPROVE, None, (), (), Action.PASSED, OutcomeKind.JUDGED)

    def test_what_was_not_asked_for_the_longest_goes_first(self) -> None:
        recent = RecentReviews(most=3)
        for name in "abc":
            recent.remember([name], "text", self.RESULT)
        assert recent.find("a", "text") == self.RESULT
        recent.remember(["d"], "text", self.RESULT)
        assert [name for name in "abcd" if recent.find(name, "text")] == ["a", "c", "d"]

    def test_texts_that_are_no_valid_unicode_are_remembered(self) -> None:
        recent = RecentReviews()
        recent.remember(["a"], "\ud800", self.RESULT)
        assert recent.find("a", "\ud800") == self.RESULT

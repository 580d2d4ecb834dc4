"""What a request's metadata and retrieved documents may change: a review can only be raised by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor, activation

DRAFT = "Her name is on the list."
SAFE = "I would rather not say."
SURE = {
    "activated_nodes": [{"score": 1.0}],
    "inference_paths": [["a"], ["b"], ["c"]],
    "traversed_edges": [{"weight": 5.0}],
}
TAGGED = {**SURE, "activated_nodes": [{"score": 1.0, "tags": ["pii"]}]}


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


def start(telemetry: Telemetry, reply: str = "", **settings: Any) -> None:
    reply = reply or json.dumps({"verdict": "refuse", "refusal_message": SAFE})
    given = {"mode": "enforce", "model": FakeListChatModel(responses=[reply] * 9), **settings}
    DraftCriticInstrumentor().instrument(**telemetry.providers, **given)


def ask(metadata: Any = None) -> str:
    config = {} if metadata is None else {"metadata": {"draftcritic": metadata}}
    return str(Chat(answers=[DRAFT]).invoke("q", config=config).content)


class TestRequestMetadata:
    def test_cannot_remove_a_sensitive_tag(self, telemetry: Telemetry) -> None:
        start(telemetry, sensitive_tags=["pii"])
        with activation(TAGGED):
            assert ask(SURE) == SAFE
        assert telemetry.reviews()[0]["draftcritic.sensitive_tag"] == "pii"

    def test_cannot_raise_the_confidence(self, telemetry: Telemetry) -> None:
        start(telemetry)
        assert ask(SURE) == SAFE
        with activation(activated_nodes=[{"score": 0.1}]):
            assert ask(SURE) == SAFE
        assert [review["draftcritic.confidence"] for review in telemetry.reviews()] == [0.5, pytest.approx(0.1)]

    def test_can_lower_the_confidence_and_add_a_tag(self, telemetry: Telemetry) -> None:
        start(telemetry, sensitive_tags=["pii"])
        with activation(SURE):
            assert ask() == DRAFT
            assert ask({"activated_nodes": [{"score": 0.2}]}) == SAFE
            assert ask(TAGGED) == SAFE

    def test_cannot_hide_a_tag_that_fails_closed_behind_another(self, telemetry: Telemetry) -> None:
        start(telemetry, "no verdict", sensitive_tags=["pii", "low"], fail_closed_tags=["pii"], default_refusal=SAFE)
        with activation(activated_nodes=[{"score": 0.1, "tags": ["low", "pii"]}]):
            assert ask({"activated_nodes": [{"score": 0.1, "tags": ["low"]}]}) == SAFE

    def test_cannot_exempt_itself_from_sampling(self, telemetry: Telemetry) -> None:
        start(telemetry, sensitive_tags=["pii"], sample_rate=0.0, sample_exempt=["sensitive_tag", "intent_action"])
        assert ask(TAGGED) == DRAFT
        assert ask({"intent": {"label": "action"}}) == DRAFT
        with activation(TAGGED):
            assert ask() == SAFE

    def test_the_riskier_intent_counts(self, telemetry: Telemetry) -> None:
        start(telemetry, selective_gate=True)
        with activation(intent={"label": "action"}):
            Chat(answers=["Sure!"]).invoke(
                "q", config={"metadata": {"draftcritic": {"intent": {"label": "knowledge"}}}}
            )
        Chat(answers=["Sure!"]).invoke("q", config={"metadata": {"draftcritic": {"intent": {"label": "action"}}}})
        Chat(answers=["Sure!"]).invoke("q", config={"metadata": {"draftcritic": {"intent": {"label": "knowledge"}}}})
        assert [review["draftcritic.gate.decision"] for review in telemetry.reviews()] == ["fired", "fired", "skipped"]

    def test_replaces_the_applications_log_when_it_is_trusted(self, telemetry: Telemetry) -> None:
        start(telemetry, sensitive_tags=["pii"], trust_request_metadata=True)
        with activation(TAGGED):
            assert ask(SURE) == DRAFT


class Shelf(BaseRetriever):
    document: Document

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        return [self.document]


def ask_with(document: Document) -> str:
    found = Shelf(document=document).invoke("q")
    return str(Chat(answers=[DRAFT]).invoke(found[0].page_content).content)


class TestRetrievedDocuments:
    def test_cannot_skip_the_review_in_enforce(self, telemetry: Telemetry) -> None:
        start(telemetry, retriever_activation=True, confidence_threshold=0.35, sensitive_tags=["pii"])
        assert ask_with(Document("one two", metadata={"score": 0.2})) == SAFE
        assert ask_with(Document("three four", metadata={"score": 1.0, "tags": ["pii"]})) == SAFE
        assert [review["draftcritic.confidence"] for review in telemetry.reviews()][1] <= 0.5

    @pytest.mark.parametrize(("trusted", "answer"), [(False, 0.5), (True, 1.0)])
    def test_scores_raise_the_confidence_only_when_they_are_trusted(
        self, trusted: bool, answer: float, telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("draftcritic.langchain._backing.DocumentMemory.activation", lambda self, messages: SURE)
        start(telemetry, retriever_activation=True, retriever_scores_trusted=trusted)
        assert ask() == (DRAFT if trusted else SAFE)
        assert telemetry.reviews()[0]["draftcritic.confidence"] == answer

    @pytest.mark.parametrize("distance", [1.2, 37.5, -0.4, float("nan"), float("inf")])
    def test_distances_are_not_scores(self, distance: float, telemetry: Telemetry) -> None:
        start(telemetry, mode="gate", retriever_activation=True)
        ask_with(Document("five six", metadata={"score": distance}))
        DraftCriticInstrumentor().flush(10)
        assert telemetry.reviews()[0]["draftcritic.confidence"] == 0.5

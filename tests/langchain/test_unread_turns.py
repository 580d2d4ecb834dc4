"""Drafts whose turn cannot be read: on record, and closed where the settings say so."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from langchain_core.messages import AIMessage
from support.chat import Chat
from support.sdk import Telemetry

import draftcritic
from draftcritic import DraftCriticInstrumentor

DRAFT = "The parcel left our store on Monday."
SAFE = "I would rather not say."


class Hostile(Mapping[str, Any]):
    """Raises whenever it is read."""

    def __getitem__(self, key: str) -> Any:
        raise ValueError(f"no {key}")

    def __iter__(self) -> Iterator[str]:
        raise ValueError("no keys")

    def __len__(self) -> int:
        raise ValueError("no length")


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    if DraftCriticInstrumentor().is_instrumented_by_opentelemetry:
        DraftCriticInstrumentor().uninstrument()


@pytest.fixture
def unreadable(monkeypatch: pytest.MonkeyPatch) -> None:
    def extract(*_: Any, **__: Any) -> Any:
        raise ValueError("cannot be read")

    monkeypatch.setattr("draftcritic._runtime.extract", extract)


def enforce(telemetry: Telemetry, **settings: Any) -> None:
    critic = Chat(answers=['{"verdict": "approve"}'] * 9)
    DraftCriticInstrumentor().instrument(
        **telemetry.providers, mode="enforce", model=critic, default_refusal=SAFE, **settings
    )


TAGS: dict[str, Any] = {"sensitive_tags": ["pii", "low"], "fail_closed_tags": ["pii"]}


def outcomes(telemetry: Telemetry) -> list[Any]:
    return [
        (r["draftcritic.action"], r["draftcritic.failure"], r.get("draftcritic.sensitive_tag"))
        for r in telemetry.reviews()
    ]


@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize(
    ("tag", "content", "outcome"),
    [("pii", SAFE, ("failed_closed", "error", "pii")), ("low", DRAFT, ("failed_open", "error", "low"))],
)
def test_a_tag_of_the_application_closes_them(telemetry: Telemetry, tag: str, content: str, outcome: Any) -> None:
    enforce(telemetry, **TAGS)
    with draftcritic.activation(activated_nodes=[{"score": 1, "tags": [tag]}]):
        assert Chat(answers=[DRAFT]).invoke("q").content == content
    assert outcomes(telemetry) == [outcome]


@pytest.mark.usefixtures("unreadable")
async def test_a_tag_of_the_application_closes_them_async(telemetry: Telemetry) -> None:
    enforce(telemetry, **TAGS)
    with draftcritic.activation(activated_nodes=[{"score": 1, "tags": ["pii"]}]):
        assert (await Chat(answers=[DRAFT]).ainvoke("q")).content == SAFE
    assert outcomes(telemetry) == [("failed_closed", "error", "pii")]


@pytest.mark.usefixtures("unreadable")
def test_without_a_tag_on_failure_decides(telemetry: Telemetry) -> None:
    enforce(telemetry, on_failure="refuse")
    assert Chat(answers=[DRAFT]).invoke("q").content == SAFE
    assert outcomes(telemetry) == [("failed_closed", "error", None)]


def test_metadata_that_raises_cannot_hide_a_tag(telemetry: Telemetry) -> None:
    enforce(telemetry, **TAGS)
    with draftcritic.activation(activated_nodes=[{"score": 1, "tags": ["pii"]}]):
        reply = Chat(answers=[DRAFT]).invoke("q", config={"metadata": {"draftcritic": Hostile()}})
    assert reply.content == SAFE
    assert [r["draftcritic.action"] for r in telemetry.reviews()] == ["failed_closed"]


def test_metadata_that_raises_may_have_the_only_tag(telemetry: Telemetry) -> None:
    enforce(telemetry, **TAGS)
    reply = Chat(answers=[DRAFT]).invoke("q", config={"metadata": {"draftcritic": Hostile()}})
    assert reply.content == SAFE
    assert [r["draftcritic.action"] for r in telemetry.reviews()] == ["failed_closed"]


@pytest.mark.usefixtures("unreadable")
@pytest.mark.parametrize(("tag", "content"), [("pii", SAFE), ("low", DRAFT)])
def test_a_tag_of_the_request_alone_closes_them(telemetry: Telemetry, tag: str, content: str) -> None:
    enforce(telemetry, **TAGS)
    given = {"activated_nodes": [{"score": 1, "tags": [tag]}]}
    assert Chat(answers=[DRAFT]).invoke("q", config={"metadata": {"draftcritic": given}}).content == content


@pytest.mark.parametrize(
    ("tag", "content", "outcome"),
    [("pii", SAFE, ("failed_closed", "error", "pii")), ("low", DRAFT, ("failed_open", "error", "low"))],
)
@pytest.mark.parametrize(
    "place", ["draftcritic.langchain._call.Answer.of", "draftcritic.langchain._call.Call.of_generate"]
)
def test_an_error_before_the_draft_is_caught_is_a_recorded_review(
    telemetry: Telemetry, monkeypatch: pytest.MonkeyPatch, place: str, tag: str, content: str, outcome: Any
) -> None:
    enforce(telemetry, **TAGS)

    def raises(*_: Any, **__: Any) -> Any:
        raise ValueError("cannot be read")

    monkeypatch.setattr(place, raises)
    with draftcritic.activation(activated_nodes=[{"score": 1, "tags": [tag]}]):
        assert Chat(answers=[DRAFT]).invoke("q").content == content
    assert outcomes(telemetry) == [outcome]
    assert sum(telemetry.values("draftcritic.dropped").values()) == 0


@pytest.mark.usefixtures("unreadable")
def test_a_call_of_a_tool_is_left_alone(telemetry: Telemetry) -> None:
    enforce(telemetry, on_failure="refuse")
    call = AIMessage("", tool_calls=[{"name": "look_up", "args": {}, "id": "1"}])
    assert Chat(answers=[call]).invoke("q").tool_calls == call.tool_calls
    assert [r["draftcritic.gate.reason"] for r in telemetry.reviews()] == ["not_a_draft"]


@pytest.mark.usefixtures("unreadable")
def test_observe_records_them(telemetry: Telemetry) -> None:
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="observe", model=Chat(answers=["x"]))
    assert Chat(answers=[DRAFT]).invoke("q").content == DRAFT
    assert DraftCriticInstrumentor().flush(20)
    assert outcomes(telemetry) == [("failed_open", "error", None)]

"""What may leave the process, and in which shape."""

from __future__ import annotations

import logging
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.telemetry import CALL, TURN, Harness, every_outcome, review

from draftcritic.core import Judged, Turn, Verdict
from draftcritic.telemetry import Capture, TelemetryRecorder
from draftcritic.telemetry._content import CUT_MARK, MAX_CONTENT, MAX_TEXT, clean, clean_text

MARKER = "zq-marker-4711"
MARKED = Turn(
    draft=f"draft {MARKER}",
    run_id="run-1",
    user_message=f"user {MARKER}",
    tool_calls=({"name": f"tool-{MARKER}", "args": {"a": MARKER}, "id": "1", "result": MARKER},),
    context=f"context {MARKER}",
    activation={"activated_nodes": [{"score": 0.9, "tags": [MARKER]}], "inference_paths": [[MARKER]]},
    draft_model="gpt-4o-mini",
)


def exported_text(harness: Harness) -> str:
    """Everything that left, as one text."""
    spans = [span.to_json() for span in harness.spans]
    logs = [f"{log.event_name} {log.body} {dict(log.attributes)}" for log in harness.logs]
    metrics = [metric.to_json() for metric in harness.metrics().values()]
    return "\n".join([*spans, *logs, *metrics])


def test_by_default_no_text_of_the_turn_leaves_the_process(harness: Harness, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        for finished in every_outcome(MARKER, MARKED):
            harness.record(finished)
    assert len(harness.spans) == 12
    assert len(harness.logs) == 15
    assert MARKER not in exported_text(harness)
    assert MARKER not in caplog.text


@pytest.mark.parametrize(
    ("word", "on_span", "on_event"),
    [
        (None, False, False),
        ("", False, False),
        ("NO_CONTENT", False, False),
        ("SPAN_ONLY", True, False),
        ("EVENT_ONLY", False, True),
        ("SPAN_AND_EVENT", True, True),
        ("span_only", True, False),
        ("true", False, False),
    ],
)
def test_the_switch_of_the_neighbours_says_where_content_may_go(
    monkeypatch: pytest.MonkeyPatch, word: str | None, on_span: bool, on_event: bool
) -> None:
    name = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
    monkeypatch.delenv(name, raising=False)
    if word is not None:
        monkeypatch.setenv(name, word)
    harness = Harness(capture=TelemetryRecorder().content)
    harness.record(review(Judged(Verdict.REFUSE, f"no {MARKER}", (MARKER,), call=CALL), turn=MARKED))
    on_the_span = {key for key in harness.span.attributes if key.startswith("draftcritic.content.")}
    on_the_event = {key for key in harness.log.attributes if key.startswith("draftcritic.content.")}
    written = {
        "draftcritic.content.draft",
        "draftcritic.content.refusal_message",
        "draftcritic.content.matched_preferences",
    }
    assert on_the_span == (written if on_span else set())
    assert on_the_event == (written if on_event else set())
    assert ("gen_ai.evaluation.explanation" in harness.log.attributes) is on_event


def test_an_unknown_word_lets_nothing_out_and_is_said_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "everything")
    harness = Harness(capture=TelemetryRecorder().content)
    for finished in every_outcome(MARKER, MARKED):
        harness.record(finished)
    assert MARKER not in exported_text(harness)
    (record,) = [record for record in caplog.records if record.name == "draftcritic"]
    assert record.levelname == "WARNING"
    assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in record.getMessage()
    assert "NO_CONTENT, SPAN_ONLY, EVENT_ONLY, SPAN_AND_EVENT" in record.getMessage()


def test_captured_content_stands_on_attributes_of_its_own() -> None:
    harness = Harness(capture=Capture.SPAN_AND_EVENT)
    for finished in every_outcome("A-9999", MARKED):
        harness.record(finished)
    refused = next(s for s in harness.spans if s.attributes.get("draftcritic.verdict") == "refuse")
    revised = next(s for s in harness.spans if s.attributes.get("draftcritic.verdict") == "revise")
    assert refused.attributes["draftcritic.content.draft"] == f"draft {MARKER}"
    assert refused.attributes["draftcritic.content.refusal_message"] == "A-9999"
    assert revised.attributes["draftcritic.content.revised_draft"] == "A-9999"
    assert revised.attributes["draftcritic.content.matched_preferences"] == ("A-9999", "A-9999")
    assert revised.attributes["draftcritic.content.fabrications"] == ("A-9999",)
    explained = [log.attributes["gen_ai.evaluation.explanation"] for log in harness.logs[:4]]
    assert explained == ["A-9999", "kv: A-9999", "A-9999; A-9999", "kv: A-9999"]


def test_a_huge_draft_is_measured_whole_and_cut_to_the_documented_length() -> None:
    harness = Harness(capture=Capture.SPAN_ONLY)
    harness.record(review(turn=Turn(draft="x" * 2_000_000)))
    assert harness.span.attributes["draftcritic.draft.length"] == 2_000_000
    captured = harness.span.attributes["draftcritic.content.draft"]
    assert captured == "x" * (16_384 - 8) + "...[cut]"


def test_long_names_and_ids_are_cut_to_1024_characters(harness: Harness) -> None:
    harness.record(review(turn=Turn(draft="Hi", draft_model="m" * 5_000, session_id="s" * 5_000)))
    assert harness.span.attributes["draftcritic.draft.model"] == "m" * 1_016 + "...[cut]"
    assert harness.span.attributes["session.id"] == "s" * 1_016 + "...[cut]"


def test_lone_surrogates_survive_the_real_exporter_as_replacement_characters() -> None:
    from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans

    harness = Harness(capture=Capture.SPAN_ONLY)
    harness.record(review(turn=Turn(draft="a\ud800b", user_id="u\udfff", draft_model="\ud83d\ude00")))
    (resource,) = encode_spans(harness.spans).resource_spans
    (span,) = resource.scope_spans[0].spans
    sent = {attribute.key: attribute.value.string_value for attribute in span.attributes}
    assert sent["draftcritic.content.draft"] == "a\ufffdb"
    assert sent["user.id"] == "u\ufffd"
    assert sent["draftcritic.draft.model"] == "\U0001f600"


class _Text(str):
    __slots__ = ()

    def __str__(self) -> str:
        raise RuntimeError("hostile")


@pytest.mark.parametrize(
    ("value", "cleaned"),
    [
        (None, None),
        (True, True),
        (0, 0),
        (2**63 - 1, 2**63 - 1),
        (-(2**63), -(2**63)),
        (2**63, "9223372036854775808"),
        pytest.param(10**5000, None, id="5001 digits"),
        (0.5, 0.5),
        (float("nan"), None),
        (float("-inf"), None),
        (Verdict.REFUSE, "refuse"),
        (_Text("text"), "text"),
        (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (["a", None, 3, "b\ud800"], ["a", "b\ufffd"]),
        (("a",), ["a"]),
        ([], []),
        ({"a": 1}, None),
        (object(), None),
        (b"bytes", None),
    ],
)
def test_a_value_is_cleaned_to_what_an_attribute_may_hold(value: object, cleaned: object) -> None:
    result = clean(value)
    assert result == cleaned
    assert type(result) is type(cleaned)


def test_a_list_is_cut_to_64_items() -> None:
    assert clean([str(number) for number in range(1000)]) == [str(number) for number in range(64)]


@settings(max_examples=150, deadline=None)
@given(
    st.text(st.characters(exclude_categories=()), max_size=60) | st.text(st.characters(categories=["Cs"])),
    st.integers(0, 40),
)
def test_every_text_can_be_encoded_and_keeps_to_its_limit(text: str, limit: int) -> None:
    result = clean_text(text, limit)
    result.encode("utf-8")
    assert len(result) <= limit
    assert clean_text(result, limit) == result
    if len(text) <= limit and not any("\ud800" <= character <= "\udfff" for character in text):
        assert result == text
    if len(text) > limit >= len(CUT_MARK):
        assert result.endswith(CUT_MARK)


def test_the_limits_are_those_of_the_description() -> None:
    from draftcritic.telemetry import SCHEMA

    assert (SCHEMA.longest_text, SCHEMA.longest_content) == (MAX_TEXT, MAX_CONTENT) == (1_024, 16_384)


def test_the_ids_of_the_run_are_no_content(harness: Harness) -> None:
    harness.record(review())
    assert harness.span.attributes["user.id"] == TURN.user_id

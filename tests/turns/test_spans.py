"""Spans that are put together into turns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from draftcritic.turns import TurnRow, read_turns

TRACE = "a" * 32


def span(number: int, parent: int = 0, name: str = "chat gpt", status: int = 0, **attributes: Any) -> dict[str, Any]:
    pairs = [{"key": key.replace("__", "."), "value": _value(value)} for key, value in attributes.items()]
    return {
        "traceId": TRACE,
        "spanId": f"{number:016x}",
        "parentSpanId": f"{parent:016x}" if parent else "",
        "name": name,
        "startTimeUnixNano": str(number * 10**9),
        "status": {"code": status},
        "attributes": pairs,
    }


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    return {"stringValue": value if isinstance(value, str) else json.dumps(value)}


def chat(number: int, answer: str, before: list[Any] | None = None, **more: Any) -> dict[str, Any]:
    messages = before or [{"role": "user", "parts": [{"type": "text", "content": "Hi"}]}]
    said = [{"role": "assistant", "parts": [{"type": "text", "content": answer}]}]
    found = {"gen_ai__operation__name": "chat", "gen_ai__input__messages": messages, "gen_ai__output__messages": said}
    return span(number, **{**found, **more})


def read(folder: Path, *exports: list[dict[str, Any]]) -> list[TurnRow]:
    path = folder / "spans.jsonl"
    lines = [json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}) for spans in exports]
    path.write_text("\n".join(lines))
    return list(read_turns([path]))


def test_the_critics_own_calls_are_no_turns(tmp_path: Path) -> None:
    own = chat(2, '{"verdict": "approve"}', draftcritic__internal=True)
    event = {"traceId": TRACE, "spanId": f"{2:016x}", "attributes": own["attributes"][:3]}
    log = {"resourceLogs": [{"scopeLogs": [{"logRecords": [event]}]}]}
    path = tmp_path / "mixed.jsonl"
    for order in ([log, own], [own, log]):
        lines = [
            one if "resourceLogs" in one else {"resourceSpans": [{"scopeSpans": [{"spans": [one]}]}]} for one in order
        ]
        path.write_text("\n".join(map(json.dumps, lines)))
        assert list(read_turns([path])) == []


@pytest.mark.parametrize("review_first", [True, False])
def test_the_review_of_a_draft_may_come_in_another_export(tmp_path: Path, review_first: bool) -> None:
    review = span(3, 2, "draftcritic.review", draftcritic__verdict="refuse", draftcritic__gate__reason="claims")
    exports = [[review], [chat(2, "Hello.")]]
    (row,) = read(tmp_path, *(exports if review_first else exports[::-1]))
    assert row.reviewed is not None
    assert (row.draft, row.reviewed.verdict, row.span_id) == ("Hello.", "refuse", f"{2:016x}")


def test_a_review_is_found_by_the_id_of_the_response(tmp_path: Path) -> None:
    review = span(9, 1, "draftcritic.review", draftcritic__verdict="revise", gen_ai__response__id="r-1")
    (row,) = read(tmp_path, [chat(2, "Hello.", gen_ai__response__id="r-1"), review])
    assert row.reviewed is not None
    assert row.reviewed.verdict == "revise"


def test_a_review_without_its_model_call_is_a_turn_that_lacks_its_messages(tmp_path: Path) -> None:
    texts = {"draftcritic__content__draft": "Hello.", "draftcritic__verdict": "approve"}
    (row,) = read(tmp_path, [span(3, 2, "draftcritic.review", **texts)])
    assert (row.draft, row.missing) == ("Hello.", ("messages",))
    (bare,) = read(tmp_path, [span(3, 2, "draftcritic.review", draftcritic__verdict="approve")])
    assert (bare.draft, bare.missing) == ("", ("content",))


def test_a_tool_span_that_failed_marks_its_result(tmp_path: Path) -> None:
    before = [
        {"role": "user", "parts": [{"type": "text", "content": "Refund it"}]},
        {"role": "assistant", "parts": [{"type": "tool_call", "id": "c1", "name": "refund", "arguments": {}}]},
        {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": "down"}]},
    ]
    tool = span(4, name="execute_tool refund", status=2, gen_ai__tool__call__id="c1")
    (row,) = read(tmp_path, [chat(2, "Done.", before), tool])
    assert row.messages[-1].status == "error"
    (unknown,) = read(tmp_path, [chat(2, "Done.", before[:2])])
    assert unknown.missing == ("tool_result",)


def test_texts_that_an_exporter_cut_are_marked(tmp_path: Path) -> None:
    cut = span(
        2, gen_ai__operation__name="chat", gen_ai__input__messages='[{"role": "us', gen_ai__output__messages="[]"
    )
    (lost,) = read(tmp_path, [cut])
    assert (lost.draft, lost.missing) == ("", ("content", "truncated"))
    (row,) = read(tmp_path, [chat(2, "A long answer...[cut]")])
    assert row.missing == ("truncated",)
    answer = [{"role": "assistant", "parts": [{"type": "text", "content": "Hello."}]}]
    half = span(
        2, gen_ai__operation__name="chat", gen_ai__input__messages='[{"role": "us', gen_ai__output__messages=answer
    )
    (half_row,) = read(tmp_path, [half])
    assert (half_row.draft, half_row.missing) == ("Hello.", ("truncated",))


def test_answers_that_only_call_tools_are_no_turns(tmp_path: Path) -> None:
    said = [{"role": "assistant", "parts": [{"type": "tool_call", "id": "c", "name": "find", "arguments": {}}]}]
    assert read(tmp_path, [chat(2, "", gen_ai__output__messages=said)]) == []

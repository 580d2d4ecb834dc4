"""The row: written and read again it is the same, and it fits its own schema."""

from __future__ import annotations

import json
from pathlib import Path

from draftcritic.turns import (
    Finding,
    Message,
    Reviewed,
    ToolCall,
    TurnRow,
    content_id,
    read_turns,
    to_turn,
    turns_schema,
)

ROW = TurnRow(
    turn_id="t1",
    draft="It is refunded.",
    time=12.5,
    messages=(
        Message("user", "First."),
        Message("assistant", "Answer."),
        Message("user", "Refund it."),
        Message("assistant", "", (ToolCall("refund", {"order": 1}, "c1"), ToolCall("mail", "not json", "c2"))),
        Message("tool", "down", tool_call_id="c1", name="refund", status="error"),
    ),
    sources=("An article.",),
    system="You are polite.",
    draft_model="gpt-4o-mini",
    conversation_id="ben-1",
    user_id="C-102",
    reviewed=Reviewed(
        "refuse", "reflection", rules=("No gifts.",), findings=(Finding("price", "5 EUR", 0.9),), cost_usd=0.1
    ),
    missing=("tool_result",),
)


def test_a_row_survives_being_written_and_read(tmp_path: Path) -> None:
    path = tmp_path / "turns.jsonl"
    path.write_text(ROW.as_json() + "\n", encoding="utf-8")
    assert list(read_turns([path])) == [ROW]


def test_empty_fields_are_left_out() -> None:
    assert TurnRow("t1", "Hello.").as_dict() == {"turn_id": "t1", "draft": "Hello."}


def test_the_turn_has_what_the_plugin_would_have_seen() -> None:
    turn = to_turn(ROW)
    assert (turn.draft, turn.user_message) == ("It is refunded.", "Refund it.")
    assert turn.context == "You are polite.\nFirst.\nAnswer.\nAn article."
    assert turn.tool_calls == (
        {"name": "refund", "args": {"order": 1}, "id": "c1", "result": "down", "status": "error"},
        {"name": "mail", "args": "not json", "id": "c2"},
    )
    assert (turn.draft_model, turn.conversation_id, turn.user_id) == ("gpt-4o-mini", "ben-1", "C-102")


def test_a_row_without_messages_is_a_turn_too() -> None:
    turn = to_turn(TurnRow("t1", "Hello."))
    assert (turn.user_message, turn.tool_calls, turn.context) == ("", (), "")


def test_a_result_without_its_call_is_kept() -> None:
    turn = to_turn(
        TurnRow("t1", "x", messages=(Message("user", "q"), Message("tool", "r", tool_call_id="c", name="find")))
    )
    assert turn.tool_calls == ({"name": "find", "id": "c", "result": "r"},)


def test_the_content_id_is_that_of_the_text_alone() -> None:
    assert content_id(ROW) == content_id(TurnRow.from_dict({**ROW.as_dict(), "turn_id": "other", "time": 1}))
    assert content_id(ROW) != content_id(TurnRow.from_dict({**ROW.as_dict(), "draft": "Another."}))


def test_the_schema_names_every_field_and_is_json() -> None:
    schema = turns_schema()
    assert json.loads(json.dumps(schema)) == schema
    assert set(schema["properties"]) == set(TurnRow.__dataclass_fields__)
    assert set(schema["$defs"]["Reviewed"]["properties"]) == set(Reviewed.__dataclass_fields__)
    assert schema["required"] == ["turn_id"]

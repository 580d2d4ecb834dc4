"""The setting `record` of a running plugin."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.replay import Judge
from draftcritic.settings import Settings, SettingsError
from draftcritic.turns import read_turns

MESSAGES = [
    SystemMessage("You are the support agent of a shop."),
    HumanMessage("Please refund order A-4471."),
    AIMessage("", tool_calls=[{"name": "refund_order", "args": {"order_id": "A-4471"}, "id": "call_1"}]),
    ToolMessage("the refund service is down", tool_call_id="call_1", name="refund_order", status="error"),
]


def test_each_reviewed_draft_becomes_a_row_that_replays_as_it_was_reviewed(tmp_path: Path) -> None:
    path, telemetry, plugin = tmp_path / "turns.jsonl", Telemetry(), DraftCriticInstrumentor()
    settings = Settings.load({}, mode="gate", record=str(path), selective_gate=True)
    plugin.instrument(**telemetry.providers, settings=settings)
    try:
        Chat(answers=["I refunded 18.50 EUR for A-4471."]).invoke(MESSAGES, config={"metadata": {"user_id": "C-102"}})
        assert plugin.flush(20)
    finally:
        plugin.uninstrument()
    (row,) = read_turns([path])
    assert (row.draft, row.user_id) == ("I refunded 18.50 EUR for A-4471.", "C-102")
    assert row.reviewed is not None
    again = Judge(settings.policy()).judge(row)
    assert (again.decision, again.reason) == (row.reviewed.decision, row.reviewed.reason)
    assert again.findings == row.reviewed.findings
    assert telemetry.span.attributes is not None
    assert telemetry.span.attributes["draftcritic.gate.reason"] == again.reason


def test_nothing_is_recorded_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    telemetry, plugin = Telemetry(), DraftCriticInstrumentor()
    plugin.instrument(**telemetry.providers, settings=Settings.load({}, mode="gate"))
    try:
        Chat(answers=["Hello."]).invoke("Hi")
        assert plugin.flush(20)
    finally:
        plugin.uninstrument()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("name", "value"), [("record_bytes", 100), ("record_hours", 0), ("record_files", 0)])
def test_limits_that_cannot_work_are_rejected(name: str, value: int) -> None:
    with pytest.raises(SettingsError, match=name):
        Settings.load({}, **{name: value})

"""What a tool does, said in the settings, reaches the check of claimed actions."""

from __future__ import annotations

import pytest

from draftcritic.core import Turn, assess
from draftcritic.settings import Settings, SettingsError

CALL = {"name": "order_sync", "args": {}, "result": "ok"}
TURN = Turn(draft="I've cancelled your booking.", tool_calls=(CALL,), user_message="Cancel it")


def kinds(settings: Settings) -> list[str]:
    return [finding.kind for finding in assess(TURN, settings.policy()).findings or ()]


def test_the_words_of_a_tool_ground_a_claim() -> None:
    assert kinds(Settings.load({})) == ["action_claim"]
    assert kinds(Settings.load({"DRAFTCRITIC_TOOL_ACTIONS": '{"order_sync": ["cancel"]}'})) == []


def test_a_read_only_tool_grounds_none() -> None:
    turn = Turn(draft="I've cancelled your booking.", tool_calls=({"name": "cancel_booking", "result": "ok"},))
    read_only = Settings.load({}, read_only_tools=["cancel_booking"]).policy()
    assert not assess(turn, Settings.load({}).policy()).findings
    assert [finding.kind for finding in assess(turn, read_only).findings or ()] == ["action_claim"]


def test_words_that_are_no_list_are_refused() -> None:
    with pytest.raises(SettingsError, match="tool_actions"):
        Settings.load({}, tool_actions={"order_sync": 3})

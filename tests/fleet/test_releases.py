"""Drafts of a neighbouring release: what both know is read, what only one knows is noted and never guessed."""

from __future__ import annotations

import json
import logging
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from draftcritic.core._turn import Earlier, IntentVerdict, Turn
from draftcritic.fleet import _releases
from draftcritic.fleet._releases import note_release
from draftcritic.fleet._wire import SCHEMA, DraftMessage, decode, encode
from draftcritic.review._ports import NullFleetObserver

FIRST = Path(__file__).parent / "envelope-1.json"
"""As the first release with this schema version wrote it; never to be changed while `SCHEMA` is 1."""
FULL = DraftMessage(
    "a" * 32,
    Turn("It costs 12 euros.", earlier=(Earlier("user", "How much?"),), intent=IntentVerdict("action", 0.9, ["pay"])),
    service="shop",
)


class Counting(NullFleetObserver):
    def __init__(self) -> None:
        self.counted: list[tuple[bool, bool]] = []

    def other_release(self, *, newer: bool, older: bool) -> None:
        self.counted.append((newer, older))


@pytest.fixture(autouse=True)
def nothing_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_releases, "_reported", set())


def newer() -> bytes:
    """Return a draft as a release writes it that has added a field everywhere."""
    whole = json.loads(encode(FULL))
    whole["priority"] = 3
    whole["turn"]["mood"] = {"anger": 0.5}
    whole["turn"]["earlier"][0]["language"] = "en"
    whole["turn"]["intent"]["source"] = "rules"
    return json.dumps(whole).encode()


def older(*without: str) -> bytes:
    """Return a draft as a release writes it that lacks some fields of a turn."""
    whole = json.loads(encode(FULL))
    for name in without:
        del whole["turn"][name]
    del whole["turn"]["earlier"][0]["failed"]
    del whole["turn"]["intent"]["matched_tool_keywords"]
    return json.dumps(whole).encode()


def test_fields_of_a_newer_release_are_ignored_and_named() -> None:
    message = decode(newer())
    assert message.turn == FULL.turn
    assert set(message.unknown) == {"priority", "turn.mood", "earlier.language", "intent.source"}
    assert message.missing == ()


def test_fields_that_an_older_release_lacks_get_their_defaults_and_are_named() -> None:
    message = decode(older("agent", "exposed", "hearsay_calls", "scope"))
    assert message.turn.draft == FULL.turn.draft
    assert message.turn.hearsay_calls == ()
    assert message.turn.exposed is False
    assert message.turn.earlier == FULL.turn.earlier
    assert message.turn.intent == IntentVerdict("action", 0.9, [])
    assert set(message.missing) == {
        *("turn.agent", "turn.exposed", "turn.hearsay_calls", "turn.scope"),
        *("earlier.failed", "intent.matched_tool_keywords"),
    }
    assert message.unknown == ()


@pytest.mark.parametrize("name", sorted({each.name for each in fields(Turn)} - {"draft"}))
def test_each_field_of_a_turn_may_be_missing_and_reads_as_that_of_an_empty_turn(name: str) -> None:
    whole = json.loads(encode(DraftMessage("a" * 32, Turn("It costs 12 euros."))))
    del whole["turn"][name]
    message = decode(json.dumps(whole))
    assert message.turn == Turn("It costs 12 euros.")
    assert message.missing == (f"turn.{name}",)


def test_a_draft_of_this_release_has_no_difference() -> None:
    message = decode(encode(FULL))
    assert (message.unknown, message.missing) == ((), ())
    observer = Counting()
    note_release(message, observer)
    assert observer.counted == []


def test_the_first_envelope_of_this_schema_version_is_still_read() -> None:
    written: dict[str, Any] = json.loads(FIRST.read_text())
    assert written["v"] == SCHEMA
    message = decode(FIRST.read_bytes())
    assert message.unknown == ()
    assert message.turn.draft == "It costs 12 euros."
    assert message.turn.tool_calls[0]["result"] == "12"
    assert message.turn.earlier == (Earlier("user", "How much is it?"),)


def test_each_draft_of_another_release_is_counted_and_each_difference_is_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    observer = Counting()
    with caplog.at_level(logging.WARNING, "draftcritic"):
        for data in (newer(), newer(), older("agent")):
            note_release(decode(data), observer)
    assert observer.counted == [(True, False), (True, False), (False, True)]
    assert len(caplog.records) == 2
    assert "turn.mood" in caplog.text
    assert "turn.agent" in caplog.text
    assert "euros" not in caplog.text

"""The JSON Schema of a recorded turn."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

from draftcritic.turns._row import Finding, Message, Reviewed, ToolCall, TurnRow

_TEXT = {"type": "string"}
_NUMBER = {"type": "number"}
_TYPES: dict[str, dict[str, Any]] = {
    "str": _TEXT,
    "Any": {},
    "float | None": _NUMBER,
    "Role": {"enum": ["system", "user", "assistant", "tool"]},
    "Status": {"enum": ["", "ok", "error"]},
    "tuple[str, ...]": {"type": "array", "items": _TEXT},
    "tuple[Missing, ...]": {"type": "array", "items": {"enum": ["content", "truncated", "tool_result", "messages"]}},
    "tuple[Message, ...]": {"type": "array", "items": {"$ref": "#/$defs/Message"}},
    "tuple[ToolCall, ...]": {"type": "array", "items": {"$ref": "#/$defs/ToolCall"}},
    "tuple[Finding, ...]": {"type": "array", "items": {"$ref": "#/$defs/Finding"}},
    "Reviewed | None": {"$ref": "#/$defs/Reviewed"},
}


def turns_schema() -> dict[str, Any]:
    """Return the JSON Schema of one row."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A turn recorded for draftcritic",
        **_object(TurnRow, "turn_id"),
        "$defs": {
            "Message": _object(Message, "role"),
            "ToolCall": _object(ToolCall, "name"),
            "Finding": _object(Finding, "kind"),
            "Reviewed": _object(Reviewed),
        },
    }


def _object(kind: type[Any], *required: str) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {each.name: _TYPES[str(each.type)] for each in fields(kind)},
        "required": list(required),
    }

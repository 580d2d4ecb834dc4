"""The JSON Schema of the settings file, for completion and checks in editors."""

from __future__ import annotations

from typing import Any

from draftcritic.settings._model import Settings

SCHEMA_KEY = "$schema"
"""A name that the file may have besides the settings: editors read it."""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_NOT_IN_FILES = frozenset({"config"})


def settings_schema() -> dict[str, Any]:
    """Return the JSON Schema of a settings file, generated from the declared settings."""
    generated = Settings.model_json_schema()
    properties: dict[str, Any] = {
        SCHEMA_KEY: {"type": "string", "description": "Where an editor finds this schema; ignored by the plugin."}
    }
    for name, schema in generated["properties"].items():
        if name not in _NOT_IN_FILES and not schema.get("code_only"):
            properties[name] = _described(schema)
    return {
        "$schema": _DIALECT,
        "title": "Settings of draftcritic",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "$defs": generated.get("$defs", {}),
    }


def _described(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a setting with what it takes in its description."""
    kept = {key: value for key, value in schema.items() if key not in {"allowed", "code_only", "title"}}
    kept["description"] = f"{schema.get('description', '')} Takes {schema.get('allowed', '')}."
    return kept

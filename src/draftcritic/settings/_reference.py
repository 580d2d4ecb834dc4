"""The reference table of all settings, generated from the class."""

from __future__ import annotations

from enum import Enum

from draftcritic.settings._fields import allowed, code_only
from draftcritic.settings._model import Settings
from draftcritic.settings._origins import ENV_PREFIX


def reference_table() -> str:
    """Return all settings as a Markdown table, as in `docs/settings.md`."""
    head = ["| setting | environment | default | allowed | meaning |", "| --- | --- | --- | --- | --- |"]
    rows = []
    for name, field in Settings.model_fields.items():
        variable = "only in code" if code_only(field) else f"`{ENV_PREFIX}{name.upper()}`"
        default = _default(field.get_default(call_default_factory=True))
        rows.append(f"| `{name}` | {variable} | {default} | {allowed(field)} | {field.description} |")
    return "\n".join([*head, *rows])


def _default(value: object) -> str:
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    return f"`{value.value if isinstance(value, Enum) else value}`"

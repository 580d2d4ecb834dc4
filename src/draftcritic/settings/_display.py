"""Shows values of settings without their secrets."""

from __future__ import annotations

import re
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from pathlib import PurePath
from typing import Any

VALUE_LENGTH = 80
"""Characters of a value that an error or a table shows."""
LONGEST_INTEGER = 256
"""Bits of an integer that is written out: Python itself refuses to print very long ones."""
HIDDEN = "***"

_SECRET_NAME = re.compile(
    r"(?:^|[_-]|api|access|private)key(?:$|[_-])|token(?!s)|secret|passw|pwd|credential|auth|cookie|bearer|"
    r"headers?$|signature",
    re.IGNORECASE,
)
_SECRET_TEXT = re.compile(
    r"(?P<url>(?<=://)[^/\s@]+(?=@))"
    r"|(?P<query>(?<=[?&])[^=&\s]*(?:key|token|secret|sig|auth|passw)[^=&\s]*=[^&\s]+)"
    r"|(?i:\bbearer\s+)\S+"
    r"|\b(?:sk|pk|rk|hf|xox[abps]|gh[pousr]|glpat)[-_](?=[\w\-.]*\d)[\w\-.]{12,}"
    r"|\b(?:AKIA|ASIA|AIza|eyJ)[\w\-.]{12,}",
)


def is_secret_name(name: str) -> bool:
    """Whether what stands under this name is nobody's business, e.g. `api_key`."""
    return _SECRET_NAME.search(name) is not None


def without_secrets(value: Any) -> Any:
    """`value` in plain JSON types, with what looks like a secret replaced by `***`."""
    if isinstance(value, Mapping):
        return {str(key): HIDDEN if is_secret_name(str(key)) else without_secrets(item) for key, item in value.items()}
    if isinstance(value, AbstractSet):
        return sorted((without_secrets(item) for item in value), key=str)
    if isinstance(value, (list, tuple)):
        return [without_secrets(item) for item in value]
    if hasattr(value, "statement"):
        parts = ("statement", "priority", "sensitive_tags", "id")
        return {part: without_secrets(getattr(value, part)) for part in parts if getattr(value, part, "") != ""}
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        return f"<integer of {value.bit_length()} bits>"
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (str, PurePath)):
        return _SECRET_TEXT.sub(HIDDEN, str(value))
    named = value if hasattr(value, "__qualname__") else type(value)
    article = "" if named is value else "object of "
    return f"<{article}{getattr(named, '__module__', '?')}.{named.__qualname__}>"


def shown(value: Any) -> str:
    """One bounded line that shows `value`, without secrets."""
    plain = without_secrets(value)
    # What is no plain value is named without quotes: `<object of ...>`.
    line = repr(plain) if isinstance(value, _QUOTED) or not isinstance(plain, str) else plain
    return line if len(line) <= VALUE_LENGTH else f"{line[: VALUE_LENGTH - 3]}..."


_QUOTED = (str, Enum, PurePath)

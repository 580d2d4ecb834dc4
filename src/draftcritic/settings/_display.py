"""Shows values of settings without their secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from itertools import islice
from pathlib import PurePath
from typing import Any

from draftcritic.core._secrets import HIDDEN, is_secret_flag, is_secret_name, masked

VALUE_LENGTH = 80
"""Characters of a value that an error or a table shows."""
LONGEST_INTEGER = 256
"""Bits of an integer that is written out: Python itself refuses to print very long ones."""
MAX_DEPTH = 16
"""Levels of nested values that are shown; what is deeper may contain itself."""
MAX_VALUES = 2000
"""Values that are shown of one setting: aliases can expand a few values to billions."""
_CUT = "..."
_PREFERENCE = ("statement", "priority", "sensitive_tags", "id")


def without_secrets(value: Any) -> Any:
    """Return `value` in plain JSON types, with what looks like a secret replaced by `***`."""
    return _Display().plain(value, 0)


class _Display:
    """One value on its way to being shown; counts how much of it is shown already."""

    def __init__(self) -> None:
        self._left = MAX_VALUES

    def plain(self, value: Any, depth: int) -> Any:
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            return _CUT
        if isinstance(value, Mapping):
            items = islice(value.items(), self._left + 1)
            return {masked(str(key)): self._named(str(key), item, depth) for key, item in items}
        if isinstance(value, AbstractSet):
            return sorted((self.plain(item, depth + 1) for item in islice(value, self._left + 1)), key=str)
        if isinstance(value, (list, tuple)):
            return list(self._listed(value, depth))
        if hasattr(value, "statement"):
            parts = [part for part in _PREFERENCE if getattr(value, part, "") != ""]
            return {
                part: self.plain(getattr(value, part), depth + 1) for part in parts if getattr(value, part, "") != ""
            }
        return _scalar(value)

    def _named(self, name: str, value: Any, depth: int) -> Any:
        # A value that only says yes, no or nothing is no credential.
        is_secret = is_secret_name(name) and not isinstance(value, bool) and value is not None
        return HIDDEN if is_secret else self.plain(value, depth + 1)

    def _listed(self, values: Iterable[Any], depth: int) -> Iterable[Any]:
        """Yield the items; what follows a flag such as `--token`, or the name in a pair, is a secret."""
        # A header and its value; a list of two at the top is a list of words.
        pair = depth > 1 and isinstance(values, (list, tuple)) and len(values) == 2
        before: Any = None
        for at, item in enumerate(islice(values, self._left + 1)):
            named = isinstance(before, str) and (is_secret_flag(before) or (pair and at and _is_name(before)))
            yield HIDDEN if named and not _is_flag(item) else self.plain(item, depth + 1)
            before = item


def _is_name(text: str) -> bool:
    return " " not in text and len(text) <= VALUE_LENGTH and is_secret_name(text)


def _is_flag(item: Any) -> bool:
    return isinstance(item, str) and item.startswith("--")


def _scalar(value: Any) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if isinstance(value, int) and value.bit_length() > LONGEST_INTEGER:
        return f"<integer of {value.bit_length()} bits>"
    if value is None or isinstance(value, (bool, int, float)):
        return value
    if isinstance(value, (str, PurePath)):
        return masked(str(value))
    named = value if hasattr(value, "__qualname__") else type(value)
    article = "" if named is value else "object of "
    return f"<{article}{getattr(named, '__module__', '?')}.{named.__qualname__}>"


def shown(value: Any) -> str:
    """Return `value` as one line of at most `VALUE_LENGTH` characters, without secrets."""
    plain = without_secrets(value)
    # What is no plain value is named without quotes: `<object of ...>`.
    line = repr(plain) if isinstance(value, _QUOTED) or not isinstance(plain, str) else plain
    if len(line) <= VALUE_LENGTH:
        return line
    # Cut in the middle: of a path, the end is what the reader looks for.
    kept = VALUE_LENGTH - len(_CUT)
    return f"{line[: kept - kept // 2]}{_CUT}{line[-(kept // 2) :]}"


_QUOTED = (str, Enum, PurePath)

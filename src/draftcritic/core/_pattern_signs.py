"""The signs of a parsed regular expression: what matches one character."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any

# The parser has no public name, and an older one before Python 3.11.
_NEW = sys.version_info >= (3, 11)
ops: Any = import_module("re._constants" if _NEW else "sre_constants")
parser: Any = import_module("re._parser" if _NEW else "sre_parse")

SIGNS = frozenset({ops.IN, ops.LITERAL, ops.NOT_LITERAL, ops.ANY})
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def source_of(sign: Any) -> str:
    """Return a pattern that matches the same one character."""
    op, value = sign
    if op is ops.LITERAL:
        return re.escape(chr(value))
    if op is ops.NOT_LITERAL:
        return f"[^{re.escape(chr(value))}]"
    if op is ops.ANY:
        return "."
    parts: list[str] = []
    for kind, entry in value:
        if kind is ops.NEGATE:
            parts.insert(0, "^")
        elif kind is ops.LITERAL:
            parts.append(re.escape(chr(entry)))
        elif kind is ops.RANGE:
            parts.append(f"{re.escape(chr(entry[0]))}-{re.escape(chr(entry[1]))}")
        else:
            parts.append(_CATEGORIES[str(entry)])
    return f"[{''.join(parts)}]"

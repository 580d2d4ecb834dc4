"""Text that any encoder accepts, and text that shows nothing."""

from __future__ import annotations

import re
import unicodedata

_FILLERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
"""Letters and marks that are drawn as nothing."""
_SEEN = re.compile(rf"[^\s\x00-\x1f\x7f{_FILLERS}]")
_TAGS = range(0xE0000, 0xE0080)
"""Format characters that spell hidden text."""


def well_formed(text: str) -> str:
    """Return `text` with halves of surrogate pairs joined, and lone ones replaced by U+FFFD.

    A lone surrogate makes every UTF-8 encoder raise: HTTP clients, JSON responses, exporters.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text


def is_invisible(text: str) -> bool:
    """Return whether a text has nothing but white space and characters that are drawn as nothing.

    Tag characters are not: a model reads the text that they spell.
    """
    return not any(unicodedata.category(found[0]) != "Cf" or ord(found[0]) in _TAGS for found in _SEEN.finditer(text))

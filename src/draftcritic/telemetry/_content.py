"""Attribute values that every exporter can encode, and the switch for content capture."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum
from typing import Any
from uuid import UUID

from draftcritic.telemetry import names

Scalar = str | bool | int | float
Value = Scalar | Sequence[str]

MAX_TEXT = 1_024
"""Characters of an ordinary text attribute: names, ids, words."""
MAX_CONTENT = 16_384
"""Characters of a text that is content: a draft, a refusal, a preference."""
MAX_ITEMS = 64
"""Items of a list; what follows is left out."""
CUT_MARK = "...[cut]"
"""Ends a text that was longer. The mark counts: no text is longer than its limit."""

_INT64 = 2**63
_MAX_DIGITS = 64
"""A longer number is neither a token count nor an id, and converting it to text is slow."""

logger = logging.getLogger("draftcritic")


class Capture(Enum):
    """Where content may go, in the words of the GenAI instrumentations."""

    NO_CONTENT = "NO_CONTENT"
    SPAN_ONLY = "SPAN_ONLY"
    EVENT_ONLY = "EVENT_ONLY"
    SPAN_AND_EVENT = "SPAN_AND_EVENT"

    @property
    def on_span(self) -> bool:
        """Content may be written to spans."""
        return self in (Capture.SPAN_ONLY, Capture.SPAN_AND_EVENT)

    @property
    def on_event(self) -> bool:
        """Content may be written to log events."""
        return self in (Capture.EVENT_ONLY, Capture.SPAN_AND_EVENT)


def capture_from_environment(environ: Mapping[str, str] | None = None) -> Capture:
    """Read the switch; an unknown word is logged and captures nothing."""
    word = (os.environ if environ is None else environ).get(names.CAPTURE_CONTENT, "").strip().upper()
    if not word:
        return Capture.NO_CONTENT
    try:
        return Capture(word)
    except ValueError:
        allowed = ", ".join(member.value for member in Capture)
        logger.warning(
            "%s is %r, allowed are %s; no content is captured",
            names.CAPTURE_CONTENT,
            clean_text(word, 40),
            allowed,
        )
        return Capture.NO_CONTENT


def clean_text(text: str, limit: int = MAX_TEXT) -> str:
    """Return `text` as every exporter can encode it, at most `limit` characters long.

    A lone surrogate becomes U+FFFD, a pair becomes the character it encodes. A longer text ends in `CUT_MARK`.
    """
    # One character more than the limit is enough to see that the text is too long; the rest is never read.
    plain = str.__str__(text)[: limit + 1]
    if not plain.isascii():
        plain = _without_lone_surrogates(plain)
    if len(plain) <= limit and str.__len__(text) <= limit:
        return plain
    return plain[: max(0, limit - len(CUT_MARK))] + CUT_MARK[:limit]


def clean_texts(texts: Iterable[Any], limit: int = MAX_TEXT) -> list[str]:
    """Clean each text of a list. Other types are left out, and so is what follows `MAX_ITEMS`."""
    return [clean_text(text, limit) for text in texts if isinstance(text, str)][:MAX_ITEMS]


def clean(value: Any, limit: int = MAX_TEXT) -> Value | None:
    """Return `value` as an attribute may hold it, or None when it must be left out.

    Whole numbers beyond 64 bits become text, numbers that are not finite and types that no attribute has are left
    out. A list keeps its texts only.
    """
    cleaned: Value | None = None
    if isinstance(value, str):
        cleaned = clean_text(value, limit)
    elif isinstance(value, bool):
        cleaned = value
    elif isinstance(value, int):
        cleaned = _clean_int(value)
    elif isinstance(value, float):
        cleaned = float(value) if math.isfinite(value) else None
    elif isinstance(value, UUID):
        cleaned = str(value)
    elif isinstance(value, (list, tuple, set, frozenset)):
        cleaned = clean_texts(value, limit)
    return cleaned


def put(attributes: dict[str, Value], name: str, value: Any, limit: int = MAX_TEXT) -> None:
    """Set an attribute to the cleaned value, unless there is none."""
    if type(value) is str and len(value) <= limit and value.isascii():
        # Most texts are clean: ids and names.
        attributes[name] = value
        return
    cleaned = clean(value, limit)
    if cleaned is not None:
        attributes[name] = cleaned


def count_of(value: Any) -> int | None:
    """Return a token count, or None for a value that cannot be one."""
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _INT64:
        return None
    return int(value)


def amount_of(value: Any) -> float | None:
    """Return a finite amount of at least 0 as a double, or None for any other value."""
    if type(value) is float:
        return value if 0 <= value < _INT64 else None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < _INT64:
        return None
    return float(value)


def _clean_int(value: int) -> int | str | None:
    if -_INT64 <= value < _INT64:
        return int(value)
    return str(int(value)) if value.bit_length() <= 3 * _MAX_DIGITS else None


def _without_lone_surrogates(text: str) -> str:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text

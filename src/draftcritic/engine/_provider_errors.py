"""Reads what provider clients have in common in their exceptions: status, error code and `Retry-After`."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from email.utils import parsedate_to_datetime
from typing import Any

_CAUSES = 4
"""How many causes deep a wrapped provider exception is looked for."""
_CODE = re.compile(r"[A-Za-z0-9_.-]{1,64}")
_CODE_KEYS = ("code", "type", "status", "reason", "Code")
_DELAY = re.compile(r"(\d{1,6}(?:\.\d{1,9})?)s")
_MOST_PARTS = 64
"""Parts of an error's body that are looked at."""


def causes_of(error: BaseException, most: int = _CAUSES) -> Iterator[BaseException]:
    """Yield an exception, and what it says it was caused by, one after another: so many at most."""
    current: BaseException | None = error
    for _ in range(most):
        if current is None:
            return
        yield current
        current = current.__cause__


def statuses_of(error: BaseException) -> tuple[int, ...]:
    """Return the HTTP statuses that one exception carries."""
    response = attribute(error, "response")
    if isinstance(response, Mapping):
        metadata = response.get("ResponseMetadata")
        found = metadata.get("HTTPStatusCode") if isinstance(metadata, Mapping) else None
    else:
        found = attribute(response, "status_code")
    candidates = [attribute(error, name) for name in ("status_code", "code", "status")] + [found]
    return tuple(int(each) for each in candidates if isinstance(each, int) and not isinstance(each, bool))


def codes_of(error: BaseException) -> frozenset[str]:
    """Return the error codes that one exception carries, in lower case: never a message.

    They are in attributes, in the body of the response, or in the mapping that was given to the exception.
    """
    given = [attribute(error, name) for name in ("code", "type", "status")]
    arguments = attribute(error, "args")
    bodies = [attribute(error, name) for name in ("body", "details", "response")]
    bodies += [each for each in arguments if isinstance(each, Mapping)] if isinstance(arguments, tuple) else []
    given += [value for body in bodies for key, value in _pairs(body) if key in _CODE_KEYS]
    return frozenset(text.lower() for text in given if isinstance(text, str) and _CODE.fullmatch(text))


def retry_after(error: BaseException) -> float | None:
    """Return the seconds that a provider asks to wait, as a header or in the body of its response."""
    for each in causes_of(error):
        headers = attribute(attribute(each, "response"), "headers")
        seconds = _seconds_of(headers) if headers is not None else None
        if seconds is None:
            seconds = next((_delay(value) for key, value in _pairs(attribute(each, "details")) if _delays(key)), None)
        if seconds is not None and seconds >= 0:
            return seconds
    return None


def attribute(holder: Any, name: str) -> Any:
    """Read an attribute of a third-party object whose property may raise."""
    try:
        return getattr(holder, name, None)
    except Exception:
        return None


def _seconds_of(headers: Any) -> float | None:
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            value = headers.get(name)
            if value is None:
                value = headers.get(name.title())
        except Exception:  # third-party mapping
            return None
        if isinstance(value, (str, int, float)):
            seconds = _number_or_date(str(value)[:64])
            if seconds is not None:
                return seconds * unit
    return None


def _number_or_date(text: str) -> float | None:
    try:
        seconds = float(text)
    except ValueError:
        try:
            return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
        except (ValueError, TypeError, OverflowError):
            return None
    return seconds if 0 <= seconds < float("inf") else None


def _delays(key: Any) -> bool:
    return bool(key == "retryDelay")


def _delay(value: Any) -> float | None:
    found = _DELAY.fullmatch(value) if isinstance(value, str) else None
    return float(found[1]) if found else None


def _pairs(body: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the keys and values of a JSON body, however deep, up to a bounded number of parts."""
    waiting, left = [body], _MOST_PARTS
    while waiting and left > 0:
        left -= 1
        part = waiting.pop()
        if isinstance(part, Mapping):
            items = list(part.items())[:_MOST_PARTS]
            yield from items
            waiting.extend(value for _, value in items if isinstance(value, (Mapping, list)))
        elif isinstance(part, list):
            waiting.extend(part[:_MOST_PARTS])

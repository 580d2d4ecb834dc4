"""Reads tool calls, messages and results: an application's own objects, of which none may break the check."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from draftcritic.core._fault import described

logger = logging.getLogger(__name__)

_NAME_FIELDS = ("name", "tool", "tool_name")


def calls_of(calls: Any) -> tuple[Any, ...]:
    """Return tool calls as a tuple; one call alone counts, and what is no collection of calls holds none."""
    if isinstance(calls, (list, tuple)):
        return tuple(calls)
    if isinstance(calls, Mapping):
        return (calls,)
    if isinstance(calls, Iterable) and not isinstance(calls, (str, bytes)):
        return tuple(calls)
    return ()


def field_of(call: Any, name: str) -> Any:
    """Return a field of a tool call, which is a mapping or an object; None when it has none."""
    if type(call) is dict:
        return call.get(name)
    try:
        return call.get(name) if isinstance(call, Mapping) else getattr(call, name, None)
    except Exception as error:
        # It is the application's own object; one that cannot be read grounds nothing.
        logger.debug("draftcritic: %s of a %s cannot be read: %s", name, type(call).__name__, described(error))
        return None


def name_of(call: Any) -> str:
    """Return the name of the tool that was called; empty when the call has none."""
    for field in _NAME_FIELDS:
        name = field_of(call, field)
        if isinstance(name, str) and name:
            return name
    return ""


def text_of(value: Any) -> str:
    """Return the value as text; the empty one when it cannot be written out."""
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception as error:
        # A tool's result is the application's own object, too.
        logger.debug("draftcritic: a %s cannot be turned into text: %s", type(value).__name__, described(error))
        return ""

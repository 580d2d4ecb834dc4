"""Everything of a turn that can ground what a draft asserts, indexed once and asked often."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import Any

logger = logging.getLogger(__name__)

_TOKEN = re.compile(r"[A-Za-z0-9][A-Za-z0-9_\-./]*")
_RESULT_FIELDS = ("result", "output", "response", "args", "input")
_NAME_FIELDS = ("name", "tool", "tool_name")
_SEARCHES = 256
"""Whole-text searches a turn may cost; each is linear in the context, so their number must not grow with the draft."""


class Grounding:
    """The sources of one turn: tool arguments and results, the context, the user's message.

    Args:
        tool_calls: the turn's tool calls, each a mapping (or an object with the same attributes) with `name`, and
            the texts or values `result`, `output`, `response`, `args`, `input` as far as it has them.
        context: the context that the model saw.
        user_message: the user's message.
    """

    def __init__(self, tool_calls: Any = None, context: Any = "", user_message: Any = "") -> None:
        self.tool_calls: tuple[Any, ...] = _as_calls(tool_calls)
        self._context = context
        self._user_message = user_message
        self._searches_left = _SEARCHES

    @cached_property
    def tool_names(self) -> tuple[str, ...]:
        """The names of the tools that were called, in lower case."""
        names = (next(filter(None, (_text_field(call, name) for name in _NAME_FIELDS)), "") for call in self.tool_calls)
        return tuple(name.lower() for name in names if name)

    @cached_property
    def corpus(self) -> str:
        """All sources in one text."""
        parts = [_as_text(self._user_message), _as_text(self._context)]
        parts.extend(_as_text(_field(call, name)) for call in self.tool_calls for name in _RESULT_FIELDS)
        return "\n".join(part for part in parts if part)

    def holds(self, token: str) -> bool:
        """Whether some source holds the token as it is written."""
        return token in self._tokens or self._found(token, self.corpus)

    def holds_uuid(self, uuid: str) -> bool:
        """Whether some source holds the UUID, with or without hyphens, in either case."""
        return self._found(uuid.replace("-", "").lower(), self._compact, self._compact_tokens)

    @cached_property
    def _tokens(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self.corpus))

    @cached_property
    def _compact(self) -> str:
        return self.corpus.replace("-", "").lower()

    @cached_property
    def _compact_tokens(self) -> frozenset[str]:
        return frozenset(_TOKEN.findall(self._compact))

    def _found(self, token: str, text: str, tokens: frozenset[str] = frozenset()) -> bool:
        if token in tokens:
            return True
        if not text or self._searches_left <= 0:
            return False
        self._searches_left -= 1
        return token in text


def _as_calls(calls: Any) -> tuple[Any, ...]:
    if isinstance(calls, Mapping):
        return (calls,)
    if isinstance(calls, Iterable) and not isinstance(calls, (str, bytes)):
        return tuple(calls)
    return ()


def _field(call: Any, name: str) -> Any:
    return call.get(name) if isinstance(call, Mapping) else getattr(call, name, None)


def _text_field(call: Any, name: str) -> str:
    value = _field(call, name)
    return value if isinstance(value, str) else ""


def _as_text(value: Any) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    try:
        return str(value)
    except Exception:
        # A tool's result is the application's own object; one that cannot be written out grounds nothing.
        logger.debug("draftcritic: a %s cannot be turned into text", type(value).__name__, exc_info=True)
        return ""

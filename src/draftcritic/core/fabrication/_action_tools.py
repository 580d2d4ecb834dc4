"""Which tool calls can have done an action: their names and arguments against the words of `actions/tools.txt`."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from draftcritic.core._data import data_text
from draftcritic.core._fault import described
from draftcritic.core._phrases import lines_of
from draftcritic.core.fabrication._lazy import lazy
from draftcritic.core.fabrication._outcome import has_failed
from draftcritic.core.fabrication._sources import field_of, name_of

logger = logging.getLogger(__name__)

_ANY_CHANGE, _ANY_CALL = "*", "+"
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|[^\W\d_]+")
_NAMESPACE = re.compile(r"__+|[./:\\]+|(?<=[A-Za-z0-9])-(?=[A-Za-z]+_)")
_PREFIX = 3
"""Words of a name of which the first that says what the tool does decides."""
_RUNS = frozenset({"run", "execute", "exec"})
_MAX_ARGUMENTS = 4000


@dataclass(frozen=True)
class _ToolWords:
    fits: Mapping[str, tuple[str, ...]]
    looks: frozenset[str]
    looks_anywhere: frozenset[str]
    known: tuple[str, ...]


@cache
def _tool_words() -> _ToolWords:
    sections = lines_of(data_text("draftcritic.core.fabrication", "actions", "tools.txt"))
    fits = {}
    for line in sections["fits"]:
        action, _, words = line.partition(":")
        fits[action.strip()] = tuple(words.split())
    looks = frozenset(word for line in sections["looks"] for word in line.split())
    anywhere = frozenset(word for line in sections["looks anywhere"] for word in line.split())
    known = tuple({word for words in fits.values() for word in words if word not in (_ANY_CHANGE, _ANY_CALL)})
    return _ToolWords(fits, looks, anywhere, known)


class ToolsOfTurn:
    """The tool calls of a turn, as far as they can have done something.

    Args:
        calls: the calls, each a mapping with `name`, and `args` and `result` as far as it has them.
        read_only: names of tools that change nothing.
        action_words: name of a tool -> words of the actions that it does, beside those in its name.
    """

    def __init__(
        self,
        calls: Sequence[Any],
        read_only: Collection[str] = (),
        action_words: Mapping[str, Collection[str]] | None = None,
    ) -> None:
        words = action_words or {}
        self.called = bool(calls)
        tools = (_changing_tool(call, read_only, words.get(name_of(call), ())) for call in calls)
        self._tools = [tool for tool in tools if tool is not None]

    @property
    def changed_something(self) -> bool:
        """Whether a call may have changed something."""
        return bool(self._tools)

    def can_have_done(self, action: str, word: str) -> bool:
        """Whether one of the calls fits the action, or the word that names it."""
        fits = _tool_words().fits.get(action, (_ANY_CHANGE,))
        return (_ANY_CALL in fits and self.called) or any(tool.fits(fits, action, word) for tool in self._tools)


class _Tool:
    def __init__(self, words: tuple[str, ...], call: Any, *, is_known: bool) -> None:
        self.words = words
        self.is_known = is_known
        self._call = call

    @lazy
    def arguments(self) -> frozenset[str]:
        """The words of what the tool was given."""
        arguments = _value(self._call, "args", "input")
        return frozenset(part.lower() for part in _PARTS.findall(_text(arguments, _MAX_ARGUMENTS)))

    def fits(self, beginnings: tuple[str, ...], action: str, word: str) -> bool:
        if _ANY_CHANGE in beginnings or not self.is_known:
            return True
        starts = (*beginnings, action[:5], word[:5])
        return any(part.startswith(starts) for part in self.words) or any(
            part.startswith((action[:5], word[:5])) for part in self.arguments
        )


def may_have_changed(call: Any) -> bool:
    """Whether a call succeeded, and its tool's name is not that of one that only looks something up."""
    return _changing_tool(call, (), ()) is not None


def _changing_tool(call: Any, read_only: Collection[str], words: Collection[str]) -> _Tool | None:
    name = name_of(call)
    if (name and name in read_only) or has_failed(call):
        return None
    known = _tool_words()
    parts = _own_parts(name, known)
    # What `run_query` does, its query says.
    looks = parts and (
        parts[0] in known.looks or (parts[0] not in _RUNS and not known.looks_anywhere.isdisjoint(parts))
    )
    if looks and not words:
        return None
    parts = (*parts, *(part for word in words for part in word.lower().split()))
    is_known = bool(parts) and parts[0].startswith(known.known)
    return _Tool(parts, call, is_known=is_known)


def _own_parts(name: str, known: _ToolWords) -> tuple[str, ...]:
    """Return the words of a tool's name without those of the server, package or class before it.

    `mcp__shop__get_booking`, `shop.get_booking` and `Shop-get_booking` are `get_booking`. In `shop_get_booking` the
    first word that says what a tool does tells where the name begins.
    """
    spaces = [part for part in _NAMESPACE.split(name) if part]
    parts = tuple(part.lower() for part in _PARTS.findall(spaces[-1] if spaces else name))
    if len(spaces) > 1 and len(parts) == 1 and not (parts[0] in known.looks or parts[0].startswith(known.known)):
        parts = tuple(part.lower() for part in _PARTS.findall(name))
    for at, part in enumerate(parts[:_PREFIX]):
        if part in known.looks:
            return parts[at:]
        if part.startswith(known.known):
            break
    return parts


def _value(call: Any, *fields: str) -> Any:
    return next((value for field in fields if (value := field_of(call, field)) is not None), None)


def _text(value: Any, most: int) -> str:
    if isinstance(value, str):
        return value[:most]
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:most]
    except Exception as error:
        # It is the application's own object: what cannot be written out tells nothing.
        logger.debug("draftcritic: a %s cannot be turned into text: %s", type(value).__name__, described(error))
        return ""

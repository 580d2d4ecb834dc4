"""Whether a tool call failed: by its status, by the fields of its result, or by the words of its message."""

from __future__ import annotations

import ast
import json
import logging
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from draftcritic.core._exception_place import described
from draftcritic.core._lexicon import data_text, lines_of
from draftcritic.grounding._token import lazy

logger = logging.getLogger(__name__)

_MAX_PARSED = 20_000
_MAX_TEXT = 20_000
_SHORT = 300
"""A message of at most so many characters is read as a whole, of a longer one only the beginning."""
_DEPTH = 3
_STATUS_FIELDS = ("status", "outcome")
_RESULT_FIELDS = ("result", "output", "response")
_FAILED_STATUS = frozenset({"error", "failed", "failure", "rejected", "declined", "denied", "cancelled", "canceled"})
_ERRORS = frozenset(
    {"error", "errors", "exception", "errormessage", "errormsg", "errorcode", "fault", "failure", "failurereason"}
    | {"traceback", "iserror", "failed", "haserror"}
)
_SUCCESSES = frozenset({"ok", "success", "succeeded", "successful", "issuccess", "accepted", "issuccessful"})
_STATES = frozenset({"status", "state", "outcome", "resultstatus", "statustext"})
_CODES = frozenset({"status", "statuscode", "code", "httpstatus", "httpcode", "httpstatuscode", "responsecode"})
_MESSAGES = frozenset({"message", "msg", "detail", "details", "result", "output", "text", "info"})
_WRAPPERS = frozenset({"data", "result", "response", "body", "payload", "output", "structuredcontent", "content"})
_NOT_SO = (False, "false", "False", "no")
_NO_ERROR = frozenset({"", "none", "null", "no", "false", "0", "ok", "success", "nil", "n/a"})
_HTTP = re.compile(
    r"\bhttp\W{0,3}(?:(?:status|error|code|\d\.\d|\d)\W{0,3}){0,2}[45]\d\d\b"
    r"|\b(?:status|response|return(?:ed)?|server)(?:\s?code)?\W{0,3}(?:4[0-5]\d|50\d|51[01])\b"
    r"|(?:4[0-5]\d|50\d|51[01])\W{1,3}(?:bad|unauthori|payment req|forbid|not\b|method|request|conflict|"
    r"gone|precond|payload|unsupp|unproc|locked|too\smany|internal|service\s|gateway|client|server|error)",
    re.IGNORECASE,
)
_NEGATED = re.compile(
    r"(?:\b(?:no|not|0|zero|without|any|never|sin|ohne|keine?|aucune?|sans|nessun\w?|sem|geen|bez|\u0431\u0435\u0437)|"
    r"\u6ca1\u6709|\u65e0|\u7121)\s?\Z",
    re.IGNORECASE,
)
_NOTHING = re.compile(r"\w{0,8}[\"']?\s?[:=]\s?(?:0\b|none|null|false|no\b|nil|\[\s?\]|\{\s?\}|\"\"|'')", re.IGNORECASE)
_ADDRESS = re.compile(r"[\w.-]{0,64}@")
_SENTENCE = re.compile(r"(?<=[.!?\u3002\uff01\uff1f])\s+|\n+|(?<=[\u3002\uff01\uff1f])")
_DONE = re.compile(
    r"\b(?:success\w*|ok|okay|done|sent|made|set|paid|[^\W\d_]{3,}ed)\b|\u2705|\u2713|\u6210\u529f", re.I
)

_NAME_FIELDS = ("name", "tool", "tool_name")


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


@cache
def _failure_words() -> re.Pattern[str]:
    sections = lines_of(data_text("draftcritic.grounding", "data/actions", "failures.txt"))
    spaced = [word for line in sections["spaced"] for word in (line.split("|") if "|" in line else line.split())]
    unspaced = [word for line in sections["unspaced"] for word in line.split()]
    return re.compile(
        rf"(?<![^\W_])(?:{'|'.join(map(re.escape, spaced))})|{'|'.join(map(re.escape, unspaced))}", re.IGNORECASE
    )


def has_failed(call: Any) -> bool:
    """Whether a tool call failed, as far as its status or result says.

    Args:
        call: a mapping or an object with `name`, and `status` and `result` (or `output`, `response`) where it has them.
    """
    status = next((value for name in _STATUS_FIELDS if isinstance(value := field_of(call, name), str)), "")
    if status.lower() in _FAILED_STATUS or field_of(call, "is_error") is True or field_of(call, "error"):
        return True
    result = next((value for name in _RESULT_FIELDS if (value := field_of(call, name)) is not None), None)
    return result is not None and _says_failed(result, name_of(call).lower(), 0)


def _says_failed(result: Any, tool: str, depth: int) -> bool:
    if depth > _DEPTH:
        return False
    if isinstance(result, str):
        parsed = _parsed(result)
        return _text_failed(result, tool) if parsed is None else _says_failed(parsed, tool, depth + 1)
    if isinstance(result, Mapping):
        return _record_failed(result, tool, depth)
    if isinstance(result, (list, tuple)) and result:
        return all(not _is_plain(item) and _says_failed(item, tool, depth + 1) for item in result[:16])
    return False


def _is_plain(item: Any) -> bool:
    return item is None or isinstance(item, (bool, int, float, str))


def _parsed(text: str) -> Any:
    """Return the records that a text writes as JSON or as Python does; None for other texts."""
    head = text.lstrip()[:1]
    if head not in ("{", "[") or len(text) > _MAX_PARSED:
        return None
    for read in (json.loads, ast.literal_eval):
        try:
            value = read(text.strip())
        except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
            continue
        if isinstance(value, (dict, list)):
            return value
    return None


def _record_failed(record: Mapping[Any, Any], tool: str, depth: int) -> bool:
    fields = {re.sub(r"[\W_]", "", str(key).lower()): value for key, value in list(record.items())[:64]}
    states = [value for key in _STATES if isinstance(value := fields.get(key), str) and not value.isdigit()]
    if (
        any(key in fields and fields[key] in _NOT_SO for key in _SUCCESSES)
        or any(_is_error(fields.get(key)) for key in _ERRORS)
        or any(_is_error_code(fields.get(key)) for key in _CODES)
        or any(_finds_failure(state, tool) for state in states)
        or any(value is False and _is_own(key, tool) for key, value in fields.items())
    ):
        return True
    if states or any(fields.get(key) is True for key in _SUCCESSES):
        return False
    inside: list[Any] = [value for key in _MESSAGES if isinstance(value := fields.get(key), str)]
    inside += [value for key in _WRAPPERS if isinstance(value := fields.get(key), (Mapping, list, tuple))]
    return any(_says_failed(value, tool, depth + 1) for value in inside)


def _is_error(value: Any) -> bool:
    if isinstance(value, str):
        return value.strip().lower() not in _NO_ERROR
    return bool(value)


def _is_error_code(value: Any) -> bool:
    if isinstance(value, str) and value.isdigit():
        value = int(value[:6])
    return isinstance(value, int) and not isinstance(value, bool) and 400 <= value < 600


def _is_own(field: str, tool: str) -> bool:
    """Whether the field says whether the tool's own action was done: `cancelled` of `cancel_order`."""
    return len(field) > 4 and field.endswith("ed") and field[:5] in tool


def _text_failed(text: str, tool: str) -> bool:
    text = text[:_MAX_TEXT].strip()
    first, *others = _SENTENCE.split(text[:_SHORT]) or [""]
    if _finds_failure(first, tool) or _HTTP.search(first) or text.startswith(("<error", "<tool_use_error")):
        return True
    if "Traceback (most recent call last)" in text:
        return True
    if len(text) > _SHORT or _DONE.search(first):
        return False
    return any(_finds_failure(sentence, tool) or _HTTP.search(sentence) for sentence in others)


def _finds_failure(text: str, tool: str) -> bool:
    for found in _failure_words().finditer(text):
        word = found[0].lower()
        # What the tool is there to do is not its failure: `decline_invitation`, `log_error`.
        if word[:4] in tool and len(word) > 3:
            continue
        if (
            _ADDRESS.match(text, found.end())
            or _NEGATED.search(text[max(0, found.start() - 16) : found.start()])
            or _NOTHING.match(text, found.end())
        ):
            continue
        return True
    return False


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
    sections = lines_of(data_text("draftcritic.grounding", "data/actions", "tools.txt"))
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
        action_words: name of a tool -> words of the actions that it does in addition to those in its name.
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
    first word that says what a tool does marks where the name begins.
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
        # It is the application's own object: one that cannot be serialized has no text.
        logger.debug("draftcritic: a %s cannot be turned into text: %s", type(value).__name__, described(error))
        return ""

"""Tool calls that agents without tool calling write as text: `Action:` and `Observation:` lines, and tags."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

MOST_CALLS = 64
_LABEL = re.compile(
    r"^[ \t>*_#]{0,8}(thought|action(?:[ _]input)?|observation|final[ _]answer|question|"
    r"tool(?:[ _](?:input|output|result|response|name))?|function|arguments|input|output|result|"
    r"human|user|ai|assistant)[ \t]?\d{0,3}[*_]{0,2}[ \t]?[:\uff1a]",
    re.IGNORECASE | re.MULTILINE,
)
_CALLS = frozenset({"action", "tool", "function", "tool name"})
_INPUTS = frozenset({"action input", "tool input", "arguments", "input"})
_RESULTS = frozenset({"observation", "tool output", "tool result", "tool response", "output", "result"})
_NAME = re.compile(
    r"[\s`'\"\[({<*]{0,8}([^\W\d][\w.\-/:]{0,80})[`'\"\])}>*]{0,4}\s*(?:[\[(](.*)[\])])?\s*\Z", re.DOTALL
)
_TAG = re.compile(
    r"<(tool_call|tool_response|tool|tool_input|observation|function_results|invoke)"
    r"(?:\s+name=[\"']([\w.\-]{1,80})[\"'])?\s?>([^<]{0,20000})",
    re.IGNORECASE,
)
_BLOB = re.compile(r"\{\s*[\"'](?:action|tool|name)[\"']\s*:\s*[\"']([\w.\-/:]{1,80})[\"']")
_LONGEST = 20_000
_MOST_LABELS = 1000


def calls_in(text: str) -> tuple[dict[str, Any], ...]:
    """Return the calls that a text tells of with their results. A call without a result was not made."""
    if ":" not in text and "<" not in text and "\uff1a" not in text:
        return ()
    calls: list[dict[str, Any]] = []
    for entry in (*_labelled(text), *_tagged(text)):
        calls.append(entry)
        if len(calls) >= MOST_CALLS:
            break
    return tuple(calls)


def asks_for_tool(text: str) -> bool:
    """Whether a model's text asks for a tool, and so does not answer."""
    return any(_name_in(body) for label, body in _segments(text) if label in _CALLS) or (
        "<tool_call>" in text or "<invoke" in text or "<tool>" in text
    )


def _segments(text: str) -> Iterator[tuple[str, str]]:
    marks = list(islice(_LABEL.finditer(text), _MOST_LABELS))
    for at, mark in enumerate(marks):
        end = marks[at + 1].start() if at + 1 < len(marks) else len(text)
        yield mark[1].lower().replace("_", " "), text[mark.end() : min(end, mark.end() + _LONGEST)].strip()


def _labelled(text: str) -> Iterator[dict[str, Any]]:
    entry: dict[str, Any] | None = None
    refused = False
    for label, body in _segments(text):
        if label in _CALLS:
            found = _name_in(body)
            entry, refused = ({"name": found[0], "args": found[1]}, False) if found else (None, True)
        elif label in _INPUTS and entry is not None:
            entry["args"] = _value(body)
        elif label in _RESULTS and label != "output" and not refused:
            yield {**(entry or {"name": None}), "result": body}
            entry = None


def _name_in(body: str) -> tuple[str, Any] | None:
    """Return the tool and its input; None for a description such as `the action to take`."""
    blob = _BLOB.search(body[:2000])
    if blob:
        value = _value(body[blob.start() :].rstrip("` \n"))
        given = (
            value.get("action_input", value.get("arguments", value.get("args"))) if isinstance(value, dict) else None
        )
        return blob[1], given
    name = _NAME.match(body)
    return (name[1], name[2]) if name else None


def _tagged(text: str) -> Iterator[dict[str, Any]]:
    entry: dict[str, Any] | None = None
    for tag in islice(_TAG.finditer(text), _MOST_LABELS):
        kind, body = tag[1].lower(), tag[3].strip()
        if kind in ("tool_call", "tool", "invoke"):
            found = (tag[2], body) if tag[2] else _name_in(body)
            entry = {"name": found[0], "args": found[1]} if found else None
        elif kind == "tool_input" and entry is not None:
            entry["args"] = _value(body)
        elif kind in ("tool_response", "observation", "function_results"):
            yield {**(entry or {"name": None}), "result": body}
            entry = None


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text

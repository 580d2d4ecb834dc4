"""What a provider's own tools did inside an answer: searches, code, remote servers, and their citations."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from draftcritic.langchain._message_text import readable

_ASKED = ("server_tool_use", "mcp_tool_use", "server_tool_call", "tool_search_call")
_CLIENT_CALLS = frozenset({"function_call", "tool_call", "invalid_tool_call", "custom_tool_call"})
_ARGUMENTS = ("input", "args", "arguments", "action", "queries", "code", "operation")
_RESULTS = ("output", "outputs", "results", "result", "content", "code_execution_result", "tools")
_BAD_STATES = frozenset({"error", "failed", "incomplete"})
_CITATIONS = ("citations", "annotations")
_EXTRA_LISTS = ("tool_outputs", "executed_tools")
_EXTRA_SOURCES = ("citations", "annotations", "search_results", "citation_metadata", "url_context_metadata")
_GROUNDING = ("grounding_metadata", "groundingMetadata")
_GOOGLE_OK = (1, "1", "OUTCOME_OK", None)
_CODE = "code_execution"
_HIDDEN = ("encrypted_content", "encrypted_stdout")


class ProviderCalls:
    """The calls of providers' tools in one or several messages.

    Attributes:
        calls: in the shape of `Turn.tool_calls`.
        cited: the texts that citations quote.
        has_unread: a tool read something that the message does not contain, such as the pages of a search.
    """

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.cited: list[str] = []
        self.has_unread = False
        self._by_id: dict[str, dict[str, Any]] = {}

    def add(self, content: Any, *extras: Mapping[str, Any]) -> None:
        """Read the content of a message, its `additional_kwargs` and its `response_metadata`."""
        if isinstance(content, (list, tuple)):
            self._add_blocks(content)
        for extra in extras:
            for key in _EXTRA_LISTS:
                if isinstance(extra.get(key), (list, tuple)):
                    self._add_blocks(extra[key], default="executed_tool")
            for key in _EXTRA_SOURCES:
                if extra.get(key):
                    self._cite(extra[key])
            for key in _GROUNDING:
                if isinstance(extra.get(key), Mapping):
                    self._add_grounding(extra[key])

    def _add_blocks(self, blocks: Sequence[Any], default: str = "") -> None:
        for block in blocks:
            if not isinstance(block, Mapping):
                continue
            kind = block.get("type")
            kind = kind if isinstance(kind, str) else ""
            if kind == "non_standard" and isinstance(block.get("value"), Mapping):
                self._add_blocks((block["value"],))
            elif kind in _ASKED:
                self._call(block, _first(block, ("name",)) or kind)
            elif kind == "executable_code":
                self._call({"input": block.get("executable_code"), **block}, _CODE)
            elif kind == "code_execution_result":
                self._answer(block, _CODE, failed=block.get("outcome", 1) not in _GOOGLE_OK)
            elif kind.endswith(("_tool_result", "_call_output", "_search_output")):
                self._answer(block, kind.removesuffix("_tool_result").removesuffix("_output"))
            elif (kind.endswith("_call") and kind not in _CLIENT_CALLS) or default:
                entry = self._call(block, _first(block, ("name",)) or kind.removesuffix("_call") or default)
                self._finish(entry, block)
            for key in _CITATIONS:
                if block.get(key):
                    self._cite(block[key])

    def _call(self, block: Mapping[str, Any], name: Any) -> dict[str, Any]:
        entry = self._entry(_first(block, ("id", "call_id")), name)
        arguments = _first(block, _ARGUMENTS)
        if arguments:
            entry["args"] = arguments if isinstance(arguments, Mapping) else {"input": arguments}
        return entry

    def _answer(self, block: Mapping[str, Any], name: str, *, failed: bool = False) -> None:
        key = _first(block, ("tool_use_id", "tool_call_id", "call_id"))
        last = self.calls[-1] if self.calls else None
        unnamed = last if key is None and last is not None and last["name"] == name and "result" not in last else None
        self._finish(unnamed or self._entry(key, name), block, failed=failed)

    def _entry(self, key: Any, name: Any) -> dict[str, Any]:
        known = self._by_id.get(key) if isinstance(key, str) else None
        if known is None:
            known = {"name": name, "id": key}
            self.calls.append(known)
            if isinstance(key, str):
                self._by_id[key] = known
        return known

    def _finish(self, entry: dict[str, Any], block: Mapping[str, Any], *, failed: bool = False) -> None:
        results = [value for key in _RESULTS if (value := block.get(key)) is not None]
        found = readable(results)
        if results:
            entry["result"] = found.text
        if failed or block.get("status") in _BAD_STATES or block.get("is_error") or block.get("error") or _erred(block):
            entry["status"] = "error"
        elif found.has_unread or not found.text or any(_hides(value) for value in results):
            self.has_unread = True

    def _cite(self, citations: Any) -> None:
        found = readable(citations)
        if found.text:
            self.cited.append(found.text)
        # A citation quotes a part of a page that the model has read as a whole.
        self.has_unread = True

    def _add_grounding(self, metadata: Mapping[str, Any]) -> None:
        chunks = metadata.get("grounding_chunks") or metadata.get("groundingChunks")
        queries = metadata.get("web_search_queries") or metadata.get("webSearchQueries")
        if chunks or queries:
            found = readable(chunks or [])
            self.calls.append({"name": "search", "args": {"queries": queries or []}, "result": found.text})
            self.has_unread = True


def _first(block: Mapping[str, Any], keys: Iterable[str]) -> Any:
    return next((value for key in keys if (value := block.get(key))), None)


def _inner(block: Mapping[str, Any]) -> Iterator[Any]:
    yield from (block.get(key) for key in ("content", "output"))


def _erred(block: Mapping[str, Any]) -> bool:
    """Whether the result is an error block of a server tool, or code that did not end well."""
    for inner in _inner(block):
        if isinstance(inner, Mapping):
            kind = inner.get("type")
            if (isinstance(kind, str) and kind.endswith("_error")) or inner.get("return_code"):
                return True
    return False


def _hides(value: Any) -> bool:
    items = value if isinstance(value, (list, tuple)) else (value,)
    return any(isinstance(item, Mapping) and any(item.get(key) for key in _HIDDEN) for item in items)


MOST_CALLS = 64
_LABEL = re.compile(
    r"^[ \t>*_#]{0,8}(thought|action(?:[ _]input)?|observation|final[ _]answer|question|"
    r"tool(?:[ _](?:input|output|result|response|name))?|function|arguments|input|output|result|"
    r"human|user|ai|assistant)[ \t]?\d{0,3}[*_]{0,2}[ \t]?[:\uff1a]",
    re.IGNORECASE | re.MULTILINE,
)
_CALLS = frozenset({"action", "tool", "function", "tool name"})
_INPUTS = frozenset({"action input", "tool input", "arguments", "input"})
_RESULT_LABELS = frozenset({"observation", "tool output", "tool result", "tool response", "output", "result"})
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
    """Return the calls that a text records with their results. A call without a result was not made."""
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
        elif label in _RESULT_LABELS and label != "output" and not refused:
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

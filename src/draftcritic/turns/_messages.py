"""Messages in the forms that tools write them, brought to one form."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from draftcritic.turns._row import Message, Role, Status, ToolCall

CUT_MARKS = ("...[cut]", "...[truncated]", "…[truncated]")
"""What ends a text that an exporter has cut."""
_ROLES: dict[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "tool": "tool",
    "function": "tool",
    "ipython": "tool",
}


@dataclass
class Conversation:
    """The messages of a model call.

    Attributes:
        system: the system prompt.
        messages: the other messages before the draft.
        draft: the text of the answer.
        calls: the tool calls of the answer.
        truncated: some text was cut when it was recorded.
    """

    system: str = ""
    messages: list[Message] = field(default_factory=list)
    draft: str = ""
    calls: tuple[ToolCall, ...] = ()
    truncated: bool = False

    @property
    def lacks_results(self) -> bool:
        """Whether a tool call of the messages has no result."""
        answered = {message.tool_call_id for message in self.messages if message.role == "tool"}
        return any(call.id not in answered for message in self.messages for call in message.tool_calls)


def conversation_of(before: Iterable[Any], after: Iterable[Any] = ()) -> Conversation:
    """Return the conversation of some messages and the answer to them."""
    found = Conversation()
    system: list[str] = []
    for raw in before:
        for message in messages_of(raw):
            if message.role == "system":
                system.append(message.content)
            else:
                found.messages.append(message)
    answers = [message for raw in after for message in messages_of(raw) if message.role == "assistant"]
    # Of several choices the first is the one that applications use.
    if answers:
        found.draft, found.calls = answers[0].content, answers[0].tool_calls
    found.system = "\n".join(text for text in system if text)
    texts = [found.system, found.draft, *(message.content for message in found.messages)]
    found.truncated = any(text.endswith(CUT_MARKS) for text in texts)
    return found


def messages_of(raw: Any) -> list[Message]:
    """Return the messages of one object: several where it has several tool results."""
    if not isinstance(raw, Mapping):
        return []
    kwargs = raw.get("kwargs")
    if isinstance(kwargs, Mapping) and isinstance(raw.get("id"), (list, tuple)):
        return messages_of({"type": _langchain_type(raw["id"]), **kwargs})
    if isinstance(raw.get("data"), Mapping) and isinstance(raw.get("type"), str) and "role" not in raw:
        return messages_of({"type": raw["type"], **raw["data"]})
    role = _ROLES.get(str(raw.get("role") or raw.get("type") or "").lower())
    if role is None:
        return []
    parts = raw.get("parts")
    content = parts if isinstance(parts, list) else raw.get("content")
    results = _results_in(content)
    calls = (*_calls(raw), *_calls_in(content))
    text = as_text(content)
    if role == "tool" and not results:
        name = str(raw.get("name") or raw.get("function") or "")
        call_id = str(raw.get("tool_call_id") or raw.get("id") or "")
        error = raw.get("error")
        if not text and isinstance(error, Mapping):
            text = as_text(error.get("message"))
        return [Message("tool", text, tool_call_id=call_id, name=name, status=_status(raw))]
    messages = [Message(role, text, calls)] if text or calls or not results else []
    return [*results, *messages] if role == "user" else [*messages, *results]


def as_text(content: Any) -> str:
    """Return the text of a content: a text, a list of parts, or any other JSON value."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, (list, tuple)):
        if all(isinstance(part, (str, Mapping)) for part in content):
            return "".join([_part_text(part) for part in content])
        return json.dumps(content, ensure_ascii=False, default=str)
    return json.dumps(content, ensure_ascii=False, default=str)


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if part.get("type") not in (None, "text", "output_text", "input_text"):
        return ""
    for name in ("text", "content"):
        if isinstance(part.get(name), str):
            return str(part[name])
    return ""


def _results_in(content: Any) -> list[Message]:
    """Return the tool results among the parts of a content."""
    found = []
    for part in content if isinstance(content, (list, tuple)) else ():
        if not isinstance(part, Mapping) or part.get("type") not in ("tool_call_response", "tool_result"):
            continue
        value = next((part[name] for name in ("response", "result", "content") if part.get(name) is not None), "")
        call_id = str(part.get("id") or part.get("tool_use_id") or "")
        status: Status = "error" if part.get("is_error") is True else ""
        found.append(
            Message("tool", as_text(value), tool_call_id=call_id, name=str(part.get("name") or ""), status=status)
        )
    return found


def _calls_in(content: Any) -> tuple[ToolCall, ...]:
    """Return the tool calls among the parts of a content."""
    parts: Sequence[Any] = content if isinstance(content, (list, tuple)) else ()
    return tuple(
        call_of(part) for part in parts if isinstance(part, Mapping) and part.get("type") in ("tool_call", "tool_use")
    )


def _calls(raw: Mapping[str, Any]) -> tuple[ToolCall, ...]:
    calls = raw.get("tool_calls")
    if not calls and isinstance(raw.get("additional_kwargs"), Mapping):
        calls = raw["additional_kwargs"].get("tool_calls")
    return tuple(call_of(call) for call in calls if isinstance(call, Mapping)) if isinstance(calls, list) else ()


def call_of(call: Mapping[str, Any]) -> ToolCall:
    """Return a tool call in OpenAI's, LangChain's, Anthropic's or Inspect's form."""
    function = call.get("function")
    inner: Mapping[str, Any] = function if isinstance(function, Mapping) else call
    name = function if isinstance(function, str) else inner.get("name")
    arguments = next((inner[key] for key in ("arguments", "args", "input") if inner.get(key) is not None), None)
    if isinstance(arguments, str):
        with suppress(ValueError):
            arguments = json.loads(arguments)
    return ToolCall(str(name or ""), arguments, str(call.get("id") or ""))


def _status(raw: Mapping[str, Any]) -> Status:
    if raw.get("status") == "error" or raw.get("error") not in (None, False, ""):
        return "error"
    return "ok" if raw.get("status") == "success" or raw.get("error") is False else ""


def _langchain_type(path: Sequence[Any]) -> str:
    kinds = {"HumanMessage": "human", "AIMessage": "ai", "AIMessageChunk": "ai", "SystemMessage": "system"}
    name = str(path[-1]) if path else ""
    return kinds.get(name, "tool" if name.startswith("ToolMessage") else name)

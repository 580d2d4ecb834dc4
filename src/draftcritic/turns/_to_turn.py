"""From a row to what the critic judges."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from draftcritic.core._turn import Earlier, Turn
from draftcritic.turns._row import Message, ToolCall, TurnRow


def to_turn(row: TurnRow) -> Turn:
    """Return the turn of a row, built as the plugin builds it from a running agent."""
    start = turn_start(row.messages)
    earlier, now = row.messages[:start], row.messages[start:]
    context = [row.system, *(message.content for message in earlier), *row.sources]
    arguments = [_as_text(call) for message in earlier for call in message.tool_calls]
    said = [message.content for message in now if _is_answer(message)]
    return Turn(
        draft=row.draft,
        run_id=row.turn_id,
        user_message="\n".join(message.content for message in now if message.role == "user" and message.content),
        tool_calls=tool_calls(now),
        context="\n".join(filter(None, context)),
        system=row.system,
        sources=row.sources,
        earlier=tuple(_earlier(earlier)) + tuple(Earlier("assistant", text) for text in said if text),
        hearsay="\n".join(filter(None, [*arguments, *said])),
        draft_model=row.draft_model or None,
        conversation_id=row.conversation_id or None,
        user_id=row.user_id or None,
    )


def _earlier(messages: Iterable[Message]) -> Iterator[Earlier]:
    names: dict[str, str] = {}
    for message in messages:
        for call in message.tool_calls:
            names[call.id] = call.name
            yield Earlier("assistant", f"calls {_as_text(call)}", call.name)
        if message.content:
            tool = message.name or names.get(message.tool_call_id, "") if message.role == "tool" else ""
            yield Earlier(message.role, message.content, tool, message.status == "error")


def turn_start(messages: Sequence[Message]) -> int:
    """Return the index of the first message after the last answer that a user's message follows."""
    user = max((at for at, message in enumerate(messages) if message.role == "user"), default=0)
    return max((at + 1 for at, message in enumerate(messages[:user]) if _is_answer(message)), default=0)


def _is_answer(message: Message) -> bool:
    return message.role == "assistant" and not message.tool_calls


def tool_calls(messages: Iterable[Message]) -> tuple[Mapping[str, Any], ...]:
    """Return the calls of some messages with their results."""
    calls: list[dict[str, Any]] = []
    by_id: dict[str, dict[str, Any]] = {}
    for message in messages:
        for call in message.tool_calls:
            calls.append({"name": call.name, "args": call.arguments, "id": call.id})
            by_id[call.id] = calls[-1]
        if message.role == "tool":
            entry = by_id.get(message.tool_call_id)
            if entry is None or "result" in entry:
                entry = {"name": message.name or None, "id": message.tool_call_id}
                calls.append(entry)
            entry["result"] = message.content
            if message.status == "error":
                entry["status"] = "error"
    return tuple(calls)


def _as_text(call: ToolCall) -> str:
    return f"{call.name} {json.dumps(call.arguments, ensure_ascii=False, default=str)}"

"""From a row to what the critic judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from draftcritic.core import Turn
from draftcritic.turns._row import Message, TurnRow


def to_turn(row: TurnRow) -> Turn:
    """Return the turn of a row, built as the plugin builds it from a running agent."""
    start = max((at for at, message in enumerate(row.messages) if message.role == "user"), default=len(row.messages))
    earlier, since = row.messages[:start], row.messages[start:]
    texts = [row.system, *(message.content for message in earlier), *row.sources]
    return Turn(
        draft=row.draft,
        run_id=row.turn_id,
        user_message=since[0].content if since else "",
        tool_calls=tool_calls(since),
        context="\n".join(text for text in texts if text),
        draft_model=row.draft_model or None,
        conversation_id=row.conversation_id or None,
        user_id=row.user_id or None,
    )


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
            if message.status:
                entry["status"] = "success" if message.status == "ok" else message.status
    return tuple(calls)

"""draftcritic's own rows, and the labelled rows of `python -m draftcritic.evaluate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from draftcritic.turns._messages import as_text, call_of, conversation_of
from draftcritic.turns._records import Record
from draftcritic.turns._row import Message, TurnRow, content_id


class OwnReader:
    """Reads rows of the schema that `draftcritic schema --turns` prints."""

    name = "draftcritic"

    def accepts(self, record: Record) -> bool:
        """Whether the object has the id of a row."""
        return "turn_id" in record.value

    def read(self, record: Record) -> Iterator[TurnRow]:
        """Yield the row.

        Raises:
            RowError: a field has the wrong type.
        """
        yield TurnRow.from_dict(record.value)

    def flush(self) -> Iterator[TurnRow]:
        """Yield nothing: each row was whole."""
        yield from ()


class LabelledReader:
    """Reads rows of `draftcritic.evaluate`: a draft, or a draft and its twin with a made-up token."""

    name = "draftcritic.evaluate"

    def accepts(self, record: Record) -> bool:
        """Whether the object has a draft."""
        return any(isinstance(record.value.get(name), str) for name in ("draft", "fabricated_draft", "clean_draft"))

    def read(self, record: Record) -> Iterator[TurnRow]:
        """Yield the row, or one row for each of the twins."""
        value = record.value
        if isinstance(value.get("draft"), str):
            yield _row(value, value["draft"], "")
            return
        for name in ("clean", "fabricated"):
            draft = value.get(f"{name}_draft")
            if isinstance(draft, str) and draft:
                yield _row(value, draft, f"-{name}")

    def flush(self) -> Iterator[TurnRow]:
        """Yield nothing: each row was whole."""
        yield from ()


def _row(value: Mapping[str, Any], draft: str, suffix: str) -> TurnRow:
    history = value.get("history")
    found = conversation_of(history if isinstance(history, list) else ())
    messages = [*found.messages, Message("user", as_text(value.get("user_message")))]
    calls = value.get("tool_calls_this_turn", value.get("tool_calls"))
    for at, call in enumerate(calls if isinstance(calls, list) else ()):
        if isinstance(call, Mapping):
            messages.extend(_of_call(call, str(at)))
    context = value.get("context")
    row = TurnRow(
        turn_id=f"{value['id']}{suffix}" if value.get("id") else "",
        draft=draft,
        messages=tuple(messages),
        system="\n".join(filter(None, (as_text(value.get("system")), found.system))),
        sources=(as_text(context),) if context else (),
    )
    return row if row.turn_id else replace(row, turn_id=content_id(row))


def _of_call(call: Mapping[str, Any], number: str) -> Iterator[Message]:
    made = call_of(call)
    made = replace(made, id=made.id or number)
    yield Message("assistant", "", (made,))
    if "result" in call:
        yield Message("tool", as_text(call["result"]), tool_call_id=made.id, name=made.name)

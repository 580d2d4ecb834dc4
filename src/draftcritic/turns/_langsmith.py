"""Runs of LangSmith, as its SDK serialises them and its exports write them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from draftcritic.turns._messages import conversation_of
from draftcritic.turns._records import Record
from draftcritic.turns._row import Missing, TurnRow
from draftcritic.turns._times import seconds


class LangSmithReader:
    """Reads runs of chat models; runs of chains and tools only repeat what those were given."""

    name = "LangSmith"

    def accepts(self, record: Record) -> bool:
        """Whether the object is a run."""
        return "run_type" in record.value and "inputs" in record.value

    def read(self, record: Record) -> Iterator[TurnRow]:
        """Yield the turn of a run, and of the runs inside it."""
        run = record.value
        if run.get("run_type") == "llm":
            row = _row(run)
            if row is not None:
                yield row
        for child in run.get("child_runs") or ():
            if isinstance(child, Mapping):
                yield from self.read(Record(dict(child), record.place))

    def flush(self) -> Iterator[TurnRow]:
        """Yield nothing: each run was whole."""
        yield from ()


def _row(run: Mapping[str, Any]) -> TurnRow | None:
    inputs, outputs, extra = (_value(run.get(name)) for name in ("inputs", "outputs", "extra"))
    found = conversation_of(_given(inputs), _answers(outputs))
    captured = bool(inputs or outputs)
    if not found.draft.strip() and (found.calls or captured):
        return None
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    metadata = metadata if isinstance(metadata, Mapping) else {}
    missing: list[Missing] = [] if found.draft.strip() else ["content"]
    if found.truncated:
        missing.append("truncated")
    if found.lacks_results:
        missing.append("tool_result")
    return TurnRow(
        turn_id=str(run.get("id") or ""),
        draft=found.draft,
        trace_id=str(run.get("trace_id") or ""),
        span_id=str(run.get("id") or ""),
        time=seconds(run.get("start_time")),
        messages=tuple(found.messages),
        system=found.system,
        draft_model=str(metadata.get("ls_model_name") or ""),
        conversation_id=str(metadata.get("thread_id") or metadata.get("session_id") or ""),
        user_id=str(metadata.get("user_id") or ""),
        missing=tuple(missing),
    )


def _value(field: Any) -> Any:
    """Return a field of a run; exports of tables write nested ones as JSON text."""
    if isinstance(field, str):
        with suppress(ValueError):
            return json.loads(field)
    return field


def _given(inputs: Any) -> list[Any]:
    messages = inputs.get("messages") if isinstance(inputs, Mapping) else None
    if isinstance(messages, list) and messages and isinstance(messages[0], list):
        messages = messages[0]
    return messages if isinstance(messages, list) else []


def _answers(outputs: Any) -> list[Any]:
    """Return the answer of a run: LangChain's generations, OpenAI's choices, or one message."""
    if not isinstance(outputs, Mapping):
        return []
    generations = outputs.get("generations")
    while isinstance(generations, list) and generations and isinstance(generations[0], list):
        generations = generations[0]
    if isinstance(generations, list):
        return [_of_generation(each) for each in generations if isinstance(each, Mapping)]
    choices = outputs.get("choices")
    if isinstance(choices, list):
        return [each.get("message") for each in choices if isinstance(each, Mapping)]
    message = outputs.get("message") or outputs.get("output")
    if isinstance(message, Mapping):
        return [message]
    messages = outputs.get("messages")
    if isinstance(messages, list):
        return messages[-1:]
    return [outputs] if "role" in outputs else []


def _of_generation(generation: Mapping[str, Any]) -> Any:
    message = generation.get("message")
    return message if isinstance(message, Mapping) else {"role": "assistant", "content": generation.get("text")}

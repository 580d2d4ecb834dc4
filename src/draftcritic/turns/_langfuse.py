"""Langfuse: its exports of observations and traces, and the spans that its SDK sends."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from draftcritic.turns._messages import Conversation, conversation_of
from draftcritic.turns._records import Record
from draftcritic.turns._row import Missing, TurnRow
from draftcritic.turns._times import seconds


class LangfuseReader:
    """Reads observations of the type GENERATION, alone or inside a trace."""

    name = "Langfuse"

    def accepts(self, record: Record) -> bool:
        """Whether the object is an observation, or a trace with its observations."""
        value = record.value
        if isinstance(value.get("observations"), list) and "id" in value:
            return True
        return _get(value, "traceId") is not None and _type(value) in _TYPES

    def read(self, record: Record) -> Iterator[TurnRow]:
        """Yield the turns of an observation or a trace."""
        value = record.value
        observations = value.get("observations")
        trace: Mapping[str, Any] = value if isinstance(observations, list) else {}
        for observation in observations if isinstance(observations, list) else [value]:
            if isinstance(observation, Mapping) and _type(observation) == "GENERATION":
                row = _row(observation, trace)
                if row is not None:
                    yield row

    def flush(self) -> Iterator[TurnRow]:
        """Yield nothing: each observation was whole."""
        yield from ()


_OTHERS = ("SPAN", "EVENT", "TOOL", "AGENT", "CHAIN", "RETRIEVER", "EMBEDDING", "EVALUATOR", "GUARDRAIL")
_TYPES = frozenset({"GENERATION", *_OTHERS})


def _type(observation: Mapping[str, Any]) -> str:
    return str(observation.get("type") or "").upper()


def _get(holder: Mapping[str, Any], name: str) -> Any:
    """Return a field by its name in the API, or in exports of tables."""
    if name in holder:
        return holder[name]
    return holder.get("".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in name))


def conversation_from(given: Any, answer: Any) -> Conversation:
    """Return the conversation of an observation's input and output, which may be JSON text."""
    before, after = _json(given), _json(answer)
    if isinstance(before, Mapping):
        before = before.get("messages", [before] if "role" in before else [])
    if isinstance(before, str):
        before = [{"role": "user", "content": before}]
    if isinstance(after, str):
        after = {"role": "assistant", "content": after}
    if isinstance(after, Mapping):
        choices = after.get("choices")
        after = [each.get("message") for each in choices if isinstance(each, Mapping)] if choices else [after]
    return conversation_of(before if isinstance(before, list) else [], after if isinstance(after, list) else [])


def _json(value: Any) -> Any:
    if isinstance(value, str) and value[:1] in ("{", "[", '"'):
        try:
            return json.loads(value)
        except ValueError:
            return value
    return value


def _row(observation: Mapping[str, Any], trace: Mapping[str, Any]) -> TurnRow | None:
    found = conversation_from(observation.get("input"), observation.get("output"))
    captured = observation.get("output") is not None
    if not found.draft.strip() and (found.calls or captured):
        return None
    missing: list[Missing] = [] if found.draft.strip() else ["content"]
    if found.truncated:
        missing.append("truncated")
    if found.lacks_results:
        missing.append("tool_result")
    return TurnRow(
        turn_id=str(observation.get("id") or ""),
        draft=found.draft,
        trace_id=str(_get(observation, "traceId") or trace.get("id") or ""),
        span_id=str(observation.get("id") or ""),
        time=seconds(_get(observation, "startTime")),
        messages=tuple(found.messages),
        system=found.system,
        draft_model=str(observation.get("model") or _get(observation, "providedModelName") or ""),
        conversation_id=str(_get(observation, "sessionId") or _get(trace, "sessionId") or ""),
        user_id=str(_get(observation, "userId") or _get(trace, "userId") or ""),
        missing=tuple(missing),
    )

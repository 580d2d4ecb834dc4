"""The row of a review that was just made."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from uuid import uuid4

from draftcritic.core._review import Review
from draftcritic.core._turn import Turn
from draftcritic.turns._row import Finding, Message, Reviewed, ToolCall, TurnRow


def row_of(review: Review, trace_id: int | None = None) -> TurnRow:
    """Return the row of a review, from which a replay builds the same turn.

    Args:
        review: the review.
        trace_id: the trace that the draft was written in.
    """
    return replace(row_of_turn(review.turn, time.time(), trace_id), reviewed=_reviewed(review))


def row_of_turn(turn: Turn, written: float, trace_id: int | None = None) -> TurnRow:
    """Return the row of a draft that has no review.

    Args:
        turn: the draft with what may ground it.
        written: seconds since the epoch.
        trace_id: the trace that it was written in.
    """
    return TurnRow(
        turn_id=turn.run_id or uuid4().hex,
        draft=turn.draft,
        trace_id="" if trace_id is None else f"{trace_id:032x}",
        time=round(written, 3),
        messages=tuple(_messages(turn)),
        sources=(turn.context,) if turn.context else (),
        draft_model=turn.draft_model or "",
        conversation_id=turn.conversation_id or turn.session_id or "",
        user_id=turn.user_id or "",
        missing=("content",) if not turn.draft.strip() else (),
    )


def _messages(turn: Turn) -> Iterator[Message]:
    yield Message("user", turn.user_message)
    if turn.hearsay:
        yield Message("assistant", turn.hearsay)
    for number, call in enumerate(turn.tool_calls):
        call_id = str(call.get("id") or f"call-{number}")
        name = str(call.get("name") or "")
        yield Message("assistant", "", (ToolCall(name, _json_value(call.get("args")), call_id),))
        if "result" in call:
            failed = call.get("status") == "error"
            result = call["result"]
            text = result if isinstance(result, str) else str(result)
            yield Message("tool", text, tool_call_id=call_id, name=name, status="error" if failed else "")


def _json_value(value: Any) -> Any:
    """Return a value as JSON can hold it; tools may be given any object."""
    if value is None or isinstance(value, (str, int, float, bool)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _json_value(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_json_value(item) for item in value]
    return str(value)


def _reviewed(review: Review) -> Reviewed:
    call, assessment = review.call, review.assessment
    text = getattr(review.outcome, "text", None)
    return Reviewed(
        verdict="" if review.verdict is None else str(review.verdict),
        source=str(review.source or ""),
        decision=str(assessment.decision),
        reason=str(assessment.reason),
        rules=tuple(review.matched_preferences),
        findings=tuple(Finding(f.kind, f.identifier, f.confidence) for f in assessment.findings or ()),
        policy_version=review.policy_version,
        sku="" if call is None else call.sku,
        action=str(review.action),
        failure="" if review.failure is None else str(review.failure),
        text=text if isinstance(text, str) else "",
        cost_usd=None if call is None else call.usage.cost_usd,
        duration_s=round(review.duration_s, 6),
    )

"""Puts the spans of a trace together into turns: the model's call, its tools, its review."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from draftcritic.telemetry import names
from draftcritic.turns._genai import TOOL_CALL_ID, documents_of, is_model_call, model_call
from draftcritic.turns._messages import CUT_MARKS
from draftcritic.turns._row import Finding, Message, Missing, Reviewed, Status, TurnRow

_MAX_TRACES = 5_000
_MAX_BYTES = 64 << 20
_PER_SPAN = 500


@dataclass(frozen=True)
class SpanRecord:
    """A span, or a log event that describes one.

    Attributes:
        trace_id, span_id, parent_id: in hexadecimal.
        name: the span's name; that of the event for a log event.
        time: seconds since the epoch.
        attributes: flat, as they were sent.
        failed: the span's status is an error.
        is_event: it is a log event.
        duration_s: of the span.
    """

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    time: float
    attributes: Mapping[str, Any]
    failed: bool = False
    is_event: bool = False
    duration_s: float | None = None

    @property
    def size(self) -> int:
        """Roughly the memory that it takes."""
        return _PER_SPAN + sum(len(value) for value in self.attributes.values() if isinstance(value, (str, list)))


@dataclass
class _Trace:
    calls: dict[str, SpanRecord] = field(default_factory=dict)
    reviews: dict[str, SpanRecord] = field(default_factory=dict)
    verdicts: dict[str, SpanRecord] = field(default_factory=dict)
    internal: set[str] = field(default_factory=set)
    failed_tools: dict[str, Status] = field(default_factory=dict)
    sources: list[str] = field(default_factory=list)
    size: int = 0


class SpanJoin:
    """Collects spans and yields the turns of a trace when it is whole.

    A trace counts as whole when the file ends, or when too much else has come since: then memory stays bounded
    whatever the size of the file, and a span that comes later still becomes a turn of its own where it can.
    """

    def __init__(self, max_traces: int = _MAX_TRACES, max_bytes: int = _MAX_BYTES) -> None:
        self._traces: OrderedDict[str, _Trace] = OrderedDict()
        self._max_traces = max_traces
        self._max_bytes = max_bytes
        self._size = 0

    def add(self, span: SpanRecord) -> Iterator[TurnRow]:
        """Take a span, and yield the turns of traces that have to go."""
        attributes = span.attributes
        if attributes.get(names.INTERNAL) is True:
            # Its event may come before or after it, and is the critic's own, too.
            self._trace(span.trace_id).internal.add(span.span_id)
        elif span.is_event and attributes.get(names.EVALUATION_NAME) is not None:
            self._keep(span, "verdicts")
        elif span.name == names.SPAN_REVIEW:
            self._keep(span, "reviews")
        elif is_model_call(attributes):
            self._keep(span, "calls")
        else:
            self._note(span)
        while len(self._traces) > self._max_traces or (self._size > self._max_bytes and len(self._traces) > 1):
            _, oldest = self._traces.popitem(last=False)
            self._size -= oldest.size
            yield from _turns(oldest)

    def flush(self) -> Iterator[TurnRow]:
        """Yield the turns of all traces that are left."""
        while self._traces:
            _, trace = self._traces.popitem(last=False)
            yield from _turns(trace)
        self._size = 0

    def _trace(self, trace_id: str) -> _Trace:
        trace = self._traces.setdefault(trace_id, _Trace())
        self._traces.move_to_end(trace_id)
        return trace

    def _keep(self, span: SpanRecord, kind: str) -> None:
        trace = self._trace(span.trace_id)
        kept: dict[str, SpanRecord] = getattr(trace, kind)
        before = kept.get(span.span_id)
        if before is not None:
            whole, other = (before, span) if span.is_event else (span, before)
            span = replace(whole, attributes={**other.attributes, **whole.attributes, **_texts_of(other)})
        else:
            trace.size += span.size
            self._size += span.size
        kept[span.span_id] = span

    def _note(self, span: SpanRecord) -> None:
        call_id = span.attributes.get(TOOL_CALL_ID)
        documents = documents_of(span.attributes)
        if not (isinstance(call_id, str) and call_id) and not documents:
            return
        trace = self._trace(span.trace_id)
        if isinstance(call_id, str) and call_id:
            trace.failed_tools[call_id] = "error" if span.failed else "ok"
        trace.sources.extend(documents)
        grown = _PER_SPAN + sum(map(len, documents))
        trace.size += grown
        self._size += grown


def _texts_of(event: SpanRecord) -> Mapping[str, Any]:
    """Return the texts that only the event has: content may be captured on events alone."""
    return {key: value for key, value in event.attributes.items() if value not in (None, "")} if event.is_event else {}


def _reviews(trace: _Trace) -> dict[str, SpanRecord]:
    """Return the reviews, each with what its event says: an event has the span of the draft, or of the review."""
    reviews = dict(trace.reviews)
    for span_id, event in trace.verdicts.items():
        key = next((key for key, review in reviews.items() if span_id in (key, review.parent_id)), None)
        if key is None:
            reviews[span_id] = replace(event, parent_id=span_id)
        else:
            review = reviews[key]
            reviews[key] = replace(review, attributes={**event.attributes, **review.attributes})
    return reviews


def _turns(trace: _Trace) -> Iterator[TurnRow]:
    reviews = _reviews(trace)
    for span in sorted(trace.calls.values(), key=lambda call: call.time):
        if span.span_id in trace.internal:
            continue
        row = _row(span, trace, _review_of(span, reviews))
        if row is not None:
            yield row
    for review in reviews.values():
        row = _from_review(review)
        if row is not None:
            yield row


def _review_of(span: SpanRecord, reviews: dict[str, SpanRecord]) -> SpanRecord | None:
    """Take the review of a model call out of `reviews`: it hangs below it, or has the id of its response."""
    response = span.attributes.get(names.GEN_AI_RESPONSE_ID)
    for key, review in reviews.items():
        same = response and review.attributes.get(names.GEN_AI_RESPONSE_ID) == response
        if review.parent_id == span.span_id or same:
            return reviews.pop(key)
    return None


def _row(span: SpanRecord, trace: _Trace, review: SpanRecord | None) -> TurnRow | None:
    call = model_call(span.attributes)
    found = call.conversation
    draft = found.draft
    if not draft and review is not None:
        draft = str(review.attributes.get(names.CONTENT_DRAFT) or "")
    if not draft.strip() and (found.calls or (call.captured and not found.truncated)):
        return None
    missing: list[Missing] = []
    if not draft.strip():
        missing.append("content")
    elif not call.captured:
        missing.append("messages")
    if found.truncated or draft.endswith(CUT_MARKS):
        missing.append("truncated")
    if found.lacks_results:
        missing.append("tool_result")
    return TurnRow(
        turn_id=f"{span.trace_id}-{span.span_id}",
        draft=draft,
        trace_id=span.trace_id,
        span_id=span.span_id,
        time=span.time or None,
        messages=tuple(_with_status(message, trace.failed_tools) for message in found.messages),
        sources=tuple(dict.fromkeys(trace.sources)),
        system=found.system,
        draft_model=call.model,
        conversation_id=call.conversation_id or _text(review, names.GEN_AI_CONVERSATION_ID),
        user_id=call.user_id or _text(review, names.USER_ID),
        reviewed=None if review is None else reviewed_of(review),
        missing=tuple(missing),
    )


def _with_status(message: Message, statuses: Mapping[str, Status]) -> Message:
    known = statuses.get(message.tool_call_id) if message.role == "tool" and not message.status else None
    return message if known is None else replace(message, status=known)


def _from_review(review: SpanRecord) -> TurnRow | None:
    """Return the turn of a review whose model call was not recorded."""
    attributes = review.attributes
    if attributes.get(names.GATE_REASON) == "not_a_draft":
        return None
    draft = str(attributes.get(names.CONTENT_DRAFT) or "")
    missing: list[Missing] = ["messages"] if draft else ["content"]
    if draft.endswith(CUT_MARKS):
        missing.append("truncated")
    return TurnRow(
        turn_id=f"{review.trace_id}-{review.span_id}",
        draft=draft,
        trace_id=review.trace_id,
        span_id=review.span_id,
        time=review.time or None,
        draft_model=_text(review, names.DRAFT_MODEL),
        conversation_id=_text(review, names.GEN_AI_CONVERSATION_ID),
        user_id=_text(review, names.USER_ID),
        reviewed=reviewed_of(review),
        missing=tuple(missing),
    )


def reviewed_of(review: SpanRecord) -> Reviewed:
    """Return what a review's span says."""
    attributes = review.attributes
    cost = attributes.get(names.USAGE_COST_USD)
    texts = (_text(review, names.CONTENT_REVISION), _text(review, names.CONTENT_REFUSAL))
    return Reviewed(
        verdict=_text(review, names.VERDICT) or _text(review, names.EVALUATION_LABEL),
        source=_text(review, names.VERDICT_SOURCE),
        decision=_text(review, names.GATE_DECISION),
        reason=_text(review, names.GATE_REASON),
        rules=_texts(attributes.get(names.CONTENT_PREFERENCES)),
        findings=tuple(Finding(kind) for kind in _texts(attributes.get(names.FABRICATION_KINDS))),
        policy_version=_text(review, names.POLICY_VERSION),
        sku=_text(review, names.SKU),
        action=_text(review, names.ACTION),
        failure=_text(review, names.FAILURE),
        text=next(filter(None, texts), ""),
        cost_usd=float(cost) if isinstance(cost, (int, float)) else None,
        duration_s=review.duration_s,
    )


def _text(review: SpanRecord | None, name: str) -> str:
    value = None if review is None else review.attributes.get(name)
    return "" if value is None else str(value)


def _texts(value: Any) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, (list, tuple)) else ()

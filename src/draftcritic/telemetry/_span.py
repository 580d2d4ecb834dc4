"""Turns a finished review into the attributes of its span."""

from __future__ import annotations

from draftcritic.core import Failed, Forced, Judged, ModelCall, Review, Verdict
from draftcritic.telemetry import names
from draftcritic.telemetry._content import MAX_CONTENT, Value, amount_of, count_of, put


def review_attributes(
    review: Review, draft_sku: str, *, threshold: float | None = None, with_content: bool = False
) -> dict[str, Value]:
    """Return the span's attributes in ascending order of weight, the verdict last.

    A span keeps a limited number of attributes, and Python's SDK drops the oldest first.

    Args:
        review: the finished review.
        draft_sku: the SKU of the model that wrote the draft.
        threshold: the confidence threshold when the assessment does not tell it.
        with_content: texts of the turn may be written.
    """
    attributes: dict[str, Value] = {}
    if with_content:
        attributes.update(content_attributes(review))
    _put_ids(attributes, review)
    _put_draft(attributes, review, draft_sku)
    _put_findings(attributes, review)
    if review.call is not None:
        put(attributes, names.PROMPT_OMITTED, review.call.omitted or None)
        put(attributes, names.SHARED, review.call.shared or None)
        attributes.update(call_attributes(review.call))
    _put_assessment(attributes, review, threshold)
    _put_decision(attributes, review)
    return attributes


def call_attributes(call: ModelCall) -> dict[str, Value]:
    """Return who answered and what it took; what is unknown is absent."""
    attributes: dict[str, Value] = {}
    put(attributes, names.USAGE_COST_USD, amount_of(call.usage.cost_usd))
    put(attributes, names.USAGE_INPUT_TOKENS, count_of(call.usage.input_tokens))
    put(attributes, names.USAGE_OUTPUT_TOKENS, count_of(call.usage.output_tokens))
    put(attributes, names.MODEL, call.model or None)
    put(attributes, names.SKU, call.sku or names.SKU_UNKNOWN)
    return attributes


def call_start_attributes(model: str, sku: str, run_id: str) -> dict[str, Value]:
    """Return the attributes of the event `on_llm_start`."""
    attributes: dict[str, Value] = {}
    put(attributes, names.MODEL, model or None)
    put(attributes, names.SKU, sku or names.SKU_UNKNOWN)
    put(attributes, names.NODE, names.NODE_NAME)
    put(attributes, names.RUN_ID, run_id or None)
    return attributes


def call_end_attributes(call: ModelCall) -> dict[str, Value]:
    """Return the attributes of the event `on_llm_end`."""
    attributes = call_attributes(call)
    put(attributes, names.FINISH_REASON, call.finish_reason)
    put(attributes, names.ERROR_TYPE, call.error_type)
    return attributes


def error_type(review: Review) -> str | None:
    """Return what ended the critic's work: the exception's name, else the failure; None when nothing did."""
    if not isinstance(review.reflection, Failed):
        return None
    return review.reflection.error_type or str(review.reflection.failure)


def content_attributes(review: Review) -> dict[str, Value]:
    """Return the texts of the turn: only for those who switched content capture on."""
    attributes: dict[str, Value] = {}
    put(attributes, names.CONTENT_DRAFT, review.turn.draft, MAX_CONTENT)
    outcome = review.outcome
    if isinstance(outcome, (Judged, Forced, Failed)):
        if outcome.verdict is Verdict.REVISE:
            put(attributes, names.CONTENT_REVISION, outcome.text, MAX_CONTENT)
        elif outcome.verdict is Verdict.REFUSE:
            put(attributes, names.CONTENT_REFUSAL, outcome.text, MAX_CONTENT)
    if review.matched_preferences:
        put(attributes, names.CONTENT_PREFERENCES, list(review.matched_preferences), MAX_CONTENT)
    if review.assessment.findings:
        found = [finding.identifier for finding in review.assessment.findings]
        put(attributes, names.CONTENT_FABRICATIONS, found)
    return attributes


def _put_ids(attributes: dict[str, Value], review: Review) -> None:
    turn = review.turn
    put(attributes, names.USER_ID, turn.user_id or None)
    put(attributes, names.SESSION_ID, turn.session_id or None)
    put(attributes, names.GEN_AI_CONVERSATION_ID, turn.conversation_id or None)
    put(attributes, names.GEN_AI_RESPONSE_ID, turn.response_id or None)
    put(attributes, names.NODE, names.NODE_NAME)
    put(attributes, names.RUN_ID, turn.run_id or None)
    put(attributes, names.POLICY_VERSION, review.policy_version or None)


def _put_draft(attributes: dict[str, Value], review: Review, draft_sku: str) -> None:
    turn = review.turn
    put(attributes, names.DRAFT_LENGTH, len(turn.draft))
    put(attributes, names.DRAFT_STREAMED, turn.streamed)
    put(attributes, names.DRAFT_EXPOSED, turn.exposed)
    put(attributes, names.DRAFT_MODEL, turn.draft_model or None)
    put(attributes, names.DRAFT_SKU, draft_sku)


def _put_findings(attributes: dict[str, Value], review: Review) -> None:
    findings = review.assessment.findings
    if findings is not None:
        put(attributes, names.FABRICATION_KINDS, sorted({str(finding.kind) for finding in findings}))
        put(attributes, names.FABRICATION_COUNT, len(findings))
    if findings:
        put(attributes, names.FABRICATION_MAX_CONFIDENCE, max(float(f.confidence) for f in findings))
    if isinstance(review.reflection, Judged):
        put(attributes, names.PREFERENCES_MATCHED, len(review.matched_preferences))


def _put_assessment(attributes: dict[str, Value], review: Review, threshold: float | None) -> None:
    assessment = review.assessment
    if assessment.confidence is not None:
        own = assessment.threshold
        put(attributes, names.CONFIDENCE_THRESHOLD, amount_of(threshold if own is None else own))
    if assessment.signals:
        put(attributes, names.GATE_SIGNALS, list(assessment.signals))
    put(attributes, names.SENSITIVE_TAG, assessment.sensitive_hit)
    put(attributes, names.CONFIDENCE, amount_of(assessment.confidence))
    put(attributes, names.MODE, review.mode)


def _put_decision(attributes: dict[str, Value], review: Review) -> None:
    put(attributes, names.FAILURE, review.failure)
    put(attributes, names.ERROR_TYPE, error_type(review))
    put(attributes, names.GATE_DECISION, review.assessment.decision)
    put(attributes, names.GATE_REASON, review.assessment.reason)
    put(attributes, names.ACTION, review.action)
    put(attributes, names.VERDICT_SOURCE, review.source)
    put(attributes, names.VERDICT, review.verdict)

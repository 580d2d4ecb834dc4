"""Turns a finished review into the attributes of its span."""

from __future__ import annotations

from draftcritic.core._enums import Verdict
from draftcritic.core._review import Assessment, Failed, Forced, Judged, Limited, ModelCall, Review
from draftcritic.core._turn import Turn
from draftcritic.telemetry import names
from draftcritic.telemetry._content import MAX_CONTENT, Value, amount_of, clean_texts, count_of, put


def review_attributes(
    review: Review, draft_sku: str, *, threshold: float | None = None, with_content: bool = False
) -> dict[str, Value]:
    """Return the span's attributes in ascending order of weight, the verdict last.

    A span keeps a limited number of attributes, and Python's SDK drops the oldest first.

    Args:
        review: the finished review.
        draft_sku: the SKU of the model that wrote the draft.
        threshold: the confidence threshold when the assessment does not record it.
        with_content: texts of the turn may be written.
    """
    attributes: dict[str, Value] = content_attributes(review) if with_content else {}
    reflection = review.reflection
    _put_ids(attributes, review)
    _put_draft(attributes, review.turn, draft_sku)
    if review.assessment.findings is not None:
        _put_findings(attributes, review)
    if isinstance(reflection, Judged):
        attributes[names.PREFERENCES_MATCHED] = len(reflection.matched_preferences)
        put(attributes, names.RULES_BROKEN, reflection.broken or None)
        put(attributes, names.REPLY_AMBIGUOUS, reflection.ambiguous or None)
    if review.misquoted:
        attributes[names.MISQUOTED] = True
    if review.call is not None:
        _put_call(attributes, review.call)
    _put_assessment(attributes, review.assessment, threshold)
    attributes[names.MODE] = review.mode._value_
    if isinstance(reflection, Failed):
        attributes[names.FAILURE] = reflection.failure._value_
        put(attributes, names.ERROR_TYPE, error_type(reflection))
    _put_decision(attributes, review)
    return attributes


def call_attributes(call: ModelCall) -> dict[str, Value]:
    """Return the attributes of a model call; unknown values are absent."""
    attributes: dict[str, Value] = {}
    put(attributes, names.USAGE_COST_USD, amount_of(call.usage.cost_usd))
    put(attributes, names.USAGE_CACHED_TOKENS, count_of(call.usage.cached_tokens))
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


def error_type(failed: Failed) -> str:
    """Return what ended the critic's work: the exception's name, else the failure."""
    return failed.error_type or str(failed.failure)


def content_attributes(review: Review) -> dict[str, Value]:
    """Return the texts of the turn: only for those who switched content capture on."""
    attributes: dict[str, Value] = {}
    put(attributes, names.CONTENT_DRAFT, review.turn.draft, MAX_CONTENT)
    outcome = review.outcome
    if isinstance(outcome, (Judged, Forced, Failed, Limited)):
        name = names.CONTENT_REVISION if outcome.verdict is Verdict.REVISE else names.CONTENT_REFUSAL
        put(attributes, name, None if outcome.verdict is Verdict.APPROVE else outcome.text, MAX_CONTENT)
    if isinstance(review.reflection, Judged):
        put(attributes, names.CONTENT_REASON, review.reflection.reason, MAX_CONTENT)
    if review.matched_preferences:
        put(attributes, names.CONTENT_PREFERENCES, list(review.matched_preferences), MAX_CONTENT)
    if review.assessment.findings:
        found = [finding.identifier for finding in review.assessment.findings]
        put(attributes, names.CONTENT_FABRICATIONS, found)
    return attributes


# This runs for every draft: words of a closed set and plain numbers need no cleaning, and `_value_` is what `value`
# returns, without its call.


def _put_ids(attributes: dict[str, Value], review: Review) -> None:
    turn = review.turn
    for name, value in (
        (names.USER_ID, turn.user_id),
        (names.SESSION_ID, turn.session_id),
        (names.GEN_AI_CONVERSATION_ID, turn.conversation_id),
        (names.GEN_AI_AGENT_NAME, turn.agent),
        (names.GEN_AI_RESPONSE_ID, turn.response_id),
    ):
        if value:
            put(attributes, name, value)
    attributes[names.NODE] = names.NODE_NAME
    if turn.run_id:
        put(attributes, names.RUN_ID, turn.run_id)
    if review.policy_version:
        put(attributes, names.POLICY_VERSION, review.policy_version)


def _put_draft(attributes: dict[str, Value], turn: Turn, draft_sku: str) -> None:
    attributes[names.DRAFT_LENGTH] = len(turn.draft)
    attributes[names.DRAFT_STREAMED] = turn.streamed
    attributes[names.DRAFT_EXPOSED] = turn.exposed
    if turn.draft_model:
        put(attributes, names.DRAFT_MODEL, turn.draft_model)
    attributes[names.DRAFT_SKU] = draft_sku


def _put_findings(attributes: dict[str, Value], review: Review) -> None:
    findings, doubts = review.assessment.sure_findings, review.assessment.doubts
    if doubts:
        attributes[names.DOUBT_KINDS] = clean_texts(sorted({str(doubt.kind) for doubt in doubts}))
        attributes[names.DOUBT_COUNT] = len(doubts)
        put(attributes, names.DOUBT_CONFIRMED, len(review.confirmed) or None)
    attributes[names.FABRICATION_KINDS] = clean_texts(sorted({str(finding.kind) for finding in findings}))
    attributes[names.FABRICATION_COUNT] = len(findings)
    if findings:
        put(attributes, names.FABRICATION_MAX_CONFIDENCE, max(float(f.confidence) for f in findings))


def _put_call(attributes: dict[str, Value], call: ModelCall) -> None:
    put(attributes, names.PROMPT_OMITTED, call.omitted or None)
    if call.evidence_kinds:
        attributes[names.EVIDENCE_LENGTH] = call.evidence_length
        attributes[names.EVIDENCE_OMITTED] = call.evidence_omitted
        attributes[names.EVIDENCE_KINDS] = list(call.evidence_kinds)
    put(attributes, names.SHARED, call.shared or None)
    attributes.update(call_attributes(call))


def _put_assessment(attributes: dict[str, Value], assessment: Assessment, threshold: float | None) -> None:
    if assessment.confidence is not None:
        own = assessment.threshold
        if (limit := amount_of(threshold if own is None else own)) is not None:
            attributes[names.CONFIDENCE_THRESHOLD] = limit
    if assessment.activation_invalid:
        attributes[names.ACTIVATION_INVALID] = True
    if assessment.signals:
        attributes[names.GATE_SIGNALS] = [signal._value_ for signal in assessment.signals]
    if assessment.sensitive_hit is not None:
        put(attributes, names.SENSITIVE_TAG, assessment.sensitive_hit)
    if (confidence := amount_of(assessment.confidence)) is not None:
        attributes[names.CONFIDENCE] = confidence


def _put_decision(attributes: dict[str, Value], review: Review) -> None:
    attributes[names.GATE_DECISION] = review.assessment.decision._value_
    attributes[names.GATE_REASON] = review.assessment.reason._value_
    attributes[names.ACTION] = review.action._value_
    attributes[names.OUTCOME] = review.outcome.kind._value_
    attributes[names.VERDICT_SOURCE] = review.source._value_
    if (verdict := review.verdict) is not None:
        attributes[names.VERDICT] = verdict._value_

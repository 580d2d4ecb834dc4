"""What `MetacognitiveMiddleware` returns."""

from __future__ import annotations

from dataclasses import dataclass, field

from draftcritic.core import Failure, GateDecision, GateReason, Judged, Review, Verdict


@dataclass(frozen=True)
class ReflectionEvent:
    """The result of one evaluation, to be applied or not by whoever asked for it.

    Attributes:
        run_id: the id of the turn.
        verdict: approve, revise or refuse.
        confidence_before: how well the turn's memory supported the draft, 0 to 1; see `compute_confidence`.
        sensitive_tag_hit: the sensitive tag that was met; None also when the gate skipped.
        original_draft: the draft as it was given.
        revised_draft: the critic's own text for `revise`; None when it gave none.
        refusal_message: the critic's own message for `refuse`; None when it gave none.
        matched_preferences: the preferences that the critic named.
        reflection_latency_ms: milliseconds that the evaluation took; 0 when it is disabled.
        reflection_tokens_in, reflection_tokens_out: tokens of the critic's call; 0 when there are none to report.
        gate_decision: whether the gate fired.
        gate_reason: the primary reason.
        gate_signals: every signal that held.
        failure: how the reflection failed; the verdict is then no opinion of the critic.
        critic_model: the name of the model that answered.
    """

    run_id: str
    verdict: Verdict
    confidence_before: float
    sensitive_tag_hit: str | None
    original_draft: str
    revised_draft: str | None
    refusal_message: str | None
    matched_preferences: list[str] = field(default_factory=list)
    reflection_latency_ms: float = 0.0
    reflection_tokens_in: int = 0
    reflection_tokens_out: int = 0
    gate_decision: GateDecision | None = None
    gate_reason: GateReason | None = None
    gate_signals: tuple[GateReason, ...] = ()
    failure: Failure | None = None
    critic_model: str | None = None

    @classmethod
    def disabled(cls, run_id: str, draft: str) -> ReflectionEvent:
        """Return the event of an evaluation that did not take place."""
        return cls(
            run_id=run_id,
            verdict=Verdict.APPROVE,
            confidence_before=1.0,
            sensitive_tag_hit=None,
            original_draft=draft,
            revised_draft=None,
            refusal_message=None,
            gate_decision=GateDecision.NOT_EVALUATED,
            gate_reason=GateReason.DISABLED,
        )

    @classmethod
    def of(cls, review: Review) -> ReflectionEvent:
        """Return the event of a finished review."""
        assessment, call = review.assessment, review.call
        verdict = verdict_of(review)
        text = own_text(review)
        return cls(
            run_id=review.turn.run_id,
            verdict=verdict,
            confidence_before=1.0 if assessment.confidence is None else assessment.confidence,
            sensitive_tag_hit=assessment.sensitive_hit if assessment.decision is GateDecision.FIRED else None,
            original_draft=review.turn.draft,
            revised_draft=text if verdict is Verdict.REVISE else None,
            refusal_message=text if verdict is Verdict.REFUSE else None,
            matched_preferences=list(review.matched_preferences),
            reflection_latency_ms=review.duration_s * 1000,
            reflection_tokens_in=(call.usage.input_tokens or 0) if call else 0,
            reflection_tokens_out=(call.usage.output_tokens or 0) if call else 0,
            gate_decision=assessment.decision,
            gate_reason=assessment.reason,
            gate_signals=assessment.signals,
            failure=review.failure,
            critic_model=call.model if call else None,
        )


def verdict_of(review: Review) -> Verdict:
    """Return the verdict as symfonic has it: where nothing was decided, the draft is approved."""
    return review.verdict or Verdict.APPROVE


def own_text(review: Review) -> str | None:
    """Return the text that the critic gave itself; a configured message that stands in is none of its."""
    outcome = review.outcome
    return outcome.text if isinstance(outcome, Judged) and not outcome.defaulted else None

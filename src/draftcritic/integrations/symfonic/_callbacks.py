"""What `MetacognitiveMiddleware` returns."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

from draftcritic.core._enums import Failure, GateDecision, GateReason, Verdict
from draftcritic.core._hooks import ObservabilityHook
from draftcritic.core._review import Judged, Review
from draftcritic.integrations.symfonic._provider import peer


@dataclass(frozen=True)
class ReflectionEvent:
    """The result of one evaluation, which the caller applies or not.

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
    """Return the critic's own text; None where a configured message replaces it."""
    outcome = review.outcome
    return outcome.text if isinstance(outcome, Judged) and not outcome.defaulted else None


NODE_NAME = "metacognition_critic"
"""What callbacks know the critic as."""

_EVENTS = "symfonic.core.contracts.callbacks"


@dataclass(frozen=True)
class LLMStartEvent:
    """The critic is about to ask its model. Where symfonic is loaded, its own event of this name is sent instead."""

    model: str
    messages: list[Any]
    run_id: str = ""
    system_prompt: str = ""
    node_name: str = ""
    turn_index: int = 0


@dataclass(frozen=True)
class LLMEndEvent:
    """The critic's model has answered or failed. Where symfonic is loaded, its own event is sent instead."""

    model: str
    output: str
    usage: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""
    node_name: str = ""
    pricing_unknown: bool = False
    duration_ms: float = 0.0
    started_at_utc: str = ""
    iteration_index: int = 0
    turn_index: int = 0


def flat_usage(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Return token counts in the flat shape that symfonic's listeners read; nothing known gives an empty one.

    Both counts are there as soon as one is, and cache and reasoning tokens are there when they are not zero.
    """
    if not usage:
        return {}
    read = usage.get("input_token_details") or {}
    written = usage.get("output_token_details") or {}
    extra = {
        "cache_read_input_tokens": read.get("cache_read"),
        "cache_creation_input_tokens": read.get("cache_creation"),
        "cache_ttl": "1h" if read.get("ephemeral_1h_input_tokens") else None,
        "reasoning_tokens": usage.get("reasoning_tokens") or written.get("reasoning"),
    }
    return {
        "input_tokens": usage.get("input_tokens") or 0,
        "output_tokens": usage.get("output_tokens") or 0,
        **{name: value for name, value in extra.items() if value},
    }


class FlatUsageHook:
    """Hands on to a framework's hook, which knows only flat usage."""

    def __init__(self, hook: ObservabilityHook) -> None:
        self._hook = hook

    async def on_llm_start(self, model: str, messages: Sequence[Any], run_id: str) -> None:
        """Hand on."""
        await self._hook.on_llm_start(model, messages, run_id)

    async def on_llm_end(self, model: str, output: str, usage: Mapping[str, Any], run_id: str) -> None:
        """Hand on with flat usage."""
        await self._hook.on_llm_end(model, output, flat_usage(usage), run_id)


class ManagerHook:
    """Turns the two moments of one call into events of a callback manager.

    Args:
        manager: has `on_llm_start(event)` and `on_llm_end(event)`.
        node_name: what the events call the critic.
    """

    def __init__(self, manager: Any, node_name: str) -> None:
        self._manager = manager
        self._node_name = node_name
        self._began = 0.0
        self._started_at = ""

    async def on_llm_start(self, model: str, messages: Sequence[Any], run_id: str) -> None:
        """Send the start event."""
        kind = peer(_EVENTS, "LLMStartEvent") or LLMStartEvent
        event = kind(model=model, messages=list(messages), run_id=run_id, node_name=self._node_name)
        try:
            await self._manager.on_llm_start(event)
        finally:
            self._started_at = datetime.now(timezone.utc).isoformat()
            self._began = time.perf_counter()

    async def on_llm_end(self, model: str, output: str, usage: Mapping[str, Any], run_id: str) -> None:
        """Send the end event."""
        kind = peer(_EVENTS, "LLMEndEvent") or LLMEndEvent
        event = kind(
            model=model,
            output=output,
            usage=flat_usage(usage),
            run_id=run_id,
            node_name=self._node_name,
            duration_ms=(time.perf_counter() - self._began) * 1000,
            started_at_utc=self._started_at,
        )
        await self._manager.on_llm_end(event)


def hooks_of(manager: Any, node_name: str, hook: ObservabilityHook | None) -> tuple[ObservabilityHook, ...]:
    """Return who listens: the observability hook first, then the manager unless it has no handlers."""
    hooks: list[ObservabilityHook] = [] if hook is None else [FlatUsageHook(hook)]
    if manager is not None and not getattr(manager, "is_noop", False):
        hooks.append(ManagerHook(manager, node_name))
    return tuple(hooks)

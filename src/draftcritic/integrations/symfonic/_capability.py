"""The critic as a stage that a framework of capabilities can place after the model.

The shapes are this package's own and known by their attributes alone: `contribute(request)` returns an object whose
`post_model` has one stage, and a stage has a `name`, the stages it comes `before`, an `effect` and a `handler`.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping
from dataclasses import dataclass
from inspect import isawaitable
from typing import Any

from draftcritic.core._confidence import activation_from_resolved
from draftcritic.core._enums import EvidenceScope, Examples, FabricationMode, GateDecision, Mode, Profile, Verdict
from draftcritic.core._policy import Policy, ProceduralRulesSource
from draftcritic.core._review import Review
from draftcritic.core._turn import Turn
from draftcritic.integrations.symfonic._callbacks import own_text, verdict_of
from draftcritic.integrations.symfonic._provider import (
    default_model_config,
    model_source,
    preferences_of,
    process_observer,
    tags_of,
)
from draftcritic.review._pipeline import Critic
from draftcritic.review._ports import ReviewObserver

STAGE = "critic"
PROVENANCE = "critic-reflection-v1"
"""Says of a recorded value where it comes from."""

_TEXT = ("text", "draft", "response_text", "final_response")
_ACTIVATION = ("resolved_activation", "activation", "activation_log")


@dataclass(frozen=True)
class CriticStage:
    """One step after the model has written its draft.

    Attributes:
        handler: takes the turn, and returns the value that it recorded, or None when there was no draft.
        name: the name of the stage and of its record.
        before: stages that must come later, so that no memory is written before the verdict.
        effect: what the stage does to the outside.
    """

    handler: Callable[[Any], Awaitable[dict[str, Any] | None]]
    name: str = STAGE
    before: tuple[str, ...] = ("memory.consolidation", "memory.write")
    effect: str = "model_call"


@dataclass(frozen=True)
class CriticContribution:
    """What the capability adds to an agent.

    Attributes:
        post_model: the stages after the model.
    """

    post_model: tuple[CriticStage, ...]


class CriticCapability:
    """Reviews each turn's draft and records the result; nothing is applied.

    Args:
        model_provider: its `get_chat_model(model_config)` returns an object with `async ainvoke(messages)`.
        confidence_threshold: the gate fires below it, 0 to 1.
        sensitive_tags: tags in addition to those of the preferences.
        preferences: `CriticPreference`s, or objects of that shape.
        rules_source: finds the procedural rules of a turn.
        prompt_template: in place of the built-in one; see `draftcritic.core.render_prompt`.
        model_config: what the provider is asked for; None leaves it to the framework's default.
        observer: writes reviews down; by default the telemetry of the process while draftcritic is instrumented.
    """

    def __init__(  # noqa: PLR0917 - the order is part of the contract
        self,
        model_provider: Any,
        confidence_threshold: float = 0.6,
        sensitive_tags: Iterable[str] = (),
        preferences: Iterable[Any] = (),
        rules_source: ProceduralRulesSource | None = None,
        prompt_template: str | None = None,
        model_config: Any = None,
        *,
        observer: ReviewObserver | None = None,
    ) -> None:
        self._policy = Policy(
            confidence_threshold=confidence_threshold,
            sensitive_tags=tags_of(sensitive_tags),
            preferences=preferences_of(preferences),
            fabrication_mode=FabricationMode.OFF,
            profile=Profile.SYMFONIC,
            evidence=EvidenceScope.NONE,
            examples=Examples.ALWAYS,
            rules_source=rules_source,
            prompt_template=prompt_template,
        )
        self._model_provider = model_provider
        self._model_config = model_config
        self._observer = observer

    def contribute(self, request: Any = None) -> CriticContribution:  # noqa: ARG002 - every request gets the same
        """Return the critic's stage."""
        return CriticContribution(post_model=(CriticStage(self._handle),))

    async def _handle(self, turn: Any) -> dict[str, Any] | None:
        """Review a turn, and record the value under the stage's name.

        Args:
            turn: a mapping or an object with the draft (`text`, `draft`, `response_text` or `final_response`) and the
                activation (`resolved_activation`, `activation` or `activation_log`), and perhaps `run_id` and `scope`.
                The value goes to its `record(name, value)`, or into the mapping.
        """
        observer = self._observer or process_observer()
        config = default_model_config() if self._model_config is None else self._model_config
        review = await Critic(self._policy, Mode.OBSERVE, observer).areview(
            Turn(
                draft=str(_first(turn, _TEXT) or ""),
                run_id=str(_read(turn, "run_id") or ""),
                activation=activation_from_resolved(_first(turn, _ACTIVATION)),
                scope=_read(turn, "scope"),
            ),
            model_source(self._model_provider, config),
            observer.capture(),
        )
        if review.assessment.decision is GateDecision.NOT_EVALUATED:
            return None
        value = _value_of(review)
        await _record(turn, value)
        return value


def _value_of(review: Review) -> dict[str, Any]:
    verdict, text = verdict_of(review), own_text(review)
    return {
        "verdict": verdict.value,
        "confidence_before": review.assessment.confidence,
        "sensitive_tag_hit": review.assessment.sensitive_hit,
        "revised_draft": text if verdict is Verdict.REVISE else None,
        "refusal_message": text if verdict is Verdict.REFUSE else None,
        "matched_preferences": list(review.matched_preferences),
        "reflection_latency_ms": review.duration_s * 1000,
        "provenance": PROVENANCE,
        "counts": {verdict.value: 1},
    }


async def _record(turn: Any, value: dict[str, Any]) -> None:
    record = getattr(turn, "record", None)
    if callable(record):
        answer = record(STAGE, value)
        if isawaitable(answer):
            await answer
    elif isinstance(turn, MutableMapping):
        turn[STAGE] = value


def _first(turn: Any, names: tuple[str, ...]) -> Any:
    return next((value for name in names if (value := _read(turn, name)) is not None), None)


def _read(turn: Any, name: str) -> Any:
    return turn.get(name) if isinstance(turn, Mapping) else getattr(turn, name, None)

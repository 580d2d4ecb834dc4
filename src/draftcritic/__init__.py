"""Reviews every draft answer of a LangChain or LangGraph agent and records the verdicts with OpenTelemetry.

Start an agent under `opentelemetry-instrument` and nothing here needs to be imported. The names below are for code
that calls the critic itself. They are loaded when they are first used, so that importing the package costs next to
nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from draftcritic._lifespan import flush_at_shutdown
    from draftcritic.core import (
        CriticGateContext,
        CriticPreference,
        FabricationDetectedEvent,
        FabricationFinding,
        FabricationOutcome,
        IntentVerdict,
        NoOpObservabilityHook,
        ObservabilityHook,
        ProceduralRulesSource,
        activation_from_resolved,
        apply_fabrication_check,
        compute_confidence,
        critic_gate_fires,
        default_smart_gate,
        detect_fabrication,
        detect_sensitive_hit,
        draft_has_claims,
        draft_is_trivial_ack,
        hard_fire,
        parse_reflection_output,
        took_tool_action,
    )
    from draftcritic.instrumentor import DraftCriticInstrumentor
    from draftcritic.integrations.symfonic import (
        CriticCapability,
        MetacognitiveMiddleware,
        ReflectionEvent,
        reflect_on_draft,
    )
    from draftcritic.langchain import ReviewResult, review_of
    from draftcritic.review import activation, muted
    from draftcritic.settings import Settings

__all__ = [
    "CriticCapability",
    "CriticGateContext",
    "CriticPreference",
    "DraftCriticInstrumentor",
    "FabricationDetectedEvent",
    "FabricationFinding",
    "FabricationOutcome",
    "IntentVerdict",
    "MetacognitiveMiddleware",
    "NoOpObservabilityHook",
    "ObservabilityHook",
    "ProceduralRulesSource",
    "ReflectionEvent",
    "ReviewResult",
    "Settings",
    "activation",
    "activation_from_resolved",
    "apply_fabrication_check",
    "compute_confidence",
    "critic_gate_fires",
    "default_smart_gate",
    "detect_fabrication",
    "detect_sensitive_hit",
    "draft_has_claims",
    "draft_is_trivial_ack",
    "flush_at_shutdown",
    "hard_fire",
    "muted",
    "parse_reflection_output",
    "reflect_on_draft",
    "review_of",
    "took_tool_action",
]

_ROOMS = {
    "activation": "review",
    "muted": "review",
    "ReviewResult": "langchain",
    "review_of": "langchain",
    "CriticCapability": "integrations.symfonic",
    "MetacognitiveMiddleware": "integrations.symfonic",
    "ReflectionEvent": "integrations.symfonic",
    "reflect_on_draft": "integrations.symfonic",
    "DraftCriticInstrumentor": "instrumentor",
    "flush_at_shutdown": "_lifespan",
    "Settings": "settings",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_ROOMS.get(name, 'core')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

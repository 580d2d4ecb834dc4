"""The critic in the shapes of agent frameworks: one engine, other doors."""

from __future__ import annotations

from draftcritic.integrations.symfonic._callbacks import LLMEndEvent, LLMStartEvent, ReflectionEvent
from draftcritic.integrations.symfonic._capability import CriticCapability, CriticContribution, CriticStage
from draftcritic.integrations.symfonic._middleware import MetacognitiveMiddleware
from draftcritic.integrations.symfonic._provider import ModelConfig, reflect_on_draft

__all__ = [
    "CriticCapability",
    "CriticContribution",
    "CriticStage",
    "LLMEndEvent",
    "LLMStartEvent",
    "MetacognitiveMiddleware",
    "ModelConfig",
    "ReflectionEvent",
    "reflect_on_draft",
]

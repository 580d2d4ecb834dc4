"""The critic in the shapes of agent frameworks: one engine, other doors."""

from __future__ import annotations

from draftcritic.frameworks._callbacks import LLMEndEvent, LLMStartEvent
from draftcritic.frameworks._capability import CriticCapability, CriticContribution, CriticStage
from draftcritic.frameworks._config import ModelConfig
from draftcritic.frameworks._events import ReflectionEvent
from draftcritic.frameworks._middleware import MetacognitiveMiddleware
from draftcritic.frameworks._reflect import reflect_on_draft

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

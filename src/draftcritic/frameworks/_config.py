"""Reads the critic's policy out of a framework's configuration and domain objects, of which only shapes are known."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from draftcritic.core import CriticPreference, FabricationMode, Policy, ProceduralRulesSource, Profile


@dataclass(frozen=True)
class ModelConfig:
    """What a model provider is asked for when nobody chose a model.

    Attributes:
        model_name: empty leaves the choice to the provider.
    """

    model_name: str = ""


def peer(module: str, name: str) -> Any:
    """Return `name` of a module of the symfonic framework, when the application has loaded it; else None.

    Where symfonic is not loaded nobody can hold objects of its types, so it is never imported for nothing.
    """
    if "symfonic.core" not in sys.modules:
        return None
    try:
        return getattr(import_module(module), name, None)
    except ImportError:
        return None


def critic_model_config(config: Any) -> Any:
    """Return the model configuration of the role `critic`, or the framework's default one."""
    roles = getattr(config, "role_models", None) or {}
    chosen = roles.get("critic")
    if isinstance(getattr(chosen, "model_name", None), str):
        return chosen
    return default_model_config()


def default_model_config() -> Any:
    """Return the model configuration that holds when nobody chose one."""
    return (peer("symfonic.core.config", "ModelConfig") or ModelConfig)()


def policy_of(
    config: Any, domain: Any, rules_source: ProceduralRulesSource | None, prompt_template: str | None
) -> Policy:
    """Return the policy that a framework's configuration and domain amount to.

    The fabrication check is the framework's own affair there: it hands its findings in.
    """
    return Policy(
        confidence_threshold=config.metacognition_confidence_threshold,
        selective_gate=bool(getattr(config, "metacognition_selective_gate", False)),
        sensitive_tags=tags_of(getattr(config, "metacognition_sensitive_tags", None)),
        preferences=preferences_of(getattr(domain, "core_preferences", None)),
        read_only_tools=tags_of(getattr(config, "read_only_tools", None)),
        trivial_ack_patterns=tuple(getattr(config, "metacognition_trivial_ack_patterns", None) or ()),
        gate=getattr(config, "metacognition_gate", None),
        fabrication_mode=FabricationMode.OFF,
        profile=Profile.SYMFONIC,
        rules_source=rules_source,
        prompt_template=prompt_template,
    )


def preferences_of(preferences: Iterable[Any] | None) -> tuple[CriticPreference, ...]:
    """Return preferences of any class that has `priority`, `statement` and perhaps `sensitive_tags`."""
    return tuple(
        CriticPreference(each.priority, each.statement, tuple(tags_of(getattr(each, "sensitive_tags", None))))
        for each in preferences or ()
    )


def tags_of(tags: str | Iterable[str] | None) -> frozenset[str]:
    """Return names as a set; a single string is one name."""
    return frozenset((tags,) if isinstance(tags, str) else tags or ())

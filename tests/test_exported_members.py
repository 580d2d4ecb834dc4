"""The public surface: what is importable from `draftcritic`, and nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest

import draftcritic

PUBLIC = [
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


def test_all_is_the_public_surface() -> None:
    assert draftcritic.__all__ == PUBLIC
    assert sorted(PUBLIC) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_loads(name: str) -> None:
    value = getattr(draftcritic, name)
    assert value.__doc__
    assert name in dir(draftcritic)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        draftcritic.nothing  # noqa: B018


@pytest.mark.parametrize(
    "room",
    [
        "core",
        "review",
        "langchain",
        "telemetry",
        "grounding",
        "integrations.langchain",
        "integrations.symfonic",
        "settings",
        "cli",
        "demo",
        "calibrate",
        "check",
        "labels",
        "record",
        "replay",
        "statistics",
        "turns",
    ],
)
def test_every_room_exports_things_that_exist(room: str) -> None:
    import importlib

    module = importlib.import_module(f"draftcritic.{room}")
    assert len(set(module.__all__)) == len(module.__all__)
    for name in module.__all__:
        assert hasattr(module, name), name


def test_importing_the_package_and_the_instrumentor_loads_nothing_heavy() -> None:
    code = (
        "import sys, draftcritic, draftcritic.instrumentor\n"
        "heavy = ('langchain', 'langchain_core', 'langgraph', 'pydantic', 'genai_prices', 'opentelemetry.sdk')\n"
        "print([m for m in heavy if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"

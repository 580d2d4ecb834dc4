"""From settings to the policy of the core, and objects that are given by name."""

from __future__ import annotations

from pathlib import Path

import pytest

from draftcritic.core import CriticPreference, FabricationMode, OnFailure, Policy
from draftcritic.settings import Settings, SettingsError

MODULE = """
import sys
imported = True

def strict(context):
    return True

class Rules:
    async def retrieve(self, query, top_k):
        return ["rule of " + query]

class Holder:
    rules = Rules()
    number = 3
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"shop_critic_{tmp_path.name}".replace("-", "_")
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / f"{name}_broken.py").write_text("raise RuntimeError('no\\ndatabase')")
    monkeypatch.syspath_prepend(str(tmp_path))
    return name


def test_the_defaults_of_settings_are_those_of_the_policy() -> None:
    assert Settings.load({}).policy() == Policy()


def test_every_setting_of_the_policy_arrives() -> None:
    settings = Settings.load(
        {},
        confidence_threshold=0.1,
        selective_gate=True,
        sensitive_tags=["pii"],
        preferences=[{"statement": "s", "priority": 9, "sensitive_tags": ["health"]}],
        read_only_tools=["search"],
        trivial_ack_patterns=["^ok$"],
        gate=len,
        fabrication="refuse",
        fabrication_refuse_threshold=0.2,
        identifier_keys=["parcel"],
        rules=["r"],
        timeout=3,
        on_failure="refuse",
        fail_closed_tags=["health"],
        default_revision="R",
        default_refusal="N",
    )
    assert settings.policy() == Policy(
        confidence_threshold=0.1,
        selective_gate=True,
        sensitive_tags=frozenset({"pii"}),
        preferences=(CriticPreference(9, "s", ("health",)),),
        read_only_tools=frozenset({"search"}),
        trivial_ack_patterns=("^ok$",),
        gate=len,
        fabrication_mode=FabricationMode.REFUSE,
        fabrication_refuse_threshold=0.2,
        identifier_keys=("parcel",),
        rules=("r",),
        timeout=3.0,
        on_failure=OnFailure.REFUSE,
        fail_closed_tags=frozenset({"health"}),
        default_revision="R",
        default_refusal="N",
    )


def test_a_prompt_template_arrives_whole() -> None:
    template = "Judge {draft} by {core_preferences}, {procedural_rules} and {sensitive_tag_hit}."
    assert Settings.load({}, prompt_template=template).policy().prompt_template == template


def test_a_template_without_a_field_is_refused_with_its_name() -> None:
    with pytest.raises(SettingsError, match="sensitive_tag_hit"):
        Settings.load({}, prompt_template="{draft} {core_preferences} {procedural_rules}")


async def test_objects_given_by_name_are_imported_only_for_the_policy(module: str) -> None:
    import sys

    settings = Settings.load({"DRAFTCRITIC_GATE": f"{module}:strict", "DRAFTCRITIC_RULES_SOURCE": f"{module}:Rules"})
    assert module not in sys.modules
    policy = settings.policy()
    assert policy.gate is sys.modules[module].strict
    assert policy.rules_source is not None
    assert await policy.rules_source.retrieve("a", 5) == ["rule of a"]
    nested = Settings.load({}, rules_source=f"{module}:Holder.rules").policy()
    assert nested.rules_source is sys.modules[module].Holder.rules


@pytest.mark.parametrize(
    ("name", "path", "reason"),
    [
        (
            "gate",
            "{module}:missing",
            "cannot be imported: AttributeError: module '{module}' has no attribute 'missing'",
        ),
        ("gate", "no_such_module_at_all:gate", "cannot be imported: ModuleNotFoundError: No module named"),
        ("gate", "{module}_broken:gate", "cannot be imported: RuntimeError: no database"),
        ("gate", "{module}:Holder.number", "what it names cannot be called"),
        ("rules_source", "{module}:strict", "what it names has no method retrieve(query, top_k)"),
    ],
)
def test_a_name_that_leads_nowhere_is_one_problem(name: str, path: str, reason: str, module: str) -> None:
    settings = Settings.load({f"DRAFTCRITIC_{name.upper()}": path.format(module=module)})
    with pytest.raises(SettingsError) as caught:
        settings.policy()
    (problem,) = caught.value.problems
    assert (problem.setting, problem.origin) == (name, f"env DRAFTCRITIC_{name.upper()}")
    assert reason.format(module=module) in problem.reason
    assert "\n" not in str(problem)


def test_both_names_are_reported_at_once() -> None:
    settings = Settings.load({}, gate="no_such_module_at_all:x", rules_source="no_such_module_at_all:y")
    with pytest.raises(SettingsError) as caught:
        settings.policy()
    assert [problem.setting for problem in caught.value.problems] == ["gate", "rules_source"]

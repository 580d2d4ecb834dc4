"""The version of a policy: the same for the same rules in every process, another one for any other rules."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields, replace

import pytest

from draftcritic.core import CriticPreference, FabricationMode, OnFailure, OnLimit, Policy


def gate(ctx: object) -> bool:
    return True


class Source:
    async def retrieve(self, query: str, top_k: int) -> list[str]:
        return []


CHANGES = {
    "confidence_threshold": 0.7,
    "selective_gate": True,
    "sensitive_tags": frozenset({"pii"}),
    "preferences": (CriticPreference(5, "one"),),
    "read_only_tools": frozenset({"search"}),
    "trivial_ack_patterns": ("^ok$",),
    "gate": gate,
    "fabrication_mode": FabricationMode.REFUSE,
    "fabrication_refuse_threshold": 0.9,
    "identifier_keys": ("sku",),
    "rules": ("be brief",),
    "rules_source": Source(),
    "prompt_template": "{draft}",
    "timeout": 3.0,
    "on_failure": OnFailure.REFUSE,
    "fail_closed_tags": frozenset({"pii"}),
    "default_revision": "x",
    "default_refusal": "\ud800",
    "refusal_texts": {"de": "Nein."},
    "on_limit": OnLimit.REFUSE,
    "prompt_budget": 1000,
}


@pytest.mark.parametrize("name", CHANGES)
def test_any_change_gives_another_version(name: str) -> None:
    changed = replace(Policy(), **{name: CHANGES[name]})
    assert changed.version != Policy().version
    assert len(changed.version) == 12
    assert int(changed.version, 16) >= 0


def test_every_field_takes_part() -> None:
    versions = {replace(Policy(), **{name: value}).version for name, value in CHANGES.items()}
    assert len(versions) == len(CHANGES)
    assert {each.name for each in fields(Policy) if each.init} >= set(CHANGES)


def test_it_is_the_same_in_every_process() -> None:
    program = (
        "from draftcritic.core import CriticPreference, Policy\n"
        "tags = frozenset('abcdefgh')\n"
        "print(Policy(sensitive_tags=tags, preferences=(CriticPreference(5, 'one', ('x',)),)).version)"
    )
    printed = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(printed) == 1


def test_the_order_of_preferences_is_part_of_it_and_that_of_tags_is_not() -> None:
    one, two = CriticPreference(5, "one"), CriticPreference(5, "two")
    assert Policy(preferences=(one, two)).version != Policy(preferences=(two, one)).version
    assert Policy(sensitive_tags=frozenset("ab")).version == Policy(sensitive_tags=frozenset("ba")).version

"""Ids of preferences and rules in the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from draftcritic.core import Rule
from draftcritic.settings import Settings, SettingsError


def test_ids_come_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "draftcritic.toml"
    file.write_text(
        'policy_salt = "pepper"\nrules = ["Be brief", {statement = "Be kind", id = "kind"}]\n'
        '[[preferences]]\nstatement = "No dates"\nid = "no-dates"\n'
    )
    policy = Settings.load({}, config=file).policy()
    assert policy.rules == ("Be brief", Rule("Be kind", "kind"))
    assert policy.identified[0].id == "no-dates"
    assert policy.policy_salt == "pepper"


def test_ids_come_from_the_environment() -> None:
    policy = Settings.load({"DRAFTCRITIC_RULES": '[{"statement": "Be kind", "id": "kind"}, "Be brief"]'}).policy()
    assert policy.rules == (Rule("Be kind", "kind"), "Be brief")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"rules": [{"statement": "x", "id": "two words"}]}, "rules[0].id = 'two words', from code: is no id"),
        (
            {"rules": [{"statement": "x", "id": "other"}]},
            "is reserved: other is the id of all rules that are not loaded",
        ),
        ({"rules": [7]}, "rules[0] = 7, from code: Input should be a valid string"),
        ({"rules": [{"statment": "x"}]}, "did you mean statement?"),
        (
            {"rules": [{"statement": "x", "id": "a"}], "preferences": [{"statement": "y", "id": "a"}]},
            "has the id 'a' twice; give each rule an id of its own",
        ),
    ],
)
def test_what_cannot_be_an_id_is_rejected(given: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError) as caught:
        Settings.load({}, **given)
    assert said in str(caught.value)


def test_the_salt_is_not_shown() -> None:
    assert "pepper" not in repr(Settings.load({}, policy_salt="pepper"))

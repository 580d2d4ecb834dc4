"""The documentation says what the class says."""

from __future__ import annotations

from pathlib import Path

import pytest

from draftcritic.settings import Settings, SettingsError, reference_table

ROOT = Path(__file__).parents[2]


def test_the_page_holds_the_table_of_the_class() -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    assert reference_table() in page, "put the output of draftcritic.settings.reference_table() into docs/settings.md"


def test_the_table_has_a_full_row_for_every_setting() -> None:
    rows = [line.strip("|").split("|") for line in reference_table().splitlines()[2:]]
    assert [row[0].strip(" `") for row in rows] == list(Settings.model_fields)
    assert all(len(row) == 5 and all(cell.strip() for cell in row) for row in rows)


def test_the_file_on_the_page_is_valid(tmp_path: Path) -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    (tmp_path / "draftcritic.toml").write_text(page.split("```toml\n")[1].split("```")[0])
    settings = Settings.load({}, config=tmp_path / "draftcritic.toml")
    assert settings.model_kwargs == {"temperature": 0}
    assert settings.policy().fail_closed_tags == {"pii"}


def test_the_errors_on_the_page_are_real(tmp_path: Path) -> None:
    page = (ROOT / "docs/settings.md").read_text(encoding="utf-8")
    path = tmp_path / "critic.toml"
    path.write_text("timeout = 0\n")
    with pytest.raises(SettingsError) as caught:
        Settings.load({"DRAFTCRITIC_MODEE": "gate"}, config=path)
    assert str(caught.value).replace(str(path), "/srv/critic.toml") in page


def test_the_examples_file_is_valid() -> None:
    settings = Settings.load({}, config=ROOT / "examples/support_agent/draftcritic.toml")
    assert settings.policy().all_sensitive_tags == {"pii"}

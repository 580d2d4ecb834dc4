"""The README tells the truth."""

from __future__ import annotations

import re
from pathlib import Path

from draftcritic.cli import main
from draftcritic.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_tables_are_the_schema(capsys) -> None:
    assert main(["schema", "--markdown"]) == 0
    tables = README.split("schema --markdown` -->\n")[1].split("<!-- end of schema")[0]
    assert tables.strip() == capsys.readouterr().out.strip(), "put the output of draftcritic schema --markdown there"


def test_every_setting_in_the_table_exists() -> None:
    rows = re.findall(r"^\| (`[^|]+) \|", README.split("## Settings")[1].split("### How")[0], re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert named
    assert named <= set(Settings.model_fields)


def test_every_file_it_points_to_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make (\w+)", README):
        if target != "and":
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target

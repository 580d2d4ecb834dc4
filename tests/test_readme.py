"""Check the README and the page of the telemetry against the code."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

from draftcritic.cli import main
from draftcritic.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TELEMETRY = (ROOT / "docs/telemetry.md").read_text(encoding="utf-8")


def test_the_tables_are_the_schema(capsys) -> None:
    assert main(["schema", "--markdown"]) == 0
    tables = TELEMETRY.split("schema --markdown` -->\n")[1].split("<!-- end of schema")[0]
    assert tables.strip() == capsys.readouterr().out.strip(), "run `draftcritic schema --markdown`"


def test_the_settings_file_is_valid(tmp_path: Path) -> None:
    example = textwrap.dedent(re.search(r"^ *```toml\n(.*?)```", README, re.MULTILINE | re.DOTALL)[1])
    file = tmp_path / "draftcritic.toml"
    file.write_text(example, encoding="utf-8")
    assert Settings.load(config=file).preferences


def test_every_environment_variable_is_a_setting() -> None:
    named = set(re.findall(r"DRAFTCRITIC_(\w+)", README))
    assert named
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_no_example_uses_a_nano_class_model_as_the_critic() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
    assert not [page for page in pages if "openai:gpt-4.1-nano" in page.read_text(encoding="utf-8")]


def test_every_file_it_points_to_exists() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target


def test_every_make_target_exists() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"make (\w+)", README):
        if target != "and":
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), target

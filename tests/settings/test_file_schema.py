"""The JSON Schema of the settings file: shipped as it is generated, and right about files."""

from __future__ import annotations

import json
import re
import textwrap
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

from draftcritic.cli import main
from draftcritic.settings import Settings
from draftcritic.settings._file_schema import settings_schema
from draftcritic.settings._origins import parsed

ROOT = Path(__file__).parents[2]
jsonschema = pytest.importorskip("jsonschema")


def errors(content: Any) -> list[str]:
    validator = jsonschema.Draft202012Validator(settings_schema())
    return [error.message for error in validator.iter_errors(content)]


def test_the_shipped_file_is_the_generated_schema(capsys: pytest.CaptureFixture[str]) -> None:
    shipped = files("draftcritic.settings").joinpath("settings.schema.json").read_text(encoding="utf-8")
    assert main(["settings", "--schema"]) == 0
    assert capsys.readouterr().out == shipped, "run `draftcritic settings --schema` into the file"
    jsonschema.Draft202012Validator.check_schema(json.loads(shipped))


def test_every_setting_of_a_file_is_in_the_schema() -> None:
    names = set(settings_schema()["properties"])
    assert set(Settings.model_fields) - names == {"config", "hooks"}


@pytest.mark.parametrize("path", ["docs/settings.md", "README.md", "examples/support_agent/draftcritic.toml"])
def test_the_files_that_we_show_are_valid(path: str) -> None:
    text = (ROOT / path).read_text(encoding="utf-8")
    if path.endswith(".md"):
        found = re.search(r"^ *```toml\n(.*?)```", text, re.MULTILINE | re.DOTALL)
        assert found
        text = textwrap.dedent(found[1])
    assert errors(parsed(text, Path("x.toml"))) == []


@pytest.mark.parametrize(
    "content",
    [{"mode": "enforc"}, {"modle": "x"}, {"timeout": "soon"}, {"preferences": [{"priority": 3}]}, {"config": "x.toml"}],
)
def test_a_mistake_is_an_error_of_the_schema(content: Any) -> None:
    assert errors(content)


def test_the_line_for_editors_is_no_setting(tmp_path: Path) -> None:
    file = tmp_path / "draftcritic.toml"
    file.write_text('"$schema" = "settings.schema.json"\nmode = "gate"\n')
    assert Settings.load({}, config=file).mode.value == "gate"

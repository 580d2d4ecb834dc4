"""Where a value comes from, which source wins, and what a file may look like."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from draftcritic.core import FabricationMode, Mode
from draftcritic.settings import Settings, SettingsError


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


def refused(environ: dict[str, str], **code: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        Settings.load(environ, **code)
    return str(caught.value).splitlines()


def test_without_any_source_the_defaults_hold() -> None:
    settings = Settings.load({})
    assert settings.mode is Mode.OBSERVE
    assert settings.background is True
    assert settings.model is None
    assert settings.timeout == 10.0
    assert settings.confidence_threshold == 0.6
    assert settings.fabrication is FabricationMode.OBSERVE
    assert settings.fabrication_refuse_threshold == 0.8
    assert (settings.queue_size, settings.workers, settings.shutdown_timeout) == (1024, 2, 5.0)
    assert {settings.origin(name) for name in Settings.model_fields} == {"default"}


def test_code_wins_over_the_environment_which_wins_over_the_file(tmp_path: Path) -> None:
    path = write(tmp_path / "critic.toml", 'mode = "off"\ntimeout = 1\nworkers = 7\nqueue_size = 3\n')
    settings = Settings.load(
        {"DRAFTCRITIC_CONFIG": path, "DRAFTCRITIC_MODE": "observe", "DRAFTCRITIC_TIMEOUT": "2"}, mode="gate"
    )
    assert (settings.mode, settings.timeout, settings.workers) == (Mode.GATE, 2.0, 7)
    assert settings.origin("mode") == "code"
    assert settings.origin("timeout") == "env DRAFTCRITIC_TIMEOUT"
    assert settings.origin("workers") == f"file {path}"
    assert settings.origin("config") == "env DRAFTCRITIC_CONFIG"
    assert settings.origin("background") == "default"
    with pytest.raises(KeyError):
        settings.origin("moode")


def test_a_stronger_source_replaces_a_table_and_does_not_merge_into_it(tmp_path: Path) -> None:
    path = write(tmp_path / "c.toml", 'model = "openai:gpt"\n[model_kwargs]\ntemperature = 0\n')
    settings = Settings.load({"DRAFTCRITIC_CONFIG": path, "DRAFTCRITIC_MODEL_KWARGS": '{"seed": 1}'})
    assert settings.model_kwargs == {"seed": 1}


def test_a_weaker_source_may_hold_what_a_stronger_one_replaces(tmp_path: Path) -> None:
    path = write(tmp_path / "c.toml", "timeout = -1\n")
    assert Settings.load({"DRAFTCRITIC_CONFIG": path, "DRAFTCRITIC_TIMEOUT": "3"}).timeout == 3.0


@pytest.mark.parametrize("text", ["", "   "])
def test_an_empty_variable_is_no_variable(text: str) -> None:
    settings = Settings.load({"DRAFTCRITIC_MODE": text, "DRAFTCRITIC_NO_SETTING": text, "DRAFTCRITIC_CONFIG": text})
    assert settings.origin("mode") == "default"


def test_none_in_code_says_nothing() -> None:
    settings = Settings.load({"DRAFTCRITIC_MODE": "gate"}, mode=None, timeout=None)
    assert (settings.mode, settings.timeout) == (Mode.GATE, 10.0)


def test_direct_construction_reads_the_environment_of_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in [name for name in os.environ if name.startswith("DRAFTCRITIC_")]:
        monkeypatch.delenv(variable)
    monkeypatch.setenv("DRAFTCRITIC_WORKERS", "5")
    settings = Settings(mode="gate")
    assert (settings.mode, settings.workers) == (Mode.GATE, 5)
    assert settings.origin("workers") == "env DRAFTCRITIC_WORKERS"
    assert Settings.load({}).workers == 2


def test_settings_cannot_be_changed() -> None:
    settings = Settings.load({})
    with pytest.raises(ValueError, match="frozen"):
        settings.mode = Mode.OFF


FILE = {
    "critic.toml": """
        mode = "off"
        fabrication = "off"
        trivial_ack_patterns = ["^ok{1,3}$"]
        rules = ["Never, ever, promise a refund."]
        [[preferences]]
        statement = "No personal data."
        sensitive_tags = ["pii"]
    """,
    "critic.yaml": """
        mode: off
        fabrication: off
        trivial_ack_patterns: ["^ok{1,3}$"]
        rules: ["Never, ever, promise a refund."]
        preferences:
          - statement: No personal data.
            sensitive_tags: [pii]
    """,
}


@pytest.mark.parametrize("name", [*FILE, "critic.yml"])
def test_a_file_says_the_same_in_toml_and_yaml(name: str, tmp_path: Path) -> None:
    lines = FILE.get(name, FILE["critic.yaml"]).splitlines()
    path = write(tmp_path / name, "\ufeff" + "\n".join(line[8:] for line in lines))
    settings = Settings.load({}, config=path)
    assert (settings.mode, settings.fabrication) == (Mode.OFF, FabricationMode.OFF)
    assert settings.trivial_ack_patterns == ("^ok{1,3}$",)
    assert settings.rules == ("Never, ever, promise a refund.",)
    (preference,) = settings.preferences
    assert (preference.statement, preference.priority, preference.sensitive_tags) == (
        "No personal data.",
        5,
        ("pii",),
    )
    assert settings.origin("rules") == f"file {path}"


@pytest.mark.parametrize("name", ["empty.toml", "empty.yaml"])
def test_an_empty_file_says_nothing(name: str, tmp_path: Path) -> None:
    settings = Settings.load({}, config=write(tmp_path / name, ""))
    assert settings.mode is Mode.OBSERVE


def test_a_relative_path_counts_from_the_current_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "critic.toml", "workers = 9\n")
    monkeypatch.chdir(tmp_path)
    settings = Settings.load({"DRAFTCRITIC_CONFIG": "critic.toml"})
    assert settings.workers == 9
    assert settings.config == tmp_path / "critic.toml"


BROKEN = [
    ("critic.json", b"{}", "is neither TOML nor YAML by its name"),
    ("critic.toml", b"mode = ", "is no valid TOML: Invalid value (at end of document)"),
    ("critic.toml", b"workers = " + b"9" * 5000, "is no valid TOML: "),
    ("critic.toml", b"mode = '\xff'", "is not UTF-8: byte 8"),
    ("critic.yaml", b"mode: [", "is no valid YAML: "),
    ("critic.yaml", b"- mode", "has no names of settings at its top level"),
    ("critic.yaml", b"a: \x00", "is no valid YAML: "),
    ("critic.yaml", b"[" * 5000, "is no valid YAML: "),
]


@pytest.mark.parametrize(("name", "content", "reason"), BROKEN, ids=[reason for *_, reason in BROKEN])
def test_a_broken_file_is_one_problem_that_names_it(name: str, content: bytes, reason: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    (line,) = refused({"DRAFTCRITIC_CONFIG": str(path), "DRAFTCRITIC_FAIL_CLOSED_TAGS": "pii"})
    assert line.startswith("config = ")
    assert f", from env DRAFTCRITIC_CONFIG: {reason}" in line
    assert line.endswith("(allowed: a file .toml, .yaml, .yml)")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    (missing,) = refused({}, config=tmp_path / "no.toml")
    assert ", from code: there is no such file" in missing
    (tmp_path / "d.toml").mkdir()
    (folder,) = refused({}, config=tmp_path / "d.toml")
    assert ", from code: is not a file" in folder


def test_yaml_without_a_reader_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    (line,) = refused({}, config=write(tmp_path / "c.yaml", "mode: gate"))
    assert "pip install 'draftcritic[yaml]'" in line


def test_names_that_are_no_settings_are_refused_with_the_likely_one(tmp_path: Path) -> None:
    path = write(tmp_path / "critic.toml", 'confidence-threshold = 1\nhooks = []\nconfig = "x"\nxyzzy = 1\n')
    assert refused({"DRAFTCRITIC_CONFIG": path, "DRAFTCRITIC_MODEE": "gate", "DRAFTCRITIC_mode": "x"}, tmeout=1) == [
        "tmeout = 1, from code: is no setting; did you mean timeout?",
        "MODEE = 'gate', from env DRAFTCRITIC_MODEE: is no setting; did you mean DRAFTCRITIC_MODE?",
        "mode = 'x', from env DRAFTCRITIC_mode: is no setting; did you mean DRAFTCRITIC_MODE?",
        f"confidence-threshold = 1, from file {path}: is no setting; did you mean confidence_threshold?",
        f"hooks = [], from file {path}: can only be given in code",
        f"config = 'x', from file {path}: cannot be set in the file itself; set DRAFTCRITIC_CONFIG",
        f"xyzzy = 1, from file {path}: is no setting",
    ]


def test_options_of_pydantic_itself_are_no_settings() -> None:
    (line,) = refused({}, _env_file=".env")
    assert line == "_env_file = '.env', from code: is no setting"


def test_importing_reads_nothing_and_the_package_alone_does_not_import_pydantic() -> None:
    code = (
        "import sys, draftcritic; assert 'pydantic' not in sys.modules\n"
        "import os; os.environ['DRAFTCRITIC_MODE'] = 'nonsense'\n"
        "import draftcritic.settings; assert 'pydantic' in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")

"""The commands as a user runs them: real processes, their output and their exit codes."""

from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from draftcritic.settings import Settings
from draftcritic.telemetry import SCHEMA


def run(*arguments: str, cwd: Path | None = None, **environ: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("DRAFTCRITIC_")}
    return subprocess.run(
        [sys.executable, "-c", "import sys; from draftcritic.cli import main; sys.exit(main())", *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        env=inherited | environ,
    )


def rows(output: str) -> dict[str, tuple[str, str]]:
    """The printed table, cut where its head says that the columns begin."""
    head, *lines = output.splitlines()
    origin, value = head.index("FROM"), head.index("VALUE")
    return {line[:origin].strip(): (line[origin:value].strip(), line[value:]) for line in lines}


def test_settings_shows_what_holds_and_where_it_came_from(tmp_path: Path) -> None:
    (tmp_path / "critic.toml").write_text('sensitive_tags = ["pii"]\nworkers = 4\n')
    done = run(
        "settings",
        cwd=tmp_path,
        DRAFTCRITIC_CONFIG="critic.toml",
        DRAFTCRITIC_MODE="gate",
        DRAFTCRITIC_MODEL="openai:gpt",
        DRAFTCRITIC_MODEL_KWARGS='{"api_key": "plainword", "temperature": 0}',
    )
    assert (done.returncode, done.stderr) == (0, "")
    shown = rows(done.stdout)
    assert list(shown) == list(Settings.model_fields)
    assert shown["mode"] == ("env DRAFTCRITIC_MODE", "gate")
    assert shown["sensitive_tags"] == (f"file {tmp_path / 'critic.toml'}", '["pii"]')
    assert shown["workers"] == (f"file {tmp_path / 'critic.toml'}", "4")
    assert shown["timeout"] == ("default", "10.0")
    assert shown["gate"] == ("default", "-")
    assert shown["model_kwargs"][1] == '{"api_key": "***", "temperature": 0}'
    assert "\x1b" not in done.stdout


def test_settings_as_json() -> None:
    done = run("settings", "--json", DRAFTCRITIC_RULES="Grüß Gott.", DRAFTCRITIC_WORKERS="3")
    assert done.returncode == 0
    shown = json.loads(done.stdout)
    assert list(shown) == list(Settings.model_fields)
    assert shown["rules"] == {"value": ["Grüß Gott."], "origin": "env DRAFTCRITIC_RULES"}
    assert shown["workers"] == {"value": 3, "origin": "env DRAFTCRITIC_WORKERS"}


def test_wrong_settings_end_with_2_and_every_problem_on_standard_error() -> None:
    done = run("settings", DRAFTCRITIC_MODE="force", DRAFTCRITIC_TIMEOUT="soon")
    assert (done.returncode, done.stdout) == (2, "")
    mode, timeout = done.stderr.splitlines()
    assert mode.startswith("mode = 'force', from env DRAFTCRITIC_MODE: is none of the words")
    assert timeout.startswith("timeout = 'soon', from env DRAFTCRITIC_TIMEOUT: ")
    as_json = run("settings", "--json", DRAFTCRITIC_MODE="force")
    assert as_json.returncode == 2
    (problem,) = json.loads(as_json.stdout)["problems"]
    assert (problem["setting"], problem["value"], problem["origin"], problem["allowed"]) == (
        "mode",
        "'force'",
        "env DRAFTCRITIC_MODE",
        "off, observe, gate, enforce",
    )


def test_settings_finds_modules_of_the_current_directory_and_reports_missing_ones(tmp_path: Path) -> None:
    (tmp_path / "my_gates.py").write_text("def gate(context):\n    return True\n")
    assert run("settings", cwd=tmp_path, DRAFTCRITIC_GATE="my_gates:gate").returncode == 0
    missing = run("settings", cwd=tmp_path, DRAFTCRITIC_GATE="my_gates:no")
    assert missing.returncode == 2
    assert "cannot be imported: AttributeError" in missing.stderr


def test_a_value_that_the_terminal_cannot_show_is_escaped() -> None:
    done = run("settings", DRAFTCRITIC_DEFAULT_REFUSAL="Não ✋", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert rows(done.stdout)["default_refusal"][1] == r"N\xe3o \u270b"


def test_schema_prints_every_name_on_the_wire() -> None:
    done = run("schema")
    assert (done.returncode, done.stderr) == (0, "")
    words = done.stdout.replace(",", " ").replace(":", " ").split()
    named = [*SCHEMA.span_attributes, *SCHEMA.event_attributes, *SCHEMA.events, *SCHEMA.metrics, *SCHEMA.labels]
    assert {info.name for info in named} <= set(words)
    assert {
        "draftcritic.review",
        "draftcritic.verdict",
        "on_llm_start",
        "gen_ai.evaluation.result",
        "draftcritic.reviews",
        "draftcritic.internal",
    } <= set(words)
    assert "\x1b" not in done.stdout


def test_schema_as_json() -> None:
    done = run("schema", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout) == json.loads(json.dumps(SCHEMA.as_dict()))


def test_schema_of_a_recorded_turn() -> None:
    done = run("schema", "--turns")
    assert done.returncode == 0
    assert json.loads(done.stdout)["required"] == ["turn_id"]


def test_the_reader_of_the_output_may_leave() -> None:
    script = "import sys; from draftcritic.cli import main; sys.exit(main(['schema']))"
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.stderr.read() == ""
    assert process.returncode == 1


def test_version_is_that_of_the_distribution() -> None:
    done = run("--version")
    assert (done.returncode, done.stdout) == (0, f"draftcritic {importlib.metadata.version('draftcritic')}\n")


@pytest.mark.parametrize("arguments", [(), ("nonsense",), ("settings", "--nonsense")])
def test_a_wrong_command_line_ends_with_2(arguments: tuple[str, ...]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert done.stderr.startswith("usage: draftcritic")


def test_help_names_the_commands_and_the_exit_codes() -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("demo", "settings", "schema", "exit codes:"):
        assert word in done.stdout
    bare = run()
    assert (bare.returncode, bare.stdout, bare.stderr) == (2, "", done.stdout)

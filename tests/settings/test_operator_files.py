"""Files and environments of operators that are wrong, or hold what is not ours."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from draftcritic.cli import main
from draftcritic.settings import Settings, SettingsError

SERVICE_LINKS = {
    "DRAFTCRITIC_COLLECTOR_SERVICE_HOST": "10.96.7.1",
    "DRAFTCRITIC_COLLECTOR_SERVICE_PORT": "4317",
    "DRAFTCRITIC_COLLECTOR_SERVICE_PORT_OTLP_GRPC": "4317",
    "DRAFTCRITIC_COLLECTOR_PORT": "tcp://10.96.7.1:4317",
    "DRAFTCRITIC_COLLECTOR_PORT_4317_TCP": "tcp://10.96.7.1:4317",
    "DRAFTCRITIC_COLLECTOR_PORT_4317_TCP_PROTO": "tcp",
    "DRAFTCRITIC_COLLECTOR_PORT_4317_TCP_PORT": "4317",
    "DRAFTCRITIC_COLLECTOR_PORT_4317_TCP_ADDR": "10.96.7.1",
    "DRAFTCRITIC_DNS_PORT_53_UDP": "udp://[fd00::1]:53",
    "DRAFTCRITIC_DNS_PORT_53_UDP_ADDR": "fd00::1",
    "DRAFTCRITIC_SERVICE_HOST": "10.96.7.2",
    "DRAFTCRITIC_SERVICE_PORT": "80",
    "DRAFTCRITIC_PORT": "tcp://10.96.7.2:80",
    "DRAFTCRITIC_PORT_80_TCP": "tcp://10.96.7.2:80",
    "DRAFTCRITIC_PORT_80_TCP_ADDR": "10.96.7.2",
}


def problem(**code: object) -> str:
    with pytest.raises(SettingsError) as caught:
        Settings.load({}, **code)
    return str(caught.value)


def test_service_links_of_kubernetes_are_not_settings() -> None:
    settings = Settings.load({**SERVICE_LINKS, "DRAFTCRITIC_MODE": "gate"})
    assert settings.mode.value == "gate"
    assert settings.reread().mode.value == "gate"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("DRAFTCRITIC_PORT", "8080"),
        ("DRAFTCRITIC_COLLECTOR_PORT", "x"),
        ("DRAFTCRITIC_SERVICE_PORT", "many"),
        ("DRAFTCRITIC_MODE_PORTS", "tcp://10.0.0.1:80"),
        ("DRAFTCRITIC_SERVICE_HOSTS", "10.0.0.1"),
        ("DRAFTCRITIC_service_host", "10.0.0.1"),
        ("DRAFTCRITIC_MODEE", "gate"),
    ],
)
def test_a_wrong_name_is_rejected_beside_service_links(name: str, value: str) -> None:
    with pytest.raises(SettingsError, match="is no setting") as caught:
        Settings.load({**SERVICE_LINKS, name: value})
    assert [problem.origin for problem in caught.value.problems] == [f"env {name}"]


def bomb(levels: int = 9, width: int = 9, indent: str = "  ") -> str:
    lines = [f"{indent}a0: &a0 [x]"]
    for level in range(1, levels + 1):
        aliases = ", ".join([f"*a{level - 1}"] * width)
        lines.append(f"{indent}a{level}: &a{level} [{aliases}]")
    return "\n".join(lines)


@pytest.mark.parametrize(
    "text",
    [
        f"model: openai:x\nmodel_kwargs:\n{bomb()}\n",
        "model: openai:x\nmodel_kwargs:\n  " + bomb(9, 9, "").replace("\n", "\n  "),
        "m0: &m0 {k: 1}\n"
        + "\n".join(f"m{n}: &m{n} {{<<: [{', '.join([f'*m{n - 1}'] * 9)}], k{n}: 1}}" for n in range(1, 9)),
        "rules: &r [*r]\n",
        "model_kwargs: &m\n  a: *m\n",
    ],
)
def test_aliases_that_multiply_are_rejected(text: str, tmp_path: Path) -> None:
    path = tmp_path / "critic.yaml"
    path.write_text(text)
    said = problem(config=path)
    assert "its aliases add more than" in said or "an alias contains itself" in said


def test_a_few_aliases_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "critic.yaml"
    path.write_text("sensitive_tags: &tags [pii]\nfail_closed_tags: *tags\n")
    assert Settings.load({}, config=path).fail_closed_tags == ("pii",)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("mode: off\nmode: enforce\n", "mode"),
        ("mode: off\n'mode': enforce\n", "mode"),
        ("model: openai:x\nmodel_kwargs:\n  seed: 1\n  seed: 2\n", "seed"),
        ("preferences:\n  - statement: a\n    statement: b\n", "statement"),
        ("model: openai:x\nmodel_kwargs: {a: {b: 1, b: 2}}\n", "b"),
    ],
)
def test_a_key_that_is_there_twice_is_rejected(text: str, key: str, tmp_path: Path) -> None:
    path = tmp_path / "critic.yaml"
    path.write_text(text)
    said = problem(config=path)
    assert f"the key {key!r} is there twice, line " in said


def test_a_key_that_is_there_twice_in_json_is_rejected() -> None:
    assert "the key 'seed' is there twice" in problem(model="openai:x", model_kwargs='{"seed": 1, "seed": 2}')


def test_a_huge_file_is_rejected_unread(tmp_path: Path) -> None:
    path = tmp_path / "critic.toml"
    with path.open("wb") as file:
        file.truncate(20_000_000)
    assert "is larger than 10000000 bytes" in problem(config=path)


@pytest.mark.parametrize(
    "raised", ["sys.exit(3)", "raise SystemExit", "raise GeneratorExit", "raise BaseException('x')"]
)
@pytest.mark.parametrize("name", ["gate", "rules_source"])
def test_a_module_that_ends_the_process_is_a_problem_of_its_setting(
    raised: str, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending_module.py").write_text(f"import sys\n{raised}\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingsError, match="cannot be imported"):
        Settings.load({}, **{name: "ending_module:gate"}).policy()


def test_the_application_runs_on_beside_a_gate_that_exits(tmp_path: Path) -> None:
    (tmp_path / "ending_gate.py").write_text("import sys\nsys.exit(3)\n")
    code = (
        "import logging; logging.basicConfig()\n"
        "from draftcritic import DraftCriticInstrumentor\n"
        "DraftCriticInstrumentor().instrument(gate='ending_gate:gate')\n"
        "import langchain_core.language_models.chat_models\n"
        "print('the application runs on')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "the application runs on\n")
    assert "draftcritic stays off" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_settings_command_prints_no_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    kwargs = {
        "pat": "s3cr3tword",
        "ssl": {"passphrase": "s3cr3tword"},
        "extra_args": ["--token", "s3cr3tword"],
        "default_headers": "Authorization: Bearer s3cr3tword",
    }
    monkeypatch.setenv("DRAFTCRITIC_MODEL", "openai:gpt")
    monkeypatch.setenv("DRAFTCRITIC_MODEL_KWARGS", json.dumps(kwargs))
    for arguments in (["settings"], ["settings", "--json"]):
        assert main(arguments) == 0
        printed = capsys.readouterr()
        assert "s3cr3tword" not in printed.out + printed.err
        assert "pat" in printed.out
    monkeypatch.setenv("DRAFTCRITIC_GITHUB_PAT", "s3cr3tword")
    monkeypatch.setenv("DRAFTCRITIC_PREFERENCES", '[{"statement": "x", "token": "s3cr3tword"}]')
    for arguments in (["settings"], ["settings", "--json"]):
        assert main(arguments) == 2
        printed = capsys.readouterr()
        assert "s3cr3tword" not in printed.out + printed.err


def test_an_import_error_that_quotes_a_secret_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "telling_module.py").write_text("raise RuntimeError('login with token=s3cr3tword failed')\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(SettingsError) as caught:
        Settings.load({}, gate="telling_module:gate").policy()
    assert "s3cr3tword" not in str(caught.value)
    assert "RuntimeError" in str(caught.value)

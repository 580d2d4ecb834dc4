"""`draftcritic run -- COMMAND`: any agent, with its reviews in the terminal."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from support import provider_server

from draftcritic.cli import main

AGENT = """
from langchain.chat_models import init_chat_model
print("the agent says:", init_chat_model("openai:gpt-4o-mini").invoke("Where is it?").text)
raise SystemExit(EXIT)
"""


def run(tmp_path: Path, code: str, **variables: str) -> subprocess.CompletedProcess[str]:
    (tmp_path / "agent.py").write_text(code)
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))}
    with provider_server.provider_server() as url:
        return subprocess.run(
            [sys.executable, "-m", "draftcritic", "run", "--", sys.executable, "agent.py"],
            cwd=tmp_path,
            env={
                **kept,
                "OPENAI_API_KEY": "unused",
                "OPENAI_BASE_URL": f"{url}/v1",
                "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1",
                "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "langchain",
                "DRAFTCRITIC_RULES": "Be kind.",
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def test_the_review_of_an_agents_answer_is_printed(tmp_path: Path) -> None:
    done = run(tmp_path, AGENT.replace("EXIT", "0"))
    assert done.returncode == 0, done.stderr
    assert "the agent says: Your parcel is on its way." in done.stdout
    assert "draftcritic.review" in done.stdout
    assert "approve (reflection, recorded)" in done.stdout
    assert "1 reviews, 1 evaluation events" in done.stdout


def test_the_exit_code_is_the_agents(tmp_path: Path) -> None:
    done = run(tmp_path, AGENT.replace("EXIT", "7"))
    assert done.returncode == 7
    assert "approve (reflection, recorded)" in done.stdout


def test_a_command_without_reviews_says_what_to_do(tmp_path: Path) -> None:
    done = run(tmp_path, "print('no agent')")
    assert done.returncode == 1
    assert "draftcritic doctor -- COMMAND" in done.stdout


def test_a_command_that_does_not_exist_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--", "/no/such/agent"]) == 2
    assert capsys.readouterr().err == "draftcritic run: there is no command '/no/such/agent'\n"

"""The pages by task: each command works as it is printed, and each link leads somewhere."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import provider_server

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.settings import Settings

ROOT = Path(__file__).parents[1]
PAGES = [
    "first-hour", "reading-a-refusal", "writing-rules", "testing-rules", "choosing-a-critic", "enforcing-safely",
    "troubleshooting", "upgrading", "servers",
]  # fmt: skip
ELSEWHERE = {
    "pip install": "the package is not published, and the environment of the tests has it",
    "opentelemetry-instrument uvicorn": "tests/processes/test_recipes.py",
    "opentelemetry-instrument gunicorn": "tests/processes/test_recipes.py",
    "opentelemetry-instrument celery": "tests/processes/test_recipes.py",
}
"""Commands that are not run here, and why."""
AGENT = """
from langchain.chat_models import init_chat_model
init_chat_model("openai:gpt-4o-mini").invoke("Where is it?")
"""


def text_of(page: str) -> str:
    return (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")


def blocks(page: str, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^ *```", text_of(page), re.MULTILINE | re.DOTALL)
    return [re.sub(f"^{indent}", "", block, flags=re.MULTILINE) for indent, block in found]


def commands() -> list[str]:
    lines = [line for page in PAGES for block in blocks(page, "sh") for line in block.splitlines()]
    return sorted({line for line in lines if line and not line.startswith(tuple(ELSEWHERE))})


@pytest.mark.parametrize("command", commands())
def test_a_command_of_a_page_works(command: str, tmp_path: Path) -> None:
    (tmp_path / "agent.py").write_text(AGENT)
    (tmp_path / "draftcritic.toml").write_text(blocks("writing-rules", "toml")[0])
    (tmp_path / "cases.jsonl").write_text(blocks("testing-rules", "json")[0])
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))}
    with OtlpReceiver() as receiver, provider_server.provider_server() as url:
        env = {
            **kept,
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "langchain",
            "DRAFTCRITIC_MODEL": "openai:gpt-4o-mini",
            "OPENAI_API_KEY": "unused",
            "OPENAI_BASE_URL": f"{url}/v1",
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        }
        done = subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=env, capture_output=True, text=True, timeout=120, check=False
        )
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_settings_of_the_pages_are_valid_and_its_cases_are_cases(tmp_path: Path) -> None:
    for page in PAGES:
        for number, block in enumerate(blocks(page, "toml")):
            file = tmp_path / f"{page}{number}.toml"
            file.write_text(block)
            Settings.load({}, config=file).policy()
    assert [json.loads(line)["name"] for line in blocks("testing-rules", "json")[0].splitlines()]


@pytest.mark.parametrize("page", PAGES)
def test_a_link_of_a_page_leads_somewhere(page: str) -> None:
    for target in re.findall(r"\]\(([^)#]+)(?:#[^)]*)?\)", text_of(page)):
        assert target.startswith("http") or (ROOT / "docs" / target).exists(), target


@pytest.mark.parametrize("page", PAGES)
def test_a_name_of_a_page_is_a_setting_or_a_command(page: str) -> None:
    text = text_of(page)
    assert {name.lower() for name in re.findall(r"DRAFTCRITIC_([A-Z_]+)", text)} <= set(Settings.model_fields)
    assert shutil.which("sh")


def test_each_page_is_in_the_navigation_of_the_site() -> None:
    named = set(re.findall(r": ([\w/-]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE))
    docs = ROOT / "docs"
    assert {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")} - named == set()

"""The example agent on its own: plain Python, no OpenTelemetry, no critic."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from draftcritic.demo._scripted_model import ScriptedModel

EXAMPLE = Path(__file__).parents[2] / "examples" / "support_agent"
TURNS = [turn for visit in json.loads((EXAMPLE / "conversation.json").read_text("utf-8")) for turn in visit["turns"]]

pytestmark = pytest.mark.e2e


# Under it an agent with middleware has steps that change nothing.
OPENLLMETRY = """
import runpy, sys
from opentelemetry.instrumentation.langchain import LangchainInstrumentor
LangchainInstrumentor().instrument()
del sys.argv[0]
sys.path.insert(0, sys.argv[0].rpartition("/")[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run_agent(
    base_url: str, *arguments: str, command: tuple[str, ...] = (sys.executable,)
) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DRAFTCRITIC_"))}
    kept.pop("PYTHONPATH", None)
    return subprocess.run(
        [*command, (EXAMPLE / "agent.py").as_posix(), *arguments],
        env={
            **kept,
            "OPENAI_BASE_URL": base_url,
            "OPENAI_API_KEY": "x",
            "NO_PROXY": "127.0.0.1",
            "PYTHONIOENCODING": "utf-8",
        },
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_the_conversation_as_written() -> None:
    with ScriptedModel() as server:
        done = run_agent(server.base_url)
        requests = server.requests()
    assert done.returncode == 0, done.stderr
    assert re.findall(r"^\[\d+\] customer: (.*)$", done.stdout, re.MULTILINE) == [turn["say"] for turn in TURNS]
    answers = re.findall(r"^\[\d+\] agent \((\w+)\): (.+)$", done.stdout, re.MULTILINE)
    assert [how for how, _ in answers] == [turn["how"] for turn in TURNS]
    texts = [text for _, text in answers]
    for said in ("You're welcome!", "¡De nada!", "Gern geschehen!"):
        assert said in texts
    assert texts[0].startswith("Order A-4480, your desk lamp, was shipped on 10 March 2025")
    assert texts[4].endswith("The refund's number is R-4471.")
    assert done.stdout.endswith("\n16 turns.\n")
    assert {name for name, _ in requests} == {"gpt-4o-mini"}
    assert len({t["function"]["name"] for t in requests[0][1]["tools"]}) >= 5


def test_the_conversation_is_the_same_next_to_openllmetry(tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.instrumentation.langchain")
    conversation = tmp_path / "conversation.json"
    visit = json.loads((EXAMPLE / "conversation.json").read_text("utf-8"))[0]
    turns = [{**turn, "how": "astream"} for turn in visit["turns"][:2]]
    conversation.write_text(json.dumps([{**visit, "turns": turns}]))
    said = []
    for command in ((sys.executable,), (sys.executable, "-c", OPENLLMETRY)):
        with ScriptedModel() as server:
            done = run_agent(server.base_url, "--conversation", str(conversation), command=command)
        assert done.returncode == 0, done.stderr
        said.append(done.stdout)
    assert said[0] == said[1]
    assert said[0].endswith("\n2 turns.\n")


def test_a_failing_model_fails_the_agent(tmp_path: Path) -> None:
    conversation = tmp_path / "conversation.json"
    turns = [{"say": "Not in the script", "how": "invoke"}]
    conversation.write_text(json.dumps([{"customer": "C-101", "thread": "t", "turns": turns}]))
    with ScriptedModel() as server:
        done = run_agent(server.base_url, "--conversation", str(conversation))
    assert done.returncode == 1
    assert "no line for this request" in done.stderr


def test_the_agent_knows_nothing_of_the_critic() -> None:
    for source in EXAMPLE.glob("*.py"):
        nodes = list(ast.walk(ast.parse(source.read_text(encoding="utf-8"))))
        imported = {a.name for node in nodes if isinstance(node, ast.Import) for a in node.names}
        imported |= {str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)}
        assert not {name for name in imported if name.split(".")[0] in ("draftcritic", "opentelemetry")}


def test_the_conversation_has_enough_turns_asked_in_every_way() -> None:
    assert len(TURNS) >= 14
    assert {turn["how"] for turn in TURNS} == {"invoke", "stream", "ainvoke", "astream"}

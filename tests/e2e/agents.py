"""The example agent as its own process under `opentelemetry-instrument`, with scripted models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from draftcritic.demo._demo import DISTRO_NAME, distro_folder
from draftcritic.demo._scripted_model import AGENT_MODEL, CRITIC_MODEL, DEFAULT_SCRIPT, ScriptedModel

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parents[1] / "examples" / "support_agent"
SERVICE = "support-agent"
EMAIL = "planted.person@mail.example.org"
CARD = "4111 1111 1111 1111"
KEY = "sk-proj-PLANTEDabcdefghijklmnop0123456789"
PLANTED = (EMAIL, "planted.person", CARD, "4111111111111111", KEY, "PLANTED")
"""What must be found nowhere behind the collector."""

_EXTRA_TURNS = [
    {
        "customer": "C-101",
        "thread": "e2e-1",
        "turns": [
            {"say": f"Note my mail {EMAIL}, my card {CARD} and my key {KEY}.", "how": "invoke"},
            {"say": "Was my mug delivered? The critic will stumble over the answer.", "how": "invoke"},
        ],
    }
]
_EXTRA_LINES = [
    {
        "model": AGENT_MODEL,
        "user": "Note my mail",
        "text": f"I have noted your mail {EMAIL}, your card {CARD} and your key {KEY} for order A-4471.",
    },
    {
        "model": AGENT_MODEL,
        "user": "The critic will stumble",
        "text": "Your mug, order A-4471, was delivered on 7 March 2025, a critic cannot read this.",
    },
    {"model": CRITIC_MODEL, "prompt": "a critic cannot read this", "text": "I would rather talk about the weather."},
]


def spooled(folder: Path) -> dict[str, str]:
    """Return the environment in which drafts wait in files: only then is there data about them."""
    return {"DRAFTCRITIC_DELIVERY": "spool", "DRAFTCRITIC_SPOOL_DIR": str(folder)}


@dataclass(frozen=True)
class Agent:
    """How to run the agent.

    Attributes:
        environment: The process's environment, without where its telemetry goes.
        conversation: The turns.
    """

    environment: Mapping[str, str]
    conversation: Path

    def run(self, endpoint: str, *, timeout: float = 120.0, **more: str) -> subprocess.CompletedProcess[str]:
        """Hold the whole conversation, and wait for the end."""
        return subprocess.run(
            [*_instrumented(), str(EXAMPLE / "agent.py"), "--conversation", str(self.conversation)],
            env={**self.environment, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **more},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            timeout=timeout,
            check=False,
        )

    @contextmanager
    def stepwise(self, endpoint: str, **more: str) -> Iterator[Steps]:
        """The agent, asked turn by turn."""
        process = subprocess.Popen(
            [*_instrumented(), str(HERE / "stepwise_agent.py")],
            env={**self.environment, "OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, **more},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        try:
            yield Steps(process)
        finally:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout):
                assert pipe is not None
                pipe.close()


@dataclass(frozen=True)
class Steps:
    """A running agent that waits for the next turn."""

    process: subprocess.Popen[str]

    def ask(self, text: str, thread: str) -> str:
        """The agent's answer to one turn."""
        stdin, stdout = self.process.stdin, self.process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"say": text, "thread": thread}) + "\n")
        stdin.flush()
        return str(json.loads(stdout.readline())["answer"])

    def end(self, timeout: float = 60.0) -> int:
        """Let the agent end, and return its exit code."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(timeout)


@contextmanager
def scripted_agent(folder: Path) -> Iterator[Agent]:
    """The agent with its scripted models up.

    Args:
        folder: Gets the script and the conversation.
    """
    script = folder / "script.json"
    lines = _EXTRA_LINES + json.loads(DEFAULT_SCRIPT.read_text("utf-8"))
    script.write_text(json.dumps(lines, ensure_ascii=False), "utf-8")
    conversation = folder / "conversation.json"
    turns = json.loads((EXAMPLE / "conversation.json").read_text("utf-8")) + _EXTRA_TURNS
    conversation.write_text(json.dumps(turns, ensure_ascii=False), "utf-8")
    with ScriptedModel(script) as models, distro_folder() as distro:
        yield Agent(_environment(models.base_url, distro), conversation)


def _instrumented() -> list[str]:
    return [str(Path(sys.executable).with_name("opentelemetry-instrument")), sys.executable]


def _environment(models: str, distro: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DRAFTCRITIC_"))}
    return {
        **kept,
        "PYTHONPATH": os.pathsep.join(filter(None, (str(distro), kept.get("PYTHONPATH")))),
        "PYTHONIOENCODING": "utf-8",
        "NO_PROXY": "127.0.0.1,localhost",
        "no_proxy": "127.0.0.1,localhost",
        "OPENAI_API_KEY": "unused",
        "OPENAI_BASE_URL": models,
        "SUPPORT_AGENT_MODEL": f"openai:{AGENT_MODEL}",
        "DRAFTCRITIC_CONFIG": str(EXAMPLE / "draftcritic.toml"),
        "DRAFTCRITIC_MODEL": f"openai:{CRITIC_MODEL}",
        "DRAFTCRITIC_MODEL_KWARGS": json.dumps({"base_url": models}),
        "OTEL_PYTHON_DISTRO": DISTRO_NAME,
        "OTEL_SERVICE_NAME": SERVICE,
        "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=e2e",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        "OTEL_METRIC_EXPORT_INTERVAL": "1000",
        "OTEL_BSP_SCHEDULE_DELAY": "500",
        "OTEL_BLRP_SCHEDULE_DELAY": "500",
        "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": "SPAN_AND_EVENT",
        **{f"OTEL_{signal}_EXPORTER": "otlp" for signal in ("TRACES", "METRICS", "LOGS")},
    }

"""One stack for all checks, and the table of them at the end."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from e2e.agents import Agent, scripted_agent
from e2e.peers import Jaeger, Prometheus, webhook

from draftcritic.demo._receiver import OtlpReceiver
from stack import _services as services
from stack._programs import Programs, provide
from stack._run import Run
from stack._services import ROOT, Addresses

Detail = Callable[[str], None]
QUICK = {
    "COLLECTOR_DEBUG_VERBOSITY": "detailed",
    "SPAN_METRICS_FLUSH_INTERVAL": "1s",
    "BATCH_TIMEOUT": "200ms",
    "TAIL_SAMPLING_DECISION_WAIT": "2s",
    "TAIL_SAMPLING_REST_PERCENT": "100",
}


@dataclass
class Stack:
    """The running stack.

    Attributes:
        notifications: What Alertmanager has sent to the webhook.
    """

    run: Run
    programs: Programs
    at: Addresses
    folder: Path
    notifications: list[dict[str, Any]] = field(default_factory=list)

    @property
    def otlp(self) -> str:
        return self.at.url("otlp_http")

    @property
    def jaeger(self) -> Jaeger:
        return Jaeger(self.at.url("jaeger_query"))

    @property
    def prometheus(self) -> Prometheus:
        return Prometheus(self.at.url("prometheus"))

    def start_collector(self, **environment: str) -> None:
        """Start the collector with other settings than the stack's usual ones; it must not run."""
        self.run.start(services.collector(self.programs, self.at, {**QUICK, **environment}))

    def restart_collector(self, **environment: str) -> None:
        self.run.stop("otel-collector")
        self.start_collector(**environment)

    def start_jaeger(self) -> None:
        self.run.start(services.jaeger(self.programs, self.at))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs and data of the run, kept for a look afterwards."""
    named = os.environ.get("E2E_FOLDER")
    if not named:
        return tmp_path_factory.mktemp("e2e")
    made = Path(named)
    shutil.rmtree(made, ignore_errors=True)
    made.mkdir(parents=True)
    return made


@pytest.fixture(scope="session")
def programs() -> Programs:
    return provide(print)


@pytest.fixture(scope="session")
def stack(folder: Path, programs: Programs) -> Iterator[Stack]:
    at = Addresses(services.free_ports())
    run = Run(folder, outlive=False)
    with webhook() as (url, notifications):
        stack = Stack(run, programs, at, folder, notifications)
        try:
            stack.start_jaeger()
            stack.start_collector()
            run.start(services.alertmanager(programs, at, folder, url))
            run.start(services.prometheus(programs, at, folder))
            yield stack
        finally:
            run.stop_all()


@pytest.fixture(scope="session")
def agent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Agent]:
    with scripted_agent(tmp_path_factory.mktemp("agent")) as made:
        yield made


@dataclass(frozen=True)
class Plain:
    """A run of the agent that sent to a receiver which changes nothing.

    Attributes:
        answers: What the agent printed.
        sent: Everything it sent, as JSON lines.
        verdicts: How many reviews ended in each verdict.
        events: How many `gen_ai.evaluation.result` events it sent.
        traces: How many traces it sent.
    """

    answers: str
    sent: str
    verdicts: dict[str, int]
    events: int
    traces: int


@pytest.fixture(scope="session")
def plain(agent: Agent, folder: Path) -> Plain:
    """What the agent says and sends without a collector."""
    save = folder / "plain.jsonl"
    with OtlpReceiver(save=save) as receiver:
        done = agent.run(receiver.endpoint)
        assert done.returncode == 0, done.stderr
    verdicts: dict[str, int] = {}
    for span in receiver.spans:
        verdict = span.attributes.get("draftcritic.verdict")
        if isinstance(verdict, str):
            verdicts[verdict] = verdicts.get(verdict, 0) + 1
    events = sum(event.name == "gen_ai.evaluation.result" for event in receiver.events)
    traces = len({span.trace_id for span in receiver.spans})
    return Plain(done.stdout, save.read_text("utf-8"), verdicts, events, traces)


@pytest.fixture
def detail(record_property: Callable[[str, object], None]) -> Detail:
    """Says in the table what a check has seen."""
    return lambda text: record_property("detail", text)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [
        report
        for outcome in ("passed", "failed", "error", "skipped")
        for report in terminalreporter.getreports(outcome)
        if "e2e" in Path(str(report.fspath)).parts and (report.when == "call" or not report.passed)
    ]
    if not reports:
        return
    lines = ["| check | outcome | s | seen |", "|---|---|---|---|"]
    for report in sorted(reports, key=lambda one: (str(one.fspath), one.location[1] or 0)):
        check = report.location[2].removeprefix("test_").replace("_", " ")
        seen = "; ".join(str(value) for key, value in report.user_properties if key == "detail")
        lines.append(f"| {check} | {report.outcome} | {report.duration:.1f} | {seen} |")
    terminalreporter.section("end-to-end checks")
    terminalreporter.write_line("\n".join(lines))
    (ROOT / ".stack").mkdir(exist_ok=True)
    (ROOT / ".stack" / "e2e.md").write_text("\n".join(lines) + "\n", encoding="utf-8")

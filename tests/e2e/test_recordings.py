"""What the real collector and the real Jaeger write down is read back as the same turns."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import pytest
from e2e.conftest import Detail, Plain, Stack
from e2e.peers import eventually

from draftcritic.turns import ReadReport, TurnRow, read_turns
from stack._services import HOST, Service, free_ports

pytestmark = pytest.mark.e2e
SERVICE = "recorded-agent"
CONFIG = """
extensions:
  health_check: {{endpoint: "{host}:{health}"}}
receivers:
  otlp: {{protocols: {{http: {{endpoint: "{host}:{otlp}"}}}}}}
exporters:
  file: {{path: "{path}", flush_interval: 100ms}}
  otlp_grpc: {{endpoint: "{jaeger}", tls: {{insecure: true}}}}
service:
  extensions: [health_check]
  telemetry: {{metrics: {{level: none}}}}
  pipelines:
    traces: {{receivers: [otlp], exporters: [file, otlp_grpc]}}
    logs: {{receivers: [otlp], exporters: [file]}}
    metrics: {{receivers: [otlp], exporters: [file]}}
"""
SIGNALS = {"resourceSpans": "traces", "resourceLogs": "logs", "resourceMetrics": "metrics"}


def turns(path: Path) -> tuple[dict[str, TurnRow], ReadReport]:
    report = ReadReport()
    return {row.turn_id: row for row in read_turns([path], report)}, report


@pytest.fixture(scope="module")
def sent(plain: Plain, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the agent sent, as its receiver wrote it down, under a service's name of its own."""
    path = tmp_path_factory.mktemp("sent") / "sent.jsonl"
    path.write_text(plain.sent.replace('"support-agent"', f'"{SERVICE}"'), "utf-8")
    return path


@pytest.fixture(scope="module")
def exported(stack: Stack, sent: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of the collector's file exporter, which got all of it over OTLP."""
    folder = tmp_path_factory.mktemp("collector")
    ports, path, config = free_ports(("otlp", "health")), folder / "otlp.jsonl", folder / "config.yaml"
    jaeger = stack.at.host_port("jaeger_otlp")
    config.write_text(CONFIG.format(host=HOST, path=path, jaeger=jaeger, **ports), "utf-8")
    command = (str(stack.programs.collector), "--config", str(config))
    stack.run.start(Service("collector-to-file", command, f"http://{HOST}:{ports['health']}/", tuple(ports.values())))
    for line in sent.read_text("utf-8").splitlines():
        signal = SIGNALS[next(iter(json.loads(line)))]
        url, headers = f"http://{HOST}:{ports['otlp']}/v1/{signal}", {"Content-Type": "application/json"}
        urllib.request.urlopen(urllib.request.Request(url, line.encode(), headers), timeout=10).close()
    stack.run.stop("collector-to-file")
    return path


def test_the_collectors_file_exporter_gives_the_turns_that_were_sent(
    exported: Path, sent: Path, detail: Detail
) -> None:
    expected, _ = turns(sent)
    found, report = turns(exported)
    assert (report.problems, set(report.formats)) == ([], {"OTLP"})
    assert found == expected
    whole = [row for row in found.values() if not row.missing and row.reviewed]
    assert len(whole) > 10
    detail(f"{len(found)} turns in {report.formats['OTLP']} lines, {len(whole)} of them whole and reviewed")


@pytest.mark.usefixtures("exported")
def test_jaegers_api_gives_the_turns_that_were_sent(stack: Stack, sent: Path, tmp_path: Path, detail: Detail) -> None:
    expected, _ = turns(sent)
    traces = {row.trace_id for row in expected.values()}
    found = eventually(
        lambda: stack.jaeger.search(SERVICE), lambda seen: traces <= {each["traceID"] for each in seen}, shown=len
    )
    path = tmp_path / "traces.json"
    path.write_text(json.dumps({"data": found, "total": 0}), "utf-8")
    rows, report = turns(path)
    assert (report.problems, set(report.formats)) == ([], {"Jaeger"})
    assert rows.keys() == expected.keys()
    for name, row in expected.items():
        assert (rows[name].draft, rows[name].messages, rows[name].system) == (row.draft, row.messages, row.system)
        assert (rows[name].missing, rows[name].conversation_id) == (row.missing, row.conversation_id)
        assert _judged(rows[name]) == _judged(row)
    detail(f"{len(rows)} turns in {len(found)} traces")


def _judged(row: TurnRow) -> object:
    review = row.reviewed
    return review and (
        review.verdict,
        review.source,
        review.decision,
        review.reason,
        review.findings,
        review.policy_version,
        review.sku,
    )

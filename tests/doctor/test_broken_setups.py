"""Set-ups that are broken in one place each: `draftcritic doctor` names the cause and the remedy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from draftcritic.demo._receiver import OtlpReceiver

IMPORT = "import langchain_core.language_models.chat_models"
INSTRUMENT = str(Path(sys.executable).with_name("opentelemetry-instrument"))
VERDICT = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1796000000,
    "model": "gpt-4.1-mini-2025-04-14",
    "choices": [
        {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": '{"verdict": "approve"}'}}
    ],
    "usage": {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010},
}


@contextmanager
def provider(status: int, body: Any) -> Iterator[str]:
    """A provider in OpenAI's protocol that always gives one answer."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            data = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        yield receiver


def doctor(*arguments: str, cwd: Path | None = None, **variables: str) -> tuple[int, list[dict[str, str]]]:
    """Run the command with no other variables of ours; return its exit code and its findings."""
    prefixes = ("OTEL_", "DRAFTCRITIC_", "OPENAI_", "OPENINFERENCE_", "TRACELOOP_", "LANGSMITH_", "LANGCHAIN_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(prefixes)}
    done = subprocess.run(
        [sys.executable, "-m", "draftcritic", "doctor", "--json", *arguments],
        env={**kept, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf", **variables},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.returncode, json.loads(done.stdout)["findings"]


def quiet(**variables: str) -> dict[str, str]:
    """Variables of a set-up without exporters, which are not what the test is about."""
    return {**{f"OTEL_{signal}_EXPORTER": "none" for signal in ("TRACES", "METRICS", "LOGS")}, **variables}


def faults(findings: list[dict[str, str]], level: str = "fault") -> list[tuple[str, str, str]]:
    return [(each["check"], each["message"], each["remedy"]) for each in findings if each["level"] == level]


def test_a_good_setup_has_no_fault_and_one_span_metric_and_record_arrive(receiver: OtlpReceiver) -> None:
    with provider(200, VERDICT) as url:
        code, findings = doctor(
            "--call",
            OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
            DRAFTCRITIC_MODEL="openai:gpt-4.1-mini",
            DRAFTCRITIC_RULES="Be kind.",
            OPENAI_API_KEY="sk-test",
            OPENAI_BASE_URL=url,
        )
    assert faults(findings) == []
    assert code == 0
    messages = [each["message"] for each in findings]
    assert any("a test call answered approve" in m and "1000+10 tokens, 0.000416 USD" in m for m in messages)
    assert any(m.startswith("mode observe, policy ") and "BaseChatModel.stream" in m for m in messages)
    assert "draftcritic.doctor" in {span.name for span in receiver.spans}
    assert "draftcritic.doctor" in {point.metric for point in receiver.points}
    assert "draftcritic.doctor" in {event.name for event in receiver.events}
    assert all("sk-test" not in json.dumps(each) for each in findings)


@pytest.mark.parametrize(
    ("variables", "check", "cause", "remedy"),
    [
        ({"DRAFTCRITIC_MODE": "enforc"}, "settings", "mode = 'enforc', from env DRAFTCRITIC_MODE", "enforce"),
        ({"DRAFTCRITIC_CONFIG": "/no/such.toml"}, "settings", "there is no such file", ".toml"),
        ({"DRAFTCRITIC_TIME_OUT": "3"}, "settings", "did you mean DRAFTCRITIC_TIMEOUT?", "correct"),
        ({"DRAFTCRITIC_MODE": "off"}, "settings", "mode = off", "observe"),
        ({"DRAFTCRITIC_GATE": "no_module:gate"}, "settings", "cannot be imported", "package.module:attribute"),
        ({"DRAFTCRITIC_MODEL": "mistralai:x"}, "critic", "needs the package langchain-mistralai", "pip install"),
        ({"DRAFTCRITIC_MODEL": "openai:gpt-4.1-mini"}, "critic", "OPENAI_API_KEY is not set", "export OPENAI_API_KEY"),
        ({"OTEL_PYTHON_DISABLED_INSTRUMENTATIONS": "x, draftcritic"}, "plugin", "switches the plugin off", "remove"),
        ({"OTEL_SDK_DISABLED": "true"}, "exporters", "OTEL_SDK_DISABLED", "unset"),
    ],
)  # fmt: skip
def test_a_broken_setting_or_installation_is_named(
    variables: dict[str, str], check: str, cause: str, remedy: str
) -> None:
    code, findings = doctor(**quiet(**variables))
    found = [each for each in faults(findings) if each[0] == check]
    assert code == 1
    assert any(cause in message and remedy in advice for _, message, advice in found), findings


@pytest.mark.parametrize(
    ("status", "error", "cause", "remedy"),
    [
        (401, "invalid_api_key", "status 401, code invalid_api_key", "check the critic's API key"),
        (404, "model_not_found", "status 404, code model_not_found", "the name of its model"),
        (429, "insufficient_quota", "code insufficient_quota", "the quota of the account"),
    ],
)
def test_a_provider_that_rejects_the_test_call_is_named_without_its_message(
    status: int, error: str, cause: str, remedy: str
) -> None:
    body = {"error": {"message": "You sent sk-secret", "type": "x_error", "code": error, "param": None}}
    with provider(status, body) as url:
        variables = quiet(DRAFTCRITIC_MODEL="openai:gpt-4.1-mini", OPENAI_API_KEY="sk-x", OPENAI_BASE_URL=url)
        code, findings = doctor("--call", **variables)
    ((check, message, advice),) = faults(findings)
    assert (code, check) == (1, "critic")
    assert message.startswith("a test call failed: ")
    assert cause in message
    assert remedy in advice
    assert "sk-secret" not in json.dumps(findings)


def test_a_critic_that_gives_no_verdict_is_named() -> None:
    message = {"role": "assistant", "content": "I would rather not say."}
    body = {**VERDICT, "choices": [{"index": 0, "finish_reason": "stop", "message": message}]}
    with provider(200, body) as url:
        variables = quiet(DRAFTCRITIC_MODEL="openai:gpt-4.1-mini", OPENAI_API_KEY="sk-x", OPENAI_BASE_URL=url)
        code, findings = doctor("--call", **variables)
    assert code == 1
    assert [message for _, message, _ in faults(findings)] == ["a test call failed: unparsable (no error)"]


def test_a_collector_that_is_not_there_is_named() -> None:
    code, findings = doctor(OTEL_EXPORTER_OTLP_ENDPOINT="http://127.0.0.1:1")
    found = [each for each in faults(findings) if each[0] == "exporters"]
    assert (code, len(found)) == (1, 3)
    assert all("http://127.0.0.1:1 did not accept a test" in message for _, message, _ in found)
    assert all("start a collector at http://127.0.0.1:1" in remedy for _, _, remedy in found)


def test_a_backend_of_traces_alone_is_named(receiver: OtlpReceiver) -> None:
    code, findings = doctor(
        OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint,
        OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=f"{receiver.endpoint}/no/metrics/here",
    )
    ((check, message, remedy),) = faults(findings)
    assert (code, check) == (1, "exporters")
    assert "did not accept a test metric" in message
    assert "OTEL_METRICS_EXPORTER=none" in remedy


def test_a_command_without_the_loader_is_named() -> None:
    code, findings = doctor("--", sys.executable, "-c", IMPORT, **quiet())
    ((check, message, remedy),) = faults(findings)
    assert (code, check) == (1, "patches")
    assert "nothing is patched" in message
    assert "opentelemetry-instrument in front" in remedy


def test_a_command_that_is_no_agent_is_named() -> None:
    code, findings = doctor(
        "--", INSTRUMENT, sys.executable, "-c", "pass", **quiet(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="langchain")
    )
    assert code == 1
    assert [message for _, message, _ in faults(findings)] == ["the command did not import LangChain's chat models"]


def test_a_command_that_cannot_be_started_is_named() -> None:
    code, findings = doctor("--", "/no/such/agent", **quiet())
    assert code == 1
    assert [message for _, message, _ in faults(findings)] == [
        "/no/such/agent cannot be started: No such file or directory"
    ]


def test_a_server_is_looked_into_and_stopped() -> None:
    code, findings = doctor(
        "--seconds", "60", "--", INSTRUMENT, sys.executable, "-c", f"{IMPORT}, time; time.sleep(600)", **quiet()
    )  # fmt: skip
    assert code == 0
    assert any(each["check"] == "patches" and each["message"].startswith("mode observe") for each in findings)


def test_an_agent_that_sets_the_plugin_up_in_code_is_looked_into() -> None:
    program = f"from draftcritic import DraftCriticInstrumentor as D; D().instrument(mode='gate'); {IMPORT}"
    _, findings = doctor("--", sys.executable, "-c", program, **quiet())
    assert faults(findings) == []
    assert any(each["message"].startswith("mode gate, policy ") for each in findings)


def test_neighbours_that_record_texts_and_draw_spans_twice_are_warned_about() -> None:
    _, findings = doctor(**quiet())
    found = faults(findings, "warning")
    assert ("neighbours", "uninstall all of them but one") in [(check, remedy) for check, _, remedy in found]
    assert any(check == "content" and "OPENINFERENCE_HIDE_INPUTS=true" in remedy for check, _, remedy in found)
    _, findings = doctor(**quiet(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="langchain"))
    assert not [each for each in faults(findings, "warning") if each[0] in {"content", "neighbours"}]


def test_a_setup_without_rules_is_warned_about() -> None:
    _, findings = doctor(**quiet())
    assert any(
        check == "rules" and "there are no rules" in message for check, message, _ in faults(findings, "warning")
    )
    _, findings = doctor(**quiet(DRAFTCRITIC_RULES="Be kind."))
    assert not [each for each in faults(findings, "warning") if each[0] == "rules"]

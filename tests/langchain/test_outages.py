"""What a provider answers decides on the circuit: a real client against a server on loopback."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from support.chat import Chat
from support.sdk import Telemetry

from draftcritic import DraftCriticInstrumentor
from draftcritic.review._reflection import PROBE_DRAFT

SECRET = "Zanzibar"
REFUSE = json.dumps({"verdict": "refuse", "refusal_message": "No."})


class Provider:
    """Answers what `answer` returns for the question: a status, an error code and headers."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.probes = 0
        self.answer: Any = lambda _: (200, "", {})

    def handle(self, handler: BaseHTTPRequestHandler) -> None:
        body = json.loads(handler.rfile.read(int(handler.headers["Content-Length"])))
        question = body["messages"][-1]["content"]
        if PROBE_DRAFT in question:
            self.probes += 1
        else:
            self.asked.append(question)
        status, code, headers = self.answer(question)
        message = {"role": "assistant", "content": REFUSE}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        given = {"id": "1", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini", "choices": [choice]}
        if status != 200:
            given = {"error": {"message": f"not this: {question}", "type": "invalid_request_error", "code": code}}
        data = json.dumps(given).encode()
        handler.send_response(status)
        for name, value in {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)


@contextmanager
def serving(provider: Provider) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            provider.handle(self)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def telemetry() -> Iterator[Telemetry]:
    yield Telemetry()
    DraftCriticInstrumentor().uninstrument()


@pytest.fixture
def provider() -> Provider:
    return Provider()


@pytest.fixture
def critic(provider: Provider) -> Iterator[ChatOpenAI]:
    with serving(provider) as url:
        yield ChatOpenAI(model="gpt-4o-mini", base_url=url, api_key="sk-secret", max_retries=0)  # type: ignore[arg-type]


def enforce(telemetry: Telemetry, critic: Any, **settings: Any) -> None:
    settings = {"circuit_min_calls": 3, "timeout": 10, **settings}
    DraftCriticInstrumentor().instrument(**telemetry.providers, mode="enforce", model=critic, **settings)


def ask(draft: str = f"It is {SECRET}.") -> str:
    return str(Chat(answers=[draft]).invoke("q").text)


def until(condition: Any) -> None:
    deadline = time.monotonic() + 20
    while not (now := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert now


def reasons(telemetry: Telemetry) -> list[tuple[Any, Any]]:
    return [(r.get("draftcritic.gate.reason"), r.get("draftcritic.failure")) for r in telemetry.reviews()]


@pytest.mark.parametrize(
    ("status", "code"),
    [(400, "content_filter"), (400, "context_length_exceeded"), (413, "x"), (422, "x"), (403, "content_policy")],
)
def test_prompts_that_the_provider_rejects_leave_the_circuit_alone(
    status: int, code: str, telemetry: Telemetry, provider: Provider, critic: Any
) -> None:
    provider.answer = lambda question: (status, code, {}) if "bad words" in question else (200, "", {})
    enforce(telemetry, critic)
    for number in range(12):
        ask(f"{number} bad words")
    assert ask() == "No."
    assert reasons(telemetry) == [("low_confidence", "rejected")] * 12 + [("low_confidence", None)]
    assert provider.probes == 0


@pytest.mark.parametrize("status", [500, 503, 409])
def test_an_outage_for_some_drafts_only_opens_nothing(
    status: int, telemetry: Telemetry, provider: Provider, critic: Any
) -> None:
    provider.answer = lambda question: (status, "x", {}) if "bad words" in question else (200, "", {})
    enforce(telemetry, critic)
    for number in range(12):
        ask(f"{number} bad words")
    until(lambda: provider.probes)
    assert ask() == "No."
    assert {reason for reason, _ in reasons(telemetry)} == {"low_confidence"}


def test_an_outage_opens_the_circuit_and_a_probe_closes_it(
    telemetry: Telemetry, provider: Provider, critic: Any
) -> None:
    down = True
    provider.answer = lambda _: (503, "x", {}) if down else (200, "", {})
    enforce(telemetry, critic, circuit_cooldown=1.0, on_limit="refuse")
    for _ in range(3):
        ask()
    until(lambda: "circuit_open" in {ask(), reasons(telemetry)[-1][0]})
    asked = len(provider.asked)
    assert SECRET not in ask()
    down = False
    until(lambda: ask() == "No.")
    assert provider.probes >= 2
    assert len(provider.asked) == asked + 1


def test_what_the_operator_has_to_mend_is_one_warning_without_the_providers_text(
    telemetry: Telemetry, provider: Provider, critic: Any, caplog: pytest.LogCaptureFixture
) -> None:
    provider.answer = lambda _: (401, "invalid_api_key", {})
    enforce(telemetry, critic)
    for _ in range(3):
        ask()
    until(lambda: "circuit_open" in {ask(), reasons(telemetry)[-1][0]})
    lines = [
        r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING and "gave no verdict" in r.getMessage()
    ]
    assert len(lines) == 1
    assert "status 401, code invalid_api_key" in lines[0]
    assert not any(secret in caplog.text for secret in (SECRET, "sk-secret", "not this"))


def test_a_rate_limit_is_waited_for_as_long_as_it_says(telemetry: Telemetry, provider: Provider, critic: Any) -> None:
    limited = True
    provider.answer = lambda _: (429, "rate_limit_exceeded", {"Retry-After": "2"}) if limited else (200, "", {})
    enforce(telemetry, critic, on_limit="refuse")
    ask()
    limited = False
    began = time.monotonic()
    assert SECRET not in ask()
    assert len(provider.asked) == 1
    until(lambda: ask() == "No.")
    assert time.monotonic() - began > 1.5
    assert provider.probes == 0
    assert reasons(telemetry)[:2] == [("low_confidence", "rate_limited"), ("rate_limited", None)]

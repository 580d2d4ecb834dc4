"""`draftcritic demo` from end to end: real processes, real HTTP, everything read from what was received."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import ParseDict
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.demo._traces import Span, Trace, spans_of, traces

pytestmark = pytest.mark.e2e

COMMAND = [str(Path(sys.executable).with_name("draftcritic")), "demo"]
EXAMPLE = Path(__file__).parents[2] / "examples" / "support_agent"
TURNS = 16


def environment(**extra: str) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "DRAFTCRITIC_"))}
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        clean.pop(name, None)
    return {**clean, "PYTHONIOENCODING": "utf-8", **extra}


def run_demo(*arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *arguments],
        env=environment(**extra),
        capture_output=True,
        encoding="utf-8",
        timeout=180,
        check=False,
    )


def saved_spans(file: Path) -> Iterator[Span]:
    for line in file.read_text(encoding="utf-8").splitlines():
        export = json.loads(line)
        if "resourceSpans" in export:
            yield from spans_of(ParseDict(base64_ids(export), ExportTraceServiceRequest()))


def base64_ids(node: Any) -> Any:
    """OTLP writes ids in hexadecimal, protobuf's own JSON mapping reads base64."""
    import base64

    if isinstance(node, dict):
        return {
            key: base64.b64encode(bytes.fromhex(value)).decode()
            if key in ("traceId", "spanId", "parentSpanId") and isinstance(value, str)
            else base64_ids(value)
            for key, value in node.items()
        }
    return [base64_ids(item) for item in node] if isinstance(node, list) else node


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[subprocess.CompletedProcess[str], list[Trace]]:
    file = tmp_path_factory.mktemp("demo") / "otlp.jsonl"
    done = run_demo("--save", str(file))
    assert done.returncode == 0, done.stdout + done.stderr
    return done, traces(saved_spans(file))


def last_reviews(found: list[Trace]) -> list[Span]:
    """The review of the final draft of every turn."""
    return [trace.reviews[-1].span for trace in found]


def test_every_turn_is_one_tree_that_holds_its_review(demo: tuple[Any, list[Trace]]) -> None:
    _, found = demo
    assert len(found) == TURNS
    for trace in found:
        assert len(trace.roots) == 1, [root.span.name for root in trace.roots]
        assert trace.roots[0].span.name == "invoke_agent support"
        assert len([r for r in trace.reviews if r.span.attributes["draftcritic.gate.decision"] != "not_evaluated"]) == 1


def test_the_critics_call_is_a_child_of_the_review(demo: tuple[Any, list[Trace]]) -> None:
    _, found = demo
    for trace in found:
        for node in trace.nodes:
            for child in node.children:
                assert (child.span.name == "chat gpt-4.1-mini") is (
                    node.span.name == "draftcritic.review" and child.span.name.startswith("chat ")
                )
        for review in trace.reviews:
            called = review.span.attributes.get("draftcritic.verdict.source") == "reflection"
            assert [n.span.name for n in review.children] == (["chat gpt-4.1-mini"] if called else [])


def test_spans_are_not_doubled(demo: tuple[Any, list[Trace]]) -> None:
    _, found = demo
    scopes = {node.span.scope for trace in found for node in trace.nodes}
    assert scopes == {"draftcritic", "opentelemetry.instrumentation.genai.langchain"}


def test_verdicts_and_gate_reasons(demo: tuple[Any, list[Trace]]) -> None:
    _, found = demo
    reviews = last_reviews(found)
    verdicts = [review.attributes.get("draftcritic.verdict") for review in reviews]
    assert Counter(verdicts) == {"approve": 8, "revise": 3, "refuse": 2, None: 3}
    assert [number for number, verdict in enumerate(verdicts, 1) if verdict == "revise"] == [3, 4, 6]
    assert [number for number, verdict in enumerate(verdicts, 1) if verdict == "refuse"] == [11, 16]
    reasons = {number: review.attributes["draftcritic.gate.reason"] for number, review in enumerate(reviews, 1)}
    assert [number for number, reason in reasons.items() if reason == "trivial_ack"] == [2, 8, 10]
    assert Counter(reasons.values()) == {
        "claims": 4,
        "tool_action": 3,
        "trivial_ack": 3,
        "fabrication": 3,
        "not_trivial": 2,
        "sensitive_tag": 1,
    }
    assert (reasons[3], reasons[4], reasons[5], reasons[11]) == (
        "fabrication",
        "fabrication",
        "tool_action",
        "sensitive_tag",
    )
    signals = {number: review.attributes["draftcritic.gate.signals"] for number, review in enumerate(reviews, 1)}
    assert (signals[14], signals[15]) == (["not_trivial", "low_confidence"], ["not_trivial", "confident"])


def test_skus(demo: tuple[Any, list[Trace]]) -> None:
    _, found = demo
    for review in last_reviews(found):
        if review.attributes["draftcritic.verdict.source"] == "reflection":
            assert review.attributes["draftcritic.sku"] == "gpt-4.1-mini"
            assert review.attributes["draftcritic.usage.cost_usd"] > 0  # type: ignore[operator]
        assert review.attributes["draftcritic.draft.sku"] == "gpt-4o-mini"


def test_sessions(demo: tuple[Any, list[Trace]]) -> None:
    _, found = demo
    conversation = json.loads((EXAMPLE / "conversation.json").read_text(encoding="utf-8"))
    turns = [(visit["thread"], turn["how"]) for visit in conversation for turn in visit["turns"]]
    for (thread, how), review in zip(turns, last_reviews(found), strict=True):
        # Before Python 3.11, LangGraph cannot hand a run's metadata to asynchronous nodes.
        lost = sys.version_info < (3, 11) and how in ("ainvoke", "astream")
        assert review.attributes.get("session.id") == (None if lost else thread)


def test_what_is_printed(demo: tuple[Any, list[Trace]]) -> None:
    done, _ = demo
    assert "no real model" in done.stdout
    for number in range(1, TURNS + 1):
        assert re.search(rf"^turn {number}  .*trace [0-9a-f]{{32}}$", done.stdout, re.MULTILINE)
    for title in ("Verdicts", "Gate", "Tokens and cost by SKU"):
        assert f"\n{title}" in done.stdout
    assert re.search(r"│ critic │ gpt-4.1-mini +│ +[\d,]+ │ +[\d,]+ │ 0\.\d{6} │", done.stdout)
    assert "Failures of the critic" not in done.stdout
    assert "16 evaluation events" in done.stdout
    assert "\x1b" not in done.stdout
    assert done.stderr == ""


def test_it_sends_to_the_users_endpoint_instead() -> None:
    with OtlpReceiver() as mine:
        settings = {
            "OTEL_EXPORTER_OTLP_ENDPOINT": mine.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
        }
        done = run_demo(**settings)
        assert done.returncode == 0, done.stderr
        assert f"Telemetry: OTLP to {mine.endpoint}" in done.stdout
        assert "Received:" not in done.stdout
        assert len(traces(mine.spans)) == TURNS
        refused = run_demo("--save", "unused.jsonl", **settings)
    assert refused.returncode == 2
    assert "--save" in refused.stderr
    assert not Path("unused.jsonl").exists()


def test_a_critic_that_is_switched_off_is_an_error() -> None:
    done = run_demo(OTEL_PYTHON_DISABLED_INSTRUMENTATIONS="draftcritic")
    assert done.returncode == 1
    assert "No review was received" in done.stdout
    assert "16 turns." in done.stdout


def test_an_agent_that_fails_is_an_error() -> None:
    done = run_demo("--model", "openai:unheard-of", "--base-url", "http://127.0.0.1:9/v1")
    assert done.returncode == 1
    assert "The agent failed with exit code 1." in done.stdout


def test_an_agent_that_does_not_end_is_stopped() -> None:
    done = run_demo("--timeout", "0.5")
    assert done.returncode == 1
    assert "did not end within 0.5 s" in done.stderr
    assert "The agent failed with exit code" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups are POSIX")
def test_a_terminated_demo_leaves_nothing_behind() -> None:
    with subprocess.Popen(
        COMMAND, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as demo:
        assert demo.stdout is not None
        assert any("[1] customer" in line for line in demo.stdout)
        children = Path(f"/proc/{demo.pid}/task/{demo.pid}/children").read_text().split()
        assert children
        demo.send_signal(signal.SIGTERM)
        assert demo.wait(30) == 143
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "the agent is still running"
        time.sleep(0.1)

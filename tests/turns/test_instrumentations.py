"""What the real instrumentations send over OTLP becomes the same turn."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from turns import instrumented_agent as agent

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.turns import Message, ReadReport, ToolCall, TurnRow, read_turns

pytestmark = pytest.mark.e2e

GENAI = ("opentelemetry.instrumentation.genai.langchain", "LangChainInstrumentor")
OPENINFERENCE = ("openinference.instrumentation.langchain", "LangChainInstrumentor")
OPENLLMETRY = ("opentelemetry.instrumentation.langchain", "LangchainInstrumentor")


def recorded(folder: Path, instrumentor: tuple[str, str], **environ: str) -> tuple[TurnRow, ReadReport]:
    """The one turn of a model call in a process of its own."""
    if find_spec(instrumentor[0].rpartition(".")[0]) is None or find_spec(instrumentor[0]) is None:
        pytest.skip(f"{instrumentor[0]} is not installed")
    saved = folder / "otlp.jsonl"
    with OtlpReceiver(save=saved) as receiver:
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
        subprocess.run(
            [sys.executable, agent.__file__, *instrumentor, receiver.endpoint],
            env={**inherited, "TRACELOOP_TELEMETRY": "false", "NO_PROXY": "127.0.0.1", **environ},
            check=True,
            timeout=120,
        )
    report = ReadReport()
    (row,) = read_turns([saved], report)
    assert not report.problems
    return row, report


def assert_whole(row: TurnRow) -> None:
    assert row.draft == agent.DRAFT
    assert row.system == agent.SYSTEM
    assert row.missing == ()
    user, assistant, tool = row.messages
    assert user == Message("user", agent.QUESTION)
    assert assistant.tool_calls == (ToolCall("refund_order", {"order_id": "A-4471"}, "call_1"),)
    assert (tool.role, tool.content) == ("tool", agent.RESULT)
    assert len(row.trace_id) == 32
    assert len(row.span_id) == 16
    assert row.time is not None


@pytest.mark.parametrize("where", ["SPAN_ONLY", "EVENT_ONLY", "SPAN_AND_EVENT"])
def test_genai_content_on_spans_and_on_events(tmp_path: Path, where: str) -> None:
    row, _ = recorded(
        tmp_path,
        GENAI,
        OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=where,
        OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental",
    )
    assert_whole(row)
    assert row.messages[2].tool_call_id == "call_1"


def test_genai_without_content_says_that_content_is_missing(tmp_path: Path) -> None:
    row, report = recorded(tmp_path, GENAI, OTEL_SEMCONV_STABILITY_OPT_IN="gen_ai_latest_experimental")
    assert (row.draft, row.messages, row.missing) == ("", (), ("content",))
    assert report.missing == {"content": 1}


def test_openinference(tmp_path: Path) -> None:
    row, _ = recorded(tmp_path, OPENINFERENCE)
    assert_whole(row)
    assert row.conversation_id == "ben-1"


def test_openllmetry(tmp_path: Path) -> None:
    row, _ = recorded(tmp_path, OPENLLMETRY)
    assert_whole(row)

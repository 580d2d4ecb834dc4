"""An unchanged agent of symfonic under `opentelemetry-instrument`, in every mode."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from support.sdk import Telemetry

import draftcritic
from draftcritic import DraftCriticInstrumentor
from draftcritic.demo._receiver import OtlpReceiver

pytest.importorskip("symfonic.agent")
pytestmark = pytest.mark.e2e

AGENT = Path(__file__).parents[1] / "support" / "symfonic_agent.py"
INSTRUMENT = Path(sys.executable).with_name("opentelemetry-instrument")
DRAFT = "The refund of order ZT-90-11B was paid out yesterday."
SAFE = "I cannot say where the refund is."
REFUSE = json.dumps({"verdict": "refuse", "refusal_message": SAFE, "reason": "No tool says so."})


@cache
def ask(mode: str) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Run the agent by both ways; return what it printed, and the attributes of the review spans."""
    with OtlpReceiver() as receiver:
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))},
            "DRAFTCRITIC_MODE": mode,
            # Above the 0.9 of the looked-up memory: the gate fires for low confidence, and the critic is asked.
            "DRAFTCRITIC_CONFIDENCE_THRESHOLD": "0.95",
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "CRITIC_REPLY": REFUSE,
        }
        done = subprocess.run(
            [INSTRUMENT, sys.executable, str(AGENT)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        spans = [span.attributes for span in receiver.spans if span.name == "draftcritic.review"]
    return json.loads(done.stdout.splitlines()[-1]), [dict(each) for each in spans]


@pytest.mark.parametrize(
    ("mode", "text", "outcomes"),
    [
        ("off", DRAFT, []),
        ("observe", DRAFT, ["judged", "judged"]),
        ("gate", DRAFT, ["gate_only", "gate_only"]),
        ("enforce", SAFE, ["judged", "judged"]),
    ],
)
def test_each_way_shows_and_records_what_the_mode_says(mode: str, text: str, outcomes: list[str]) -> None:
    shown, reviews = ask(mode)
    assert shown["run"] == text
    assert shown["stream_text"].strip() == text
    assert [review["draftcritic.outcome"] for review in reviews] == outcomes


def test_enforce_blocks_by_both_ways() -> None:
    _, reviews = ask("enforce")
    assert [review["draftcritic.action"] for review in reviews] == ["blocked", "blocked"]


@pytest.mark.parametrize(("mode", "draft"), [("observe", DRAFT), ("enforce", SAFE)])
def test_the_frameworks_own_reflection_is_no_draft(mode: str, draft: str) -> None:
    shown, reviews = ask(mode)
    assert len([question for question in shown["questions"] if "internal critic" in question]) == 1
    assert shown["reflected"] == draft
    assert len(reviews) == 2  # one for each way


@pytest.mark.parametrize("mode", ["observe", "gate", "enforce"])
def test_the_memory_that_the_framework_looked_up_is_the_activation(mode: str) -> None:
    shown, reviews = ask(mode)
    (node,) = shown["activation"]["activated_nodes"]
    assert [review["draftcritic.confidence"] for review in reviews] == [node["score"]] * 2
    assert node["score"] != 0.5  # what a draft without an activation has


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
class TestHandlers:
    def confidences(self, **activation: Any) -> list[Any]:
        from support.symfonic_agent import ask as ask_both

        telemetry = Telemetry()
        DraftCriticInstrumentor().instrument(**telemetry.providers, mode="gate", background=False)
        try:
            with draftcritic.activation(**activation):
                asyncio.run(ask_both())
        finally:
            DraftCriticInstrumentor().uninstrument()
        return [review["draftcritic.confidence"] for review in telemetry.reviews()]

    def test_a_block_of_the_application_wins(self) -> None:
        assert self.confidences(activated_nodes=[{"score": 0.1}]) == pytest.approx([0.1, 0.1])

    def test_they_are_gone_after_uninstrument(self) -> None:
        from symfonic.agent.middleware.metacognitive import MetacognitiveMiddleware
        from symfonic.core.runtime import AgentRuntime

        self.confidences(activated_nodes=[{"score": 0.1}])
        for method in (AgentRuntime.run, AgentRuntime.stream_events, MetacognitiveMiddleware._run_reflection_llm):
            assert "symfonic" in method.__code__.co_filename

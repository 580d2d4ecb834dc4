"""Next to each of the other LangChain instrumentations, in both load orders, in real processes over real OTLP."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from support import neighbour_distro

from draftcritic.demo._receiver import OtlpReceiver
from draftcritic.demo._traces import Event, Point, Span, totals

pytestmark = pytest.mark.e2e

AGENT = Path(neighbour_distro.__file__).with_name("shop_agent.py")
US = "draftcritic"
OFFICIAL = "opentelemetry-instrumentation-genai-langchain"
OPENINFERENCE = "openinference-instrumentation-langchain"
OPENLLMETRY = "opentelemetry-instrumentation-langchain"
MODULES = {
    OFFICIAL: "opentelemetry.instrumentation.genai.langchain",
    OPENINFERENCE: "openinference.instrumentation.langchain",
    OPENLLMETRY: "opentelemetry.instrumentation.langchain",
}
TURNS = 4


@dataclass(frozen=True)
class Run:
    """What came of one child process."""

    output: str
    errors: str
    log: str
    spans: list[Span]
    points: list[Point]
    events: list[Event]

    @property
    def reviews(self) -> list[Span]:
        return [span for span in self.spans if span.name == "draftcritic.review"]

    @property
    def verdicts(self) -> list[Span]:
        return [span for span in self.reviews if "draftcritic.verdict" in span.attributes]

    def chats(self, *, internal: bool) -> list[Span]:
        return [span for span in self.spans if is_chat(span) and is_internal(span) is internal]


def is_internal(span: Span) -> bool:
    return span.attributes.get("draftcritic.internal") is True


def is_chat(span: Span) -> bool:
    kind = span.attributes.get("openinference.span.kind")
    return kind == "LLM" or span.attributes.get("gen_ai.operation.name") == "chat"


def input_tokens(span: Span) -> object:
    names = ("gen_ai.usage.input_tokens", "llm.token_count.prompt")
    return next((span.attributes[name] for name in names if name in span.attributes), None)


@cache
def run(*instrumentations: str, background: bool = True, application_spans: bool = False) -> Run:
    script = Path(sys.executable).with_name("opentelemetry-instrument")
    with TemporaryDirectory() as name, OtlpReceiver() as receiver:
        folder = Path(name)
        neighbour_distro.register(folder)
        log = folder / "log.txt"
        settings = folder / "draftcritic.toml"
        settings.write_text('rules = ["Be kind."]\n')  # without rules the start warns
        environment = {
            **{key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))},
            "PYTHONPATH": os.pathsep.join([name, os.environ.get("PYTHONPATH", "")]),
            neighbour_distro.ORDER: ",".join(instrumentations),
            neighbour_distro.LOG_FILE: str(log),
            "OTEL_PYTHON_DISTRO": neighbour_distro.DISTRO_NAME,
            "OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint,
            "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf",
            "OTEL_TRACES_EXPORTER": "otlp",
            "OTEL_METRICS_EXPORTER": "otlp",
            "OTEL_LOGS_EXPORTER": "otlp",
            "DRAFTCRITIC_BACKGROUND": str(background).lower(),
            "DRAFTCRITIC_CONFIG": str(settings),
            # Every turn of the agent ends with the same draft, and each is to have its own call.
            "TRACELOOP_TELEMETRY": "false",
            **({"APPLICATION_SPANS": "1"} if application_spans else {}),
        }
        done = subprocess.run(
            [str(script), sys.executable, str(AGENT)],
            env=environment,
            cwd=folder,
            check=False,
            capture_output=True,
            text=True,
            timeout=180,
        )
        assert done.returncode == 0, done.stderr
        return Run(done.stdout, done.stderr, log.read_text(), receiver.spans, receiver.points, receiver.events)


def is_installed(neighbour: str) -> bool:
    try:
        return find_spec(MODULES[neighbour]) is not None
    except ModuleNotFoundError:  # not even the package around it
        return False


NEIGHBOURS = [
    pytest.param(
        (neighbour, US) if first else (US, neighbour),
        background,
        id=f"{label}-{'first' if first else 'last'}-{'background' if background else 'inline'}",
        marks=pytest.mark.skipif(not is_installed(neighbour), reason=f"{neighbour} is not installed"),
    )
    for label, neighbour in (("official", OFFICIAL), ("openinference", OPENINFERENCE), ("openllmetry", OPENLLMETRY))
    for first in (True, False)
    for background in (True, False)
]


@pytest.mark.parametrize(("order", "background"), NEIGHBOURS)
class TestNextToANeighbour:
    def test_every_agent_call_is_one_trace_with_one_review_of_its_final_draft(
        self, order: tuple[str, ...], background: bool
    ) -> None:
        seen = run(*order, background=background)
        # OpenLLMetry also traces that the agent is built, which is no call of it.
        traces = {span.trace_id for span in seen.spans if not span.name.startswith("create_agent")}
        assert len(traces) == TURNS
        assert sorted(span.trace_id for span in seen.verdicts) == sorted(traces)
        assert {span.attributes["draftcritic.verdict"] for span in seen.verdicts} == {"approve"}
        others = [span for span in seen.reviews if span not in seen.verdicts]
        assert [span.attributes["draftcritic.gate.reason"] for span in others] == ["not_a_draft"] * TURNS
        assert sorted(span.trace_id for span in others) == sorted(traces)

    def test_the_review_hangs_below_a_span_of_the_agent(self, order: tuple[str, ...], background: bool) -> None:
        seen = run(*order, background=background)
        by_id = {span.span_id: span for span in seen.spans}
        for review in seen.reviews:
            parent = by_id[review.parent_id]
            assert parent.scope != "draftcritic"
            assert not is_internal(parent)

    def test_the_critics_call_is_a_marked_child_of_its_review(self, order: tuple[str, ...], background: bool) -> None:
        seen = run(*order, background=background)
        critics = seen.chats(internal=True)
        assert sorted(span.parent_id for span in critics) == sorted(span.span_id for span in seen.verdicts)
        by_id = {span.span_id: span for span in seen.spans}
        for span in seen.spans:
            above, under_review = span, False
            while above.parent_id:
                above = by_id[above.parent_id]
                under_review = under_review or above.name == "draftcritic.review"
            assert is_internal(span) is under_review

    def test_the_critics_tokens_are_booked_on_nobody_else(self, order: tuple[str, ...], background: bool) -> None:
        seen = run(*order, background=background)
        assert [input_tokens(span) for span in seen.chats(internal=False)] == [100] * 2 * TURNS
        assert [input_tokens(span) for span in seen.chats(internal=True)] == [7] * TURNS
        assert [s.attributes["draftcritic.usage.input_tokens"] for s in seen.verdicts] == [7] * TURNS

    def test_the_agent_says_the_same_and_nobody_complains(self, order: tuple[str, ...], background: bool) -> None:
        seen = run(*order, background=background)
        assert seen.output == run().output
        assert seen.log == ""

    def test_events_and_metrics_arrive(self, order: tuple[str, ...], background: bool) -> None:
        seen = run(*order, background=background)
        evaluations = [event for event in seen.events if event.name == "gen_ai.evaluation.result"]
        assert sorted(event.trace_id for event in evaluations) == sorted(s.trace_id for s in seen.verdicts)
        known = {span.span_id for span in (*seen.verdicts, *seen.chats(internal=False))}
        assert {event.span_id for event in evaluations} <= known
        reviewed = totals(seen.points, "draftcritic.reviews", "verdict")
        assert reviewed == {("approve",): TURNS, ("revise",): 0, ("refuse",): 0, ("none",): 0}
        assert totals(seen.points, "draftcritic.tokens", "direction") == {
            ("input",): 7 * TURNS,
            ("output",): 3 * TURNS,
        }


@pytest.mark.parametrize("background", [True, False], ids=["background", "inline"])
class TestAlone:
    def test_reviews_hang_in_the_applications_trace(self, background: bool) -> None:
        seen = run(US, background=background, application_spans=True)
        turns = {span.span_id: span for span in seen.spans if span.name.startswith("turn ")}
        assert sorted(span.name for span in turns.values()) == [
            "turn ainvoke",
            "turn astream",
            "turn invoke",
            "turn stream",
        ]
        assert len({span.trace_id for span in seen.spans}) == TURNS
        assert sorted(span.parent_id for span in seen.verdicts) == sorted(turns)

    def test_each_review_holds_the_two_moments_of_its_call(self, background: bool) -> None:
        seen = run(US, background=background, application_spans=True)
        assert [span.events for span in seen.verdicts] == [("on_llm_start", "on_llm_end")] * TURNS
        assert not seen.chats(internal=True)

    def test_the_agent_says_the_same_and_nobody_complains(self, background: bool) -> None:
        seen = run(US, background=background, application_spans=True)
        assert seen.output == run().output
        assert seen.output.startswith("invoke Order A-1 was shipped on Monday.\n")
        assert seen.log == ""


def test_without_the_plugin_there_is_nothing_of_it() -> None:
    seen = run()
    assert not seen.reviews
    assert not [point for point in seen.points if point.metric.startswith("draftcritic.")]

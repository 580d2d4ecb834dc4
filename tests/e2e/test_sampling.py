"""Which traces the collector keeps."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from e2e.agents import SERVICE, Agent
from e2e.conftest import Detail, Plain, Stack
from e2e.handmade import REVIEW, Sender, trace_id
from e2e.peers import eventually, scraped

pytestmark = pytest.mark.e2e

_JUDGED_AFTER_S = 4.0
"""More than the decision wait and a tick of the sampler."""


@pytest.fixture(scope="module")
def strict(stack: Stack) -> Iterator[Stack]:
    """The stack with nothing kept but what the policies name, and an empty Jaeger."""
    stack.run.stop("jaeger")
    stack.start_jaeger()
    stack.restart_collector(TAIL_SAMPLING_REST_PERCENT="0", SLOW_REVIEW="2s")
    yield stack
    stack.restart_collector()


@pytest.fixture
def sender(strict: Stack) -> Iterator[Sender]:
    made = Sender(strict.otlp)
    yield made
    made.close()


def test_every_refuse_and_revise_is_kept_and_approvals_are_not(
    strict: Stack, agent: Agent, plain: Plain, detail: Detail
) -> None:
    done = agent.run(strict.otlp)
    assert done.returncode == 0
    for verdict in ("refuse", "revise"):
        eventually(
            lambda verdict=verdict: strict.jaeger.search(SERVICE, draftcritic__verdict=verdict),
            lambda traces, verdict=verdict: len(traces) == plain.verdicts[verdict],
        )
    rejected = "otelcol_processor_tail_sampling_global_count_traces_sampled"
    kept = {trace["traceID"] for trace in strict.jaeger.search(SERVICE)}
    metrics = strict.at.url("collector_metrics")
    eventually(lambda: scraped(metrics, rejected), lambda judged: judged >= plain.traces)
    reviewed = strict.jaeger.search(SERVICE, draftcritic__verdict="approve")
    failed = strict.jaeger.search(SERVICE, draftcritic__failure="unparsable")
    fabricated = [t for t in reviewed if any(_findings(span) for span in t["spans"])]
    assert len(failed) == 1
    # A review that failed has no verdict. A loaded machine may also make a review slow enough to be kept.
    slow = [t for t in reviewed if any(_slow(span) for span in t["spans"])]
    assert {t["traceID"] for t in reviewed} == {t["traceID"] for t in (*fabricated, *slow)}
    assert not {t["traceID"] for t in failed} & {t["traceID"] for t in reviewed}
    assert len(kept) < plain.traces
    detail(
        f"{len(kept)} of {plain.traces} traces: all refused, revised and failed, and {len(reviewed)} "
        "approved for findings"
    )


def _findings(span: dict[str, object]) -> bool:
    return any(t["key"] == "draftcritic.fabrication.count" and t["value"] > 0 for t in span["tags"])  # type: ignore[attr-defined]


def _slow(span: dict[str, object]) -> bool:
    return span["operationName"] == REVIEW and span["duration"] > 2_000_000  # type: ignore[operator]


def test_a_verdict_that_comes_after_the_decision_is_kept(strict: Stack, sender: Sender, detail: Detail) -> None:
    root = sender.span("invoke_agent late")
    judged = "otelcol_processor_tail_sampling_global_count_traces_sampled"
    metrics = strict.at.url("collector_metrics")
    before = scraped(metrics, judged)
    eventually(lambda: scraped(metrics, judged), lambda now: now > before)
    assert strict.jaeger.trace(trace_id(root)) is None
    sender.span(REVIEW, root, draftcritic__verdict="refuse")
    kept = eventually(lambda: strict.jaeger.trace(trace_id(root)))
    assert [span["operationName"] for span in kept["spans"]] == [REVIEW]
    detail("the review alone, its trace was rejected before")


def test_a_slow_review_is_kept_and_a_quick_one_is_not(strict: Stack, sender: Sender) -> None:
    quick = sender.span(REVIEW, lasts=1.0, draftcritic__verdict="approve")
    slow = sender.span(REVIEW, lasts=3.0, draftcritic__verdict="approve")
    other = sender.span("chat slow-model", lasts=30.0)
    eventually(lambda: strict.jaeger.trace(trace_id(slow)))
    time.sleep(_JUDGED_AFTER_S)
    assert strict.jaeger.trace(trace_id(quick)) is None
    assert strict.jaeger.trace(trace_id(other)) is None


def test_failures_and_findings_are_kept(strict: Stack, sender: Sender) -> None:
    kept = [
        sender.span(REVIEW, draftcritic__verdict="approve", draftcritic__failure="timeout"),
        sender.span(REVIEW, failed="cancelled"),
        sender.span(REVIEW, draftcritic__verdict="approve", draftcritic__fabrication__count=1),
    ]
    rejected = [
        sender.span(REVIEW, draftcritic__verdict="approve", draftcritic__fabrication__count=0),
        sender.span("chat model", failed="the application's own error"),
    ]
    for span in kept:
        eventually(lambda span=span: strict.jaeger.trace(trace_id(span)))
    time.sleep(_JUDGED_AFTER_S)
    for span in rejected:
        assert strict.jaeger.trace(trace_id(span)) is None


def test_the_rest_of_a_kept_trace_is_kept_before_and_after(strict: Stack, sender: Sender) -> None:
    chat = sender.span("chat model")
    sender.span(REVIEW, chat, draftcritic__verdict="revise")
    sender.span("execute_tool later", chat)
    kept = eventually(
        lambda: strict.jaeger.trace(trace_id(chat)), lambda trace: trace is not None and len(trace["spans"]) == 3
    )
    assert {span["operationName"] for span in kept["spans"]} == {"chat model", REVIEW, "execute_tool later"}

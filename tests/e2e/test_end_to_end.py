"""An agent on one side, the real programs on the other, and what must have arrived."""

from __future__ import annotations

import json
import re
import subprocess

import pytest
from e2e.agents import PLANTED, SERVICE, Agent, spooled
from e2e.conftest import Detail, Plain, Stack
from e2e.handmade import SERVICE as HANDMADE
from e2e.handmade import send_planted
from e2e.peers import children, eventually, tags

from draftcritic.telemetry.names import LABELS, METRIC_SELFTEST_RECALL

pytestmark = pytest.mark.e2e

WITH_EXEMPLARS = (
    "draftcritic_reviews_total",
    "draftcritic_gate_decisions_total",
    "draftcritic_review_duration_seconds_bucket",
    "draftcritic_confidence_bucket",
    "draftcritic_tokens_total",
    "draftcritic_cost_USD_total",
    "draftcritic_fabrications_total",
    "draftcritic_failures_total",
)
EXPORTED = {
    *WITH_EXEMPLARS,
    "draftcritic_review_duration_seconds_count",
    "draftcritic_review_duration_seconds_sum",
    "draftcritic_confidence_count",
    "draftcritic_confidence_sum",
    # No trace belongs to these two.
    "draftcritic_queue_depth",
    "draftcritic_dropped_total",
}


@pytest.fixture(scope="session")
def observed(stack: Stack, agent: Agent, tmp_path_factory: pytest.TempPathFactory) -> subprocess.CompletedProcess[str]:
    """The agent's run with its telemetry sent to the stack.

    Metrics leave once, at the end: a data point carries the exemplars since the export before, so those of an export
    that is followed by another within Prometheus' scrape interval are never scraped.
    """
    spool = spooled(tmp_path_factory.mktemp("spool"))
    return agent.run(stack.otlp, OTEL_METRIC_EXPORT_INTERVAL="600000", **spool)


def test_the_agent_answers_as_it_does_without_the_stack(
    observed: subprocess.CompletedProcess[str], plain: Plain, detail: Detail
) -> None:
    assert observed.returncode == 0, observed.stderr
    assert observed.stdout == plain.answers
    detail(f"exit code 0, {plain.answers.count('] agent (')} answers, verdicts {plain.verdicts}")


@pytest.mark.usefixtures("observed")
def test_a_refused_draft_is_one_whole_trace_in_jaeger(stack: Stack, plain: Plain, detail: Detail) -> None:
    found = eventually(
        lambda: stack.jaeger.search(SERVICE, draftcritic__verdict="refuse"),
        lambda traces: len(traces) == plain.verdicts["refuse"],
    )
    for trace in found:
        (agent,) = children(trace, None)
        assert agent["operationName"] == "invoke_agent support"
        chat = children(trace, agent)[-1]
        assert chat["operationName"] == "chat gpt-4o-mini"
        (review,) = children(trace, chat)
        assert review["operationName"] == "draftcritic.review"
        assert tags(review)["draftcritic.verdict"] == "refuse"
        assert [log["fields"][0]["value"] for log in review["logs"]] == ["on_llm_start", "on_llm_end"]
        (critic,) = children(trace, review)
        assert critic["operationName"] == "chat gpt-4.1-mini"
        assert tags(critic)["draftcritic.internal"] is True
    detail(f"{len(found)} traces by draftcritic.verdict=refuse, each agent > chat > review > critic's chat")


@pytest.mark.usefixtures("observed")
def test_every_verdict_is_found_by_its_name(stack: Stack, plain: Plain, detail: Detail) -> None:
    for verdict, count in plain.verdicts.items():
        eventually(
            lambda verdict=verdict: stack.jaeger.search(SERVICE, draftcritic__verdict=verdict),
            lambda traces, count=count: len(traces) == count,
        )
    detail(f"traces by verdict {plain.verdicts}")


@pytest.mark.usefixtures("observed")
def test_every_metric_is_in_prometheus_under_its_name(stack: Stack, plain: Plain, detail: Detail) -> None:
    names = eventually(
        lambda: {name for name in stack.prometheus.names() if name.startswith("draftcritic_")},
        lambda names: names >= EXPORTED,
    )
    # No agent writes the metric of self-tests: see tests/processes/test_selftests.py.
    for metric in LABELS.keys() - {METRIC_SELFTEST_RECALL}:
        assert any(name.startswith(metric.replace(".", "_")) for name in names), metric
    for verdict, count in plain.verdicts.items():
        query = f'sum(draftcritic_reviews_total{{draftcritic_verdict="{verdict}",job="{SERVICE}"}})'
        eventually(lambda query=query: stack.prometheus.value(query), lambda value, count=count: value == count)
    assert stack.prometheus.value('sum(draftcritic_failures_total{draftcritic_failure="unparsable"})') == 1
    assert stack.prometheus.value("sum(draftcritic_fabrications_total)") > 0
    (environment,) = stack.prometheus.query(
        "count by (service_name, deployment_environment_name) (draftcritic_queue_depth)"
    )
    assert environment["metric"] == {"service_name": SERVICE, "deployment_environment_name": "e2e"}
    detail(f"{len(names)} names, counts as sent")


@pytest.mark.usefixtures("observed")
@pytest.mark.parametrize("name", WITH_EXEMPLARS)
def test_exemplars_lead_to_traces_that_exist(stack: Stack, name: str, detail: Detail) -> None:
    found = eventually(lambda: [e for e in stack.prometheus.exemplars(name) if float(e["value"]) > 0])
    ids = {exemplar["labels"]["trace_id"] for exemplar in found}
    missing = [one for one in ids if stack.jaeger.trace(one) is None]
    assert not missing
    detail(f"{len(ids)} traces, all in Jaeger")


@pytest.mark.usefixtures("observed")
def test_each_check_that_spoke_is_an_event_in_the_collectors_output(stack: Stack, plain: Plain, detail: Detail) -> None:
    log = stack.run.log("otel-collector")
    pattern = re.compile(r"EventName: gen_ai\.evaluation\.result\n")
    count = eventually(lambda: len(pattern.findall(log.read_text("utf-8"))), lambda count: count >= plain.events)
    assert count == plain.events
    block = pattern.split(log.read_text("utf-8"))[1]
    assert re.search(r"gen_ai\.evaluation\.name: Str\(draftcritic\.(reflection|fabrication)\)", block)
    assert re.search(r"gen_ai\.evaluation\.score\.label: Str\((approve|revise|refuse|finding)\)", block)
    detail(f"{count} events")


@pytest.mark.usefixtures("observed")
def test_content_and_personal_data_end_at_the_collector(stack: Stack, plain: Plain, detail: Detail) -> None:
    assert [word for word in PLANTED if word not in plain.sent and word != "4111111111111111"] == []
    send_planted(stack.otlp)
    eventually(lambda: stack.jaeger.search(HANDMADE, draftcritic__verdict="refuse"), lambda found: len(found) == 1)
    eventually(lambda: stack.prometheus.query("handmade_count_total"))
    outputs = {
        "Jaeger": stack.jaeger.everything(SERVICE, HANDMADE),
        "Prometheus": stack.prometheus.everything(),
        "collector": stack.run.log("otel-collector").read_text("utf-8"),
        "webhook": json.dumps(stack.notifications),
    }
    for place, text in outputs.items():
        assert [word for word in (*PLANTED, "Calle Luna", "FREESHOES100") if word in text] == [], place
    (trace,) = stack.jaeger.search(HANDMADE, draftcritic__verdict="refuse")
    (span,) = trace["spans"]
    assert span["operationName"] == "span **** **** ****"
    assert tags(span)["free.text"] == "mail ****, card ****, key ****"
    assert tags(span)["otel.status_description"] == "mail ****, card ****, key ****"
    detail("e-mail, card and key are in what the agent sent and in none of " + ", ".join(outputs))


@pytest.mark.usefixtures("observed")
def test_span_metrics_count_the_agents_traffic_and_the_critics(stack: Stack, plain: Plain, detail: Detail) -> None:
    calls = f'traces_span_metrics_calls_total{{service_name="{SERVICE}"}}'
    query = f"sum by (gen_ai_operation_name, draftcritic_internal) ({calls})"
    expected = len(re.findall(r'"name": "chat gpt-4\.1-mini"', plain.sent))
    turns = plain.answers.count("] agent (")

    def counts() -> dict[tuple[str, str], float]:
        found = stack.prometheus.query(query)
        return {
            (one["metric"]["gen_ai_operation_name"], one["metric"]["draftcritic_internal"]): float(one["value"][1])
            for one in found
        }

    seen = eventually(counts, lambda seen: seen.get(("chat", "true")) == expected)
    assert seen[("invoke_agent", "false")] == turns
    labels = {name for one in stack.prometheus.query(calls) for name in one["metric"]}
    assert "span_name" not in labels
    detail(f"{turns} agent runs, {expected} critic's calls")

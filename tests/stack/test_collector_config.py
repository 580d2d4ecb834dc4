"""The collector's configurations, as far as they can be read without a collector; `make e2e` runs them."""

from __future__ import annotations

import re
from typing import Any

import pytest

from stack import _releases as releases
from stack._services import ROOT

yaml = pytest.importorskip("yaml")


def load(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / name).read_text("utf-8"))
    return loaded


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return load("collector-config.yaml")


@pytest.fixture(scope="module")
def tier() -> dict[str, Any]:
    return load("collector/agent.yaml")


@pytest.mark.parametrize("name", ["collector-config.yaml", "collector/agent.yaml"])
def test_every_pipeline_is_limited_first_and_redacts_before_anything_leaves(name: str) -> None:
    for pipeline, parts in load(name)["service"]["pipelines"].items():
        processors = parts["processors"]
        assert processors[0] == "memory_limiter", pipeline
        if pipeline in ("traces", "logs"):
            assert processors.index("redaction/content") < processors.index("redaction/personal")
        if pipeline == "traces":
            assert processors.index("transform/lift") < processors.index("redaction/personal")
            assert processors.index("redaction/personal") < processors.index("transform/settle")
        if pipeline == "metrics":
            assert "redaction/personal" in processors


@pytest.mark.parametrize("name", ["collector-config.yaml", "collector/agent.yaml"])
def test_every_component_in_use_is_defined_and_every_defined_one_in_use(name: str) -> None:
    config = load(name)
    service = config["service"]
    assert set(service["extensions"]) == set(config["extensions"])
    connectors = set(config.get("connectors", {}))
    for kind in ("receivers", "processors", "exporters"):
        used = {one for pipeline in service["pipelines"].values() for one in pipeline[kind]}
        assert used - connectors == set(config[kind]), kind


def test_agents_on_other_machines_can_reach_the_collector(config: dict[str, Any], tier: dict[str, Any]) -> None:
    for one in (config, tier):
        protocols = one["receivers"]["otlp"]["protocols"]
        assert protocols["grpc"]["endpoint"] == "${env:OTLP_GRPC_ENDPOINT:-0.0.0.0:4317}"
        assert protocols["http"]["endpoint"] == "${env:OTLP_HTTP_ENDPOINT:-0.0.0.0:4318}"


def test_the_backend_by_default_is_not_the_collector_itself(config: dict[str, Any]) -> None:
    assert config["exporters"]["otlp_grpc/jaeger"]["endpoint"] == "${env:JAEGER_OTLP_ENDPOINT:-localhost:14317}"


def test_exporters_that_collectors_no_longer_have_are_not_named(config: dict[str, Any], tier: dict[str, Any]) -> None:
    kinds = {name.split("/")[0] for one in (config, tier) for name in one["exporters"]}
    assert kinds == {"debug", "otlp_grpc", "prometheus", "load_balancing"}


def test_metrics_do_not_depend_on_sampling(config: dict[str, Any]) -> None:
    pipelines = config["service"]["pipelines"]
    feeding = [parts["processors"] for parts in pipelines.values() if "span_metrics" in parts["exporters"]]
    assert feeding
    assert all("tail_sampling" not in processors for processors in feeding)


def test_what_the_rules_and_dashboards_build_on_is_pinned(config: dict[str, Any]) -> None:
    spans = config["connectors"]["span_metrics"]
    assert spans["namespace"] == "traces.span.metrics"
    assert spans["histogram"]["unit"] == "s"
    assert spans["aggregation_cardinality_limit"] > 0
    assert spans["exemplars"]["max_per_data_point"] > 0
    prometheus = config["exporters"]["prometheus"]
    assert prometheus["translation_strategy"] == "UnderscoreEscapingWithSuffixes"
    assert prometheus["enable_open_metrics"] is True


def test_a_late_verdict_is_never_met_by_a_remembered_rejection(config: dict[str, Any]) -> None:
    sampling = config["processors"]["tail_sampling"]
    assert sampling["sampling_strategy"] == "span-ingest"
    assert sampling["decision_cache"].get("non_sampled_cache_size", 0) == 0


def test_both_tiers_redact_alike(config: dict[str, Any], tier: dict[str, Any]) -> None:
    for name in ("memory_limiter", "redaction/content", "redaction/personal", "transform/lift", "transform/settle"):
        assert tier["processors"][name] == config["processors"][name]


def test_the_first_tier_keeps_traces_and_counters_together(tier: dict[str, Any]) -> None:
    exporters = tier["exporters"]
    assert exporters["load_balancing/traces"]["routing_key"] == "traceID"
    assert exporters["load_balancing/metrics"]["routing_key"] == "service"
    for exporter in exporters.values():
        assert exporter["sending_queue"]["storage"] in tier["service"]["extensions"]


def test_the_second_tier_queues_on_disk(config: dict[str, Any]) -> None:
    gateway = load("collector/gateway.yaml")
    assert gateway["exporters"]["otlp_grpc/jaeger"]["sending_queue"]["storage"] in gateway["service"]["extensions"]
    assert set(gateway["exporters"]) <= set(config["exporters"])


def _blocked(config: dict[str, Any], text: str) -> str:
    for pattern in config["processors"]["redaction/personal"]["blocked_values"]:
        # Go's spelling of letters and digits of every script, and of the end of a text.
        python = pattern.replace(r"[\p{L}\p{N}._%+-]", r"[\w.%+-]").replace(r"[\p{L}\p{N}-]", r"[\w-]")
        python = python.replace(r"\p{L}", r"[^\W\d_]").replace(r"\z", r"\Z")
        text = re.sub(python, "****", text)
    return text


@pytest.mark.parametrize(
    "secret",
    [
        "ana.torres@example.com",
        "jörg+spam@bücher.example",
        "4111 1111 1111 1111",
        "5500-0000-0000-0004",
        "378282246310005",
        "sk-proj-abcdefghijklmnop0123456789",
        "sk-ant-api03-abcdefghijklmnop",
        "AKIAIOSFODNN7EXAMPLE",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "xoxb-1234567890-abcdefghij",
        "Bearer abcdefghijklmnop.1234",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln",
        "DE89 3704 0044 0532 0130 00",
        "+34 600 555 019",
        "078-05-1120",
    ],
)
def test_personal_data_and_secrets_are_masked_inside_a_sentence(config: dict[str, Any], secret: str) -> None:
    assert _blocked(config, f"it is {secret}, please") == "it is ****, please"


@pytest.mark.parametrize(
    "plain",
    [
        "0af7651916cd43dd8448eb211c80319c",
        "9b2d1c5e-1234-4123-8123-123456789012",
        "chatcmpl-92f5dc9a98b044cf92578116",
        "claude-haiku-4-5-20251001",
        "anthropic.claude-haiku-4-5-20251001-v1:0",
        "metacognition_critic",
        "order A-4471 of 2025-03-07 over 18.50 EUR, refund R-4471",
        "1796004985511383308",
    ],
)
def test_ids_models_and_numbers_stay_as_they_are(config: dict[str, Any], plain: str) -> None:
    assert _blocked(config, plain) == plain


@pytest.mark.parametrize(
    ("key", "is_content"),
    [
        ("draftcritic.content.draft", True),
        ("gen_ai.input.messages", True),
        ("gen_ai.prompt.0.content", True),
        ("gen_ai.completion.0.content", True),
        ("gen_ai.tool.call.arguments", True),
        ("gen_ai.evaluation.explanation", True),
        ("llm.input_messages.0.message.content", True),
        ("input.value", True),
        ("traceloop.entity.output", True),
        ("gen_ai.usage.input_tokens", False),
        ("llm.token_count.prompt", False),
        ("gen_ai.usage.prompt_tokens", False),
        ("gen_ai.request.model", False),
        ("gen_ai.evaluation.score.label", False),
        ("draftcritic.verdict", False),
        ("draftcritic.gate.signals", False),
        ("input.mime_type", False),
    ],
)
def test_content_is_known_by_its_key(config: dict[str, Any], key: str, is_content: bool) -> None:
    patterns = config["processors"]["redaction/content"]["blocked_key_patterns"]
    assert any(re.search(pattern.replace(r"\z", r"\Z"), key) for pattern in patterns) is is_content


def test_all_collector_modules_are_of_one_release() -> None:
    text = (ROOT / "stack" / "collector" / "go.mod").read_text("utf-8")
    modules = re.findall(r"(\S*(?:opentelemetry-collector-contrib|go\.opentelemetry\.io/collector)/\S+) v(\S+)", text)
    stable = {version for _, version in modules if not version.startswith("0.")}
    assert {version for _, version in modules if version.startswith("0.")} == {releases.COLLECTOR}
    assert len(stable) == 1


def test_jaeger_is_of_the_release_that_is_named() -> None:
    text = (ROOT / "stack" / "jaeger" / "go.mod").read_text("utf-8")
    assert f"github.com/jaegertracing/jaeger v{releases.JAEGER_MODULE}" in text


def test_alertmanager_is_of_the_release_that_is_named() -> None:
    text = (ROOT / "stack" / "alertmanager" / "go.mod").read_text("utf-8")
    assert f"github.com/prometheus/alertmanager v{releases.ALERTMANAGER}" in text

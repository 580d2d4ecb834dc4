"""Two tiers of collectors: one next to the agent, two gateways behind it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from e2e.agents import Agent
from e2e.conftest import QUICK, Detail, Plain, Stack
from e2e.handmade import REVIEW, Sender, trace_id
from e2e.peers import eventually, get_text, scraped

from stack import _services as services
from stack._services import ROOT, Addresses, Service

pytestmark = pytest.mark.e2e

_SERVICE = "tiered"
_GATEWAYS = ("gateway-0", "gateway-1")


@dataclass(frozen=True)
class Tiers:
    """The running collectors by name, and where each listens."""

    stack: Stack
    services: dict[str, Service]
    at: dict[str, Addresses]

    def start(self, *names: str) -> None:
        for name in names:
            self.stack.run.start(self.services[name])

    def stop(self, *names: str, kill: bool = False) -> None:
        for name in names:
            self.stack.run.stop(name, kill=kill)


@pytest.fixture(scope="module")
def tiers(stack: Stack) -> Iterator[Tiers]:
    at = {name: Addresses({**services.free_ports(), **_jaeger(stack)}) for name in (*_GATEWAYS, "agent")}
    gateways = [at[name].host_port("otlp_grpc") for name in _GATEWAYS]
    configs = {
        "gateway": [ROOT / "collector-config.yaml", ROOT / "collector" / "gateway.yaml"],
        "agent": [_with_fixed_gateways(stack.folder / "agent.yaml", gateways)],
    }
    made = {name: _service(stack, name, at[name], configs[name.split("-")[0]]) for name in at}
    tiers = Tiers(stack, made, at)
    tiers.start(*made)
    yield tiers
    tiers.stop(*made)


def _jaeger(stack: Stack) -> dict[str, int]:
    return {"jaeger_otlp": stack.at.ports["jaeger_otlp"]}


def _with_fixed_gateways(file: Path, gateways: list[str]) -> Path:
    """The shipped first tier, with addresses where a cluster has a name: loopback has no name with two of them."""
    config: dict[str, Any] = yaml.safe_load((ROOT / "collector" / "agent.yaml").read_text("utf-8"))
    for exporter in config["exporters"].values():
        exporter["resolver"] = {"static": {"hostnames": gateways}}
    file.write_text(yaml.safe_dump(config), "utf-8")
    return file


def _service(stack: Stack, name: str, at: Addresses, configs: list[Path], **environment: str) -> Service:
    more = {
        **QUICK,
        "TAIL_SAMPLING_REST_PERCENT": "0",
        "QUEUE_DIRECTORY": str(stack.folder / f"queue-{name}"),
        **environment,
    }
    single = services.collector(stack.programs, at, more)
    arguments = [part for config in configs for part in ("--config", str(config))]
    return Service(
        name=name,
        command=(single.command[0], *arguments),
        health=single.health,
        ports=single.ports,
        environment=single.environment,
    )


def test_traces_stay_whole_and_counters_on_one_gateway(
    tiers: Tiers, agent: Agent, plain: Plain, detail: Detail
) -> None:
    done = agent.run(tiers.at["agent"].url("otlp_http"), OTEL_SERVICE_NAME=_SERVICE)
    assert done.returncode == 0
    assert done.stdout == plain.answers
    found = eventually(
        lambda: tiers.stack.jaeger.search(_SERVICE, draftcritic__verdict="refuse"),
        lambda traces: len(traces) == plain.verdicts["refuse"] and all(len(trace["spans"]) >= 4 for trace in traces),
    )
    spans = [scraped(tiers.at[name].url("collector_metrics"), "otelcol_receiver_accepted_spans") for name in _GATEWAYS]
    assert all(spans), spans
    counted = [
        "draftcritic_reviews_total" in (get_text(tiers.at[name].url("agent_metrics") + "/metrics") or "")
        for name in _GATEWAYS
    ]
    assert sorted(counted) == [False, True]
    detail(f"{len(found)} refused traces whole; spans by gateway {spans}; counters on one")


def test_what_no_gateway_takes_outlives_a_crash(tiers: Tiers, detail: Detail) -> None:
    metrics = tiers.at["agent"].url("collector_metrics")
    tiers.stop(*_GATEWAYS)
    sender = Sender(tiers.at["agent"].url("otlp_http"))
    span = sender.span(REVIEW, draftcritic__verdict="refuse")
    sender.close()
    eventually(lambda: scraped(metrics, "otelcol_exporter_queue_size"), lambda size: size >= 1)
    tiers.stop("agent", kill=True)
    tiers.start(*_GATEWAYS)
    tiers.start("agent")
    eventually(lambda: tiers.stack.jaeger.trace(trace_id(span)))
    detail("queued on disk, the collector killed, delivered after its restart")


def test_the_first_tier_as_shipped_resolves_its_gateways(tiers: Tiers) -> None:
    at = Addresses({**services.free_ports(), **_jaeger(tiers.stack)})
    gateway = {
        "GATEWAY_HOSTNAME": services.HOST,
        "GATEWAY_PORT": str(tiers.at["gateway-0"].ports["otlp_grpc"]),
    }
    shipped = _service(tiers.stack, "shipped-agent", at, [ROOT / "collector" / "agent.yaml"], **gateway)
    tiers.stack.run.start(shipped)
    sender = Sender(at.url("otlp_http"))
    try:
        span = sender.span(REVIEW, draftcritic__verdict="refuse")
        eventually(lambda: tiers.stack.jaeger.trace(trace_id(span)))
    finally:
        sender.close()
        tiers.stack.run.stop("shipped-agent")

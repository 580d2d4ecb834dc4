"""compose.yaml runs the same stack as `make stack`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from stack import _releases as releases
from stack import _services as services
from stack._programs import Programs
from stack._services import PORTS, ROOT, Addresses, Service

yaml = pytest.importorskip("yaml")

AT = Addresses(PORTS)
PROGRAMS = Programs(*(Path(f"/programs/{name}") for name in Programs.__dataclass_fields__))


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text("utf-8"))
    return loaded["services"]


@pytest.fixture
def native(tmp_path: Path) -> dict[str, Service]:
    made = (
        services.collector(PROGRAMS, AT),
        services.jaeger(PROGRAMS, AT),
        services.prometheus(PROGRAMS, AT, tmp_path),
        services.alertmanager(PROGRAMS, AT, tmp_path),
    )
    return {service.name: service for service in made}


def test_the_services_are_the_same_and_grafana(compose: dict[str, Any], native: dict[str, Service]) -> None:
    assert set(compose) == {*native, "grafana"}


def test_the_images_are_of_the_releases_that_are_built(compose: dict[str, Any]) -> None:
    assert {name: service["image"] for name, service in compose.items()} == {
        "otel-collector": f"otel/opentelemetry-collector-contrib:{releases.COLLECTOR}",
        "jaeger": f"jaegertracing/jaeger:{releases.JAEGER}",
        "prometheus": f"prom/prometheus:v{releases.PROMETHEUS}",
        "alertmanager": f"prom/alertmanager:v{releases.ALERTMANAGER}",
        "grafana": f"grafana/grafana:{releases.GRAFANA}",
    }


def test_the_same_ports_are_published_and_on_loopback_only(compose: dict[str, Any], native: dict[str, Service]) -> None:
    for name, service in native.items():
        assert set(compose[name]["ports"]) == {f"127.0.0.1:{port}:{port}" for port in service.ports}, name
    assert compose["grafana"]["ports"] == ["127.0.0.1:3000:3000"]


def test_every_mounted_file_exists(compose: dict[str, Any]) -> None:
    for service in compose.values():
        for mount in service["volumes"]:
            source = mount.split(":")[0]
            assert not source.startswith("./") or (ROOT / source).exists(), mount


def test_the_same_files_configure_the_services(compose: dict[str, Any], native: dict[str, Service]) -> None:
    mounted = {name: {m.split(":")[0] for m in service["volumes"]} for name, service in compose.items()}
    assert native["otel-collector"].command[-1] == str(ROOT / "collector-config.yaml")
    assert "./collector-config.yaml" in mounted["otel-collector"]
    assert native["jaeger"].command[-1] == str(ROOT / "stack/config/jaeger.yaml")
    assert "./stack/config/jaeger.yaml" in mounted["jaeger"]
    assert {"./stack/config/prometheus.yml", "./alerts"} <= mounted["prometheus"]
    assert "./stack/config/alertmanager.yml" in mounted["alertmanager"]
    assert {"./grafana/provisioning", "./grafana/dashboards"} <= mounted["grafana"]


@pytest.mark.parametrize("name", ["prometheus", "alertmanager"])
def test_the_same_flags_beside_places_and_addresses(
    compose: dict[str, Any], native: dict[str, Service], name: str
) -> None:
    placed = ("--config.file=", "--storage.tsdb.path=", "--storage.path=", "--web.listen-address=")
    flags = {flag for flag in native[name].command[1:] if not flag.startswith(placed)}
    assert {flag for flag in compose[name]["command"] if not flag.startswith(placed)} == flags


def test_inside_the_network_the_collector_finds_jaeger(compose: dict[str, Any]) -> None:
    assert compose["otel-collector"]["environment"]["JAEGER_OTLP_ENDPOINT"] == f"jaeger:{PORTS['jaeger_otlp']}"


def test_every_trace_is_seen_where_somebody_tries_things_out(compose: dict[str, Any]) -> None:
    environment = compose["otel-collector"]["environment"]
    for variable, value in services.WATCHED_BY_HAND.items():
        assert environment[variable] == f"${{{variable}:-{value}}}"


def test_addresses_that_are_left_to_defaults_are_the_published_ports(native: dict[str, Service]) -> None:
    texts = {
        "otel-collector": (ROOT / "collector-config.yaml").read_text("utf-8"),
        "jaeger": (ROOT / "stack/config/jaeger.yaml").read_text("utf-8"),
    }
    for name, text in texts.items():
        defaults = dict(re.findall(r"\$\{env:(\w+):-([^}]*)\}", text))
        for variable, value in native[name].environment.items():
            listens = variable != "JAEGER_OTLP_ENDPOINT" and not variable.endswith("_PORT")
            expected = value.replace("127.0.0.1", "0.0.0.0") if listens else value.replace("127.0.0.1", "localhost")
            assert defaults[variable] == expected, variable


def test_prometheus_scrapes_and_alerts_the_same_services(
    compose: dict[str, Any], native: dict[str, Service], tmp_path: Path
) -> None:
    shipped = yaml.safe_load((ROOT / "stack/config/prometheus.yml").read_text("utf-8"))
    rendered = yaml.safe_load((tmp_path / "prometheus.yml").read_text("utf-8"))
    for target in _targets(shipped):
        name, port = target.split(":")
        assert f"127.0.0.1:{port}:{port}" in compose[name]["ports"], target
    assert _targets(rendered) == [f"127.0.0.1:{target.split(':')[1]}" for target in _targets(shipped)]
    assert {**shipped, "scrape_configs": 0, "alerting": 0} == {**rendered, "scrape_configs": 0, "alerting": 0}
    assert (tmp_path / "alerts").resolve() == ROOT / "alerts"
    assert shipped["rule_files"] == ["alerts/*.yaml"]


def _targets(config: dict[str, Any]) -> list[str]:
    groups = [s["static_configs"] for s in (*config["scrape_configs"], *config["alerting"]["alertmanagers"])]
    return [target for group in groups for static in group for target in static["targets"]]


def test_a_webhook_is_added_to_the_shipped_receiver(tmp_path: Path) -> None:
    services.alertmanager(PROGRAMS, AT, tmp_path, "http://127.0.0.1:1/x")
    rendered = yaml.safe_load((tmp_path / "alertmanager.yml").read_text("utf-8"))
    assert rendered["receivers"] == [
        {"name": "operators", "webhook_configs": [{"url": "http://127.0.0.1:1/x", "send_resolved": True}]}
    ]
    assert rendered["route"]["receiver"] == "operators"

"""Grafana's provisioning and compose.yaml name the same places."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pytest
import yaml
from support.promtool import PROJECT

PROVISIONING = PROJECT / "grafana" / "provisioning"


def _read(path: str) -> Any:
    return yaml.safe_load((PROJECT / path).read_text("utf-8"))


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(_read("compose.yaml")["services"])


@pytest.fixture(scope="module")
def sources() -> dict[str, Any]:
    content = _read("grafana/provisioning/datasources/draftcritic.yaml")
    return {source["type"]: source for source in content["datasources"]}


def test_the_data_sources_are_services(services: dict[str, Any], sources: dict[str, Any]) -> None:
    assert set(sources) == {"prometheus", "jaeger"}
    for source in sources.values():
        address = urlsplit(source["url"])
        assert f"127.0.0.1:{address.port}:{address.port}" in services[address.hostname]["ports"]


def test_exemplars_lead_to_jaeger(sources: dict[str, Any]) -> None:
    (destination,) = sources["prometheus"]["jsonData"]["exemplarTraceIdDestinations"]
    assert (destination["name"], destination["datasourceUid"]) == ("trace_id", sources["jaeger"]["uid"])


def test_the_dashboards_are_where_the_provider_looks(services: dict[str, Any]) -> None:
    (provider,) = _read("grafana/provisioning/dashboards/draftcritic.yaml")["providers"]
    mounted = dict(volume.split(":")[:2] for volume in services["grafana"]["volumes"])
    assert mounted["./grafana/dashboards"] == provider["options"]["path"]
    assert mounted["./grafana/provisioning"] == "/etc/grafana/provisioning"


def test_nothing_is_interpolated_by_accident() -> None:
    for path in PROVISIONING.rglob("*.yaml"):
        lines = [line for line in path.read_text("utf-8").splitlines() if not line.lstrip().startswith("#")]
        assert "$" not in "".join(lines), path

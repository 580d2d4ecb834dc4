"""The collector's configuration that the project ships."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

yaml = pytest.importorskip("yaml")


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((Path(__file__).parents[1] / "collector-config.yaml").read_text())
    return loaded


@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
def test_every_signal_comes_in_as_otlp_is_limited_first_and_goes_out_twice(config: dict[str, Any], signal: str) -> None:
    assert config["service"]["pipelines"][signal] == {
        "receivers": ["otlp"],
        "processors": ["memory_limiter", "batch"],
        "exporters": ["debug", "otlp_grpc"],
    }


def test_all_interfaces_are_listened_on(config: dict[str, Any]) -> None:
    protocols = config["receivers"]["otlp"]["protocols"]
    assert protocols == {"grpc": {"endpoint": "0.0.0.0:4317"}, "http": {"endpoint": "0.0.0.0:4318"}}


def test_the_backend_can_be_set_and_has_a_default_that_is_not_the_collector_itself(config: dict[str, Any]) -> None:
    assert config["exporters"]["otlp_grpc"]["endpoint"] == "${env:OTLP_BACKEND_ENDPOINT:-localhost:14317}"


def test_every_component_in_use_is_defined_and_every_defined_one_in_use(config: dict[str, Any]) -> None:
    service = config["service"]
    assert service["extensions"] == list(config["extensions"]) == ["health_check"]
    for kind in ("receivers", "processors", "exporters"):
        used = {name for pipeline in service["pipelines"].values() for name in pipeline[kind]}
        assert used == set(config[kind])


def test_the_memory_limiter_checks_and_leaves_room_for_a_spike(config: dict[str, Any]) -> None:
    limiter = config["processors"]["memory_limiter"]
    assert limiter["check_interval"] == "1s"
    assert 0 < limiter["spike_limit_percentage"] < limiter["limit_percentage"] < 100

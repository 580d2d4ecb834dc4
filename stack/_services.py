"""The services: their arguments, ports, and readiness checks."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from stack._programs import Programs, StackError

ROOT = Path(__file__).resolve().parents[1]
CONFIG = ROOT / "stack" / "config"
HOST: Final = "127.0.0.1"

PORTS: Final[dict[str, int]] = {
    "otlp_grpc": 4317,
    "otlp_http": 4318,
    "collector_health": 13133,
    "collector_metrics": 8888,
    "agent_metrics": 8889,
    "jaeger_otlp": 14317,
    "jaeger_query": 16686,
    "jaeger_grpc": 16685,
    "jaeger_health": 13134,
    "prometheus": 9090,
    "alertmanager": 9093,
}
"""What listens where, unless a run chooses other ports; compose.yaml publishes the same ones."""

PROMETHEUS_FLAGS: Final = (
    "--enable-feature=exemplar-storage",
    "--web.enable-lifecycle",
    "--storage.tsdb.retention.time=15d",
)
WATCHED_BY_HAND: Final = {"TAIL_SAMPLING_REST_PERCENT": "100"}
"""What differs from the collector's defaults where somebody tries things out and wants to see every trace."""
ALERTMANAGER_FLAGS: Final = ("--cluster.listen-address=",)


@dataclass(frozen=True)
class Service:
    """One program, ready to be started.

    Attributes:
        name: The service's name in compose.yaml.
        command: The program and its arguments.
        environment: What it needs beyond the caller's environment.
        health: Answers with HTTP 200 when the service is ready; or `amqp://`, `redis://`, `tcp://` and host and port.
        ports: Must be free before the start.
    """

    name: str
    command: tuple[str, ...]
    health: str
    ports: tuple[int, ...]
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Addresses:
    """Where the stack of one run listens, all of it on loopback."""

    ports: Mapping[str, int]

    def url(self, port: str) -> str:
        """The base URL behind a port's name."""
        return f"http://{HOST}:{self.ports[port]}"

    def host_port(self, port: str) -> str:
        """Host and port behind a port's name."""
        return f"{HOST}:{self.ports[port]}"


def free_ports(names: Iterable[str] = PORTS) -> dict[str, int]:
    """A port for each name that nothing listens on now."""
    held: list[socket.socket] = []
    try:
        for _ in names:
            held.append(socket.socket())
            held[-1].bind((HOST, 0))
        return {name: one.getsockname()[1] for name, one in zip(names, held, strict=True)}
    finally:
        for one in held:
            one.close()


def ensure_free(ports: Iterable[int]) -> None:
    """Check that the ports can be listened on.

    Raises:
        StackError: One cannot.
    """
    for port in ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError as error:
                raise StackError(
                    f"port {port} is taken ({error.strerror}): stop what listens there, or take other ports with "
                    "`python -m stack up --offset 1000`"
                ) from None


def collector(programs: Programs, at: Addresses, environment: Mapping[str, str] | None = None) -> Service:
    """The collector with collector-config.yaml.

    Args:
        programs: The programs.
        at: Where everything listens.
        environment: Variables of the configuration beyond the addresses.
    """
    return Service(
        name="otel-collector",
        command=(str(programs.collector), "--config", str(ROOT / "collector-config.yaml")),
        health=at.url("collector_health") + "/",
        ports=tuple(
            at.ports[name]
            for name in ("otlp_grpc", "otlp_http", "collector_health", "collector_metrics", "agent_metrics")
        ),
        environment={
            "OTLP_GRPC_ENDPOINT": at.host_port("otlp_grpc"),
            "OTLP_HTTP_ENDPOINT": at.host_port("otlp_http"),
            "HEALTH_CHECK_ENDPOINT": at.host_port("collector_health"),
            "COLLECTOR_METRICS_HOST": HOST,
            "COLLECTOR_METRICS_PORT": str(at.ports["collector_metrics"]),
            "PROMETHEUS_EXPORTER_ENDPOINT": at.host_port("agent_metrics"),
            "JAEGER_OTLP_ENDPOINT": at.host_port("jaeger_otlp"),
            **(environment or {}),
        },
    )


def jaeger(programs: Programs, at: Addresses) -> Service:
    """Jaeger with its memory storage."""
    return Service(
        name="jaeger",
        command=(str(programs.jaeger), "--config", str(CONFIG / "jaeger.yaml")),
        health=at.url("jaeger_health") + "/status",
        ports=tuple(at.ports[name] for name in ("jaeger_otlp", "jaeger_query", "jaeger_grpc", "jaeger_health")),
        environment={
            "JAEGER_OTLP_GRPC_ENDPOINT": at.host_port("jaeger_otlp"),
            "JAEGER_QUERY_ENDPOINT": at.host_port("jaeger_query"),
            "JAEGER_QUERY_GRPC_ENDPOINT": at.host_port("jaeger_grpc"),
            "JAEGER_HEALTH_ENDPOINT": at.host_port("jaeger_health"),
        },
    )


def prometheus(programs: Programs, at: Addresses, folder: Path) -> Service:
    """Prometheus with the project's configuration and alert rules.

    Args:
        programs: The programs.
        at: Where everything listens.
        folder: Gets the rendered configuration and the data.
    """
    config = folder / "prometheus.yml"
    config.write_text(_rendered((CONFIG / "prometheus.yml").read_text(encoding="utf-8"), at), encoding="utf-8")
    alerts = folder / "alerts"
    alerts.unlink(missing_ok=True)
    alerts.symlink_to(ROOT / "alerts")
    return Service(
        name="prometheus",
        command=(
            str(programs.prometheus),
            f"--config.file={config}",
            f"--storage.tsdb.path={folder / 'prometheus-data'}",
            f"--web.listen-address={at.host_port('prometheus')}",
            *PROMETHEUS_FLAGS,
        ),
        health=at.url("prometheus") + "/-/ready",
        ports=(at.ports["prometheus"],),
    )


def alertmanager(programs: Programs, at: Addresses, folder: Path, webhook: str | None = None) -> Service:
    """Alertmanager.

    Args:
        programs: The programs.
        at: Where everything listens.
        folder: Gets the rendered configuration and the data.
        webhook: URL that gets every notification.
    """
    text = (CONFIG / "alertmanager.yml").read_text(encoding="utf-8")
    if webhook is not None:
        receiver = "  - name: operators\n"
        hook = f"    webhook_configs:\n      - url: {webhook}\n        send_resolved: true\n"
        text = text.replace(receiver, receiver + hook)
    config = folder / "alertmanager.yml"
    config.write_text(text, encoding="utf-8")
    return Service(
        name="alertmanager",
        command=(
            str(programs.alertmanager),
            f"--config.file={config}",
            f"--storage.path={folder / 'alertmanager-data'}",
            f"--web.listen-address={at.host_port('alertmanager')}",
            *ALERTMANAGER_FLAGS,
        ),
        health=at.url("alertmanager") + "/-/ready",
        ports=(at.ports["alertmanager"],),
    )


_IN_COMPOSE: Final = {
    "otel-collector:8889": "agent_metrics",
    "otel-collector:8888": "collector_metrics",
    "prometheus:9090": "prometheus",
    "alertmanager:9093": "alertmanager",
}
"""Addresses between the services of compose.yaml, and the ports that stand for them on one machine."""


def _rendered(text: str, at: Addresses) -> str:
    """The configuration with loopback addresses for the names that only compose.yaml's network knows."""

    def address(found: re.Match[str]) -> str:
        name = found.group(1)
        if name not in _IN_COMPOSE:
            raise StackError(f"stack/config/prometheus.yml names {name}, which no service of the stack listens on")
        return f'"{at.host_port(_IN_COMPOSE[name])}"'

    return re.sub(r'"([a-z][a-z-]*:\d+)"', address, text)

"""`python -m stack build | up | down`: the observability stack as native programs on loopback."""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from stack import _fleet as fleet
from stack import _services as services
from stack._programs import StackError, provide
from stack._run import Run
from stack._services import PORTS, ROOT, Addresses

_FOLDER = ROOT / ".stack"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="python -m stack", description=__doc__)
    parser.add_argument("--folder", type=Path, default=_FOLDER, help="logs, data and state of this run")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("build", help="make or fetch the programs that are not in the cache")
    up = commands.add_parser("up", help="start the services and print their addresses")
    up.add_argument("--offset", type=int, default=0, help="is added to every port")
    up.add_argument("--webhook", help="URL that Alertmanager notifies")
    commands.add_parser("down", help="stop the services")
    fleet_up = commands.add_parser("fleet-up", help="start RabbitMQ and Redis and print their addresses")
    fleet_up.add_argument("--offset", type=int, default=0, help="is added to every port")
    commands.add_parser("fleet-down", help="stop RabbitMQ and Redis")
    commands.add_parser("fleet-build", help="fetch RabbitMQ and Redis when they are not in the cache")
    options = parser.parse_args()
    try:
        if options.command == "build":
            return _build()
        if options.command == "up":
            return _up(options.folder, options.offset, options.webhook or None)
        if options.command == "fleet-build":
            fleet.provide(print)
            return 0
        if options.command == "fleet-up":
            return _fleet_up(options.folder / "fleet", options.offset)
        folder = options.folder / "fleet" if options.command == "fleet-down" else options.folder
        stopped = Run(folder, outlive=True).stop_all()
    except StackError as error:
        print(f"stack: {error}", file=sys.stderr)
        return 1
    print("stopped: " + (", ".join(stopped) or "nothing ran"))
    return 0


def _build() -> int:
    started = time.monotonic()
    provide(print)
    print(f"all programs there after {time.monotonic() - started:.1f} s")
    return 0


def _named_by_user() -> dict[str, str]:
    return {name: os.environ[name] for name in services.WATCHED_BY_HAND if name in os.environ}


def _up(folder: Path, offset: int, webhook: str | None) -> int:
    programs = provide(print)
    at = Addresses({name: port + offset for name, port in PORTS.items()})
    run = Run(folder, outlive=True)
    if run.running():
        raise StackError(f"already running: {', '.join(run.running())}; stop it with `make stack-down`")
    try:
        run.start(services.jaeger(programs, at))
        run.start(services.collector(programs, at, {**services.WATCHED_BY_HAND, **_named_by_user()}))
        run.start(services.alertmanager(programs, at, folder, webhook))
        run.start(services.prometheus(programs, at, folder))
    except BaseException:
        run.stop_all()
        raise
    print(
        f"OTLP gRPC      {at.url('otlp_grpc')}   (OTEL_EXPORTER_OTLP_ENDPOINT)\n"
        f"OTLP HTTP      {at.url('otlp_http')}\n"
        f"Jaeger API     {at.url('jaeger_query')}/api/traces?service=support-agent\n"
        f"Prometheus     {at.url('prometheus')}\n"
        f"Alertmanager   {at.url('alertmanager')}\n"
        f"metrics        {at.url('agent_metrics')}/metrics of the agents, {at.url('collector_metrics')}/metrics of "
        "the collector\n"
        f"logs           {folder}/*.log"
    )
    return 0


def _fleet_up(folder: Path, offset: int) -> int:
    at = {name: port + offset for name, port in fleet.PORTS.items()}
    run = Run(folder, outlive=True)
    if run.running():
        raise StackError(f"already running: {', '.join(run.running())}; stop it with `make fleet-down`")
    try:
        for service in fleet.services(fleet.provide(print), at, folder):
            run.start(service)
    except BaseException:
        run.stop_all()
        raise
    print(
        f"RabbitMQ       {fleet.broker(at)}   (DRAFTCRITIC_BROKER)\n"
        f"Redis          {fleet.store(at)}   (DRAFTCRITIC_BUDGET_STORE)\n"
        f"logs           {folder}/*.log"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())

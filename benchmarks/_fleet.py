"""Starts RabbitMQ and Redis for a benchmark, on ports of their own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.fleet import Services  # type: ignore[import-not-found]  # noqa: E402 - the path above

from stack import _fleet as fleet  # noqa: E402
from stack import _run  # noqa: E402
from stack._run import Run  # noqa: E402
from stack._services import free_ports  # noqa: E402


@contextmanager
def services_in(folder: Path) -> Iterator[Services]:
    """Run both in a folder until the block ends."""
    _run._READY_WITHIN_S = 300.0  # the machine may have more to do
    run = Run(folder, outlive=False)
    ports = free_ports(fleet.PORTS)
    try:
        made = {one.name: one for one in fleet.services(fleet.provide(), ports, folder)}
        for service in made.values():
            run.start(service)
        yield Services(run, made, fleet.broker(ports), fleet.store(ports))
    finally:
        run.stop_all()

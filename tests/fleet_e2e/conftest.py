"""RabbitMQ and Redis of this run, on ports of their own."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.fleet import Fleet, Services

from stack import _fleet as fleet
from stack._run import Run
from stack._services import free_ports

collect_ignore_glob: list[str] = [] if sys.platform == "linux" else ["*"]


@pytest.fixture(scope="session")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    folder = tmp_path_factory.mktemp("services")
    ports = free_ports(fleet.PORTS)
    run = Run(folder, outlive=False)
    try:
        made = {service.name: service for service in fleet.services(fleet.provide(), ports, folder)}
        for service in made.values():
            run.start(service)
        yield Services(run, made, fleet.broker(ports), fleet.store(ports))
    finally:
        run.stop_all()


@pytest.fixture
def deployment(services: Services, tmp_path: Path, request: Any) -> Iterator[Fleet]:
    name = f"t{abs(hash((request.node.name, os.getpid()))) % 10**9}"
    made = Fleet(services, tmp_path, name)
    yield made
    made.stop()

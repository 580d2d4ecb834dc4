"""A fleet of real processes: agents, workers, RabbitMQ and Redis."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from draftcritic.fleet._broker import FleetQueue
from stack._run import Run
from stack._services import Service

SUPPORT = Path(__file__).parent
AGENT = SUPPORT / "fleet_agent.py"
WORKER = SUPPORT / "fleet_worker.py"
LONG = 60.0


@dataclass
class Services:
    """RabbitMQ and Redis."""

    run: Run
    made: Mapping[str, Service]
    broker: str
    store: str

    def stop(self, name: str) -> None:
        self.run.stop(name)

    def start(self, name: str) -> None:
        self.run.start(self.made[name])


class Fleet:
    """Agents and workers with a queue of their own, and the files that they write."""

    def __init__(self, services: Services, folder: Path, name: str) -> None:
        self.services = services
        self.folder = folder
        self.queue = FleetQueue(services.broker, name, ttl=86400)
        self.record = folder / "turns.jsonl"
        self._processes: list[subprocess.Popen[bytes]] = []
        self.connection = self.queue.app().connection_for_write()

    def environment(self, **given: str) -> dict[str, str]:
        return {
            **{key: value for key, value in os.environ.items() if not key.startswith(("OTEL_", "DRAFTCRITIC_"))},
            "PYTHONPATH": os.pathsep.join([str(SUPPORT.parent), *sys.path]),
            "PYTHONWARNINGS": "ignore",
            "OTEL_SERVICE_NAME": "shop",
            "DRAFTCRITIC_DELIVERY": "celery",
            "DRAFTCRITIC_BROKER": self.services.broker,
            "DRAFTCRITIC_BUDGET_STORE": self.services.store,
            "DRAFTCRITIC_FLEET": self.queue.name,
            "DRAFTCRITIC_SPOOL_DIR": str(self.folder / "spool"),
            "DRAFTCRITIC_RECORD": str(self.record),
            "DRAFTCRITIC_SHUTDOWN_TIMEOUT": "60",
            **given,
        }

    def agent(self, count: int, threads: int = 1, **given: str) -> subprocess.Popen[bytes]:
        return self._start([str(AGENT), str(count), "0", str(threads)], subprocess.PIPE, given)

    def worker(self, concurrency: int = 1, **given: str) -> subprocess.Popen[bytes]:
        log = (self.folder / f"worker-{len(self._processes)}.log").open("wb")
        return self._start([str(WORKER), str(concurrency)], log, given)

    def _start(self, command: list[str], out: Any, given: dict[str, str]) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, *command],
            env=self.environment(**given),
            stdout=out,
            stderr=subprocess.STDOUT if out is not subprocess.PIPE else subprocess.DEVNULL,
            start_new_session=True,
        )
        if out is not subprocess.PIPE:
            out.close()
        self._processes.append(process)
        return process

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill a process with its children, as the kernel does in a container that has no more memory."""
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        if process.stdout is None:
            process.wait(LONG)

    def stop(self) -> None:
        for process in self._processes:
            self.kill(process)
            if process.stdout is not None:
                process.communicate(timeout=LONG)
        for name in (self.queue.name, self.queue.dead_name, self.queue.work_name):
            with suppress(Exception):
                self.connection.default_channel.queue_delete(name)
        self.connection.release()

    def reviewed(self) -> Counter[str]:
        """Return how often each draft was reviewed."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return Counter(json.loads(line)["draft"] for line in lines)

    def letters(self) -> list[Any]:
        """Take the messages out of the queue of dead letters."""
        return self.take(self.queue.dead_name)

    def take(self, name: str = "") -> list[Any]:
        """Take the messages out of a queue."""
        channel, found = self.connection.default_channel, []
        while (message := channel.basic_get(name or self.queue.name, no_ack=True)) is not None:
            found.append(message)
        return found

    def depth(self, name: str = "") -> int:
        """Return how many messages are ready in a queue."""
        return int(self.connection.default_channel.queue_declare(name or self.queue.name, passive=True).message_count)


def finished(process: subprocess.Popen[bytes]) -> list[str]:
    """Wait for an agent, and return the drafts that its callers got."""
    out, _ = process.communicate(timeout=LONG)
    assert process.returncode == 0
    return out.decode().split("\n")[:-1]


def wait_for(what: Callable[[], bool], seconds: float = LONG) -> None:
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.1)

"""A fleet under fire: agents and workers are killed, RabbitMQ is restarted, Redis is away, and no draft may be lost.

`python benchmarks/fleet_chaos.py --drafts 10000`. The ledger is kept outside of telemetry: each agent writes a line for
every draft whose call returned, each worker appends a row for every review, and dead letters are read from their queue.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import selectors
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests")]

from support.fleet import Fleet, Services  # type: ignore[import-not-found]  # noqa: E402 - the path above

from stack import _fleet as fleet  # noqa: E402
from stack._run import Run  # noqa: E402
from stack._services import free_ports  # noqa: E402

AGENTS = WORKERS = 4
_TEXT = re.compile(r"It costs 12 euros[^\"\\]*?\.")
_SETTLE_S = 240.0


class Agents:
    """The agents and what their callers got."""

    def __init__(self, deployment: Fleet, drafts: int) -> None:
        self.deployment = deployment
        self.left = drafts
        self.returned: list[str] = []
        self.killed = 0
        self._selector = selectors.DefaultSelector()
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> None:
        """Start as many agents as there are to be."""
        while len(self.running) < AGENTS and self.left > 0:
            process = self.deployment.agent(10**6, PAUSE="0.2")
            assert process.stdout is not None
            os.set_blocking(process.stdout.fileno(), False)
            self._selector.register(process.stdout, selectors.EVENT_READ, process)
            self.running.append(process)

    def read(self, seconds: float) -> None:
        """Take the drafts that callers have got meanwhile."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for key, _ in self._selector.select(0.1):
                self._take(key.fileobj)

    def _take(self, pipe: Any) -> int:
        data = pipe.read() or b""
        lines = data.decode().splitlines()
        # A kill may cut the last line: its draft was returned and is counted by its beginning alone.
        whole = [line for line in lines if line.endswith(".")]
        self.returned += whole
        self.left -= len(whole)
        return len(data)

    def kill(self, process: subprocess.Popen[bytes]) -> None:
        """Kill one agent, and take what its callers had got."""
        self.deployment.kill(process)
        process.wait(10)
        self._selector.unregister(process.stdout)  # type: ignore[arg-type]
        while self._take(process.stdout):
            pass
        self.running.remove(process)
        self.killed += 1


def run(services: Services, folder: Path, drafts: int, seed: int) -> dict[str, Any]:
    """Run once, and return the sums."""
    chance = random.Random(seed)
    deployment = Fleet(services, folder, f"chaos{seed}")
    agents = Agents(deployment, drafts)
    workers = [deployment.worker(SECONDS_PER_REVIEW="0.01") for _ in range(WORKERS)]
    began = time.monotonic()
    agents.start()
    killed_workers, steps = 0, 0
    while agents.left > 0:
        agents.read(2.0 + 2 * chance.random())
        steps += 1
        if chance.random() < 0.5:
            victim = chance.randrange(WORKERS)
            deployment.kill(workers[victim])
            workers[victim] = deployment.worker(SECONDS_PER_REVIEW="0.01")
            killed_workers += 1
        elif agents.running:
            agents.kill(chance.choice(agents.running))
        if steps == 3:
            services.stop("redis")
        if steps == 5:
            services.start("redis")
        if steps == 6:
            services.stop("rabbitmq")
            agents.read(3)
            services.start("rabbitmq")
        agents.start()
    for process in list(agents.running):
        agents.kill(process)
    if "redis" not in services.run.running():
        services.start("redis")
    heir = deployment.agent(1, DRAFT="It costs 12 euros, the last one says")
    letters = _settle(deployment, agents.returned)
    with suppress(subprocess.TimeoutExpired):
        heir.communicate(timeout=30)
    reviewed = deployment.reviewed()
    returned = set(agents.returned)
    seconds = time.monotonic() - began
    waiting = 0
    with suppress(Exception):
        waiting = deployment.depth()
    deployment.stop()
    return {
        "drafts returned": len(returned),
        "reviewed": len(returned & set(reviewed)),
        "dead letters": len(returned & letters),
        "neither": len(returned - set(reviewed) - letters),
        "of which the queue still has": waiting,
        "reviewed twice": sum(count - 1 for count in reviewed.values()),
        "agents killed": agents.killed,
        "workers killed": killed_workers,
        "seconds": round(seconds),
    }


def _settle(deployment: Fleet, returned: list[str]) -> set[str]:
    """Wait until nothing is left to review; return the drafts among the dead letters."""
    letters: set[str] = set()
    wanted, until = set(returned), time.monotonic() + _SETTLE_S
    while time.monotonic() < until:
        with suppress(Exception):
            letters |= {text for letter in deployment.letters() for text in _TEXT.findall(str(letter.body))}
        if wanted <= set(deployment.reviewed()) | letters:
            break
        time.sleep(1)
    return letters


def main() -> None:
    """Run as often as asked, and print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drafts", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1)
    options = parser.parse_args()
    for seed in range(options.runs):
        with tempfile.TemporaryDirectory() as folder:
            run_of_services = Run(Path(folder) / "services", outlive=False)
            ports = free_ports(fleet.PORTS)
            try:
                made = {one.name: one for one in fleet.services(fleet.provide(), ports, Path(folder) / "services")}
                for service in made.values():
                    run_of_services.start(service)
                services = Services(run_of_services, made, fleet.broker(ports), fleet.store(ports))
                sums = run(services, Path(folder), options.drafts, seed)
            finally:
                run_of_services.stop_all()
        print(", ".join(f"{name} {value}" for name, value in sums.items()), flush=True)


if __name__ == "__main__":
    main()

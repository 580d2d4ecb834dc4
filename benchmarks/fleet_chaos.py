"""A fleet under fire: agents and workers are killed, RabbitMQ is restarted, Redis is away, and no draft may be lost.

`python benchmarks/fleet_chaos.py --drafts 10000 --runs 3`. The ledger is kept outside of telemetry: each agent writes a
line for every draft whose call returned, each worker appends a row for every review, dead letters are read from their
queue, and agents append a line for each draft that they drop. A run ends when every draft is accounted for, or when
nothing has changed for a minute; what is missing then is looked for in the queue and in the spools.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import selectors
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from _fleet import services_in
from support.fleet import Fleet, Services  # type: ignore[import-not-found]

from draftcritic.fleet._spool import Spool

AGENTS = WORKERS = 4
_TEXT = re.compile(r"It costs 12 euros[^\"\\]*?\.")
_STILL_S = 60.0
"""Seconds without any change after which nothing more is expected."""
_HOUR = 3600


class Agents:
    """The agents and what their callers got."""

    def __init__(self, deployment: Fleet, given: dict[str, str]) -> None:
        self.deployment = deployment
        self.given = given
        self.returned: list[str] = []
        self.killed = 0
        self._selector = selectors.DefaultSelector()
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, count: int = 10**6, **more: str) -> None:
        """Start an agent."""
        process = self.deployment.agent(count, **{**self.given, **more})
        assert process.stdout is not None
        os.set_blocking(process.stdout.fileno(), False)
        self._selector.register(process.stdout, selectors.EVENT_READ, process)
        self.running.append(process)

    def read(self, seconds: float) -> None:
        """Take the drafts that callers have got meanwhile."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for key, _ in self._selector.select(0.1):
                if not self._take(key.fileobj) and key.data.poll() is not None:
                    self._selector.unregister(key.fileobj)
                    self.running.remove(key.data)

    def _take(self, pipe: Any) -> int:
        data = pipe.read() or b""
        # A write of a line is one of the kernel's and is whole.
        self.returned += [line for line in data.decode().splitlines() if line.endswith(".")]
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


class Chaos:
    """One run."""

    def __init__(self, services: Services, folder: Path, drafts: int, seed: int) -> None:
        self.services = services
        self.drafts = drafts
        self.chance = random.Random(seed)
        self.folder = folder
        self.deployment = Fleet(services, folder, f"chaos{seed}")
        self.clock, self.drops = folder / "clock", folder / "drops"
        shared = {"CLOCK": str(self.clock), "DROPS": str(self.drops)}
        self.agents = Agents(self.deployment, {"PAUSE": "0.05", **shared})
        self.work = {"SECONDS_PER_REVIEW": "0.01", **shared}
        self.workers: list[Any] = []
        self.poisoner: Any = None
        self.killed_workers = 0
        self.letters: set[str] = set()
        self.deepest = 0
        self.began = time.monotonic()
        self._log = (folder / "depth.csv").open("w")

    def run(self) -> None:
        """Write drafts until there are enough, while things go wrong."""
        self.workers = [self.deployment.worker(**self.work) for _ in range(WORKERS)]
        for _ in range(AGENTS):
            self.agents.start()
        plan = self._plan()
        while len(self.agents.returned) < self.drafts:
            self.agents.read(3.0 + 4 * self.chance.random())
            while plan and len(self.agents.returned) >= plan[0][0] * self.drafts:
                plan.pop(0)[1]()
            if self.chance.random() < 0.5:
                at = self.chance.randrange(WORKERS)
                self.deployment.kill(self.workers[at])
                self.workers[at] = self.deployment.worker(**self.work)
                self.killed_workers += 1
            else:
                self.agents.kill(self.chance.choice([one for one in self.agents.running if one is not self.poisoner]))
                self.agents.start()
            self.note()
        while plan:
            plan.pop(0)[1]()
        for process in list(self.agents.running):
            self.agents.kill(process)

    def _plan(self) -> list[tuple[float, Callable[[], None]]]:
        """Return what else goes wrong, and after which part of the drafts."""
        return [
            (0.1, self._poison),
            (0.2, lambda: self.services.stop("redis")),
            (0.3, lambda: self.services.start("redis")),
            (0.4, lambda: self.services.stop("rabbitmq")),
            (0.5, lambda: self.services.start("rabbitmq")),
            (0.6, lambda: self._set_clock(_HOUR)),
            (0.7, lambda: self._set_clock(-_HOUR)),
            (0.8, lambda: self._set_clock(0)),
        ]

    def _poison(self) -> None:
        """Have one draft written whose review kills its worker."""
        self.agents.start(1, DRAFT="It costs 12 euros, poison")
        self.poisoner = self.agents.running[-1]

    def _set_clock(self, seconds: int) -> None:
        self.clock.write_text(str(seconds))

    def note(self) -> tuple[int, int]:
        """Write how many drafts wait in the queue and are reviewed; return both."""
        depth = -1
        with suppress(Exception):
            depth = self.deployment.depth()
        if depth < 0:  # the broker was away: the connection is of no more use
            self._reconnect()
        self.deepest = max(depth, self.deepest)
        reviewed = len(self.deployment.reviewed())
        seconds = time.monotonic() - self.began
        self._log.write(f"{seconds:.0f},{len(self.agents.returned)},{depth},{reviewed}\n")
        self._log.flush()
        return depth, reviewed

    def _reconnect(self) -> None:
        with suppress(Exception):
            self.deployment.connection.collect(socket_timeout=0.1)
        self.deployment.connection = self.deployment.queue.app().connection_for_write()

    def settle(self) -> None:
        """Wait until every draft is accounted for, or nothing has changed for a minute."""
        # An agent takes over the spools of the killed ones.
        self.agents.start(1, DRAFT="It costs 12 euros, the last one says")
        before, still_since = (-1, -1), time.monotonic()
        while time.monotonic() - still_since < _STILL_S:
            self.agents.read(3.0)
            with suppress(Exception):
                self.letters |= {text for each in self.deployment.letters() for text in _TEXT.findall(str(each.body))}
            now = self.note()
            if now != before:
                before, still_since = now, time.monotonic()
            if set(self.agents.returned) <= set(self.deployment.reviewed()) | self.letters and not self.agents.running:
                return

    def sums(self) -> dict[str, Any]:
        """Return what became of the drafts."""
        reviewed, returned = self.deployment.reviewed(), set(self.agents.returned)
        missing = returned - set(reviewed) - self.letters
        drops = Counter(self.drops.read_text().split()) if self.drops.exists() else Counter()
        found = self._found(missing) if missing else {}
        return {
            "drafts returned": len(returned),
            "reviewed": len(returned & set(reviewed)),
            "dead letters": len(returned & self.letters - set(reviewed)),
            "counted drops": sum(drops.values()),
            "neither": len(missing) - sum(drops.values()),
            **found,
            "reviewed twice": sum(count - 1 for count in reviewed.values()),
            "agents killed": self.agents.killed,
            "workers killed": self.killed_workers,
            "deepest queue": self.deepest,
            "seconds": round(time.monotonic() - self.began),
        }

    def _found(self, missing: set[str]) -> dict[str, int]:
        """Return where drafts are that were neither reviewed nor put aside."""
        for worker in self.workers:
            self.deployment.kill(worker)
        time.sleep(5)  # the broker takes back what they had
        waiting = {text for each in self.deployment.take() for text in _TEXT.findall(str(each.body))}
        spool = Spool(self.folder / "spool" / "shop", max_bytes=1 << 40, max_age=1e9, on_drop=lambda _: None)
        spooled = {text for each in spool.adopt() for text in _TEXT.findall(spool.read(each).decode())}
        spool.close()
        (self.folder / "missing.json").write_text(json.dumps(sorted(missing - waiting - spooled)))
        return {"of which in the queue": len(missing & waiting), "in spools": len(missing & spooled)}


def main() -> None:
    """Run as often as asked, and print a line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--drafts", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0, help="of the first run")
    parser.add_argument("--keep", type=Path, help="a folder for the files of the runs")
    options = parser.parse_args()
    for seed in range(options.seed, options.seed + options.runs):
        with tempfile.TemporaryDirectory() as temporary:
            folder = options.keep / f"run{seed}" if options.keep else Path(temporary)
            folder.mkdir(parents=True, exist_ok=True)
            with services_in(folder / "services") as services:
                chaos = Chaos(services, folder, options.drafts, seed)
                try:
                    chaos.run()
                    chaos.settle()
                    sums = chaos.sums()
                finally:
                    chaos.deployment.stop()
        print(", ".join(f"{name} {value}" for name, value in sums.items()), flush=True)


if __name__ == "__main__":
    main()

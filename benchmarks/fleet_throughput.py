"""How many drafts a minute one, two and four workers review with a slow critic.

`python benchmarks/fleet_throughput.py`. The drafts are in the queue before the workers start, and the time runs from
the end of the first reviews, so that the start of a worker is not in it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from _fleet import services_in
from support.fleet import Fleet, Services, finished  # type: ignore[import-not-found]

_WITHIN_S = 300.0


def main() -> None:
    """Measure each number of workers, and print a line for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--slots", type=int, default=4, help="reviews that a worker does at once")
    parser.add_argument("--seconds", type=float, default=2.0, help="what the critic takes")
    parser.add_argument("--rounds", type=int, default=10, help="reviews for each slot")
    options = parser.parse_args()
    print(f"critic {options.seconds:g} s, {options.slots} slots a worker\n")
    print("workers  reviews  seconds  a minute  of the most")
    with tempfile.TemporaryDirectory() as folder, services_in(Path(folder) / "services") as services:
        for workers in options.workers:
            print(_row(services, Path(folder), workers, options), flush=True)


def _row(services: Services, folder: Path, workers: int, options: argparse.Namespace) -> str:
    own = folder / f"workers{workers}"
    own.mkdir()
    deployment = Fleet(services, own, f"throughput{workers}")
    count = workers * options.slots * options.rounds
    try:
        finished(deployment.agent(count))
        for _ in range(workers):
            deployment.worker(options.slots, SECONDS_PER_REVIEW=str(options.seconds))
        _wait(deployment, count)
        times = sorted(json.loads(line)["time"] for line in deployment.record.read_text().splitlines())
    finally:
        deployment.stop()
    # The first reviews of all slots end together; what is measured is all that came after them.
    first = workers * options.slots
    seconds = times[-1] - times[first - 1]
    rate, most = (count - first) / seconds, first / options.seconds
    return f"{workers:7}  {count - first:7}  {seconds:7.1f}  {60 * rate:8.0f}  {rate / most:11.0%}"


def _wait(deployment: Fleet, count: int) -> None:
    until = time.monotonic() + _WITHIN_S + count
    while len(deployment.reviewed()) < count:
        if time.monotonic() > until:
            raise TimeoutError(f"{len(deployment.reviewed())} of {count} drafts are reviewed")
        time.sleep(0.2)


if __name__ == "__main__":
    main()

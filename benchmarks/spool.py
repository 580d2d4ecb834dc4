"""What it costs a caller to hand a draft to the operating system: the spool's append-only file against SQLite.

`python benchmarks/spool.py`. Each candidate stores drafts of 4 KiB, alone and while a background thread computes: then
every call that gives up Python's lock may wait for the switch interval of 5 ms before it gets the lock back.
"""

from __future__ import annotations

import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from uuid import uuid4

from draftcritic.fleet._spool import Spool

DRAFTS = 2000
BUSY_DRAFTS = 300
PAYLOAD = b"x" * 4096
Store = Callable[[bytes, bytes], object]


def sqlite_store(folder: Path) -> Store:
    """Return what inserts a row in WAL mode and commits, without a sync."""
    connection = sqlite3.connect(folder / "spool.db", isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=OFF")
    connection.execute("CREATE TABLE draft (id BLOB PRIMARY KEY, payload BLOB)")
    return lambda id_, payload: connection.execute("INSERT INTO draft VALUES (?, ?)", (id_, payload))


def file_store(folder: Path) -> Store:
    """Return the spool's own way."""
    spool = Spool(folder / "spool", max_bytes=1 << 30, max_age=1e9, on_drop=print)
    return lambda id_, payload: spool.append(id_, payload, 1)


def measured(store: Store, drafts: int) -> list[float]:
    """Return the seconds of each call, the shortest first."""
    times = []
    for _ in range(drafts):
        id_ = uuid4().bytes
        began = time.perf_counter()
        store(id_, PAYLOAD)
        times.append(time.perf_counter() - began)
        time.sleep(0.0002)
    return sorted(times)


def main() -> None:
    """Print a row for each candidate."""
    print("| store | alone p50 | p99 | next to a busy thread p50 | p99 |\n| --- | --- | --- | --- | --- |")
    for name, make in (("append-only file", file_store), ("SQLite, WAL, synchronous off", sqlite_store)):
        with tempfile.TemporaryDirectory() as folder:
            store = make(Path(folder))
            alone = measured(store, DRAFTS)
            stop = threading.Event()
            busy = threading.Thread(target=lambda stop=stop: _compute(stop))
            busy.start()
            loaded = measured(store, BUSY_DRAFTS)
            stop.set()
            busy.join()
        cells = [f"{1e6 * each[int(len(each) * share)]:.0f} us" for each in (alone, loaded) for share in (0.5, 0.99)]
        print(f"| {name} | {' | '.join(cells)} |", flush=True)


def _compute(stop: threading.Event) -> None:
    number = 0
    while not stop.is_set():
        number = (number * 31 + 7) % 1_000_003


if __name__ == "__main__":
    main()

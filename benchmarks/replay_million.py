"""Replays many recorded turns, made by repeating and varying real ones: rows per second and memory."""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from draftcritic.core import Policy, detect_fabrication
from draftcritic.replay import replay
from draftcritic.turns import read_turns, to_turn


def write_turns(source: Path, target: Path, count: int) -> None:
    """Write `count` rows: those of the source again and again, each time with another number in draft and messages."""
    rows = list(read_turns([source]))
    with target.open("w", encoding="utf-8") as file:
        for number in range(count):
            row = rows[number % len(rows)].as_dict()
            row["turn_id"] = f"turn-{number}"
            row["draft"] = f"{row.get('draft', '')} ({number})"
            row["messages"] = [*row.get("messages", ()), {"role": "tool", "content": f"row {number}"}]
            file.write(json.dumps(row, ensure_ascii=False) + "\n")


def plain_loop(path: Path) -> int:
    """The floor: read and check the drafts, and nothing else."""
    count = 0
    for count, row in enumerate(read_turns([path]), 1):  # noqa: B007 - the last count
        turn = to_turn(row)
        detect_fabrication(turn.draft, turn.tool_calls, hydrated_context=turn.context, user_message=turn.user_message)
    return count


def whole_replay(path: Path, out: Path, workers: int) -> int:
    return replay([path], out, partial(Policy, selective_gate=True), workers=workers).tally.turns


def measured(work: Any, *arguments: Any) -> dict[str, float]:
    """Run in a process of its own, so that its memory is its own."""
    context = multiprocessing.get_context("spawn")
    with context.Pool(1) as pool:
        return dict(pool.apply(_measure, (work, arguments)))


def _measure(work: Any, arguments: Any) -> dict[str, float]:
    began = time.perf_counter()
    rows = work(*arguments)
    seconds = time.perf_counter() - began
    own, children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = sum(used.ru_utime + used.ru_stime for used in (own, children))
    return {
        "rows": rows,
        "seconds": round(seconds, 1),
        "rows_per_second": round(rows / seconds),
        "cpu_seconds_of_all_processes": round(cpu, 1),
        "rows_per_cpu_second": round(rows / cpu),
        "peak_mib": round(own.ru_maxrss / 1024),
        "peak_mib_of_the_largest_worker": round(children.ru_maxrss / 1024),
    }


def designs(turns: Path, out: Path) -> Iterator[tuple[str, Any, tuple[Any, ...]]]:
    yield "plain loop over detect_fabrication", plain_loop, (turns,)
    yield "replay, one core", whole_replay, (turns, out, 1)
    yield "replay, two workers", _in_thread, (turns, out, 2)


def _in_thread(path: Path, out: Path, workers: int) -> int:
    # A process of a pool may not have children of its own.
    multiprocessing.current_process()._config["daemon"] = False  # type: ignore[attr-defined]
    return whole_replay(path, out, workers)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="real turns, in any form that `draftcritic replay` reads")
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    with TemporaryDirectory() as folder:
        turns, out = Path(folder) / "turns.jsonl", Path(folder) / "runs.jsonl"
        write_turns(options.source, turns, options.rows)
        print(f"{options.rows} turns, {turns.stat().st_size / 2**20:.0f} MiB")
        for name, work, given in designs(turns, out):
            print(name, json.dumps(measured(work, *given)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())

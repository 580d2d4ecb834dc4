"""Per-call overhead of a skipped review against a bare model call, next to the neighbours, in one run."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from _children import ChildError, Process
from _plot import plot
from _report import problems, report, starts, summarise
from _text import tell
from _variants import BARE, VARIANTS, Variant

PATHS = ("invoke", "ainvoke", "stream")
TURNS = ("short", "long")
PACKAGES = (
    "draftcritic",
    "langchain-core",
    "opentelemetry-sdk",
    "opentelemetry-instrumentation-genai-langchain",
    "opentelemetry-instrumentation-langchain",
    "openinference-instrumentation-langchain",
)


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    began = time.monotonic()
    try:
        result = run(options)
    except ChildError as error:
        print(error, file=sys.stderr)
        return 1
    result["seconds"] = round(time.monotonic() - began, 1)
    if options.plot is not None:
        options.plot.write_text(plot(result), encoding="utf-8")
    return tell("overhead.py", result, json.dumps(result, indent=1) if options.json else report(result))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure, and return everything that the report shows."""
    chosen = [variant for variant in VARIANTS if variant.name == BARE or variant.name in options.only]
    processes: list[Process] = []
    try:
        # Two at a time where nothing is timed: importing LangChain alone keeps a core busy for seconds.
        with ThreadPoolExecutor(max_workers=2) as pool:
            missing = dict(pool.map(lambda variant: _start(variant, processes), chosen))
        missing = {name: reason for name, reason in missing.items() if reason is not None}
        processes.sort(key=lambda process: chosen.index(process.variant))
        running = [process for process in processes if process.variant.name not in missing]
        batches = _rounds(running, options)
        counts = {process.variant.name: process.ask("counts") for process in running}
        alone = [process for process in running if len(process.variant.parts) < 2]
        with ThreadPoolExecutor(max_workers=2) as pool:
            heap = dict(pool.map(lambda process: _heap(process, options.heap_calls), alone))
        started = _starts([process.variant for process in alone], options.starts)
    finally:
        for process in processes:
            process.stop()
    return {
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        "packages": {name: _version(name) for name in PACKAGES},
        "rounds": options.rounds,
        "calls": options.calls,
        "paced": options.paced,
        "missing": missing,
        "rows": summarise(batches, list(counts), options.paths, options.turns),
        "counts": counts,
        "heap": {name: numbers for name, numbers in heap.items() if numbers},
        "starts": starts(started),
        "problems": [
            problem for process in running for problem in problems(process.variant, counts[process.variant.name])
        ],
    }


def _start(variant: Variant, started: list[Process]) -> tuple[str, str | None]:
    process = Process(variant)
    started.append(process)
    return variant.name, process.started()


def _rounds(processes: Sequence[Process], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Let every child measure one batch after the other, so that noise hits all alike; the first round warms up."""
    batches = []
    for turn in range(options.rounds + 1):
        # Rotate the order: the first variant runs on an idle machine.
        shift = turn % len(processes)
        order = [*processes[shift:], *processes[:shift]]
        for path in options.paths:
            for length in options.turns:
                for process in order:
                    command = {"path": path, "turn": length, "calls": options.calls, "paced": options.paced}
                    measured = process.ask("measure", **command)
                    if turn:
                        place = {"variant": process.variant.name, "path": path, "turn": length, "round": turn}
                        batches.append({**place, **measured})
    return batches


def _heap(process: Process, calls: int) -> tuple[str, dict[str, float]]:
    """Return what calls leave on the heap, and what one retained span weighs."""
    return process.variant.name, process.ask("heap", calls=calls) if calls else {}


def _starts(variants: Sequence[Variant], times: int) -> dict[str, list[dict[str, float]]]:
    """Start each variant so many times, one process after the other, and return what its start and first call took."""
    found: dict[str, list[dict[str, float]]] = {variant.name: [] for variant in variants}
    for _ in range(times):
        for variant in variants:
            process = Process(variant)
            try:
                process.started()
                first = process.ask("measure", path="invoke", turn="short", calls=1)
            finally:
                process.stop()
            found[variant.name].append({**process.installed, "first_call_ms": first["median_us"] / 1000})
    return found


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=_positive, default=8, help="measured rounds (default %(default)s)")
    parser.add_argument("--calls", type=_positive, default=100, help="calls in a batch (default %(default)s)")
    parser.add_argument(
        "--only",
        action="append",
        choices=[v.name for v in VARIANTS],
        help="a variant in addition to bare; may be repeated",
    )
    parser.add_argument("--paths", nargs="+", choices=PATHS, default=list(PATHS), help="default: all")
    parser.add_argument("--turns", nargs="+", choices=TURNS, default=list(TURNS), help="default: both")
    parser.add_argument(
        "--paced", action="store_true", help="wait, untimed, for reviews and exporters after every call"
    )
    parser.add_argument(
        "--heap-calls",
        type=_natural,
        default=500,
        help="calls for the heap, 9 times over; 0 for none (default %(default)s)",
    )
    parser.add_argument(
        "--starts", type=_natural, default=3, help="processes started to time their start (default %(default)s)"
    )
    parser.add_argument("--plot", type=Path, metavar="FILE.svg", help="also draw what is added, as SVG")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    options = parser.parse_args(arguments)
    options.only = options.only or [variant.name for variant in VARIANTS]
    return options


def _natural(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must not be negative")
    return number


def _positive(text: str) -> int:
    number = int(text)
    # More would not fit in our queue between two drains, and drafts would be dropped.
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError("must be from 1 to 1000")
    return number


if __name__ == "__main__":
    sys.exit(main())

"""What the plugin adds to the start of a process under `opentelemetry-instrument`, and what it imports there."""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import entry_points
from pathlib import Path
from statistics import median
from typing import Any

from _children import CLEARED_VARIABLES
from _text import number, table

_OURS = "draftcritic"
_HEAVY = ("langchain_core", "langchain", "langgraph", "pydantic", "pydantic_settings", "genai_prices")
_PROGRAM = f"""
import json, sys
heavy = [name for name in {_HEAVY!r} if name in sys.modules]
print(json.dumps({{"imported": heavy, "plugin": "draftcritic.instrumentor" in sys.modules}}))
"""
_PLAIN, _WITHOUT, _WITH = "python", "opentelemetry-instrument", "opentelemetry-instrument with draftcritic"


def _run(name: str) -> dict[str, Any]:
    """Run a program that does nothing; the start of its process is all there is to measure."""
    others = {entry.name for entry in entry_points(group="opentelemetry_instrumentor")}
    disabled = others - {_OURS} if name == _WITH else others | {_OURS}
    environment = {key: value for key, value in os.environ.items() if not key.startswith(CLEARED_VARIABLES)}
    environment["OTEL_PYTHON_DISABLED_INSTRUMENTATIONS"] = ",".join(sorted(disabled))
    for signal in ("TRACES", "METRICS", "LOGS"):
        environment[f"OTEL_{signal}_EXPORTER"] = "none"
    command = [] if name == _PLAIN else [str(Path(sys.executable).with_name("opentelemetry-instrument"))]
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [*command, sys.executable, "-c", _PROGRAM], env=environment, capture_output=True, encoding="utf-8", check=True
    )
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"wall_ms": wall * 1000, "cpu_ms": cpu * 1000, **json.loads(done.stdout.splitlines()[-1])}


def measure(rounds: int) -> dict[str, dict[str, Any]]:
    """Start each kind of process once a round; return the medians, and what was imported without being asked for."""
    names = (_PLAIN, _WITHOUT, _WITH)
    for name in names:
        _run(name)
    runs: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in names:
            runs[name].append(_run(name))
    result: dict[str, dict[str, Any]] = {}
    for name in names:
        result[name] = {key: median(run[key] for run in runs[name]) for key in ("wall_ms", "cpu_ms")}
        result[name].update({key: runs[name][0][key] for key in ("imported", "plugin")})
    for key in ("wall_ms", "cpu_ms"):
        pairs = zip(runs[_WITH], runs[_WITHOUT], strict=True)
        result[_WITH][f"added_{key}"] = median(mine[key] - reference[key] for mine, reference in pairs)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=7, help="processes of each kind (default %(default)s)")
    parser.add_argument("--json", action="store_true", help="print JSON in place of the table")
    options = parser.parse_args(arguments)
    result = measure(max(1, options.rounds))
    rows = [
        (
            name,
            ", ".join(found["imported"]) or "none of them",
            *(number(found.get(key)) for key in ("wall_ms", "cpu_ms", "added_wall_ms", "added_cpu_ms")),
        )
        for name, found in result.items()
    ]
    heads = ("process", "heavy imports", "ms", "CPU ms", "ms added", "CPU ms added")
    print(json.dumps(result, indent=1) if options.json else table(heads, rows, left=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Where the time of a skipped review goes, stage by stage, next to what its record alone costs, in one run."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from typing import Any

from _children import ChildError, Process
from _stopwatch import CALLER, LANGCHAIN, QUEUE, STAGES, WORKER
from _text import bar, number, quantile, table, tell
from _variants import BARE, REFERENCE, VARIANTS

_BACKGROUND = "ours, observe"
_WATCHED = (_BACKGROUND, "ours, observe inline", "ours, enforce")
_FLOORS = ("patch + span", "patch + span + 3 points", "patch + all that ours writes")
_ORDER = (BARE, *_FLOORS, *_WATCHED, REFERENCE)
_WRITERS = (*_FLOORS, *_WATCHED)
_SOMETIMES = 0.5
"""A stage that runs less often a call belongs to the benchmark's own span."""


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        result = run(options)
    except ChildError as error:
        print(error, file=sys.stderr)
        return 1
    return tell("stages.py", result, json.dumps(result, indent=1) if options.json else report(result))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Measure, and return everything that the report shows."""
    by_name = {variant.name: variant for variant in VARIANTS}
    whole = [(by_name[name], False) for name in _ORDER]
    processes: list[tuple[Process, bool]] = []
    missing = {}
    try:
        for variant, staged in [*whole, *((by_name[name], True) for name in _WATCHED)]:
            process = Process(variant, staged=staged)
            processes.append((process, staged))
            if (reason := process.started()) is not None:
                missing[variant.name] = reason
        running = [each for each in processes if each[0].variant.name not in missing]
        batches = _rounds(running, options)
        writers = [process for process, staged in running if not staged and process.variant.name in _WRITERS]
        recorded = {process.variant.name: process.ask("recorded") for process in writers}
    finally:
        for process, _ in processes:
            process.stop()
    result = {
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        **{name: getattr(options, name) for name in ("rounds", "calls", "turn")},
        "missing": missing,
        "added": _added([batch for batch in batches if not batch["staged"]]),
        "stages": _stages([batch for batch in batches if batch["staged"]]),
        "recorded": {name: {**each, "attributes": len(each["attributes"])} for name, each in recorded.items()},
    }
    result["problems"] = list(_problems(result))
    return result


def _rounds(processes: Sequence[tuple[Process, bool]], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Let every child measure a batch in turn; the first round warms up."""
    batches = []
    for turn in range(options.rounds + 1):
        shift = turn % len(processes)
        for process, staged in [*processes[shift:], *processes[:shift]]:
            measured = process.ask("measure", path="invoke", turn=options.turn, calls=options.calls)
            if turn:
                batches.append({"variant": process.variant.name, "staged": staged, "round": turn, **measured})
    return batches


def _added(batches: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return what each variant adds to bare, by the clock, as `overhead.py` has it."""
    bare = {batch["round"]: batch["median_us"] for batch in batches if batch["variant"] == BARE}
    found = {}
    for name in sorted({batch["variant"] for batch in batches}, key=_ORDER.index):
        added = [batch["median_us"] - bare[batch["round"]] for batch in batches if batch["variant"] == name]
        found[name] = {"us": median(added), "spread_us": (quantile(added, 0.75) - quantile(added, 0.25)) / 2}
    return found


def _stages(batches: Sequence[dict[str, Any]]) -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """Return for each variant, thread and stage the medians over the rounds."""
    found: dict[str, dict[str, dict[str, dict[str, float]]]] = {}
    for name in dict.fromkeys(batch["variant"] for batch in batches):
        rounds = [batch["stages"] for batch in batches if batch["variant"] == name]
        for side in (CALLER, WORKER):
            for stage in (*STAGES, LANGCHAIN):
                numbers = [each[side].get(stage, {"us": 0.0, "times": 0.0}) for each in rounds]
                if median(one["times"] for one in numbers) >= _SOMETIMES:
                    found.setdefault(name, {}).setdefault(side, {})[stage] = {
                        key: median(one[key] for one in numbers) for key in ("us", "times")
                    }
    return found


def _problems(result: dict[str, Any]) -> Iterator[str]:
    ours, floor = result["recorded"][_BACKGROUND], result["recorded"][_FLOORS[-1]]
    if ours != floor:
        yield f"the floor writes {floor}, and a review {ours}"
    for name, sides in result["stages"].items():
        met = {stage for stages in sides.values() for stage in stages}
        missed = [stage for stage in STAGES if stage not in met and (stage != QUEUE or name == _BACKGROUND)]
        if missed:
            yield f"{name}: never ran: {', '.join(missed)}"


def report(result: dict[str, Any]) -> str:
    """Return the tables."""
    size = f"{result['rounds']} rounds of {result['calls']} calls of invoke, {result['turn']} turn"
    parts = [f"Python {result['python']}, {result['machine']}, {size}; microseconds a call"]
    parts += [f"not measured: {name}: {reason}" for name, reason in result["missing"].items()]
    parts.append(f"by the clock, without a stopwatch\n{_added_table(result)}")
    parts += [f"{title}\n{_stage_table(result, name, side)}" for name, side, title in _sections(result)]
    return "\n\n".join(parts)


def _sections(result: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [
        (name, side, f"{name}: on the {side}'s thread") for name, sides in result["stages"].items() for side in sides
    ]


def _added_table(result: dict[str, Any]) -> str:
    added, recorded = result["added"], result["recorded"]
    reference = added[REFERENCE]["us"] if REFERENCE in added else 0.0
    rows = []
    for name, numbers in added.items():
        written = recorded.get(name)
        rows.append(
            (
                name,
                number(numbers["us"]),
                number(numbers["spread_us"]),
                number(numbers["us"] / reference if reference > 0 else None, 2),
                *("" if written is None else str(written[key]) for key in ("attributes", "points", "logs")),
            )
        )
    return table(("variant", "added", "+-", "ratio", "attributes", "points", "log records"), rows)


def _stage_table(result: dict[str, Any], name: str, side: str) -> str:
    stages = {stage: each for stage, each in result["stages"][name][side].items() if stage != LANGCHAIN}
    total = sum(each["us"] for each in stages.values())
    longest = max(each["us"] for each in stages.values())
    rows = [
        (
            stage,
            number(each["us"]),
            number(100 * each["us"] / total, 0),
            number(each["times"]),
            bar(each["us"], longest).ljust(40),
        )
        for stage, each in stages.items()
    ]
    rows.append(("all stages", number(total), "100", "", ""))
    sdk = sum(each["us"] for stage, each in stages.items() if stage.startswith("SDK"))
    if sdk:
        rows.append(("of them in the SDK", number(sdk), number(100 * sdk / total, 0), "", ""))
    if side == CALLER:
        rows.append(("by the clock", number(result["added"][name]["us"]), "", "", ""))
    return table(("stage", "us", "%", "times", ""), rows)


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10, help="measured rounds (default %(default)s)")
    parser.add_argument("--calls", type=int, default=100, help="calls in a batch (default %(default)s)")
    parser.add_argument("--turn", choices=("short", "long"), default="short")
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    sys.exit(main())

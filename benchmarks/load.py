"""An application under load, with draftcritic and without, in turns: throughput, memory, and the end of each draft."""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median
from typing import Any

from _children import CLEARED_VARIABLES, ChildError
from _text import quantile, tell

_CHILD = Path(__file__).with_name("_load_child.py")
_NAMES = ("without", "with")


def main(arguments: Sequence[str] | None = None) -> int:
    options = _options(arguments)
    try:
        result = run(options)
    except ChildError as error:
        print(error, file=sys.stderr)
        return 1
    return tell("load.py", result, json.dumps(result, indent=1) if options.json else report(result))


def run(options: argparse.Namespace) -> dict[str, Any]:
    """Let both applications run in turns for so many minutes in all, and return what came of it."""
    children = {name: _start(name, options) for name in _NAMES}
    try:
        for child in children.values():
            _ask(child)
        rounds = _rounds(children, options)
        counts = _ask(children["with"], do="end")
    finally:
        for child in children.values():
            child.kill()
            child.wait()
    queue_full = counts["decisions"].get("queue_full", 0)
    reviews = sum(n for reason, n in counts["decisions"].items() if reason not in {"queue_full", "nested"})
    drops = sum(counts["dropped"].values())
    result = {
        "python": platform.python_version(),
        "machine": f"{platform.machine()}, {os.cpu_count()} cores",
        **{name: getattr(options, name) for name in ("path", "callers", "rate", "agent_ms", "critic_s", "minutes")},
        "rounds": rounds,
        **_summary(rounds),
        "counts": counts,
        "reviews": reviews,
        "drops": drops,
        "problems": [],
    }
    if reviews + drops != counts["drafts"]:
        result["problems"].append(f"{counts['drafts']} drafts, but {reviews} reviews and {drops} drops")
    if queue_full != counts["dropped"].get("queue_full", 0):
        result["problems"].append("the two counts of a full queue differ")
    if counts["failures"]:
        result["problems"].append(f"the critic failed: {counts['failures']}")
    return result


def _rounds(children: dict[str, subprocess.Popen[str]], options: argparse.Namespace) -> list[dict[str, Any]]:
    slice_s = min(options.slice_s, options.minutes * 60 / 4)
    count = max(2, round(options.minutes * 60 / slice_s / len(_NAMES)))
    rounds = []
    for number in range(count + 1):
        # The first variant runs on a machine that has just been idle.
        order = _NAMES if number % 2 else _NAMES[::-1]
        measured = {
            name: _ask(children[name], do="run", seconds=slice_s, callers=options.callers, rate=options.rate)
            for name in order
        }
        for each in measured.values():
            each["per_s"] = each["drafts"] / each["seconds"]
        rounds.append(measured)
    # The first one imports, compiles and fills the queue.
    return rounds[1:]


def _summary(rounds: list[dict[str, Any]]) -> dict[str, Any]:
    ratios = [each["with"]["per_s"] / each["without"]["per_s"] for each in rounds]
    third = max(1, len(rounds) // 3)
    names: dict[str, Any] = {}
    for name in _NAMES:
        found = [each[name] for each in rounds]
        memory = [each["rss_mib"] for each in found]
        names[name] = {
            **{key: median(each[key] for each in found) for key in ("per_s", "median_ms", "p99_ms")},
            "cpu_us": median(each["cpu_s"] / each["drafts"] for each in found) * 1e6,
            "rss_mib": memory[-1],
            "grown_mib": median(memory[-third:]) - median(memory[:third]),
        }
    spread = (quantile(ratios, 0.75) - quantile(ratios, 0.25)) / 2
    return {"sides": names, "ratio": median(ratios), "ratio_spread": spread}


def report(result: dict[str, Any]) -> str:
    """Return the result as text."""
    pace = f"{result['rate']:g} drafts a second in all" if result["rate"] else "as often as they can"
    setting = (
        f"Python {result['python']}, {result['machine']}; {result['callers']} callers of {result['path']}, {pace}; "
        f"the agent's model takes {result['agent_ms']:g} ms, the critic's {result['critic_s']:g} s; "
        f"{len(result['rounds'])} rounds in {result['minutes']:g} min"
    )
    lines = [
        setting,
        "",
        "| draftcritic | drafts/s | median ms | p99 ms | CPU us a draft | RSS MiB | grown MiB |",
        "|---|---|---|---|---|---|---|",
    ]
    for name, side in result["sides"].items():
        numbers = " | ".join(
            f"{side[key]:.{digits}f}"
            for key, digits in (
                ("per_s", 1),
                ("median_ms", 2),
                ("p99_ms", 2),
                ("cpu_us", 0),
                ("rss_mib", 1),
                ("grown_mib", 2),
            )
        )
        lines.append(f"| {name} | {numbers} |")
    counts = result["counts"]
    lines += [
        "",
        f"throughput with / without: {result['ratio']:.4f} +- {result['ratio_spread']:.4f}",
        f"{counts['drafts']} drafts = {result['reviews']} reviews + {result['drops']} drops {counts['dropped']}",
    ]
    return "\n".join(lines)


def _start(name: str, options: argparse.Namespace) -> subprocess.Popen[str]:
    child = {
        "ours": name == "with",
        "path": options.path,
        "agent_s": options.agent_ms / 1000,
        "critic_s": options.critic_s,
    }
    return subprocess.Popen(
        [sys.executable, str(_CHILD), json.dumps(child)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        env={key: value for key, value in os.environ.items() if not key.startswith(CLEARED_VARIABLES)},
    )


def _ask(child: subprocess.Popen[str], **command: Any) -> dict[str, Any]:
    """Send a command, if any, and return the answer."""
    assert child.stdin is not None
    assert child.stdout is not None
    if command:
        print(json.dumps(command), file=child.stdin, flush=True)
    line = child.stdout.readline()
    if not line:
        raise ChildError(f"a child ended with exit code {child.wait()}")
    answer: dict[str, Any] = json.loads(line)
    return answer


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=0.5, help="of load in all, half of it each (default: 0.5)")
    parser.add_argument("--callers", type=int, default=64)
    parser.add_argument("--rate", type=float, default=300, help="drafts a second of all callers; 0: no pauses")
    parser.add_argument("--path", choices=("invoke", "ainvoke"), default="invoke")
    parser.add_argument("--agent-ms", type=float, default=5, help="what the agent's model takes (default: 5)")
    parser.add_argument("--critic-s", type=float, default=2, help="what the critic's model takes (default: 2)")
    parser.add_argument("--slice-s", type=float, default=5, help="seconds of one side's turn (default: 5)")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    began = time.monotonic()
    code = main()
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    sys.exit(code)

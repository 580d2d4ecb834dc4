"""Speed of the deterministic fabrication check, next to the reference when it is installed, in one run.

Times are processor time of this thread, the best of a few runs, so that neighbours on the machine count little. Real
drafts come from a file of JSON lines (`--turns`, see draftcritic.evaluate); without one, from made-up shop turns.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from draftcritic.core import Grounding, detect_fabrication
from draftcritic.evaluate._rows import read_rows, sources_of
from draftcritic.grounding import find_fabrications

HOSTILE = {
    "white space": " ",
    "zero width": "\u200b",
    "quotes": '"',
    "digits": "1",
    "hex run": "a1",
    "hex words": "abcdef01 ",
    "uuids": "550e8400-e29b-41d4-a716-446655440000 ",
    "key=value": "pid=x1 ",
    "prices": "$1,234.50 ",
    "dates": "May 5, 2024 ",
    "times": "10:30 am ",
    "codes": "AB12CD ",
    "addresses": "a@b.c ",
    "URLs": "http://x.y/1 ",
    "names": "Zorgulon Kwyjibo ",
    "commas": "1,",
    "prose": "the quick brown fox jumps over the lazy dog. ",
}


class Turn(NamedTuple):
    """A draft with its sources."""

    draft: str
    calls: Any
    context: str
    user: str

    @property
    def size(self) -> int:
        """Characters of draft and sources."""
        return len(self.draft) + len(self.context) + len(self.user) + sum(len(str(call)) for call in self.calls)


Check = Callable[[Turn], object]


def ours(turn: Turn) -> object:
    return detect_fabrication(turn.draft, turn.calls, hydrated_context=turn.context, user_message=turn.user)


def reference() -> Check | None:
    try:
        from symfonic.agent.middleware.fabrication import detect_fabrication as check
    except ImportError:
        return None
    return lambda turn: check(turn.draft, turn.calls, hydrated_context=turn.context, user_message=turn.user)


def best_of(check: Check, turn: Turn, runs: int) -> float:
    """Microseconds of the fastest run."""
    times = []
    for _ in range(runs):
        began = time.thread_time_ns()
        check(turn)
        times.append(time.thread_time_ns() - began)
    return min(times) / 1000


def drafts_row(name: str, check: Check, turns: Sequence[Turn], runs: int) -> dict[str, Any]:
    times = [best_of(check, turn, runs) for turn in turns]
    ordered = sorted(times)
    return {
        "check": name,
        "median_us": ordered[len(ordered) // 2],
        "p90_us": ordered[int(0.9 * len(ordered))],
        "p99_us": ordered[int(0.99 * len(ordered))],
        "max_us": ordered[-1],
        "us_per_kb": sum(times) / (sum(turn.size for turn in turns) / 1000),
    }


def hostile_rows(checks: dict[str, Check], sizes: dict[str, int]) -> list[dict[str, Any]]:
    """Microseconds per KB for drafts of one unit over and over, alone and with a context of the same."""
    rows = []
    for name, unit in HOSTILE.items():
        row: dict[str, Any] = {"text": name}
        for check_name, check in checks.items():
            text = unit * (sizes[check_name] // len(unit))
            for context in ("", text[::-1]):
                turn = Turn(text, [{"name": "x", "result": "{}"}], context, "")
                row[f"{check_name}{' + context' if context else ''}"] = best_of(check, turn, 1) / (turn.size / 1000)
        rows.append(row)
    return rows


def reuse(turn: Turn, drafts: int) -> tuple[float, float]:
    """Microseconds a draft when each builds its index, and when all share the one of their turn."""
    began = time.thread_time_ns()
    for _ in range(drafts):
        ours(turn)
    middle = time.thread_time_ns()
    grounding = Grounding(turn.calls, turn.context, turn.user)
    for _ in range(drafts):
        find_fabrications(turn.draft, grounding)
    return (middle - began) / drafts / 1000, (time.thread_time_ns() - middle) / drafts / 1000


def read_turns(path: Path) -> list[Turn]:
    rows = (row for row in read_rows(path) if "draft" in row)
    return [Turn(str(row["draft"]), *sources_of(row)) for row in rows]


def made_up_turns(count: int) -> list[Turn]:
    """Shop turns of the sizes that real ones have."""
    dice = random.Random(7)
    turns = []
    for number in range(count):
        items = [
            {
                "sku": f"SKU-{dice.randrange(10**6):06}",
                "price": dice.randrange(500, 90000) / 100,
                "left": dice.randrange(90),
            }
            for _ in range(dice.choice([1, 3, 40]))
        ]
        record = {"order": f"A{number:05}X", "placed": f"2024-05-{dice.randrange(1, 29):02}T16:30:00", "items": items}
        lines = "".join(f"\n- **{item['sku']}**: ${item['price']:,.2f}, {item['left']} left" for item in items[:4])
        draft = f"Here is your order {record['order']} of {record['placed'][:10]}:{lines}\nAnything else?"
        chat = "user: Where is my order?\nassistant: Let me look that up for you.\n" * dice.choice([1, 10, 100])
        call = {"name": "get_order", "args": {"order": record["order"]}, "result": json.dumps(record)}
        turns.append(Turn(draft if number % 2 else "Sure, what is your e-mail?", [call], chat, "Where is it?"))
    return turns


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=Path, help="JSON lines with draft, tool_calls, context, user_message")
    parser.add_argument("--runs", type=int, default=3, help="runs of each draft; the fastest counts (default 3)")
    parser.add_argument("--hostile-kb", type=int, default=1000, help="size of the hostile drafts (default 1000)")
    parser.add_argument("--reference-kb", type=int, default=20, help="the same for the reference (default 20)")
    parser.add_argument("--json", action="store_true", help="for programs")
    options = parser.parse_args(arguments)
    turns = read_turns(options.turns) if options.turns else made_up_turns(600)
    checks: dict[str, Check] = {"draftcritic": ours}
    other = reference()
    if other is not None:
        checks["reference"] = other
    for turn in turns[:50]:
        ours(turn)  # word lists and patterns are made once a process
    result: dict[str, Any] = {
        "drafts": [drafts_row(name, check, turns, options.runs) for name, check in checks.items()],
        "hostile": hostile_rows(
            checks, {"draftcritic": options.hostile_kb * 1000, "reference": options.reference_kb * 1000}
        ),
    }
    widest = max(turns, key=lambda turn: turn.size)
    result["index"] = dict(zip(("built_each_time_us", "shared_us"), reuse(widest, 20), strict=True))
    print(json.dumps(result, indent=1) if options.json else report(result, len(turns), options.hostile_kb))
    return 0


def report(result: dict[str, Any], count: int, hostile_kb: int) -> str:
    lines = [f"{count} drafts{'':20} median     p90     p99      max us    us/KB of draft and context"]
    lines += [
        f"  {row['check']:24} {row['median_us']:8.0f}{row['p90_us']:8.0f}{row['p99_us']:8.0f}{row['max_us']:9.0f}"
        f"{row['us_per_kb']:12.1f}"
        for row in result["drafts"]
    ]
    names = [name for name in result["hostile"][0] if name != "text"]
    lines += ["", f"hostile drafts of {hostile_kb} KB, us/KB" + "".join(f"{name:>24}" for name in names)]
    lines += [f"  {row['text']:28}" + "".join(f"{row[name]:24.1f}" for name in names) for row in result["hostile"]]
    alone, shared = result["index"].values()
    lines += [
        "",
        f"largest turn, 20 drafts: {alone:.0f} us a draft alone, {shared:.0f} us with the turn's index shared",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())

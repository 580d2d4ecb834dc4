"""Runs the engine's deterministic part over recorded turns: gate decisions, fabrication kinds, faults and time."""

from __future__ import annotations

import argparse
import json
import logging
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from _recorded import Recorded, RecordError, read
from _text import number, quantile, table

from draftcritic.core import Mode, Policy, Review, Turn
from draftcritic.review import Critic, CriticModel, NullObserver

_WARM_UP = (
    Turn(draft="You're welcome!", user_message="Thank you."),
    Turn(
        draft="Order A-1001 was sent on May 3, 2024 for $12.50 to ann@example.com, and I refunded the rest.",
        user_message="Where is my order?",
        context="Order A-1001",
    ),
)
"""Drafts that make the checks read every word list, which happens once in a process."""


_TIMES = (
    ("ms median", "median"),
    ("ms p99", "p99"),
    ("ms max", "max"),
    ("ms p99, processor", "cpu_p99"),
    ("ms max, processor", "cpu_max"),
    ("ms per KB of turn", "per_kb"),
)


class _Faults(logging.Handler):
    """Collects the exceptions that any boundary of draftcritic swallowed: each is logged with its traceback."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.names: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        if record.exc_info and record.exc_info[0] is not None:
            self.names.append(record.exc_info[0].__name__)
        elif record.levelno >= logging.WARNING:
            self.names.append(record.getMessage())


class _CountingObserver(NullObserver):
    """Writes nothing down but lost drafts."""

    def __init__(self) -> None:
        self.drops: list[str] = []

    def dropped(self, reason: str) -> None:
        self.drops.append(reason)


@dataclass
class Tally:
    """What one policy made of all turns.

    Attributes:
        decisions, reasons, kinds: how often each came; kinds count findings.
        drafts_with_findings: drafts in which the fabrication check found anything.
        faults: exceptions by name, raised or swallowed.
        faulty: the drafts with a fault, by id.
        times: seconds and id of each draft.
        cpu: seconds of processor time of each draft; other processes do not lengthen them.
    """

    decisions: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    drafts_with_findings: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    faulty: list[str] = field(default_factory=list)
    times: list[tuple[float, str]] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)

    def add(self, review: Review) -> None:
        """Count a review."""
        self.decisions[review.assessment.decision] += 1
        self.reasons[review.assessment.reason] += 1
        findings = review.assessment.findings or ()
        self.kinds.update(finding.kind for finding in findings)
        self.drafts_with_findings += bool(findings)


def _no_model() -> CriticModel:
    raise AssertionError("in gate mode no model is asked")


def replay(recorded: Sequence[Recorded], policy: Policy) -> Tally:
    """Review every turn in gate mode with an observer that writes nothing down."""
    observer, faults, tally = _CountingObserver(), _Faults(), Tally()
    logger = logging.getLogger("draftcritic")
    level, propagate = logger.level, logger.propagate
    logger.addHandler(faults)
    logger.setLevel(logging.DEBUG)
    logger.propagate = False
    critic = Critic(policy, Mode.GATE, observer)
    try:
        for row in recorded:
            _review(critic, row, tally, observer, faults)
    finally:
        logger.removeHandler(faults)
        logger.setLevel(level)
        logger.propagate = propagate
    return tally


def warm_up() -> float:
    """Review the first drafts of the process, and return how many milliseconds they took together."""
    critic = Critic(Policy(selective_gate=True), Mode.GATE, NullObserver())
    began = time.perf_counter()
    for turn in _WARM_UP:
        critic.review(turn, _no_model)
    return (time.perf_counter() - began) * 1000


def _review(critic: Critic, row: Recorded, tally: Tally, observer: _CountingObserver, faults: _Faults) -> None:
    observer.drops.clear()
    faults.names.clear()
    cpu, began = time.thread_time(), time.perf_counter()
    review, raised = None, []
    try:
        review = critic.review(row.turn, _no_model)
    except Exception as error:  # what must never happen is counted, not met with a traceback
        raised = [type(error).__name__]
    taken = time.perf_counter() - began
    tally.cpu.append(time.thread_time() - cpu)
    tally.times.append((taken, row.turn.run_id))
    if review is not None:
        tally.add(review)
        if review.assessment.gate_error is not None:
            raised.append(review.assessment.gate_error)
        if review.failure is not None:
            raised.append(f"failure: {review.failure}")
    names = set(raised or faults.names or (f"dropped: {reason}" for reason in observer.drops))
    tally.faults.update(names)
    if names:
        tally.faulty.append(row.turn.run_id)


def as_json(tally: Tally, recorded: Sequence[Recorded]) -> dict[str, Any]:
    """Return a tally in plain numbers; times are in milliseconds."""
    kilobytes = sum(row.kilobytes for row in recorded)
    longest, slowest = max(tally.times)
    milliseconds = [seconds * 1000 for seconds, _ in tally.times]
    return {
        "decisions": dict(tally.decisions.most_common()),
        "reasons": dict(tally.reasons.most_common()),
        "fabrication_kinds": dict(tally.kinds.most_common()),
        "drafts_with_findings": tally.drafts_with_findings,
        "exceptions": len(tally.faulty),
        "exception_names": dict(tally.faults.most_common()),
        "exception_drafts": tally.faulty[:20],
        "ms": {
            "median": quantile(milliseconds, 0.5),
            "p99": quantile(milliseconds, 0.99),
            "max": longest * 1000,
            "per_kb": sum(milliseconds) / kilobytes,
            "cpu_p99": quantile(tally.cpu, 0.99) * 1000,
            "cpu_max": max(tally.cpu) * 1000,
        },
        "slowest": slowest,
    }


def report(result: dict[str, Any]) -> str:
    """Return the tables."""
    policies = result["policies"]
    names = list(policies)
    head = f"{result['drafts']} drafts, {result['kilobytes']:.0f} KB of turns, from {result['path']}"
    first = (
        f"before them, {len(_WARM_UP)} made-up drafts had the word lists read: {result['first_drafts_ms']:.0f} ms, once"
    )
    parts = [f"{head}\n{first}"]
    for title, key in (("gate decision", "decisions"), ("gate reason", "reasons")):
        words = list(dict.fromkeys(word for name in names for word in policies[name][key]))
        rows = [
            [word, *(_share(policies[name][key].get(word, 0), result["drafts"]) for name in names)] for word in words
        ]
        parts.append(table([title, *names], rows))
    kinds = list(dict.fromkeys(kind for name in names for kind in policies[name]["fabrication_kinds"]))
    rows = [[kind, *(str(policies[name]["fabrication_kinds"].get(kind, 0)) for name in names)] for kind in kinds]
    rows.append(
        ["drafts with a finding", *(_share(policies[name]["drafts_with_findings"], result["drafts"]) for name in names)]
    )
    parts.append(table(["fabrication finding", *names], rows))
    rows = [["drafts with an exception", *(str(policies[name]["exceptions"]) for name in names)]]
    for label, key in _TIMES:
        rows.append([label, *(number(policies[name]["ms"][key], 3) for name in names)])
    parts.append(table(["", *names], rows))
    for name in names:
        found = policies[name]
        if found["exceptions"]:
            parts.append(f"{name}: exceptions {found['exception_names']}, first in {found['exception_drafts'][:5]}")
    return "\n\n".join(parts)


def _share(count: int, total: int) -> str:
    return f"{count} ({100 * count / total:.1f} %)"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "path", type=Path, help="a file of JSON lines, plain or .gz, or the folder of agent_turns.jsonl.gz"
    )
    parser.add_argument("--json", action="store_true", help="print JSON in place of tables")
    options = parser.parse_args(arguments)
    try:
        file, recorded = read(options.path)
    except RecordError as error:
        print(f"replay_turns.py: {error}", file=sys.stderr)
        return 2
    first = warm_up()
    policies = {
        name: as_json(replay(recorded, policy), recorded)
        for name, policy in (("legacy", Policy()), ("selective", Policy(selective_gate=True)))
    }
    result = {
        "path": str(file),
        "drafts": len(recorded),
        "kilobytes": sum(row.kilobytes for row in recorded),
        "first_drafts_ms": first,
        "policies": policies,
    }
    print(json.dumps(result, indent=1, ensure_ascii=False) if options.json else report(result))
    return 1 if any(found["exceptions"] for found in policies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())

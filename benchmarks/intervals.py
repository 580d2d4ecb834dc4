"""Simulates labelling: how often the intervals contain the truth, and how wide they are."""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from draftcritic.statistics import BettingProcess, Stratum, rolling_z, stratified_share, wilson

_SHARES = {"approve": (0.90, 0.004), "not approved": (0.10, 0.164)}
"""Verdict -> its share of the drafts, and the share of bad drafts in it: 2 % of all drafts are bad."""


@dataclass(frozen=True)
class Coverage:
    """What the runs of one design showed.

    Attributes:
        contained: the share of runs whose interval has the truth in it.
        error: the 95 % quantile of the distance between estimate and truth.
        width: the mean half width of the interval.
    """

    contained: float
    error: float
    width: float


def population(seed: int, drafts: int, bad_share: float = 0.02) -> dict[str, list[bool]]:
    """Return for each verdict whether its drafts are bad."""
    chance, scale = random.Random(seed), bad_share / 0.02
    return {
        verdict: [chance.random() < bad * scale for _ in range(round(drafts * share))]
        for verdict, (share, bad) in _SHARES.items()
    }


def sample(chance: random.Random, bad: Sequence[bool], labels: int) -> Stratum:
    """Label some drafts of one stratum."""
    labels = min(labels, len(bad))
    return Stratum(len(bad), labels, sum(chance.sample(bad, labels)))


def coverage(runs: int, drafts: int, labels: int, bad_share: float = 0.02, *, by_verdict: bool) -> Coverage:
    """Label drafts of `runs` made-up populations, at random or the same number of each verdict."""
    contained, errors, width = 0, [], 0.0
    for seed in range(runs):
        groups = population(seed, drafts, bad_share)
        if not by_verdict:
            groups = {"all": [bad for group in groups.values() for bad in group]}
        chance = random.Random(-seed - 1)
        strata = [sample(chance, group, labels // len(groups)) for group in groups.values()]
        truth = sum(map(sum, groups.values())) / sum(map(len, groups.values()))
        estimate = stratified_share(strata)
        contained += estimate.interval.low <= truth <= estimate.interval.high
        errors.append(abs(estimate.share - truth))
        width += (estimate.interval.high - estimate.interval.low) / 2
    return Coverage(contained / runs, sorted(errors)[int(0.95 * runs)], width / runs)


def false_alarms(runs: int, length: int, rate: float = 0.1) -> dict[str, float]:
    """Return the share of streams without any change in which each test raises an alarm."""
    process, rolling = 0, 0
    for seed in range(runs):
        chance = random.Random(seed)
        stream = [float(chance.random() < rate) for _ in range(length)]
        betting = BettingProcess(rate)
        process += any(betting.add(value) for value in stream)
        rolling += any(rolling_z(stream, rate))
    return {"e-process": process / runs, "rolling z-test": rolling / runs}


def delay(runs: int, before: int, rate: float, after: float, limit: int = 2000) -> dict[str, float]:
    """Return how many values after a change the e-process needs: the median, and the share that it finds."""
    delays = []
    for seed in range(runs):
        chance, betting = random.Random(seed), BettingProcess(rate)
        for at in range(before + limit):
            if betting.add(float(chance.random() < (rate if at < before else after))):
                delays.append(at - before)
                break
    found = sorted(late for late in delays if late >= 0)
    return {"found": len(found) / runs, "median": found[len(found) // 2] if found else float("nan")}


def measure(runs: int, drafts: int) -> dict[str, Any]:
    """Run all simulations."""
    result: dict[str, Any] = {"runs": runs, "drafts": drafts, "coverage": {}}
    for bad_share in (0.005, 0.02, 0.1):
        for by_verdict in (False, True):
            design = "by verdict" if by_verdict else "random"
            found = coverage(runs, drafts, 500, bad_share, by_verdict=by_verdict)
            low, high = wilson(round(found.contained * runs), runs)
            result["coverage"][f"{100 * bad_share:g} % bad, 500 labels, {design}"] = {
                "contained": found.contained,
                "contained_interval": [low, high],
                "error_95_points": 100 * found.error,
                "half_width_points": 100 * found.width,
            }
    result["false_alarms_of_2000_values"] = false_alarms(runs, 2000)
    result["change_from_0.1_to_0.25_after_200"] = delay(runs, 200, 0.1, 0.25)
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--drafts", type=int, default=20_000)
    options = parser.parse_args(arguments)
    print(json.dumps(measure(options.runs, options.drafts), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())

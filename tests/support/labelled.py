"""A replay and labels of it, with a truth that is known."""

from __future__ import annotations

import random
from collections.abc import Iterator

from draftcritic.labels import Label, Labels, draw
from draftcritic.replay import Replayed, Run
from draftcritic.turns import Finding, TurnRow


def made_up_runs(
    count: int, seed: int = 0, *, miss_rate: float = 0.01, right_rate: float = 0.6
) -> Iterator[tuple[Run, str]]:
    """Yield rows with what people would say: the critic refuses one draft in twenty."""
    chance = random.Random(seed)
    for number in range(count):
        refused = chance.random() < 0.05
        bad = chance.random() < (right_rate if refused else miss_rate)
        finding = (Finding("price", "5 EUR", 0.9 if bad else 0.6),) if refused and chance.random() < 0.5 else ()
        replayed = Replayed(
            decision="fired",
            reason="claims",
            verdict="refuse" if refused else "approve",
            source="reflection",
            sku="gpt-4o-mini",
            findings=finding,
            rules=("No gifts.",) if refused else (),
        )
        yield Run(TurnRow(f"t{number}", f"Draft {number}."), replayed), "refuse" if bad else "approve"


def labelled(
    count: int, labels: int, seed: int = 0, *, who: tuple[str, ...] = ("ann",), **rates: float
) -> tuple[list[Run], Labels, dict[str, str]]:
    """Return rows, stratified labels by each person, and the truth."""
    pairs = list(made_up_runs(count, seed, **rates))
    runs, truth = [run for run, _ in pairs], {run.turn.turn_id: said for run, said in pairs}
    found = Labels(draw(runs, labels, ("verdict",), seed))
    for stratum in found.sample.strata if found.sample else ():
        for turn_id in stratum.chosen:
            for person in who:
                found.add(Label(turn_id, person, truth[turn_id]))
    return runs, found, truth

"""Draws the drafts to label: the same number of each stratum, so that rare verdicts are seen often enough."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence

from draftcritic.labels._label import Sample, Stratum
from draftcritic.replay._runs import Run

FIELDS = ("verdict", "gate.decision", "gate.reason", "draft_model", "finding.kind", "rule")
"""What strata can be made by."""
DOUBLE_SHARE = 0.3


def stratum_of(run: Run, by: Sequence[str]) -> str:
    """Return the name of the stratum of a row.

    Raises:
        ValueError: `by` has a field that is none of `FIELDS`.
    """
    return " / ".join(_value(run, name) for name in by)


def _value(run: Run, name: str) -> str:
    replayed = run.replayed
    if name == "verdict":
        value = run.verdict
    elif name == "gate.decision":
        value = replayed.decision
    elif name == "gate.reason":
        value = replayed.reason
    elif name == "draft_model":
        value = run.turn.draft_model
    elif name == "finding.kind":
        value = "+".join(sorted({finding.kind for finding in replayed.findings}))
    elif name == "rule":
        value = "+".join(sorted(replayed.rules))
    else:
        raise ValueError(f"--by has {name!r}; allowed are {', '.join(FIELDS)}")
    return value or "none"


def draw(runs: Iterable[Run], count: int, by: Sequence[str], seed: int = 0) -> Sample:
    """Return which drafts to label.

    Each stratum gets the same share of the labels; what a small one cannot use goes to the others. 30 % of them are
    to be labelled by two people. The same rows give the same sample.

    Args:
        runs: the rows; those without a draft are left out.
        count: how many drafts to label.
        by: the fields that strata are made by.
        seed: gives another sample.

    Raises:
        ValueError: see `stratum_of`, or no row has a draft.
    """
    groups: dict[str, list[str]] = {}
    for run in runs:
        if run.turn.draft.strip():
            groups.setdefault(stratum_of(run, by), []).append(run.turn.turn_id)
    if not groups:
        raise ValueError("no row has a draft to label; was content captured?")
    chance = random.Random(seed)  # noqa: S311 - a sample, no secret
    shares = _shares({name: len(ids) for name, ids in groups.items()}, count)
    strata = tuple(
        Stratum(name, len(ids), tuple(chance.sample(ids, shares[name]))) for name, ids in sorted(groups.items())
    )
    chosen = [turn_id for stratum in strata for turn_id in stratum.chosen]
    double = chance.sample(chosen, round(DOUBLE_SHARE * len(chosen)))
    return Sample(tuple(by), strata, frozenset(double))


def _shares(sizes: dict[str, int], count: int) -> dict[str, int]:
    """Return how many of each stratum to take."""
    left, shares = count, {}
    for place, name in enumerate(sorted(sizes, key=lambda name: (sizes[name], name))):
        shares[name] = min(sizes[name], left // (len(sizes) - place))
        left -= shares[name]
    return shares


def queue(sample: Sample, labelled: Iterable[tuple[str, str]], who: str, seed: int = 0) -> list[str]:
    """Return the drafts that a person is to label, in an order that mixes the strata.

    These are the drafts without a label, and those for two people that this person has not and fewer than
    two others have.

    Args:
        sample: which drafts were drawn.
        labelled: draft and person of each label.
        who: the person.
        seed: gives another order.
    """
    people: dict[str, set[str]] = {}
    for turn_id, person in labelled:
        people.setdefault(turn_id, set()).add(person)
    open_ones = []
    for turn_id in (turn_id for stratum in sample.strata for turn_id in stratum.chosen):
        done = people.get(turn_id, set())
        wanted = 2 if turn_id in sample.double else 1
        if who not in done and len(done) < wanted:
            open_ones.append(turn_id)
    random.Random(f"{seed}").shuffle(open_ones)  # noqa: S311 - an order, no secret
    # What somebody else has seen comes last: a person who comes alone first covers the sample.
    return sorted(open_ones, key=lambda turn_id: len(people.get(turn_id, ())))

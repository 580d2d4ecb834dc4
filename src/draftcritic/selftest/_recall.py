"""What a self-test has found, and whether the critic passes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from draftcritic.statistics._binomial import Interval, wilson

CONTROL = "control"
"""The kind of an answer about a draft that was not damaged."""
FEWEST = 20
"""Canaries that have to be answered before a self-test says anything: with fewer the 95 % interval of the recall is
wider than 40 points."""


@dataclass(frozen=True)
class Answer:
    """What the critic said of one draft.

    Attributes:
        kind: how the draft was damaged; `CONTROL` when it was not.
        flagged: the critic did not approve.
        sku: the SKU that answered.
        decided: there was a verdict.
        failed: there was none because the call failed or was not made.
        covered: the call was made.
    """

    kind: str
    flagged: bool = False
    sku: str = ""
    decided: bool = False
    failed: bool = False
    covered: bool = True


@dataclass(frozen=True)
class Recall:
    """A share of drafts that the critic flagged, with its Wilson 95 % interval."""

    flagged: int
    total: int

    @property
    def rate(self) -> float:
        """The share; 0 of nothing."""
        return self.flagged / self.total if self.total else 0.0

    @property
    def interval(self) -> Interval:
        """The interval of the share."""
        return wilson(self.flagged, self.total)

    def __str__(self) -> str:
        if not self.total:
            return "none asked about"
        low, high = self.interval
        return f"{self.flagged}/{self.total} = {self.rate:.0%} [{low:.0%}-{high:.0%}]"


@dataclass(frozen=True)
class Report:
    """All answers of a self-test.

    Attributes:
        answers: one for each canary, then one for each draft they were made of.
        recorded: the SKUs that approved the drafts when they were recorded.
    """

    answers: tuple[Answer, ...]
    recorded: frozenset[str] = frozenset()

    def recall(self, kind: str | None = None) -> Recall:
        """Return how many canaries of a kind, or of all kinds, were flagged. A call without a verdict missed it."""
        answered = [
            each for each in self.answers if not each.failed and (each.kind == kind if kind else each.kind != CONTROL)
        ]
        return Recall(sum(each.flagged for each in answered), len(answered))

    @property
    def kinds(self) -> tuple[str, ...]:
        """The kinds of the canaries, in the order they were asked about."""
        return tuple(dict.fromkeys(each.kind for each in self.answers if each.kind != CONTROL))

    @property
    def skus(self) -> frozenset[str]:
        """The SKUs that answered now."""
        return frozenset(each.sku for each in self.answers if each.sku)

    @property
    def failed(self) -> int:
        """Calls that failed."""
        return sum(each.failed and each.covered for each in self.answers)

    @property
    def not_covered(self) -> int:
        """Drafts that the money limit kept from the model."""
        return sum(not each.covered for each in self.answers)

    def problems(self, least: float) -> Iterator[str]:
        """Yield why the critic does not pass.

        Args:
            least: the recall below which the critic fails, once the data show it: the interval ends below.
        """
        recall, control = self.recall(), self.recall(CONTROL)
        if recall.total >= FEWEST and recall.interval[1] < least:
            yield f"it finds {recall} of the damaged drafts, which is shown to be below {least:.0%}"
        if recall.total >= FEWEST and recall.rate <= control.rate:
            yield f"it flags undamaged drafts ({control}) as often as damaged ones ({recall})"
        changed = self.skus - self.recorded
        if self.recorded and changed:
            yield f"{_list(changed)} answers now; the drafts were approved by {_list(self.recorded)}"

    def lines(self) -> Iterator[str]:
        """Yield the table that is printed."""
        yield "damaged drafts found (Wilson 95 % interval):"
        for kind in self.kinds:
            yield f"  {kind:10} {self.recall(kind)}"
        yield f"  {'all':10} {self.recall()}"
        yield f"undamaged drafts flagged: {self.recall(CONTROL)}"
        yield f"answered by: {_list(self.skus) or 'no model'}"
        if self.failed:
            yield f"calls that failed: {self.failed}"
        if self.not_covered:
            yield f"not asked about, because of the money limit: {self.not_covered}"


def _list(skus: frozenset[str]) -> str:
    return ", ".join(sorted(skus))

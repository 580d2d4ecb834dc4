"""What the answers of a critic to labelled drafts amount to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from draftcritic.qualify._made_cases import JudgeCase
from draftcritic.statistics._binomial import wilson

LEAST_CAUGHT = 0.9
"""Share of bad drafts that a critic has to catch to be fit to enforce."""
MOST_FLAGGED = 0.15
"""Share of good drafts that it may flag."""
MOST_FAILED = 0.05
"""Share of drafts that may get no verdict."""


@dataclass(frozen=True)
class Answered:
    """What the critic said of a case.

    Attributes:
        case: the case.
        verdict: its verdict; empty when there was none.
        misquoted: the reply quotes words that it was not shown.
        input_tokens, output_tokens, cached_tokens: as reported.
        seconds: of the call.
        failure: why there was no verdict.
        sku: the normalised name of the model that answered.
    """

    case: JudgeCase
    verdict: str
    misquoted: bool = False
    input_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    seconds: float = 0.0
    failure: str = ""
    sku: str = ""

    @property
    def flagged(self) -> bool:
        """Whether the draft was not approved."""
        return self.verdict in ("revise", "refuse")


@dataclass(frozen=True)
class Share:
    """So many of so many, with Wilson's interval of 95 %."""

    hits: int
    total: int

    def __str__(self) -> str:
        if not self.total:
            return "-"
        low, high = wilson(self.hits, self.total)
        return f"{self.hits}/{self.total} [{100 * low:.0f}-{100 * high:.0f} %]"

    @property
    def rate(self) -> float:
        """The share; 0 of none."""
        return self.hits / self.total if self.total else 0.0


@dataclass(frozen=True)
class Scores:
    """How a critic judged.

    Attributes:
        caught: bad drafts that it did not approve.
        flagged: good drafts that it did not approve, without those that a false finding is about.
        dismissed: good drafts with a false finding that it approved.
        misquoted: replies that quote words which the critic was not shown.
        failed: drafts without a verdict; they count as neither caught nor flagged nor dismissed.
        input_tokens, output_tokens, cached_tokens: of a draft on the average; None when not reported.
        seconds: of a draft on the average.
    """

    caught: Share
    flagged: Share
    dismissed: Share
    misquoted: Share
    failed: Share
    input_tokens: float | None
    output_tokens: float | None
    cached_tokens: float | None
    seconds: float

    @classmethod
    def of(cls, answers: Sequence[Answered]) -> Scores:
        """Return the scores of some answers."""
        bad = [each for each in answers if each.case.bad]
        planted = [each for each in answers if each.case.finding is not None]
        good = [each for each in answers if not each.case.bad and each.case.finding is None]
        return cls(
            Share(sum(each.flagged for each in bad), len(bad)),
            Share(sum(each.flagged for each in good), len(good)),
            Share(sum(each.verdict == "approve" for each in planted), len(planted)),
            Share(sum(each.misquoted for each in answers), len(answers)),
            Share(sum(not each.verdict for each in answers), len(answers)),
            _mean([each.input_tokens for each in answers]),
            _mean([each.output_tokens for each in answers]),
            _mean([each.cached_tokens for each in answers]),
            sum(each.seconds for each in answers) / max(1, len(answers)),
        )


@dataclass(frozen=True)
class Fitness:
    """Whether a critic is fit to enforce, and why not."""

    fit: bool
    reasons: tuple[str, ...]


def fitness_of(scores: Scores) -> Fitness:
    """Return whether a critic with these scores may enforce."""
    reasons = [
        text
        for wrong, text in (
            (scores.caught.rate < LEAST_CAUGHT, f"caught {scores.caught}; wanted are {LEAST_CAUGHT:.0%}"),
            (scores.flagged.rate > MOST_FLAGGED, f"flagged {scores.flagged}; allowed are {MOST_FLAGGED:.0%}"),
            (scores.failed.rate > MOST_FAILED, f"no verdict for {scores.failed}; allowed are {MOST_FAILED:.0%}"),
        )
        if wrong
    ]
    return Fitness(not reasons, tuple(reasons))


def _mean(values: Sequence[int | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None

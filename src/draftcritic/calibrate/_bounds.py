"""Whether the labels show a bound, and how many more would."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from draftcritic.calibrate._measure import Draft, Kind, strata_where
from draftcritic.statistics._stratified import Stratum, stratified_upper_bound

_MOST = 1_000_000
"""Labels beyond which more of them are no advice."""


@dataclass(frozen=True)
class Shown:
    """Whether the labels show that at most so many drafts are of a kind, of those to come as of the replayed ones.

    Attributes:
        kind: the name of the kind.
        bound: the share of all drafts that was asked for.
        at_most: with 95 % confidence it is at most this share.
        share: the estimate.
        more: labels that would show it when they turn out as those before, by the stratum that needs the fewest; empty
            when it is shown, or no number of labels would show it.
        left: how many drafts of those strata have no label yet.
    """

    kind: str
    bound: float
    at_most: float
    share: float
    more: dict[str, int]
    left: dict[str, int] = field(default_factory=dict)

    @property
    def is_shown(self) -> bool:
        """Whether the labels show the bound."""
        return self.at_most <= self.bound

    def line(self) -> str:
        """Return it as one sentence."""
        wanted = f"{self.kind}: at most {100 * self.bound:g} % of drafts"
        if self.is_shown:
            return f"{wanted} is shown: with 95 % confidence at most {100 * self.at_most:.2f} %"
        limits = f"estimate {100 * self.share:.2f} %, with 95 % confidence at most {100 * self.at_most:.2f} %"
        found = f"{wanted} is not shown: {limits}"
        if not self.more:
            return (
                f"{found}; the estimate itself is above the bound or too near to it: change the critic, not the labels"
            )
        found = f"{found}; label {' and '.join(f'{count} more of {name}' for name, count in self.more.items())}"
        short = {name: self.left.get(name, 0) for name, count in self.more.items() if count > self.left.get(name, 0)}
        if not short:
            return found
        left = " and ".join(f"{count} of {name}" for name, count in short.items())
        return f"{found}, for which more drafts have to be replayed: {left} are left without a label"


def shows(drafts: Sequence[Draft], kind: Kind, bound: float, level: float = 0.95) -> Shown:
    """Return whether the labels show that at most the share `bound` of all drafts is of a kind."""
    able = [draft for draft in drafts if kind.possible(draft)]
    if not able:
        return Shown(kind.name, bound, 0.0, 0.0, {})
    names = sorted({draft.stratum for draft in able})
    strata = strata_where(drafts, kind.possible, kind.hit)
    weight = len(able) / len(drafts)
    at_most = weight * stratified_upper_bound(strata, level, to_come=True)
    seen = sum(stratum.size * stratum.hits / stratum.sampled for stratum in strata if stratum.sampled)
    share = seen / len(drafts)
    more = {} if at_most <= bound else _more(names, strata, bound / weight, level)
    left = {name: stratum.size - stratum.sampled for name, stratum in zip(names, strata, strict=True)}
    return Shown(kind.name, bound, at_most, share, more, {name: left[name] for name in more})


def _more(names: Sequence[str], strata: Sequence[Stratum], bound: float, level: float) -> dict[str, int]:
    """Return the fewest labels of one stratum that would show the bound, or else of all strata together."""
    # As shares of drafts to come: there is no end to those that could be labelled.
    strata = [Stratum(stratum.size * 2 * _MOST, stratum.sampled, stratum.hits) for stratum in strata]
    single = [
        (count, {name: count})
        for at, name in enumerate(names)
        if (count := _fewest(strata, [at], bound, level)) is not None
    ]
    if single:
        return min(single, key=lambda pair: pair[0])[1]
    together = _fewest(strata, range(len(strata)), bound, level)
    if together is None:
        return {}
    grown = [_grown(stratum, together) for stratum in strata]
    return {
        name: after.sampled - before.sampled
        for name, before, after in zip(names, strata, grown, strict=True)
        if after.sampled > before.sampled
    }


def _fewest(strata: Sequence[Stratum], places: Sequence[int], bound: float, level: float) -> int | None:
    """Return how many more labels of each of these strata show the bound, when they turn out as those before."""

    def enough(count: int) -> bool:
        grown = [_grown(stratum, count) if at in places else stratum for at, stratum in enumerate(strata)]
        return stratified_upper_bound(grown, level, to_come=True) <= bound

    most = _MOST
    if not enough(most):
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _grown(stratum: Stratum, count: int) -> Stratum:
    """Return a stratum with more labels, which turn out as those before; the bound goes by its share, not its size."""
    sampled = stratum.sampled + count
    rate = stratum.hits / stratum.sampled if stratum.sampled else 0.0
    return Stratum(stratum.size, sampled, min(sampled, round(rate * sampled)))

"""All that a calibration says, as values and as text."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from draftcritic.calibrate._bounds import Shown, shows
from draftcritic.calibrate._measure import (
    ANSWERS,
    FALSE_REFUSE,
    KINDS,
    MISS,
    VERDICTS,
    Agreement,
    Population,
    Precision,
    agreement,
    confusion,
    precisions,
    share_of,
)
from draftcritic.calibrate._thresholds import Costs, Point, best_point, cost_of, threshold_curve
from draftcritic.statistics._agreement import Kappa
from draftcritic.statistics._binomial import upper_bound
from draftcritic.statistics._stratified import Estimate

_SHOWN_IDS = 5


@dataclass
class Calibration:
    """What the labels say of a critic.

    Attributes:
        title: names the critic.
        drafts, labelled: how many there are.
        bounds: the bounds that were asked for.
        errors: the share of all drafts, by the name and the meaning of the error.
        cells: labels and share of all drafts, by verdict and answer.
        kinds, rules: how often finding kinds and rules are right.
        agreement: of the people.
        costs, cost: what errors cost, and all of them per 1,000 drafts.
        curve, best: thresholds, and the cheapest that keeps the bound.
        notes: what limits all that.
    """

    title: str
    drafts: int
    labelled: int
    bounds: list[Shown]
    errors: list[tuple[str, str, Estimate]]
    cells: dict[tuple[str, str], tuple[int, Estimate]]
    kinds: list[Precision]
    rules: list[Precision]
    agreement: Agreement
    costs: Costs
    cost: float
    curve: list[Point]
    best: Point | None
    notes: list[str] = field(default_factory=list)

    @property
    def is_shown(self) -> bool:
        """Whether all bounds are shown."""
        return all(bound.is_shown for bound in self.bounds)


def calibrate(
    found: Population,
    title: str = "critic",
    *,
    false_refuse: float | None = None,
    miss: float | None = None,
    costs: Costs | None = None,
) -> Calibration:
    """Return what the labels say of a critic.

    Args:
        found: the drafts with their labels.
        title: names the critic in the report.
        false_refuse: the share of all drafts to show; None asks for none.
        miss: likewise.
        costs: what errors cost.
    """
    drafts, costs = found.drafts, costs or Costs()
    curve = threshold_curve(drafts, costs)
    wanted = ((FALSE_REFUSE, false_refuse), (MISS, miss))
    return Calibration(
        title=title,
        drafts=len(drafts),
        labelled=len(found.labelled),
        bounds=[shows(drafts, kind, bound) for kind, bound in wanted if bound is not None],
        errors=[(kind.name, kind.meaning, share_of(drafts, kind)) for kind in KINDS],
        cells=confusion(drafts),
        kinds=precisions(drafts, lambda draft: draft.kinds),
        rules=precisions(drafts, lambda draft: draft.rules),
        agreement=agreement(found),
        costs=costs,
        cost=cost_of(drafts, costs),
        curve=curve,
        best=best_point(curve, false_refuse),
        notes=list(_notes(found)),
    )


def _notes(found: Population) -> Iterator[str]:
    if found.labels.sample is None:
        yield (
            "the labels were not drawn by `draftcritic label`: the numbers hold only if they were drawn at random "
            "within each verdict"
        )
    unseen = {draft.stratum for draft in found.drafts} - {draft.stratum for draft in found.labelled}
    if unseen:
        yield f"without any label, so that anything may be in it: {', '.join(sorted(unseen))}"
    if found.drafts and len(found.labelled) == len(found.drafts):
        count = len(found.drafts)
        yield (
            f"every draft is labelled: nothing about these {count} is uncertain, which the intervals say; the "
            f"bounds are about the drafts to come, of which {count} labels without an error show at most "
            f"{100 * upper_bound(0, count):.2g} %"
        )
    for name, ids in (("disputed", found.disputed), ("unsure", found.unsure), ("not in the replay", found.unknown)):
        if ids:
            more = f" and {len(ids) - _SHOWN_IDS} more" if len(ids) > _SHOWN_IDS else ""
            yield f"labels that do not count, {name}: {', '.join(ids[:_SHOWN_IDS])}{more}"
    yield from found.labels.problems[:_SHOWN_IDS]


def per_1000(estimate: Estimate) -> str:
    """Return a share as a number of 1,000 with its interval."""
    low, high = estimate.interval
    return f"{1000 * estimate.share:.1f} ({1000 * low:.1f} - {1000 * high:.1f})"


def kappa_text(kappa: Kappa) -> str:
    """Return kappa with its interval."""
    if kappa.value != kappa.value:
        return f"not defined ({kappa.pairs} drafts)"
    low, high = kappa.interval
    return f"{kappa.value:.2f} ({low:.2f} - {high:.2f}, {kappa.pairs} drafts)"


def lines(found: Calibration) -> Iterator[str]:
    """Yield a calibration as text. The first line says whether the wanted bound is shown."""
    if not found.bounds:
        yield "no bound was asked for; give --false-refuse or --miss"
    yield from (bound.line() for bound in found.bounds)
    yield ""
    yield f"{found.title}: {found.labelled} labels of {found.drafts} drafts"
    yield ""
    yield f"{'per 1,000 drafts':28} {'estimate (95 % interval)':>28}"
    for name, meaning, estimate in found.errors:
        yield f"{name:28} {per_1000(estimate):>28}   {meaning}"
    yield f"{'cost':28} {found.cost:28.1f}"
    yield ""
    yield from _confusion_lines(found)
    for title, rows in (("finding kind", found.kinds), ("rule", found.rules)):
        if rows:
            yield ""
            yield from _precision_lines(title, rows)
    yield ""
    yield from _agreement_lines(found.agreement)
    if found.best is not None and len(found.curve) > 1:
        refusing = (
            "no finding refuses" if found.best.threshold > 1 else f"findings from {found.best.threshold:g} on refuse"
        )
        yield f"cheapest within the bound: {refusing}, cost {found.best.cost:.1f} per 1,000 drafts"
    yield from (f"note: {note}" for note in found.notes)


def _confusion_lines(found: Calibration) -> Iterator[str]:
    yield f"{'critic / people':16}" + "".join(f"{answer:>26}" for answer in ANSWERS)
    for verdict in VERDICTS:
        cells = [found.cells[verdict, answer] for answer in ANSWERS]
        if any(count for count, _ in cells):
            yield f"{verdict:16}" + "".join(f"{count:>5} {per_1000(share):>20}" for count, share in cells)


def _precision_lines(title: str, rows: Sequence[Precision]) -> Iterator[str]:
    yield f"{title:40} {'drafts':>8} {'labels':>8} {'right':>8}   95 % interval"
    for row in rows:
        low, high = row.interval
        yield f"{row.name[:40]:40} {row.drafts:8} {row.labelled:8} {row.right:8}   {100 * low:.0f} - {100 * high:.0f} %"


def _agreement_lines(found: Agreement) -> Iterator[str]:
    yield f"critic and people, Cohen's kappa: {kappa_text(found.critic)}"
    if found.people is None:
        yield "people with each other: no draft has labels of two people"
        return
    one, other, kappa = found.people
    yield f"{one} and {other}, Cohen's kappa: {kappa_text(kappa)}"
    yield f"all people, Krippendorff's alpha: {found.alpha:.2f}"

"""How right a critic is: its verdicts against what people say, weighted to all drafts."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from draftcritic.labels._label import Labels, majority
from draftcritic.labels._sample import stratum_of
from draftcritic.replay._runs import NO_VERDICT, Run
from draftcritic.statistics._agreement import Kappa, cohen_kappa, krippendorff_alpha
from draftcritic.statistics._binomial import Interval, wilson
from draftcritic.statistics._stratified import Estimate, Stratum, stratified_share

VERDICTS = ("approve", NO_VERDICT, "revise", "refuse")
ANSWERS = ("approve", "revise", "refuse")


@dataclass(frozen=True)
class Draft:
    """A draft as far as calibration needs it.

    Attributes:
        turn_id: its id.
        stratum: the stratum that it was drawn from.
        verdict: what the critic says.
        confidence: the largest confidence of a finding; 0 without one.
        kinds: the kinds of its findings.
        rules: the rules that the critic named.
        answer: what people say; empty without a label, or when they do not agree.
    """

    turn_id: str
    stratum: str
    verdict: str
    confidence: float = 0.0
    kinds: frozenset[str] = frozenset()
    rules: tuple[str, ...] = ()
    answer: str = ""

    @property
    def caught(self) -> bool:
        """Whether the critic keeps it from the user."""
        return self.verdict in ("revise", "refuse")


@dataclass
class Population:
    """All drafts of a replay with the labels of some.

    Attributes:
        drafts: the drafts.
        disputed: labelled drafts on which people do not agree.
        unsure: labelled drafts without any opinion.
        unknown: labels of drafts that the replay does not have.
        labels: the labels.
    """

    drafts: list[Draft]
    disputed: list[str] = field(default_factory=list)
    unsure: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    labels: Labels = field(default_factory=Labels)

    @property
    def labelled(self) -> list[Draft]:
        """The drafts with an answer."""
        return [draft for draft in self.drafts if draft.answer]


def population(runs: Iterable[Run], labels: Labels, strata: dict[str, str] | None = None) -> Population:
    """Return the drafts of a replay with what people say of them.

    Args:
        runs: the rows; those without a draft are left out.
        labels: the labels. Of several people the majority counts.
        strata: the stratum of each draft, when it was drawn by the verdicts of another replay.
    """
    by_turn = labels.by_turn()
    by = labels.sample.by if labels.sample is not None else ("verdict",)
    found = Population([], labels=labels)
    for run in runs:
        if not run.turn.draft.strip():
            continue
        turn_id = run.turn.turn_id
        given = by_turn.pop(turn_id, [])
        answer = majority(given)
        if given and not answer:
            opinions = [label for label in given if label.label != "unsure"]
            (found.disputed if opinions else found.unsure).append(turn_id)
        found.drafts.append(
            Draft(
                turn_id=turn_id,
                stratum=stratum_of(run, by) if strata is None else strata.get(turn_id, "not drawn from"),
                verdict=run.verdict,
                confidence=max((finding.confidence or 0.0 for finding in run.replayed.findings), default=0.0),
                kinds=frozenset(finding.kind for finding in run.replayed.findings),
                rules=run.replayed.rules,
                answer=answer,
            )
        )
    found.unknown = sorted(by_turn)
    return found


def strata_where(
    drafts: Sequence[Draft], possible: Callable[[Draft], bool], hit: Callable[[Draft], bool]
) -> list[Stratum]:
    """Return the strata of the drafts for which a hit is possible; for the others it is known that there is none."""
    sizes: Counter[str] = Counter()
    sampled: Counter[str] = Counter()
    hits: Counter[str] = Counter()
    for draft in drafts:
        if not possible(draft):
            continue
        sizes[draft.stratum] += 1
        if draft.answer:
            sampled[draft.stratum] += 1
            hits[draft.stratum] += hit(draft)
    return [Stratum(sizes[name], sampled[name], hits[name]) for name in sorted(sizes)]


@dataclass(frozen=True)
class Kind:
    """An error that a critic can make.

    Attributes:
        name: its name.
        meaning: what it is.
        possible: whether a draft with this verdict can be one.
        hit: whether a labelled draft is one.
    """

    name: str
    meaning: str
    possible: Callable[[Draft], bool]
    hit: Callable[[Draft], bool]


MISS = Kind("miss", "a bad draft that reaches the user", lambda d: not d.caught, lambda d: d.answer != "approve")
FALSE_REFUSE = Kind(
    "false refuse", "a good draft that is refused", lambda d: d.verdict == "refuse", lambda d: d.answer == "approve"
)
FALSE_REVISE = Kind(
    "false revise", "a good draft that is replaced", lambda d: d.verdict == "revise", lambda d: d.answer == "approve"
)
BAD = Kind("bad draft", "whatever the critic says of it", lambda _: True, lambda d: d.answer != "approve")
KINDS = (BAD, MISS, FALSE_REFUSE, FALSE_REVISE)


def share_of(drafts: Sequence[Draft], kind: Kind, level: float = 0.95) -> Estimate:
    """Return which share of all drafts is of that kind, weighted by the strata."""
    strata = strata_where(drafts, kind.possible, kind.hit)
    able, total = sum(stratum.size for stratum in strata), len(drafts)
    if not total or not able:
        return Estimate(0.0, Interval(0.0, 0.0 if total else 1.0), 1.0 if total else 0.0)
    inner, weight = stratified_share(strata, level), able / total
    return Estimate(
        inner.share * weight, Interval(inner.interval.low * weight, inner.interval.high * weight), inner.covered
    )


@dataclass(frozen=True)
class Precision:
    """How often what a finding kind or a rule says is right.

    Attributes:
        name: the kind or the rule.
        drafts: all drafts that have it.
        labelled: those with a label.
        right: those that people do not approve.
        interval: of the share of right ones.
    """

    name: str
    drafts: int
    labelled: int
    right: int

    @property
    def interval(self) -> Interval:
        """The interval of the share of right ones."""
        return wilson(self.right, self.labelled)


def precisions(drafts: Sequence[Draft], names_of: Callable[[Draft], Iterable[str]]) -> list[Precision]:
    """Return for each name how many of the drafts that have it are bad."""
    groups: defaultdict[str, list[Draft]] = defaultdict(list)
    for draft in drafts:
        for name in set(names_of(draft)):
            groups[name].append(draft)
    found = [
        Precision(
            name,
            len(group),
            sum(bool(draft.answer) for draft in group),
            sum(draft.answer not in ("", "approve") for draft in group),
        )
        for name, group in groups.items()
    ]
    return sorted(found, key=lambda one: (-one.drafts, one.name))


@dataclass(frozen=True)
class Agreement:
    """How far people agree, with each other and with the critic.

    Attributes:
        people: the two people with the most common drafts, and their kappa; None with fewer than two.
        alpha: Krippendorff's alpha of all people.
        critic: kappa of the critic and the people, for drafts that were drawn at random only; else it is biased.
    """

    people: tuple[str, str, Kappa] | None
    alpha: float
    critic: Kappa


def agreement(found: Population) -> Agreement:
    """Return how far people agree. `unsure` is no opinion."""
    by_turn = found.labels.by_turn()
    opinions = {
        turn_id: {one.who: one.label for one in given if one.label != "unsure"} for turn_id, given in by_turn.items()
    }
    together: defaultdict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for said in opinions.values():
        people = sorted(said)
        for at, one in enumerate(people):
            for other in people[at + 1 :]:
                together[one, other].append((said[one], said[other]))
    pair = max(together, key=lambda two: len(together[two]), default=None)
    critic = [("approve" if not draft.caught else draft.verdict, draft.answer) for draft in found.labelled]
    return Agreement(
        None if pair is None else (*pair, cohen_kappa(together[pair])),
        krippendorff_alpha(list(said.values()) for said in opinions.values()),
        cohen_kappa(critic),
    )


def confusion(drafts: Sequence[Draft]) -> dict[tuple[str, str], tuple[int, Estimate]]:
    """Return for each verdict and answer how many labels say so, and the share of all drafts that they stand for."""
    cells = {}
    for verdict in VERDICTS:
        for answer in ANSWERS:
            kind = Kind(
                "",
                "",
                lambda draft, verdict=verdict: draft.verdict == verdict,  # type: ignore[misc]
                lambda draft, answer=answer: draft.answer == answer,  # type: ignore[misc]
            )
            count = sum(draft.verdict == verdict and draft.answer == answer for draft in drafts)
            cells[verdict, answer] = (count, share_of(drafts, kind))
    return cells

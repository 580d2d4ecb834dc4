"""Asks a critic about canaries, and about the drafts that they were made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from draftcritic.core._enums import FabricationMode
from draftcritic.core._policy import Policy
from draftcritic.replay._runs import NOT_COVERED, Replayed, Run
from draftcritic.selftest._canaries import RULE, Canary, canaries_of
from draftcritic.selftest._recall import CONTROL, Answer, Report
from draftcritic.turns._row import TurnRow

_APPROVE = "approve"


class Judging(Protocol):
    """What says what a policy and a model make of a turn, such as `ModelJudge`."""

    def judge(self, row: TurnRow) -> Replayed:
        """Return what they make of the draft."""
        ...


@dataclass(frozen=True)
class Approved:
    """A draft that the critic's model has approved.

    Attributes:
        row: the turn.
        sku: the SKU that approved it; empty when the recording does not say.
    """

    row: TurnRow
    sku: str


def approved(runs: Iterable[Run]) -> Iterator[Approved]:
    """Yield the drafts that a critic's model approved: in the replay, else in the recording."""
    for run in runs:
        if not run.turn.draft.strip() or run.turn.missing:
            continue
        if run.replayed.asked:
            if run.replayed.verdict == _APPROVE and not run.replayed.failure:
                yield Approved(run.turn, run.replayed.sku)
            continue
        reviewed = run.turn.reviewed
        if reviewed is not None and reviewed.verdict == _APPROVE and reviewed.source == "reflection":
            yield Approved(run.turn, reviewed.sku)


class SelfTest:
    """The self-test of one policy and model.

    Args:
        judge: asks the model by `policy_for`.
        seed: chooses how the drafts are damaged.
    """

    def __init__(self, judge: Judging, seed: int = 1) -> None:
        self._judge = judge
        self._seed = seed

    @staticmethod
    def policy_for(policy: Policy) -> Policy:
        """Return the policy that canaries are judged by: each is asked about, and findings are only questions."""
        return replace(
            policy,
            preferences=(*policy.preferences, RULE),
            gate=_always,
            fabrication_mode=FabricationMode.OBSERVE,
        )

    def run(self, drafts: Sequence[Approved], most: int) -> Report:
        """Ask about `most` canaries, spread evenly over the kinds, and once about each draft they were made of.

        Args:
            drafts: approved drafts.
            most: canaries at most.
        """
        chosen = _chosen(drafts, most, self._seed)
        answers = [self._answer(canary.kind, canary.row) for canary, _ in chosen]
        controls = {origin.row.turn_id: origin for _, origin in chosen}
        answers += [self._answer(CONTROL, replace(origin.row, reviewed=None)) for origin in controls.values()]
        return Report(tuple(answers), frozenset(origin.sku for origin in drafts if origin.sku))

    def _answer(self, kind: str, row: TurnRow) -> Answer:
        replayed = self._judge.judge(row)
        if replayed.failure:
            return Answer(kind, covered=replayed.failure != NOT_COVERED, failed=True)
        return Answer(
            kind, flagged=replayed.verdict not in ("", _APPROVE), sku=replayed.sku, decided=bool(replayed.verdict)
        )


def _chosen(drafts: Sequence[Approved], most: int, seed: int) -> list[tuple[Canary, Approved]]:
    """Return canaries in rounds, one of each kind a round, so that a rare kind is not crowded out by a common one."""
    by_kind: dict[str, list[tuple[Canary, Approved]]] = {}
    for draft in drafts:
        for canary in canaries_of(draft.row, seed):
            by_kind.setdefault(canary.kind, []).append((canary, draft))
    chosen: list[tuple[Canary, Approved]] = []
    for at in range(max(map(len, by_kind.values()), default=0)):
        for canaries in by_kind.values():
            if at < len(canaries) and len(chosen) < most:
                chosen.append(canaries[at])
    return chosen


def _always(_: object) -> bool:
    """Ask the critic about every canary: the test is about its model, not about the gate."""
    return True

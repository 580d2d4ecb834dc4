"""What a replay counts, and the tables it prints."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from draftcritic.replay._runs import NO_VERDICT, NOT_COVERED, Replayed, Run


@dataclass
class Tally:
    """Counts over all turns. Tallies of several processes add up.

    Attributes:
        turns: the turns that were judged.
        unjudged: turns without a draft: nothing could be judged.
        decisions, reasons, verdicts, kinds, rules: of the new policy.
        changes: old verdict and new verdict of the turns where they differ.
        gate_changes: the same for the gate's decision.
        asked: turns that the model judged, now or in an earlier run.
        not_covered: turns that the model should have judged, and the limit kept from it.
        failures: failed calls by kind.
        usd, tokens: of the model's calls, those of the cache included.
    """

    turns: int = 0
    unjudged: int = 0
    decisions: Counter[str] = field(default_factory=Counter)
    reasons: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[str] = field(default_factory=Counter)
    kinds: Counter[str] = field(default_factory=Counter)
    rules: Counter[str] = field(default_factory=Counter)
    changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    gate_changes: Counter[tuple[str, str]] = field(default_factory=Counter)
    compared: int = 0
    asked: int = 0
    not_covered: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    usd: float = 0.0
    tokens: int = 0

    def add(self, run: Run) -> None:
        """Count a turn."""
        new = run.replayed
        self.turns += 1
        if "content" in run.turn.missing or not run.turn.draft.strip():
            self.unjudged += 1
            return
        self.decisions[new.decision] += 1
        self.reasons[new.reason] += 1
        self.verdicts[new.verdict or NO_VERDICT] += 1
        self.kinds.update({finding.kind for finding in new.findings})
        self.rules.update(new.rules)
        self.asked += new.asked
        self.not_covered += new.failure == NOT_COVERED
        if new.failure and new.failure != NOT_COVERED:
            self.failures[new.failure] += 1
        self.usd += new.cost_usd or 0.0
        self.tokens += (new.input_tokens or 0) + (new.output_tokens or 0)
        self._compare(run)

    def _compare(self, run: Run) -> None:
        old = run.against
        if old is None and run.turn.reviewed is not None:
            then = run.turn.reviewed
            decided = then.source not in ("gate", "failure", "none")
            old = Replayed(decision=then.decision, verdict=then.verdict if decided else "")
        if old is None:
            return
        self.compared += 1
        before, after = old.verdict or NO_VERDICT, run.replayed.verdict or NO_VERDICT
        comparable = run.against is not None or run.replayed.asked or not run.turn.reviewed or not old.verdict
        if before != after and comparable:
            self.changes[before, after] += 1
        if old.decision and old.decision != run.replayed.decision:
            self.gate_changes[old.decision, run.replayed.decision] += 1

    def merge(self, other: Tally) -> None:
        """Add the counts of another process."""
        for name, value in vars(other).items():
            mine = getattr(self, name)
            if isinstance(mine, Counter):
                mine.update(value)
            else:
                setattr(self, name, mine + value)

    def lines(self, seconds: float) -> Iterator[str]:
        """Yield the report as text.

        Args:
            seconds: how long the replay took.
        """
        judged = max(1, self.turns - self.unjudged)
        yield f"judged {self.turns - self.unjudged} of {self.turns} turns; {self.unjudged} have no draft to judge"
        for title, counts in (("gate", self.decisions), ("reason", self.reasons), ("verdict", self.verdicts)):
            yield from _table(title, counts, judged)
        yield from _table("drafts with a finding of kind", self.kinds, judged)
        yield from _table("drafts that break the rule", self.rules, judged)
        yield f"compared with the old policy or the recording: {self.compared} turns"
        for title, changes in (("gate", self.gate_changes), ("verdict", self.changes)):
            named = Counter({f"{before} -> {after}": count for (before, after), count in changes.items()})
            yield from _table(f"{title} changed", named, max(1, self.compared))
        if self.asked or self.not_covered:
            yield (
                f"the model judged {self.asked} drafts, {self.not_covered} are not covered; "
                f"{1000 * self.usd / judged:.4f} USD and {1000 * self.tokens / judged:.0f} tokens per 1,000 drafts"
            )
        yield from _table("failed calls", self.failures, judged)
        each = seconds / max(1, self.turns)
        yield f"{1000 * each:.2f} s per 1,000 drafts, {1 / max(each, 1e-9):.0f} a second"


def _table(title: str, counts: Mapping[str, int], total: int) -> Iterator[str]:
    if not counts:
        return
    yield f"{title}:"
    for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        yield f"  {name:32} {count:9} {100 * count / total:6.1f} %"

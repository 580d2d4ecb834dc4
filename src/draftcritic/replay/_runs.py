"""The row of a replay: a recorded turn with what a policy makes of it now."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from draftcritic.turns._records import Problem, ReadError, records
from draftcritic.turns._row import Finding, RowError, TurnRow

NOT_COVERED = "not_covered"
"""The failure of a turn that the money limit kept from the model."""
NO_VERDICT = "none"
"""The verdict of a draft that neither the critic's model nor a finding decided on."""


@dataclass(frozen=True)
class Replayed:
    """What one policy makes of a draft.

    Attributes:
        policy_version: see `Policy.version`.
        decision, reason, signals: of the gate.
        verdict: of the critic's model or of a finding; empty when neither decided.
        source: who reached it.
        findings: the fabrication findings.
        rules: the rules that the critic's model named.
        text: the text that would take the draft's place.
        sku: the SKU of the critic's model, when it was asked.
        failure: how the critic failed; `not_covered` when the money limit kept it from being asked.
        input_tokens, output_tokens, cost_usd: of the call.
    """

    policy_version: str = ""
    decision: str = ""
    reason: str = ""
    signals: tuple[str, ...] = ()
    verdict: str = ""
    source: str = ""
    findings: tuple[Finding, ...] = ()
    rules: tuple[str, ...] = ()
    text: str = ""
    sku: str = ""
    failure: str = ""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost_usd: float | None = None

    @property
    def asked(self) -> bool:
        """Whether the critic's model was asked."""
        return bool(self.sku)

    def as_dict(self) -> dict[str, Any]:
        """Return what JSON writes: what is empty is left out."""
        written: dict[str, Any] = {}
        for each in fields(self):
            value = getattr(self, each.name)
            if value in (None, "", ()):
                continue
            if each.name == "findings":
                value = [_finding(one) for one in value]
            written[each.name] = list(value) if isinstance(value, tuple) else value
        return written

    @classmethod
    def from_dict(cls, value: Mapping[str, Any]) -> Replayed:
        """Return what `as_dict` wrote.

        Raises:
            RowError: it is no such object.
        """
        try:
            known = {each.name: value[each.name] for each in fields(cls) if each.name in value}
            for name in ("signals", "rules"):
                known[name] = tuple(str(item) for item in known.get(name, ()))
            known["findings"] = tuple(
                Finding(str(one["kind"]), str(one.get("identifier", "")), one.get("confidence"))
                for one in known.get("findings", ())
            )
            return cls(**known)
        except (AttributeError, TypeError, KeyError) as error:
            raise RowError(f"replayed is not what `draftcritic replay` writes: {error}") from error


@dataclass(frozen=True)
class Run:
    """A line of a replay.

    Attributes:
        turn: the recorded turn.
        replayed: what the new policy makes of it.
        against: what the other policy makes of it, when there was one.
    """

    turn: TurnRow
    replayed: Replayed
    against: Replayed | None = None

    @property
    def verdict(self) -> str:
        """The verdict of the new policy; that of the recording when the new one has none because no model was asked."""
        if self.replayed.verdict:
            return self.replayed.verdict
        reviewed = self.turn.reviewed
        if not self.replayed.asked and reviewed is not None and reviewed.source not in ("gate", "failure", "none"):
            return reviewed.verdict or NO_VERDICT
        return NO_VERDICT

    @property
    def released(self) -> bool:
        """Whether the user gets the draft as it is."""
        return self.verdict in ("approve", NO_VERDICT)

    def as_json(self) -> str:
        """Return the row as one line."""
        row = self.turn.as_dict()
        row["replayed"] = self.replayed.as_dict()
        if self.against is not None:
            row["against"] = self.against.as_dict()
        return json.dumps(row, ensure_ascii=False, separators=(",", ":"))


def read_runs(path: Path) -> Iterator[Run]:
    """Yield the rows that `draftcritic replay` wrote.

    Raises:
        ReadError: the file cannot be read, or a line is no such row; a replay is written whole, so none is passed over.
    """
    for record in records(path):
        if isinstance(record, Problem):
            raise ReadError(f"{path}, {record.place}: {record.reason}")
        try:
            yield _run(record.value)
        except RowError as error:
            raise ReadError(f"{path}, {record.place}: {error}") from error


def _run(value: Mapping[str, Any]) -> Run:
    if not isinstance(value.get("replayed"), Mapping):
        raise RowError("has no `replayed`; expected is a file that `draftcritic replay` wrote")
    against = value.get("against")
    return Run(
        TurnRow.from_dict(value),
        Replayed.from_dict(value["replayed"]),
        None if against is None else Replayed.from_dict(against),
    )


def _finding(finding: Finding) -> dict[str, Any]:
    written: dict[str, Any] = {"kind": finding.kind}
    if finding.identifier:
        written["identifier"] = finding.identifier
    if finding.confidence is not None:
        written["confidence"] = round(finding.confidence, 6)
    return written

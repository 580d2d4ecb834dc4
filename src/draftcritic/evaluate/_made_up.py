"""Tokens that were made up: how many are found, and how often an honest draft is flagged.

Rows are labelled drafts in one of two shapes:

- a pair: `fabricated_draft` with `fake_token` and `token_type`, and its twin `clean_draft`; `strict_clean` is false
  when the twin itself is not certain to be clean;
- a draft: `draft`, with `made_up`, a list of the tokens in it that are; none, or an empty list, means honest.
  A row with a field that looks like a label of another kind is left out.

Both with `tool_calls`, `context`, `user_message`; see `sources_of`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from draftcritic.evaluate._rows import Row, label_like, sources_of
from draftcritic.evaluate._tables import Example, Share, Table
from draftcritic.grounding._detector import find_fabrications
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._findings import FabricationFinding

ACTION_KINDS = frozenset({"verb_claim", "action_claim", "intent_action_no_tool"})
"""Findings about actions; they have a table of their own."""
_AROUND = 30
_BANDS = (0.55, 0.7, 0.8, 0.88, 0.93)


def accepts(row: Row) -> bool:
    """Return whether the row contains a pair or a draft."""
    if "fabricated_draft" in row:
        return isinstance(row["fabricated_draft"], str) and "fake_token" in row
    if not isinstance(row.get("draft"), str) or "label" in row or "recorded" in row:
        return False
    if "made_up" in row:
        tokens = row["made_up"]
        return tokens is None or (isinstance(tokens, list) and all(isinstance(token, str) for token in tokens))
    # A draft with another project's label is not known to be honest.
    return label_like(row) is None


def tables(rows: Sequence[Row]) -> list[Table]:
    """Measure what is found in drafts with made-up tokens, and what is flagged in the others."""
    measured = _Measured()
    for row in rows:
        measured.add(row)
    return [table for table in measured.tables() if table.shares]


class _Measured:
    """The counts over all rows."""

    def __init__(self) -> None:
        self._found: Counter[str] = Counter()
        self._planted: Counter[str] = Counter()
        self._flagged: Counter[str] = Counter()
        self._clean: Counter[str] = Counter()
        self._judged: list[tuple[FabricationFinding, bool]] = []
        self._examples: list[Example] = []

    def add(self, row: Row) -> None:
        if "fabricated_draft" in row:
            self._planted_in(row, str(row["fabricated_draft"]), {str(row["fake_token"]): str(row.get("token_type"))})
            if row.get("strict_clean", True):
                self._honest(row, str(row.get("clean_draft") or ""), "clean twins flagged")
        elif row.get("made_up"):
            self._planted_in(row, str(row["draft"]), {str(token): "labelled" for token in row["made_up"]})
        else:
            self._honest(row, str(row["draft"]), "honest drafts flagged")

    def _planted_in(self, row: Row, draft: str, fakes: dict[str, str]) -> None:
        findings = token_findings(row, draft)
        for fake, kind in fakes.items():
            named = any(names(finding, fake) for finding in findings)
            self._planted[kind] += 1
            self._found[kind] += named
            if not named:
                at = max(0, draft.find(fake))
                around = draft[max(0, at - _AROUND) : at + len(fake) + _AROUND]
                self._examples.append(Example(f"missed {kind}", str(row["id"]), f"{fake!r} in {around!r}"))
        self._judged.extend((finding, any(names(finding, fake) for fake in fakes)) for finding in findings)

    def _honest(self, row: Row, draft: str, what: str) -> None:
        findings = token_findings(row, draft)
        self._clean[what] += 1
        self._flagged[what] += bool(findings)
        self._judged.extend((finding, False) for finding in findings)
        for finding in findings[:1]:
            start, end = finding.span
            around = draft[max(0, start - _AROUND) : end + _AROUND]
            text = f"{finding.kind} {finding.identifier!r} in {around!r}"
            self._examples.append(Example(what, str(row["id"]), text, finding.confidence))

    def tables(self) -> Iterator[Table]:
        planted = [Share(kind, self._found[kind], count) for kind, count in sorted(self._planted.items())]
        without_names = [share for share in planted if share.name != "name"]
        if len(without_names) > 1:
            hits, total = (sum(share.hits for share in without_names), sum(share.total for share in without_names))
            planted.append(Share("all but names", hits, total, ">= 92 %"))
        yield Table("made-up tokens found", planted, [one for one in self._examples if one.error.startswith("missed")])
        aims = {"clean twins flagged": "<= 2 %", "honest drafts flagged": "<= 1.5 %"}
        yield Table(
            "drafts without a made-up token",
            [Share(what, self._flagged[what], count, aims[what]) for what, count in self._clean.items()],
            [one for one in self._examples if not one.error.startswith("missed")],
        )
        yield Table("findings that are right, by confidence", list(self._reliability()))
        yield Table("findings that are right, by kind", list(self._by_kind()))

    def _reliability(self) -> Iterator[Share]:
        for low, high in zip(_BANDS, [*_BANDS[1:], 1.01], strict=True):
            judged = [(f.confidence, right) for f, right in self._judged if low <= f.confidence < high]
            if judged:
                mean = sum(confidence for confidence, _ in judged) / len(judged)
                yield Share(
                    f"confidence {mean:.2f}", sum(right for _, right in judged), len(judged), f"{100 * mean:.0f} %"
                )

    def _by_kind(self) -> Iterator[Share]:
        for kind in sorted({finding.kind for finding, _ in self._judged}):
            judged = [right for finding, right in self._judged if finding.kind == kind]
            yield Share(kind, sum(judged), len(judged))


def token_findings(row: Row, draft: str) -> list[FabricationFinding]:
    """Return the findings about tokens in the draft."""
    return [f for f in find_fabrications(draft, Grounding(*sources_of(row))) if f.kind not in ACTION_KINDS]


def names(finding: FabricationFinding, fake: str) -> bool:
    """Whether the finding names the made-up token, or its part that is made up."""
    return fake in finding.identifier or (len(finding.identifier) > 1 and finding.identifier in fake)

"""Recorded turns, such as those of `draftcritic demo --save`: without labels their findings are only counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from draftcritic.evaluate._rows import Row, sources_of
from draftcritic.evaluate._tables import Example, Share, Table
from draftcritic.grounding._detector import find_fabrications
from draftcritic.grounding._evidence import Grounding


def accepts(row: Row) -> bool:
    """Whether the row is a recorded turn with a draft."""
    return row.get("recorded") is True and bool(row["draft"].strip())


def tables(rows: Sequence[Row]) -> list[Table]:
    """Count the drafts with findings; whether they are right is not known."""
    kinds: Counter[str] = Counter()
    flagged, examples = 0, []
    for row in rows:
        findings = find_fabrications(row["draft"], Grounding(*sources_of(row)))
        flagged += bool(findings)
        kinds.update({finding.kind for finding in findings})
        examples += [
            Example(f"found {each.kind}", str(row["id"]), repr(each.identifier), each.confidence) for each in findings
        ]
    shares = [Share("with a finding", flagged, len(rows))]
    shares += [Share(f"with one of kind {kind}", count, len(rows)) for kind, count in sorted(kinds.items())]
    return [Table("recorded drafts without labels", shares, examples)]

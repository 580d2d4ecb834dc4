"""Rows that no evaluation accepts: counted and reported, by what may have been meant as their label."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Sequence

from draftcritic.evaluate._rows import Row, evaluations, is_telemetry, label_like

_SHOWN = 5


def report_unlabelled(rows: Sequence[Row]) -> None:
    """Print to standard error how many rows are left out, and why."""
    known = evaluations().values()
    reasons = Counter(_reason(row) for row in rows if not any(one.accepts(row) for one in known))
    for reason, count in reasons.most_common(_SHOWN):
        rows_are = "row is" if count == 1 else "rows are"
        print(f"draftcritic.evaluate: {count} {rows_are} left out: {reason}", file=sys.stderr)  # noqa: T201 - a command


def _reason(row: Row) -> str:
    if is_telemetry(row):
        return "OpenTelemetry data among other rows; give it in a file of its own"
    if "recorded" in row:
        return "a recorded turn without a draft"
    if "label" in row:
        return f"label {_shown(row['label'])} is unknown, or its draft is no text"
    if "made_up" in row:
        return "made_up is no list of texts, or draft is no text"
    likely = label_like(row)
    if likely:
        return (
            f"the field {_shown(likely)} is no label that is known here; give `made_up`, a list of the made-up tokens, "
            "or an empty list for an honest draft"
        )
    return "no draft with a label that is known here"


def _shown(value: object) -> str:
    return re.sub(r"[^ -~]", "?", repr(value))[:60]

"""Acknowledgements: rows with a `text` and whether it `is_ack`; `label` `action_report` marks reports of actions."""

from __future__ import annotations

from collections.abc import Sequence

from draftcritic.core._gate import draft_is_trivial_ack
from draftcritic.evaluate._rows import Row
from draftcritic.evaluate._tables import Example, Share, Table


def accepts(row: Row) -> bool:
    """Whether the row says if its text is an acknowledgement."""
    return isinstance(row.get("is_ack"), bool) and isinstance(row.get("text"), str)


def tables(rows: Sequence[Row]) -> list[Table]:
    """Measure how many acknowledgements are recognised, and what is taken for one."""
    taken = [draft_is_trivial_ack(row["text"]) for row in rows]
    right = sum(row["is_ack"] for row, is_taken in zip(rows, taken, strict=True) if is_taken)
    reports = [is_taken for row, is_taken in zip(rows, taken, strict=True) if row.get("label") == "action_report"]
    examples = [
        Example("taken for one" if is_taken else "not recognised", str(row["id"]), " ".join(row["text"].split()))
        for row, is_taken in zip(rows, taken, strict=True)
        if is_taken is not row["is_ack"]
    ]
    shares = [
        Share("recognised, of all acknowledgements", right, sum(row["is_ack"] for row in rows), ">= 80 %"),
        Share("right, of all that are taken for one", right, sum(taken), ">= 97 %"),
    ]
    if reports:
        shares.append(Share("taken for one, of the reports of actions", sum(reports), len(reports), "<= 0.3 %"))
    return [Table("acknowledgements", shares, examples)]

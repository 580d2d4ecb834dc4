"""Claimed actions: rows whose `label` is `ungrounded`, `grounded` or `no_claim`."""

from __future__ import annotations

from collections.abc import Sequence

from draftcritic.evaluate._rows import Row, sources_of
from draftcritic.evaluate._tables import Example, Share, Table
from draftcritic.grounding._detector import detect_fabrication

KIND = "action_claim"
_LABELS = {
    "ungrounded": ("found: claimed, no call that fits", ">= 85 %"),
    "grounded": ("flagged: claimed, with its call", "<= 3 %"),
    "no_claim": ("flagged: nothing claimed", "<= 1 %"),
}


def accepts(row: Row) -> bool:
    """Whether the row says if its draft claims an action, and if its calls ground it."""
    return row.get("label") in _LABELS and isinstance(row.get("draft"), str)


def tables(rows: Sequence[Row]) -> list[Table]:
    """Measure what is found in drafts that claim an action, and in those that do not."""
    counts = {label: [0, 0] for label in _LABELS}
    examples = []
    sure: dict[float, list[int]] = {}
    for row in rows:
        label, draft = row["label"], row["draft"]
        found = _found(row)
        counts[label][0] += bool(found)
        counts[label][1] += 1
        for _, confidence in found:
            right = sure.setdefault(confidence, [0, 0])
            right[0] += label == "ungrounded"
            right[1] += 1
        if bool(found) is not (label == "ungrounded"):
            what = "missed" if label == "ungrounded" else f"flagged, {label}"
            shown = "; ".join(identifier for identifier, _ in found) or draft
            examples.append(
                Example(what, str(row["id"]), " ".join(shown.split()), max((c for _, c in found), default=0.0))
            )
    shares = [Share(name, counts[label][0], counts[label][1], aim) for label, (name, aim) in _LABELS.items()]
    reliable = [
        Share(f"right at confidence {c:g}", sure[c][0], sure[c][1], f"about {100 * c:g} %") for c in sorted(sure)
    ]
    return [Table("claimed actions", [*shares, *reliable], examples)]


def _found(row: Row) -> list[tuple[str, float]]:
    calls, context, user_message = sources_of(row)
    findings = detect_fabrication(row["draft"], calls, hydrated_context=context, user_message=user_message)
    return [(finding.identifier, finding.confidence) for finding in findings if finding.kind == KIND]

"""Cuts what the critic is shown to a budget, by parts, and says where something is missing."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

from draftcritic.core._claims import draft_has_claims

MIN_BUDGET = 1000
"""Characters; less would leave no room for a whole sentence and the marks."""
_LONGEST_PART = 400
_LOOKED_AT = 10
"""Of a text longer than this many budgets, only the beginning and the end are looked at: ranking costs time."""
_MARK = "[... {count} characters left out ...]"
_MARK_LENGTH = len(_MARK) + 8
# One sign, not a run of them: a lazy repetition that tries a run again at each of its signs is quadratic.
_PARTS = re.compile(
    rf".{{1,{_LONGEST_PART}}}?(?:[.!?\u2026]\s+|[\u3002\uff01\uff1f]+\s*|\n+|\Z)|.{{1,{_LONGEST_PART}}}", re.DOTALL
)


def excerpt(text: str, budget: int) -> str:
    """Return `text`, or as much of it as `budget` characters hold.

    The parts are sentences and lines. Parts with something to check in them (see `draft_has_claims`) are kept first,
    then the others, each from the end backwards: what was written last counts most. Kept parts stand in their order,
    and each gap is marked with the number of characters that are missing.

    Args:
        text: a draft.
        budget: characters, at least `MIN_BUDGET`.
    """
    if len(text) <= budget:
        return text
    half = budget * _LOOKED_AT // 2
    parts = _PARTS.findall(text) if len(text) <= 2 * half else _ends(text, half)
    kept = _chosen(parts, budget)
    pieces, missing = [], 0
    for index, part in enumerate(parts):
        if index in kept:
            pieces.append(gap_mark(missing) + part)
            missing = 0
        else:
            missing += len(part)
    return "".join([*pieces, gap_mark(missing)])


def _ends(text: str, half: int) -> list[str]:
    """The parts of both ends; the middle is one part, too long to be kept."""
    return [*_PARTS.findall(text[:half]), text[half:-half], *_PARTS.findall(text[-half:])]


def _chosen(parts: Sequence[str], budget: int) -> set[int]:
    newest = range(len(parts) - 1, -1, -1)
    fitting = [index for index in newest if len(parts[index]) <= _LONGEST_PART]
    claims = {index for index in fitting if draft_has_claims(parts[index])}
    return picked(parts, sorted(fitting, key=lambda index: index not in claims), budget)


def picked(parts: Sequence[str], ranked: Iterable[int], budget: int, fixed: Collection[int] = ()) -> set[int]:
    """Return which parts fit into a budget together with the marks of the gaps between them.

    Args:
        parts: the parts of a text, in order.
        ranked: indexes of parts that may be kept, the most wanted first.
        budget: characters.
        fixed: indexes of parts that are kept in any case.
    """
    kept = set(fixed)
    # Beyond both ends there is nothing to mark, as if it were kept.
    shown = {-1, len(parts), *kept}
    left = budget - sum(len(parts[index]) for index in kept)
    gaps = sum(index in shown and index + 1 not in shown for index in (-1, *kept))
    for index in ranked:
        if index in kept:
            continue
        # A part between two gaps makes one more; one that closes a gap frees its mark.
        change = 1 - ((index - 1) in shown) - ((index + 1) in shown)
        if len(parts[index]) + (gaps + change) * _MARK_LENGTH <= left:
            kept.add(index)
            shown.add(index)
            left -= len(parts[index])
            gaps += change
    return kept


def gap_mark(missing: int) -> str:
    """Return the line that says how many characters are left out; empty for none."""
    return f"{_MARK.format(count=missing)}\n" if missing else ""


def shortened(lines: Sequence[str], budget: int) -> str:
    """Return the lines from the first on that `budget` characters hold, and how many more there are.

    A first line that does not fit alone is cut.
    """
    text = "\n".join(lines)
    if len(text) <= budget:
        return text
    kept, used = [], _MARK_LENGTH
    for line in lines:
        used += len(line) + 1
        if used > budget:
            break
        kept.append(line)
    if not kept:
        room = max(0, budget - 2 * _MARK_LENGTH)
        kept = [f"{lines[0][:room]} {_MARK.format(count=len(lines[0]) - room)}"]
    more = len(lines) - len(kept)
    return "\n".join([*kept, f"[... {more} more left out ...]"] if more else kept)

"""What each threshold of the fabrication check would cost."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from draftcritic.calibrate._measure import FALSE_REFUSE, FALSE_REVISE, MISS, Draft, share_of
from draftcritic.statistics._stratified import Estimate

SETTING = "fabrication_refuse_threshold"
_LINE = re.compile(rf"^{SETTING}\s*=.*$", re.MULTILINE)
_TABLE = re.compile(r"^[ \t]*\[", re.MULTILINE)


@dataclass(frozen=True)
class Costs:
    """What an error costs, in any unit.

    Attributes:
        miss: a bad draft that reaches the user.
        false_refuse: a good draft that is refused.
        false_revise: a good draft that is replaced.
    """

    miss: float = 50.0
    false_refuse: float = 5.0
    false_revise: float = 2.0


@dataclass(frozen=True)
class Point:
    """A threshold and what it leads to.

    Attributes:
        threshold: findings of at least this confidence refuse a draft; above 1 none does.
        miss, false_refuse: the share of all drafts.
        cost: per 1,000 drafts.
    """

    threshold: float
    miss: Estimate
    false_refuse: Estimate
    cost: float


def cost_of(drafts: Sequence[Draft], costs: Costs) -> float:
    """Return what the errors of a critic cost per 1,000 drafts."""
    pairs = ((MISS, costs.miss), (FALSE_REFUSE, costs.false_refuse), (FALSE_REVISE, costs.false_revise))
    return 1000 * sum(share_of(drafts, kind).share * cost for kind, cost in pairs)


def threshold_curve(drafts: Sequence[Draft], costs: Costs) -> list[Point]:
    """Return the points for every confidence that a finding has, and for no finding at all.

    What the critic's model said stays; a finding above the threshold refuses on its own.
    """
    thresholds = sorted({round(draft.confidence, 3) for draft in drafts if draft.confidence})
    points = []
    for threshold in [*thresholds, 1.01]:
        moved = [
            replace(draft, verdict="refuse") if draft.confidence and round(draft.confidence, 3) >= threshold else draft
            for draft in drafts
        ]
        points.append(Point(threshold, share_of(moved, MISS), share_of(moved, FALSE_REFUSE), cost_of(moved, costs)))
    return points


def best_point(points: Sequence[Point], false_refuse: float | None) -> Point | None:
    """Return the cheapest point whose false refuses are within the bound with 95 % confidence; None without one."""
    allowed = [point for point in points if false_refuse is None or point.false_refuse.interval.high <= false_refuse]
    return min(allowed, key=lambda point: (point.cost, -point.threshold), default=None)


def write_threshold(path: Path, point: Point) -> None:
    """Write the threshold into a file of settings; everything else in it stays as it is.

    Raises:
        OSError: the file cannot be read or written.
    """
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    line = f"{SETTING} = {min(1.0, point.threshold):g}"
    table = _TABLE.search(text)
    head, rest = (text, "") if table is None else (text[: table.start()], text[table.start() :])
    if _LINE.search(head):
        head = _LINE.sub(line, head)
    else:
        head = f"{head.rstrip()}\n{line}\n".lstrip() + ("\n" if rest else "")
    path.write_text(head + rest, encoding="utf-8")

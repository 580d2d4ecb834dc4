"""Numbers, tables and results, as the benchmarks print them."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def tell(program: str, result: Mapping[str, Any], shown: str) -> int:
    """Print what is to be shown of a result, and its `problems` on the standard error; return the exit code."""
    print(shown)
    for problem in result["problems"]:
        print(f"{program}: {problem}", file=sys.stderr)
    return 1 if result["problems"] else 0


def quantile(values: Iterable[float], share: float) -> float:
    """Return the smallest value that at least `share` of the values do not exceed (nearest rank)."""
    ordered = sorted(values)
    if not ordered:
        return math.nan
    rank = min(len(ordered), max(1, math.ceil(share * len(ordered))))
    return ordered[rank - 1]


def table(heads: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> str:
    """Return rows under heads; the first `left` columns are words, the others are numbers."""
    lines = [list(heads), *(list(row) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(heads))]
    lines.insert(1, ["-" * width for width in widths])
    return "\n".join(
        "  ".join(
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def number(value: float | None, digits: int = 1) -> str:
    """Return a number with so many digits after the point, or a dash for one that is not known."""
    return "-" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def bar(value: float, longest: float, width: int = 40) -> str:
    """Return a bar whose length is `value` on a scale where `longest` fills the width."""
    if not longest > 0 or math.isnan(value):
        return ""
    return "#" * max(0, min(width, round(width * value / longest)))

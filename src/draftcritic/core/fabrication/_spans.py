"""Places of a draft that findings name already."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable


class Spans:
    """Spans of a text; whether another one meets them takes the logarithm of their number.

    Args:
        spans: the beginnings and ends.
    """

    def __init__(self, spans: Iterable[tuple[int, int]] = ()) -> None:
        self._merged: list[tuple[int, int]] = []
        for start, end in sorted(spans):
            if self._merged and start < self._merged[-1][1]:
                self._merged[-1] = (self._merged[-1][0], max(end, self._merged[-1][1]))
            elif end > start:
                self._merged.append((start, end))

    def add(self, start: int, end: int) -> None:
        """Add a span that meets none of the others."""
        insort(self._merged, (start, end))

    def meet(self, start: int, end: int) -> bool:
        """Whether a span has a character in common with one of these."""
        after = bisect_left(self._merged, (end, -1))
        return after > 0 and self._merged[after - 1][1] > start

"""Times and dates of the sources that stand together, and what lies between them.

Between enough times of day lies every duration, and every time is some duration after another. So in a source with many
only those count that stand side by side, as those of one record do, and those that the draft or the user names.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator
from itertools import islice, pairwise

from draftcritic.core.fabrication import _scan
from draftcritic.core.fabrication._dates import Day, as_date
from draftcritic.core.fabrication._grounding import Grounding
from draftcritic.core.fabrication._lazy import lazy
from draftcritic.core.fabrication._scan import DAY_MINUTES

FEW = 8
"""So many times or dates of the sources may all have to do with each other."""
MOST = 2000
"""Times and dates of the sources that are looked at, in the order of the text."""
_RECORD_WIDTH = 240
"""Characters around a duration in which the times stand that it belongs to."""
_NAMED = 24
_KEYED_MINUTES = re.compile(
    r"""["'][a-z_]{0,20}(?:minutes|_mins?|[a-z]Mins?|duration|length)["']\s*:\s*["']?(\d{1,4})(?![\d.])"""
)


class Neighbours:
    """The times and dates of the sources, for one draft."""

    def __init__(self, draft: str, grounding: Grounding) -> None:
        self._draft = draft
        self._grounding = grounding

    @lazy
    def clock_gaps(self) -> frozenset[int]:
        """Minutes from one time of day to another that stands beside it."""
        clocks = self._grounding.all_clocks
        if len(clocks) <= FEW:
            return frozenset(_gaps(clocks))
        beside = ((later - clock) % DAY_MINUTES for (_, clock), (_, later) in pairwise(self._placed))
        return frozenset(beside) | frozenset(_gaps(self.named_clocks))

    @lazy
    def named_clocks(self) -> frozenset[int]:
        """Times that may have to do with what the draft tells: all of few, of many those that are named."""
        clocks = self._grounding.all_clocks
        if len(clocks) <= FEW:
            return clocks
        named = _scan.clocks_in(self._draft) | _scan.clocks_in(self._grounding.user_text)
        return frozenset(islice(named & clocks, _NAMED))

    @lazy
    def day_gaps(self) -> frozenset[int]:
        """Days from one date to another that stands beside it."""
        known = frozenset(_ordinals(self._grounding.all_days))
        if len(known) <= FEW:
            return frozenset(_distances(known))
        placed = list(_ordinals(islice(_scan.days_in_order(self._grounding.text), MOST)))
        beside = {abs(later - day) for day, later in pairwise(placed)}
        named = known.intersection(_ordinals(_scan.days_in(self._draft) | _scan.days_in(self._grounding.user_text)))
        return frozenset(beside.union(_distances(frozenset(islice(named, _NAMED)))))

    @lazy
    def told_by_durations(self) -> frozenset[int]:
        """Times of day to which a time and a duration of one record lead, in minutes since midnight."""
        text, starts = self._grounding.text, [at for at, _ in self._placed]
        told: set[int] = set()
        for found in islice(_KEYED_MINUTES.finditer(text), MOST):
            length = int(found[1])
            low, high = max(0, found.start() - _RECORD_WIDTH), found.end() + _RECORD_WIDTH
            low, end = max(low, text.rfind("{", low, found.start())), text.find("}", found.end(), high)
            last = bisect_right(starts, high if end < 0 else end)
            for _, clock in self._placed[bisect_left(starts, low) : last]:
                told.update(((clock + length) % DAY_MINUTES, (clock - length) % DAY_MINUTES))
        return frozenset(told)

    @lazy
    def _placed(self) -> list[tuple[int, int]]:
        return list(islice(_scan.clocks_in_order(self._grounding.text), MOST))


def _gaps(clocks: Collection[int]) -> Iterator[int]:
    return ((later - clock) % DAY_MINUTES for clock in clocks for later in clocks)


def _distances(days: Collection[int]) -> Iterator[int]:
    return (abs(later - day) for day in days for later in days)


def _ordinals(days: Iterable[Day]) -> Iterator[int]:
    return (real.toordinal() for day in days if (real := as_date(day)))

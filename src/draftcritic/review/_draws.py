"""One random number for each outermost run."""

from __future__ import annotations

import random
from collections import OrderedDict
from collections.abc import Hashable
from contextlib import suppress

_MOST = 4096
"""Runs that are remembered at once."""


class Draws:
    """Draws a number for a run once and remembers it. Single operations on dictionaries are atomic: no lock."""

    def __init__(self) -> None:
        self._drawn: OrderedDict[Hashable, float] = OrderedDict()
        self._random = random.SystemRandom()

    def of(self, run: Hashable | None) -> float:
        """Return the number of a run, from 0 to below 1; a new one each time for None."""
        drawn = self._random.random()
        if run is None:
            return drawn
        drawn = self._drawn.setdefault(run, drawn)
        while len(self._drawn) > _MOST:
            with suppress(KeyError):  # another thread was faster
                self._drawn.popitem(last=False)
        return drawn

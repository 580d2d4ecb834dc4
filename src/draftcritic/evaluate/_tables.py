"""How sure a measured share is."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

Z_95 = 1.959964
"""Standard deviations on each side that contain 95 % of a normal distribution."""


def wilson(hits: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Return the Wilson score interval of a share; (0, 1) when nothing was measured.

    Unlike the plain interval it stays within 0 and 1 and is usable for few cases and for shares near both ends.
    """
    if total <= 0:
        return 0.0, 1.0
    share = hits / total
    centre = share + z * z / (2 * total)
    spread = z * math.sqrt(share * (1 - share) / total + z * z / (4 * total * total))
    scale = 1 + z * z / total
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)


_WIDTH = 160


@dataclass(frozen=True)
class Share:
    """One line of a table: in so many of so many cases it was so.

    Attributes:
        name: what was counted.
        hits: how often it was so.
        total: how many cases there were.
        aim: what the share should be, in words.
    """

    name: str
    hits: int
    total: int
    aim: str = ""

    @property
    def share(self) -> float:
        """Hits of total, 0 when there was no case."""
        return self.hits / self.total if self.total else 0.0


@dataclass(frozen=True)
class Example:
    """A case that went wrong.

    Attributes:
        error: what went wrong, in a word or two.
        where: the id of the row.
        text: what was found or missed, with the words around it.
        weight: worse cases first.
    """

    error: str
    where: str
    text: str
    weight: float = 0.0


@dataclass(frozen=True)
class Table:
    """A table of shares with the worst cases."""

    title: str
    shares: Sequence[Share]
    examples: Sequence[Example] = field(default_factory=tuple)

    def lines(self, worst: int) -> Iterator[str]:
        """Yield the table as text, with at most `worst` cases of each error."""
        width = max([len(share.name) for share in self.shares] + [len(self.title)])
        yield f"{self.title:{width}}    cases     hits    share    95 % interval    aim"
        for share in self.shares:
            low, high = wilson(share.hits, share.total)
            yield (
                f"{share.name:{width}} {share.total:8} {share.hits:8} {100 * share.share:7.1f}%"
                f"   {100 * low:5.1f} - {100 * high:5.1f}%   {share.aim}"
            ).rstrip()
        for example in self._worst(worst):
            yield f"  {example.error}: {example.where}: {example.text}"[:_WIDTH]

    def as_dict(self, worst: int) -> dict[str, Any]:
        """Return the table as a JSON value."""
        return {
            "title": self.title,
            "rows": [
                {
                    "name": share.name,
                    "cases": share.total,
                    "hits": share.hits,
                    "share": share.share,
                    "interval": wilson(share.hits, share.total),
                    "aim": share.aim,
                }
                for share in self.shares
            ],
            "worst": [
                {"error": example.error, "where": example.where, "text": example.text} for example in self._worst(worst)
            ],
        }

    def _worst(self, worst: int) -> Iterator[Example]:
        given: dict[str, int] = {}
        for example in sorted(self.examples, key=lambda example: -example.weight):
            given[example.error] = given.get(example.error, 0) + 1
            if given[example.error] <= worst:
                yield example

"""What an evaluation shows: shares with their intervals, and the cases that went wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from draftcritic.evaluate._stats import wilson

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
        """Return the table as a value that JSON can hold."""
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

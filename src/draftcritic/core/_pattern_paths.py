"""Whether a regular expression can match each text in one way only, so that its matching cannot branch out.

Each character of a pattern is a place. A pattern is unambiguous when no place, nor the beginning, has two ways on that
the same character can take. Nested repetitions such as `(o+)+` have two ways from a place to itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from draftcritic.core._pattern_signs import SIGNS, ops, source_of

MOST_PLACES = 200
_LATIN = 255
_REPRESENTATIVES = (
    "".join(map(chr, range(_LATIN + 1)))
    + "\u0130\u0131\u017f\u0416\u0436\u05d0\u0627\u0966\u0905\u3042\u4e00\uac00\u2026\u2019"
)
"""Characters of every kind that a class of a pattern can tell apart."""


class _TooComplexError(Exception):
    """The pattern has what this analysis does not follow."""


@dataclass(frozen=True)
class _Part:
    """What a part of a pattern begins and ends with, as places, and whether it can be empty."""

    first: tuple[int, ...] = ()
    last: tuple[int, ...] = ()
    nullable: bool = True


class _Paths:
    """The places of one pattern, and the ways between them."""

    def __init__(self, sample: str) -> None:
        self._sample = sample
        self._taken: list[int] = []
        """For each place the characters of the sample that it takes, as bits."""
        self._next: list[list[int]] = []

    def is_unambiguous(self, whole: _Part) -> bool:
        """Whether no two ways from one place can take the same character."""
        return all(not self._overlap(places) for places in (whole.first, *self._next))

    def _overlap(self, places: Sequence[int]) -> bool:
        taken = 0
        for place in places:
            if taken & self._taken[place]:
                return True
            taken |= self._taken[place]
        return False

    def sequence(self, items: Sequence[Any]) -> _Part:
        """Return the part of items in a row."""
        whole = _Part()
        for item in items:
            whole = self._join(whole, self._item(item))
        return whole

    def _join(self, one: _Part, two: _Part) -> _Part:
        self._link(one.last, two.first)
        return _Part(
            (*one.first, *two.first) if one.nullable else one.first,
            (*two.last, *one.last) if two.nullable else two.last,
            one.nullable and two.nullable,
        )

    def _link(self, ends: Sequence[int], beginnings: Sequence[int]) -> None:
        for end in ends:
            self._next[end].extend(beginnings)
            if len(self._next[end]) > MOST_PLACES:
                raise _TooComplexError

    def _item(self, item: Any) -> _Part:
        op, value = item
        if op in SIGNS:
            return self._place(item)
        if op is ops.AT:
            return _Part()
        if op is ops.SUBPATTERN:
            return self.sequence(list(value[-1]))
        if op is ops.BRANCH:
            return self._branch([list(branch) for branch in value[1]])
        if op in {ops.MAX_REPEAT, ops.MIN_REPEAT}:
            return self._repeat(*value)
        raise _TooComplexError

    def _branch(self, branches: list[list[Any]]) -> _Part:
        """Return the part of alternatives; those with a common beginning, such as ok and okay, share its places."""
        parts: list[_Part] = []
        while branches:
            first = branches[0][:1]
            alike = [branch for branch in branches if branch[:1] == first]
            branches = [branch for branch in branches if branch[:1] != first]
            if not first:
                parts.extend(_Part() for _ in alike)
            elif len(alike) == 1:
                parts.append(self.sequence(alike[0]))
            else:
                parts.append(self._join(self._item(first[0]), self._branch([branch[1:] for branch in alike])))
        nullable = sum(part.nullable for part in parts)
        if nullable > 1:
            raise _TooComplexError
        return _Part(
            tuple(place for part in parts for place in part.first),
            tuple(place for part in parts for place in part.last),
            nullable == 1,
        )

    def _repeat(self, least: int, most: int, body: Any) -> _Part:
        part = self.sequence(list(body))
        if part.nullable:
            raise _TooComplexError  # nothing at all would match in two ways
        if int(most) > 1:
            self._link(part.last, part.first)
        return _Part(part.first, part.last, int(least) == 0)

    def _place(self, sign: Any) -> _Part:
        if len(self._taken) == MOST_PLACES:
            raise _TooComplexError
        place = len(self._taken)
        self._taken.append(_taken_by(source_of(sign), self._sample))
        self._next.append([])
        return _Part((place,), (place,), nullable=False)


def is_unambiguous(pattern: str, parsed: Sequence[Any]) -> bool:
    """Whether a parsed pattern, or a part of one, can match each text in one way only; False when that is not known."""
    paths = _Paths(_REPRESENTATIVES + "".join(dict.fromkeys(sign for sign in pattern if ord(sign) > _LATIN)))
    try:
        whole = paths.sequence(parsed)
    except (_TooComplexError, RecursionError):
        return False
    return paths.is_unambiguous(whole)


@lru_cache(maxsize=1024)
def _taken_by(source: str, sample: str) -> int:
    sign = re.compile(source, re.IGNORECASE | re.DOTALL)
    return sum(1 << at for at, char in enumerate(sample) if sign.match(char))

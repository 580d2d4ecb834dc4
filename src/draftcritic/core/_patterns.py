"""The signs of a parsed regular expression: what matches one character."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import Any

# The parser has no public name, and an older one before Python 3.11.
_NEW = sys.version_info >= (3, 11)
ops: Any = import_module("re._constants" if _NEW else "sre_constants")
parser: Any = import_module("re._parser" if _NEW else "sre_parse")

SIGNS = frozenset({ops.IN, ops.LITERAL, ops.NOT_LITERAL, ops.ANY})
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def source_of(sign: Any) -> str:
    """Return a pattern that matches the same one character."""
    op, value = sign
    if op is ops.LITERAL:
        return re.escape(chr(value))
    if op is ops.NOT_LITERAL:
        return f"[^{re.escape(chr(value))}]"
    if op is ops.ANY:
        return "."
    parts: list[str] = []
    for kind, entry in value:
        if kind is ops.NEGATE:
            parts.insert(0, "^")
        elif kind is ops.LITERAL:
            parts.append(re.escape(chr(entry)))
        elif kind is ops.RANGE:
            parts.append(f"{re.escape(chr(entry[0]))}-{re.escape(chr(entry[1]))}")
        else:
            parts.append(_CATEGORIES[str(entry)])
    return f"[{''.join(parts)}]"


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


LONGEST_IDENTIFIER = 128
"""Characters in which an identifier must end."""
LONGEST_PATTERN = 2000
MOST_WAYS = 1000
"""Ways in which a pattern of identifiers may match the same text."""
MOST_WAYS_IN_SHORT = 100_000
"""The same for a pattern of acknowledgements, which sees a short text once."""
_WORST = 10**9


def check_pattern(
    pattern: str, *, most_ways: int = MOST_WAYS, flags: int = 0, may_be_empty: bool = False
) -> re.Pattern[str]:
    """Return the compiled pattern of a setting.

    Args:
        pattern: the regular expression.
        most_ways: ways in which it may match the same text.
        flags: those of `re.compile`.
        may_be_empty: it may match the empty text.

    Raises:
        ValueError: it is no regular expression, it is too long, it matches nothing at all, or matching it can take
            too long.
    """
    if len(pattern) > LONGEST_PATTERN:
        raise ValueError(f"is longer than {LONGEST_PATTERN} characters; write several patterns")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern, flags)
            parsed = list(parser.parse(pattern, flags))
        if not may_be_empty and compiled.match(""):
            raise ValueError("matches the empty text, so it would be found everywhere")
        is_slow = not is_unambiguous(pattern, parsed) and _Count(pattern).ways(parsed) > most_ways
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    if is_slow:
        raise ValueError(
            "can take very long on some texts (a repetition inside another, or several in a row over the same "
            "characters); give each repetition a bound, as in [A-Z]{2,3}-[0-9]{4,8}"
        )
    return compiled


class _Count:
    """Counts the ways in which a pattern can match the same text, at most."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern

    def ways(self, items: Sequence[Any], after: Sequence[Any] = ()) -> int:
        """Return the ways of items in a row; `after` is what follows them."""
        ways = 1
        for at, item in enumerate(items):
            ways = min(_WORST, ways * self._of_item(item, [*items[at + 1 :], *after]))
        return ways

    def _of_item(self, item: Any, following: Sequence[Any]) -> int:
        op, value = item
        if op in {ops.MAX_REPEAT, ops.MIN_REPEAT} or str(op) == "POSSESSIVE_REPEAT":
            return self._of_repeat(item, following)
        if op is ops.SUBPATTERN:
            return self.ways(list(value[-1]), following)
        if op is ops.BRANCH:
            ways = [self.ways(list(branch), following) for branch in value[1]]
            return max(ways) if is_unambiguous(self._pattern, [item]) else min(_WORST, sum(ways))
        if op in {ops.ASSERT, ops.ASSERT_NOT}:
            return self.ways(list(value[1]))
        if str(op) == "ATOMIC_GROUP":
            return self.ways(list(value), following)
        return _WORST if op in {ops.GROUPREF, ops.GROUPREF_EXISTS} else 1

    def _of_repeat(self, item: Any, following: Sequence[Any]) -> int:
        value = item[1]
        least, most = (min(int(bound), LONGEST_IDENTIFIER) for bound in value[:2])
        rounds, body = most - least + 1, list(value[2])
        if most <= 1:
            return min(_WORST, self.ways(body, following) + (least == 0))
        if len(body) == 1 and body[0][0] in SIGNS:
            # One character a round: only where it ends is open, and not even that before a character it cannot be.
            return 1 if rounds == 1 or _ends_clearly(body[0], following) else rounds
        if is_unambiguous(self._pattern, [item]):
            return rounds
        ways = self.ways(body, body)
        width = value[2].getwidth()
        if ways == 1 and (width[0] == width[1] or body[0][0] is ops.LITERAL):
            # Each round can be distinguished from the next one.
            return rounds
        return int(min(_WORST, max(ways, 2) ** min(most, 30)))


def _ends_clearly(sign: Any, following: Sequence[Any]) -> bool:
    """Whether nothing of what follows can be a further round of the sign."""
    for op, value in following[:1]:
        if op in SIGNS:
            return not any(_is(sign, char) and _is((op, value), char) for char in _SAMPLE)
        if op is ops.SUBPATTERN:
            return _ends_clearly(sign, [*value[-1], *following[1:]])
        if op is ops.BRANCH:
            return all(_ends_clearly(sign, [*branch, *following[1:]]) for branch in value[1])
        if op in {ops.MAX_REPEAT, ops.MIN_REPEAT}:
            return _ends_clearly(sign, list(value[2])) and (value[0] >= 1 or _ends_clearly(sign, following[1:]))
        return op is ops.AT and _ends_clearly(sign, following[1:])
    return True


def _is(sign: Any, char: str) -> bool:
    return re.match(source_of(sign), char) is not None


_SAMPLE = [chr(code) for code in range(32, 256)]

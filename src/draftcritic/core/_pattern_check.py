"""Rejects regular expressions of the settings whose matching can take more than linear time.

Python's engine backtracks. How often it can be forced to is bounded by the number of ways in which a pattern can match
the same text, and that is counted here on the parsed pattern, without running it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Sequence
from typing import Any

from draftcritic.core._pattern_paths import is_unambiguous
from draftcritic.core._pattern_signs import SIGNS, ops, parser, source_of

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
            # Every round is told from the next one.
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

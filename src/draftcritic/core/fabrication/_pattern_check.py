"""Refuses regular expressions whose matching can take more than linear time.

Python's engine backtracks. How often it can be forced to is bounded by the number of ways in which a pattern can match
the same text, and that is counted here on the parsed pattern, without running it.
"""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from typing import Any

# The parser has no public name, and an older one before Python 3.11.
_NEW = sys.version_info >= (3, 11)
ops: Any = import_module("re._constants" if _NEW else "sre_constants")
parser: Any = import_module("re._parser" if _NEW else "sre_parse")

LONGEST_IDENTIFIER = 128
"""Characters in which an identifier must end."""
MOST_WAYS = 1000
"""Ways in which a pattern may match the same text."""
_WORST = 10**9


def check_pattern(pattern: str) -> re.Pattern[str]:
    """Return the compiled pattern.

    Raises:
        ValueError: it is no regular expression, it can match nothing at all, or matching it can take too long.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            compiled = re.compile(pattern)
            parsed = parser.parse(pattern)
    except (re.error, RecursionError, OverflowError) as error:
        raise ValueError(f"is no regular expression: {error}") from None
    if compiled.match(""):
        raise ValueError("matches the empty text, so it would be found everywhere")
    if _ways(list(parsed)) > MOST_WAYS:
        raise ValueError(
            "can take very long on some texts (a repetition inside another, or several in a row over the same "
            "characters); give each repetition a bound, as in [A-Z]{2,3}-[0-9]{4,8}"
        )
    return compiled


def _ways(items: Sequence[Any], after: Sequence[Any] = ()) -> int:
    """In how many ways the items can match the same text, at most; `after` is what follows them."""
    ways = 1
    for at, (op, value) in enumerate(items):
        ways = min(_WORST, ways * _ways_of(op, value, [*items[at + 1 :], *after]))
    return ways


def _ways_of(op: Any, value: Any, following: Sequence[Any]) -> int:
    if op in {ops.MAX_REPEAT, ops.MIN_REPEAT} or str(op) == "POSSESSIVE_REPEAT":
        return _ways_of_repeat(value, following)
    if op is ops.SUBPATTERN:
        return _ways(list(value[-1]), following)
    if op is ops.BRANCH:
        return min(_WORST, sum(_ways(list(branch), following) for branch in value[1]))
    if op in {ops.ASSERT, ops.ASSERT_NOT}:
        return _ways(list(value[1]))
    if str(op) == "ATOMIC_GROUP":
        return _ways(list(value), following)
    return _WORST if op in {ops.GROUPREF, ops.GROUPREF_EXISTS} else 1


def _ways_of_repeat(value: Any, following: Sequence[Any]) -> int:
    least, most = (min(int(bound), LONGEST_IDENTIFIER) for bound in value[:2])
    rounds, body = most - least + 1, list(value[2])
    if most <= 1:
        return min(_WORST, _ways(body, following) + (least == 0))
    if len(body) == 1 and body[0][0] in _SIGNS:
        # One character a round: only where it ends is open, and not even that before a character it cannot be.
        return 1 if rounds == 1 or _ends_clearly(body[0], following) else rounds
    ways = _ways(body, body)
    width = value[2].getwidth()
    if ways == 1 and (width[0] == width[1] or body[0][0] is ops.LITERAL):
        # Every round is told from the next one.
        return rounds
    return int(min(_WORST, max(ways, 2) ** min(most, 30)))


def _ends_clearly(sign: Any, following: Sequence[Any]) -> bool:
    """Whether nothing of what follows can be a further round of the sign."""
    for op, value in following[:1]:
        if op in _SIGNS:
            return not any(_is(sign, char) and _is((op, value), char) for char in _SAMPLE)
        if op is ops.SUBPATTERN:
            return _ends_clearly(sign, [*value[-1], *following[1:]])
        if op in {ops.MAX_REPEAT, ops.MIN_REPEAT} and value[0] >= 1:
            return _ends_clearly(sign, list(value[2]))
        return op is ops.AT and _ends_clearly(sign, following[1:])
    return True


def _is(sign: Any, char: str) -> bool:
    return re.match(_source(sign), char) is not None


_SIGNS = frozenset({ops.IN, ops.LITERAL, ops.NOT_LITERAL, ops.ANY})
_SAMPLE = [chr(code) for code in range(32, 256)]
_CATEGORIES = {
    "CATEGORY_DIGIT": r"\d",
    "CATEGORY_NOT_DIGIT": r"\D",
    "CATEGORY_SPACE": r"\s",
    "CATEGORY_NOT_SPACE": r"\S",
    "CATEGORY_WORD": r"\w",
    "CATEGORY_NOT_WORD": r"\W",
}


def _source(sign: Any) -> str:
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

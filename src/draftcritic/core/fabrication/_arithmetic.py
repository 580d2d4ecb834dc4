"""What a few numbers give when they are added, subtracted, multiplied and shared out; exact, and bounded."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

OPERANDS = 24
"""Numbers of the draft, nearest first, that a derivation looks at."""
NEAREST = 8
"""Numbers of which any may be added."""
LONGEST_SUM = 12
"""Addends in a row."""
COUNTS = range(2, 13)
"""How often a price may be taken without the count being written: passengers, nights, months of a year."""

TERM = re.compile(r"\d+(?:\.\d+)?(?:(?:\s?[+*]\s?|\s[-/]\s)\d+(?:\.\d+)?){1,16}(?![\d.])")
"""A calculation without brackets; 2024-05-03 and 1/2 are none."""
_OPERATION = re.compile(r"([-+*/]?)\s?(\d+(?:\.\d+)?)")


def runs(operands: Sequence[Decimal]) -> Iterator[Decimal]:
    """Yield the sums of numbers that stand in a row."""
    for start in range(min(len(operands), OPERANDS)):
        total = operands[start]
        for value in operands[start + 1 : start + LONGEST_SUM]:
            total += value
            yield total


def subsets(operands: Sequence[Decimal]) -> Iterator[Decimal]:
    """Yield the sums of any two or more of the nearest."""
    sums: list[tuple[Decimal, int]] = [(Decimal(0), 0)]
    for value in operands[:NEAREST]:
        sums += [(total + value, count + 1) for total, count in sums]
    yield from (total for total, count in sums if count > 1)


def pairs(operands: Sequence[Decimal]) -> Iterator[Decimal]:
    """Yield the sum and the difference of every two."""
    for at, one in enumerate(operands):
        for other in operands[at + 1 :]:
            yield one + other
            yield abs(one - other)


def differences(operands: Sequence[Decimal]) -> Iterator[Decimal]:
    """Yield what lies between two, times a few, and what parts in a row leave of a whole."""
    for at, one in enumerate(operands):
        for other in operands[at + 1 :]:
            yield abs(one - other)
            for count in (2, 3, 4, 5):
                yield count * abs(one - other)
    # From a whole, several parts in a row are taken.
    for whole in operands[:OPERANDS]:
        for total in runs(operands[:8]):
            yield abs(whole - total)


def products(operands: Sequence[Decimal]) -> Iterator[Decimal]:
    """Yield the multiples of each, and the product of every two."""
    for at, one in enumerate(operands):
        for count in COUNTS:
            yield one * count
        for other in operands[at + 1 :]:
            yield one * other


def totals(operands: Sequence[Decimal]) -> Iterator[tuple[Decimal, int]]:
    """Yield each sum in a row with the number of its parts, and each number with every count."""
    for start in range(min(len(operands), OPERANDS)):
        total = operands[start]
        for count in COUNTS:
            yield total, count
        for count, value in enumerate(operands[start + 1 : start + LONGEST_SUM], 2):
            total += value
            yield total, count


def near(value: Decimal, total: Decimal, count: int) -> bool:
    """Whether the value is this share of the total, rounded as it is written."""
    return abs(total / count - value) <= _half_step(value)


def is_average(value: Decimal, operands: Sequence[Decimal]) -> bool:
    """Whether the value is a share of one of the totals, rounded as it is written."""
    half = _half_step(value)
    return any(abs(total / count - value) <= half for total, count in totals(operands))


def _half_step(value: Decimal) -> Decimal:
    exponent = value.as_tuple().exponent
    return Decimal(5).scaleb((exponent if isinstance(exponent, int) else 0) - 1)


def results_of(term: str) -> Iterator[Decimal]:
    """Yield what a term without brackets gives, products first."""
    total, product = Decimal(0), Decimal(0)
    for sign, number in _OPERATION.findall(term):
        value = Decimal(number)
        if sign == "*":
            product *= value
        elif sign == "/":
            if not value:
                return
            product /= value
        else:
            total += product
            product = -value if sign == "-" else value
    yield (total + product).normalize()


_TERM_SIGNS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|[-+*/()\u00d7\u00f7x]")
_EXPRESSION = re.compile(r"[-\d\s.,+*/()\u00d7\u00f7x$\u20ac\u00a3\u2212\\]{3,160}\Z")
_SIGNS = str.maketrans(
    {"\u00d7": "*", "\u00f7": "/", "x": "*", "\u2212": "-", "$": " ", "\u20ac": " ", "\u00a3": " ", "\\": " "}
)
_DEEPEST = 8


def written_result(before: str) -> Decimal | None:
    """Return what the calculation gives that ends a text, with brackets: `(317 + 208) * 3`; None for no calculation."""
    written = _EXPRESSION.search(before[-160:])
    if written is None:
        return None
    signs = _TERM_SIGNS.findall(written[0].translate(_SIGNS))
    if not any(sign in "+-*/" for sign in signs):
        return None
    try:
        value, rest = _sum_of(signs, 0, 0)
    except (ArithmeticError, IndexError, ValueError):
        return None
    return value.normalize() if rest == len(signs) else None


def _sum_of(signs: Sequence[str], at: int, depth: int) -> tuple[Decimal, int]:
    value, at = _product_of(signs, at, depth)
    while at < len(signs) and signs[at] in "+-":
        other, end = _product_of(signs, at + 1, depth)
        value, at = (value + other if signs[at] == "+" else value - other), end
    return value, at


def _product_of(signs: Sequence[str], at: int, depth: int) -> tuple[Decimal, int]:
    value, at = _factor_of(signs, at, depth)
    while at < len(signs) and signs[at] in "*/":
        other, end = _factor_of(signs, at + 1, depth)
        value, at = (value * other if signs[at] == "*" else value / other), end
    return value, at


def _factor_of(signs: Sequence[str], at: int, depth: int) -> tuple[Decimal, int]:
    if signs[at] == "(" and depth < _DEEPEST:
        value, at = _sum_of(signs, at + 1, depth + 1)
        if signs[at] != ")":
            raise ValueError("no closing bracket")
        return value, at + 1
    if signs[at] == "-":
        value, at = _factor_of(signs, at + 1, depth + 1)
        return -value, at
    return Decimal(signs[at].replace(",", "")), at + 1

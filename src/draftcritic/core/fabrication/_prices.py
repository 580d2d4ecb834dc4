"""Prices that follow from others by what stands beside them: a count, a percentage, a rate of exchange."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from decimal import Decimal

from draftcritic.core.fabrication._grounding import Grounding
from draftcritic.core.fabrication._lazy import lazy
from draftcritic.core.fabrication._token import Token
from draftcritic.core.fabrication._values import NUMBER_WORDS, decimal_of

_GAP = 120
"""Characters of the line before a price, and around it, in which counts and percentages stand."""
_MOST_PARTS = 100
"""Instalments or tickets of one price."""
_COUNT = re.compile(r"(?<![\w.,$\u20ac\u00a3])(\d{1,2}|[^\W\d_]{3,9})(?=\s[^\W\d_])")
_INSTALMENTS = re.compile(
    r"(?<![\d.,])([2-9]|[1-9]\d)\s?(?:[xX\u00d7]|vezes|parcelas|cuotas|plazos|mensualidades|mensualit\u00e9s|fois|mois|rate|raten|rat|"
    r"monats\w*|monthly|taksit|instal\w+|payments|\u671f|\u56de|\uac1c\uc6d4)[^\d\n]{0,16}\Z",
    re.IGNORECASE,
)
_RATE = re.compile(r"""["'][A-Za-z_]{0,20}(?:rate|fx|factor|kurs)[A-Za-z_]{0,20}["']\s*:\s*["']?(\d{1,4}\.\d{1,8})""")


class Prices:
    """The prices of one draft."""

    def __init__(self, text: str, numbers: Sequence[Token], grounding: Grounding) -> None:
        self._text = text
        self._numbers = numbers
        self._grounding = grounding

    def explain(self, value: Decimal, token: Token, operands: Sequence[Decimal], ungrounded: Collection[int]) -> bool:
        """Whether the price `value` follows from others; `ungrounded` are the starts of numbers that prove nothing."""
        return (
            self._is_multiple(value, token)
            or self._is_instalment(value, token)
            or self._is_share(value, token, operands, ungrounded)
            or self._adds_up_counts(value, token, ungrounded)
        )

    def tells_count(self, value: Decimal, token: Token, ungrounded: Collection[int]) -> bool:
        """Whether two prices beside it tell the number: `349.99 in 12 instalments of 29.17`."""
        beside = [n for n in self._numbers if n.kind == "price" and abs(n.start - token.start) <= _GAP]
        prices = [price for n in beside if n.start not in ungrounded for price in _values(n)]
        return 1 < value <= _MOST_PARTS and any(
            part and abs(whole - value * part) <= value / 100 for whole in prices for part in prices
        )

    def _line_before(self, token: Token) -> str:
        low = max(0, token.start - _GAP)
        return self._text[max(low, self._text.rfind("\n", low, token.start)) : token.start]

    def _is_multiple(self, value: Decimal, token: Token) -> bool:
        """Whether it is that of a source times a count that the line names: `two seats would be $25`."""
        counts = {_count(word) for word in _COUNT.findall(self._line_before(token))}
        return any(f"{(value / count).normalize():f}" in self._grounding.numbers for count in counts if count > 1)

    def _is_instalment(self, value: Decimal, token: Token) -> bool:
        """Whether so many of it, as the line says, make an amount of a source: `10x de R$ 159,99`."""
        count = _INSTALMENTS.search(self._line_before(token))
        whole = value * int(count[1]) if count else Decimal(0)
        # Each part is rounded.
        cents = range(-int(count[1]), int(count[1]) + 1) if count else ()
        return any(f"{(whole + Decimal(cent) / 100).normalize():f}" in self._grounding.numbers for cent in cents)

    def _is_share(self, value: Decimal, token: Token, operands: Sequence[Decimal], ungrounded: Collection[int]) -> bool:
        """Whether it is another with a percentage that stands near it, or a rate of a source, taken or added."""
        near = [n for n in self._numbers if n.kind == "percentage" and abs(n.start - token.start) <= _GAP]
        shares = {share / 100 for n in near if n.start not in ungrounded for share in _values(n)}
        factors = {factor for share in shares for factor in (share, 1 - share, 1 + share)} | self._rates
        exponent = value.as_tuple().exponent
        half = Decimal(5).scaleb((exponent if isinstance(exponent, int) else 0) - 1)
        return any(abs(operand * factor - value) <= half for operand in operands for factor in factors)

    @lazy
    def _rates(self) -> frozenset[Decimal]:
        """Rates of exchange of the sources."""
        found = (decimal_of(rate) for rate in _RATE.findall(self._grounding.text))
        return frozenset(rate for rate in found if rate is not None)

    def _adds_up_counts(self, value: Decimal, token: Token, ungrounded: Collection[int]) -> bool:
        """Whether the line adds up to it: `two tickets at $15 and one at $20 make $50`."""
        total, last = Decimal(0), token.start - len(self._line_before(token))
        for price in self._numbers:
            if price.kind == "price" and last <= price.start and price.end <= token.start:
                if price.start in ungrounded:
                    return False
                counts = _COUNT.findall(self._text[last : price.start])
                total += sum((_count(counts[-1]) if counts else 1) * part for part in _values(price))
                last = price.end
        return total == value


def _count(word: str) -> int:
    return int(word) if word.isdigit() else NUMBER_WORDS.get(word.lower(), 1)


def _values(token: Token) -> list[Decimal]:
    return [value for reading in token.value[:1] if (value := decimal_of(reading)) is not None]

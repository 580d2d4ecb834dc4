"""What the numbers of the sources add up to, and their amounts of money."""

from __future__ import annotations

import re
from decimal import Decimal

from draftcritic.core.fabrication._arithmetic import TERM, results_of
from draftcritic.core.fabrication._cues import AMOUNT, MONEY
from draftcritic.core.fabrication._grounding import Grounding
from draftcritic.core.fabrication._lazy import lazy
from draftcritic.core.fabrication._token import Token
from draftcritic.core.fabrication._values import decimal_of, readings

_KEYED = re.compile(r"""["']([A-Za-z_]\w{0,40})["']\s*:\s*["']?[$\u20ac]?(\d{1,9}(?:\.\d{1,4})?)(?![\d:\-/])""")
_ASKED = re.compile(r"(?<![\w\-])(?<!\d:)\d+(?:\.\d+|,\d{3}(?!\d))*(?![\w\-:])")
_PRICED = re.compile(r"""["'](?i:[a-z_]{0,20}(?:price|fare|cost|rate|fee|amount)s?)["']\s?:\s?\{([^{}]{1,400})\}""")
RECENT = 4000
"""Characters of the sources, from their end, in which the last amounts are looked for."""
_KEY_PARTS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_SHORTEST_KEY_WORD, _KEY_STEM = 3, 6
_LONGEST_TERM = 400
_RUN_GAP = 250
_LONGEST_RUN = 8


class Totals:
    """Sums and amounts of the sources; every part is made when it is first needed."""

    def __init__(self, grounding: Grounding) -> None:
        self._grounding = grounding

    @lazy
    def calculated(self) -> frozenset[Decimal]:
        """What the terms give that the tools were asked to work out: `364 + (210 + 370)`."""
        results: set[Decimal] = set()
        for written in self._grounding.value_texts:
            if len(written) <= _LONGEST_TERM:
                results.update(result for term in TERM.findall(written) for result in results_of(term))
        return frozenset(results)

    @lazy
    def asked(self) -> list[Decimal]:
        """The numbers of the user's message and of short arguments and results."""
        texts = [self._grounding.user_text, *(text for text in self._grounding.value_texts if len(text) <= 200)]
        written = [number for text in texts for number in _ASKED.findall(text)]
        return [
            value for number in written[:16] for value in map(decimal_of, readings(number)[:1]) if value is not None
        ]

    @lazy
    def _sums(self) -> dict[str, set[Decimal]]:
        """Key -> sums over its neighbouring values: the prices of the parts of one record."""
        sums: dict[str, set[Decimal]] = {}
        runs: dict[str, tuple[int, list[Decimal]]] = {}
        for found in _KEYED.finditer(self._grounding.text):
            value = decimal_of(found[2])
            if value is None:
                continue
            last, run = runs.get(found[1], (-_RUN_GAP, []))
            run = [*run, value] if found.start() - last < _RUN_GAP else [value]
            runs[found[1]] = (found.start(), run)
            if 1 < len(run) <= _LONGEST_RUN:
                sums.setdefault(found[1], set()).add(sum(run, Decimal(0)))
        return sums

    @lazy
    def _money_keys(self) -> frozenset[str]:
        """Keys of amounts of money, and keys inside a record that is called so: `"prices": {"economy": 161}`."""
        inside = (key for record in _PRICED.findall(self._grounding.text) for key, _ in _KEYED.findall(record))
        return frozenset((*(key for key in self._sums if MONEY.search(key)), *inside))

    def sums_for(self, token: Token, sentence: str) -> frozenset[Decimal]:
        """The sums over values of its kind: amounts of money, or what the draft calls as the key does."""
        if token.kind == "price":
            return self._sums_of_money
        sentence = sentence.lower()
        fit = [sums for words, sums in self._worded_sums if any(word in sentence for word in words)]
        return frozenset[Decimal]().union(*fit)

    @lazy
    def _sums_of_money(self) -> frozenset[Decimal]:
        return frozenset[Decimal]().union(*(sums for key, sums in self._sums.items() if key in self._money_keys))

    @lazy
    def _worded_sums(self) -> list[tuple[list[str], set[Decimal]]]:
        return [(_key_words(key), sums) for key, sums in self._sums.items()]

    @lazy
    def amounts(self) -> frozenset[Decimal]:
        """Amounts of money of the sources: balances, payments, limits."""
        return frozenset(value for found in AMOUNT.findall(self._grounding.text) for value in _first(found))

    @lazy
    def last_amounts(self) -> list[Decimal]:
        """The prices that the conversation has named last."""
        written = re.findall(r"[$\u20ac\u00a3](\d[\d.,]*)", self._grounding.text[-RECENT:])
        return list(dict.fromkeys(value for found in written[-8:] for value in _first(found.rstrip(".,"))))

    def sums_if_few(self, token: Token, sentence: str) -> frozenset[Decimal]:
        """The same in a source with few sums, between which hardly anything lies by chance."""
        few = sum(map(len, self._sums.values())) <= _LONGEST_RUN
        return self.sums_for(token, sentence) if few else frozenset()


def _key_words(key: str) -> list[str]:
    return [word[:_KEY_STEM].lower() for word in _KEY_PARTS.findall(key) if len(word) >= _SHORTEST_KEY_WORD]


def _first(written: str) -> list[Decimal]:
    return [value for reading in readings(written)[:1] if (value := decimal_of(reading)) is not None]

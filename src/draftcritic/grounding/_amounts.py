"""Amounts that follow from others: bounded arithmetic, cue words, prices, and the totals of the sources."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from decimal import Decimal

from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._numbers import NUMBER_WORDS, decimal_of, readings
from draftcritic.grounding._token import Token, lazy

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
    """Yield the sums of consecutive numbers."""
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


_SUM_WORDS = (
    r"\b(?:total|totals|totall?ing|sum|altogether|combined|overall|in all|out of|makes?|comes? to|adds? up|subtotal|"
    r"totale|totaal|totalt|sammanlagt|\u0142\u0105cznie|toplamda|\u0432\u0441\u044c\u043e\u0433\u043e|"
    r"suma|somme|gesamt\w*|insgesamt|summe|zusammen|samen|en tout|en todo|razem|toplam|wynosi|"
    r"\u0438\u0442\u043e\u0433\u043e|"
    r"\u0432\u0441\u0435\u0433\u043e|\u0440\u0430\u0437\u043e\u043c|\u0441\u0443\u043c\u043c\u0430)\b|"
    "[\u5408\u603b\u7e3d\u8a08\u8ba1\u5171]|\ud569\uacc4|\ucd1d|\u0645\u062c\u0645\u0648\u0639|"
    '\u0625\u062c\u0645\u0627\u0644\u064a|\u0915\u0941\u0932|\u05e1\u05d4"?\u05db'
)
SUM = re.compile(_SUM_WORDS, re.IGNORECASE)
"""A number is a sum."""
SUM_OF_PRICES = re.compile(
    _SUM_WORDS
    + r"|\b(?:amount|costs?|both|all|each|per|every|charged?|pay|paid|balance|owed?|due|available|refund(?:ed)?)\b",
    re.IGNORECASE,
)
"""An amount of money is a sum or a multiple."""
TOTAL = re.compile(r"total|gesamt|summe|suma|somme|\u5408\u8ba1|\u5408\u8a08|\u0438\u0442\u043e\u0433", re.IGNORECASE)
"""An amount is the whole of which others are parts."""
# A sum that is left, and no train.
_LEAVES = r"leav(?:es?|ing)(?= (?:you|us|him|her|them|an?|the|only|about|just|\W{0,2}\d))"
DIFFERENCE = re.compile(
    rf"\b(?:{_LEAVES}|difference|differ|remain\w*|left|rest|balance|refund\w*|sav(?:e|ed|es|ing|ings)|less|more|"
    r"additional\w*|extra|minus|reduced|discount\w*|increase\w*|decrease\w*|change|still|cheaper|short|deduct\w*|"
    r"bleib\w*|rimang\w*|resta\w*|sobra\w*|blijf\w*|kvar|\u00e5terst\u00e5r|zosta\w*|pozosta\w*|kal\u0131r|"
    r"spar\w*|rabatt|\u00e9conom\w*|remise|risparm\w*|sconto|desconto|descuento|econom\w*|bespaar\w*|korting|"
    r"oszcz\u0119d\w*|zni\u017ck\w*|indirim\w*|\u044d\u043a\u043e\u043d\u043e\u043c\w*|\u0441\u043a\u0438\u0434\u043a\w*|\u0437\u043d\u0438\u0436\u043a\w*|"
    r"interest|profit|gain\w*|loss|margin|net|down|rise|rose|up(?! to)|dropp?\w*|fell|grew|grown|gap|"
    r"shortfall|surplus|deficit|diferencia|diferen\u00e7a|diff\u00e9rence|restant\w*|reste|resto|quedan?|ahorr\w+|differenz|\u00fcbrig|"
    r"verbleib\w*|rimanent\w*|verschil|kalan|\u0440\u0430\u0437\u043d\u0438\u0446\w*|"
    r"\u043e\u0441\u0442\u0430\u043b\w*|\u043e\u0441\u0442\u0430\u0442\w*)\b|"
    "[\u5dee\u5269\u4f59\u6b8b\u51cf\u60e0]|\u5272\u5f15|\u5024\u5f15|\ud560\uc778|\ucc28\uc561|\ub0a8|\u0641\u0631\u0642|\u0645\u062a\u0628\u0642|\u0936\u0947\u0937",
    re.IGNORECASE,
)
"""A number is what is between two others."""
REMAINDER = re.compile(
    rf"\b(?:{_LEAVES}|difference|remain\w*|left|diferencia|diferen\u00e7a|diff\u00e9rence|restant\w*|reste|quedan?|"
    r"differenz|verbleib\w*|rimanent\w*|verschil|\u0440\u0430\u0437\u043d\u0438\u0446\w*|"
    r"\u043e\u0441\u0442\u0430\u043b\w*)\b|"
    "[\u5dee\u5269\u4f59\u6b8b]|\ucc28\uc561|\ub0a8",
    re.IGNORECASE,
)
"""The same, in words that say nothing else."""
AVERAGE = re.compile(
    r"\b(?:average|mean|avg|per|each|promedio|media|moyenne|durchschnitt\w*|gemiddeld\w*|m\u00e9dia|"
    r"\u0432 \u0441\u0440\u0435\u0434\u043d\u0435\u043c)\b|"
    "\u5e73\u5747|\ud3c9\uade0|\u0645\u062a\u0648\u0633\u0637",
    re.IGNORECASE,
)
"""A number is a part of several equal ones."""
EQUATION = re.compile(r"=\s*[^\d\s]{0,4}\s*\Z")
"""The draft writes the calculation out, before the number."""
IDENTIFIER = re.compile(
    r"(?:\bids?|\bcode|\bnumber|\bno\.|#|\bending(?: in)?|\bpin|\bzip)[^\w]*(?:is|are|in)?[^\w]*\Z", re.IGNORECASE
)
"""The number names something, and is not worked out."""
MONEY = re.compile(
    r"price|cost|fare|amount|total|fee|rate|value|paid|pay|balance|charge|tax|money|bill|budget|sum|spend|spent|credit|debit|"
    r"refund|salary|income|revenue|sales|usd|eur|\u4ef7|\u8d39|\u91d1|\u6599|\uac00\uaca9|\uc694\uae08",
    re.IGNORECASE,
)
"""The name of a field for an amount of money."""
AMOUNT = re.compile(
    r"(?:[$\u20ac\u00a3]|(?i:amount|balance|total|credit|limit|paid|budget)[\"']?\s*:\s*[\"']?)(\d{1,9}(?:[.,]\d{1,3})*)"
)
"""An amount of money in a source."""


_GAP = 120
"""Characters of the line before and around a price that are searched for counts and percentages."""
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

    def is_instalment_count(self, value: Decimal, token: Token, ungrounded: Collection[int]) -> bool:
        """Whether two prices nearby give the number: `349.99 in 12 instalments of 29.17`."""
        nearby = [n for n in self._numbers if n.kind == "price" and abs(n.start - token.start) <= _GAP]
        prices = [price for n in nearby if n.start not in ungrounded for price in _values(n)]
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
        """Whether it is another price with a nearby percentage, or a rate of a source, applied."""
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
        fit = [sums for words, sums in self._sums_by_key_words if any(word in sentence for word in words)]
        return frozenset[Decimal]().union(*fit)

    @lazy
    def _sums_of_money(self) -> frozenset[Decimal]:
        return frozenset[Decimal]().union(*(sums for key, sums in self._sums.items() if key in self._money_keys))

    @lazy
    def _sums_by_key_words(self) -> list[tuple[list[str], set[Decimal]]]:
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

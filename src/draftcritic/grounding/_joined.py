"""Merges tokens that belong together: the days of `June 13, 14 and 15`, the parts of `384 dollars and 27 cents`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from draftcritic.grounding._dates import Day, as_date
from draftcritic.grounding._token import Token

_AND = (
    r"and|&|or|y|e|et|und|o|ou|oder|en|och|eller|ve|veya|to|through|till|until|thru|bis|tot|au|al|a|\u2013|-|"
    r"\u0438|\u0438\u043b\u0438|\u0442\u0430"
)
_BETWEEN = re.compile(
    rf"(?:\.?[ \u00a0]?,?[ \u00a0]?(?:{_AND})[ \u00a0]?|[ \u00a0]?,[ \u00a0]?)(?:the )?", re.IGNORECASE
)
_CONJUNCTIONS = frozenset(_AND.replace("\\u2013", "\u2013").split("|")) | {"", "st", "nd", "rd", "th"}
_DAY = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?\Z")
_GAP, _SUFFIX = 12, 2
_CENTS_BETWEEN = re.compile(
    r"[ \u00a0]?(?:[^\W\d_]{1,12}|[$\u20ac\u00a3])?,?[ \u00a0](?:(?:and|y|e|et|und|con|en|och)[ \u00a0])?",
    re.IGNORECASE,
)
_CENTS_AFTER = re.compile(
    r"[ \u00a0]?(?:cents?|centavos?|c\u00e9ntimos?|centimes?|pence|p\b|\u00f8re|\u00f6re|groszy|grosze|centesimi|"
    r"kuru\u015f|\u043a\u043e\u043f\w*|\u20b4|\u00a2)",
    re.IGNORECASE,
)
_MOST_CENTS = 2


def joined(text: str, tokens: Sequence[Token]) -> list[Token]:
    """Return the tokens with those of one list of days as dates, and those of one amount of money as one."""
    found = list(tokens)
    # A list goes on from a date that names its month, or leads to one.
    for step, order in ((1, range(len(found) - 1)), (-1, range(len(found) - 1, 0, -1))):
        named: set[int] = set()
        for at in order:
            date, number = found[at], found[at + step]
            if date.kind == "date" and (date.start in named or _names_month(date)):
                day = _day_of(text, number, date)
                if day is not None:
                    found[at + step] = day
                    named.add(day.start)
    return _with_cents(text, found)


def _names_month(date: Token) -> bool:
    return any(len(word) > _SUFFIX for word in re.findall(r"[^\W\d_]+", date.text))


def _day_of(text: str, number: Token, date: Token) -> Token | None:
    """Return the number as a day of the month of the adjacent date; None when it is not in the same list."""
    low, high = (number.end, date.start) if number.start < date.start else (date.end, number.start)
    day = _DAY.match(number.text)
    if (
        number.kind != "number"
        or day is None
        or number.unit not in _CONJUNCTIONS
        or not 0 < high - low <= _GAP
        or not _BETWEEN.fullmatch(text, low, high)
    ):
        return None
    days = tuple(Day(known.year, known.month, int(day[1])) for known in date.value)
    real = tuple(known for known in days if as_date(known) is not None)
    return Token("date", number.start, number.end, number.text, real) if real else None


def _with_cents(text: str, tokens: list[Token]) -> list[Token]:
    found: list[Token] = []
    for token in tokens:
        whole = found[-1] if found else None
        if (
            whole is not None
            and whole.kind == "price"
            and token.kind in ("price", "number")
            and token.text.isdigit()
            and len(token.text) <= _MOST_CENTS
            and 0 < token.start - whole.end <= _GAP + _MOST_CENTS
            and _CENTS_BETWEEN.fullmatch(text, whole.end, token.start)
            and _CENTS_AFTER.match(text, token.end)
            and all("." not in value for value in whole.value)
        ):
            cents = f"{int(token.text):02}".rstrip("0")
            values = tuple(f"{value}.{cents}" if cents else value for value in whole.value)
            found[-1] = Token("price", whole.start, token.end, text[whole.start : token.end], values)
        else:
            found.append(token)
    return found

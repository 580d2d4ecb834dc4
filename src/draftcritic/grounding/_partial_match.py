"""Whether a source of the turn contains a token, in any format of the same value."""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import unquote

from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._numbers import readings, spelled
from draftcritic.grounding._sources import DAY_MINUTES, SHORTEST_ENDING
from draftcritic.grounding._token import Token

SHORTEST_PHONE = 7
"""Digits of a phone number without the codes of country and area."""
_URL_NOISE = re.compile(r"^(?:https?://|ftp://)?(?:www\.)?", re.IGNORECASE)
_URL_EXTRAS = ("?utm_", "&utm_", "/ref=")
_LONGEST_COMMON_PATH = 12
"""Characters of a path that no two sites share by chance."""
_YEAR = re.compile(r"(?:19|20)\d\d")
_DOTTED_CLOCK = re.compile(r"([01]?\d|2[0-3])\.([0-5]\d)")
_SIZE = re.compile(r"(\d{1,5})[xX](\d{1,5})(?:[xX](\d{1,5}))?(?:mm|cm|m|px|in|ft)?")
_ENDED = re.compile(r"(.+)[-/]([A-Z]{2,6})")
_HOURS = frozenset(
    {
        "h",
        "hs",
        "heure",
        "heures",
        "horas",
        "hrs",
        "uhr",
        "uur",
        "\u0447",
        "\u0447\u0430\u0441\u043e\u0432",
        "\u0447\u0430\u0441\u0430",
        "\u0433\u043e\u0434\u0438\u043d",
    }
)
_HOUR_DIGITS = 2
_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_SCALE_LETTERS = 6
_PLAIN_CLOCK = re.compile(r"([01]\d|2[0-3])([0-5]\d)")
_SIGNS = "$\u20ac\u00a3\u00a5\u20b9%~ "


def is_grounded(token: Token, grounding: Grounding) -> bool:
    """Return whether a source contains the token's value."""
    return _GROUNDS[token.kind](token, grounding)


def _grounds_number(token: Token, grounding: Grounding) -> bool:
    written = token.text.strip(_SIGNS) if token.kind != "number" else token.text
    if grounding.has_number(written, token.value):
        return True
    if any(_grounds_value(value, token, grounding) for value in token.value) or _grounds_part(token, grounding):
        return True
    if " " in written:
        # Two numbers side by side, and not the groups of one.
        return all(len(part) == 1 or grounding.has_number(part, readings(part)) for part in written.split(" "))
    return token.scaled and _grounds_scale(written, grounding)


def _grounds_scale(written: str, grounding: Grounding) -> bool:
    """Whether a source has the number, and the word that scales it elsewhere, as in the name of its field."""
    number = _NUMBER.match(written)
    if number is None or not grounding.has_exact_number(number[0]):
        return False
    scale = written[number.end() :].strip()[:_SCALE_LETTERS].lower()
    return (not scale.isascii() or len(scale) > 1) and grounding.contains(scale)


def _grounds_part(token: Token, grounding: Grounding) -> bool:
    """Whether the number is the year of a date, or a time of day as some languages write it: `16 h`, `16.30`."""
    if token.kind != "number":
        return False
    if _YEAR.fullmatch(token.text):
        return int(token.text) in grounding.day_years or grounding.contains(f"/{token.text[2:]}")
    clock = _DOTTED_CLOCK.fullmatch(token.text)
    if clock is None and (token.text[0] == "0" or token.unit in _HOURS):
        clock = _PLAIN_CLOCK.fullmatch(token.text)
    if clock:
        return grounding.has_clock(60 * int(clock[1]) + int(clock[2]))
    return (
        token.unit in _HOURS
        and token.text.isdigit()
        and len(token.text) <= _HOUR_DIGITS
        and grounding.has_clock(60 * int(token.text) % DAY_MINUTES)
    )


def _grounds_value(value: str, token: Token, grounding: Grounding) -> bool:
    if len(value) <= 4 and any(grounding.has_phrase(word) for word in spelled(value)):
        return True
    whole, _, decimals = value.partition(".")
    if token.kind == "price" and f"{whole}{decimals:0<2}".lstrip("0") in grounding.numbers and len(decimals) <= 2:
        return True  # in cents
    if token.kind == "percentage" and _shifted(value, -2) in grounding.numbers:
        return True
    return len(value) >= SHORTEST_ENDING and not decimals and _ends_something(value, grounding)


def _ends_something(digits: str, grounding: Grounding) -> bool:
    """Whether a longer number or code of a source ends with these digits: a card's last four, an id's number."""
    return len(digits) >= SHORTEST_ENDING and grounding.has_ending(digits)


def _shifted(value: str, places: int) -> str:
    whole, _, decimals = value.partition(".")
    digits = (whole + decimals).rjust(len(decimals) - places + 1, "0")
    at = len(digits) - len(decimals) + places
    head, tail = digits[:at].lstrip("0") or "0", digits[at:].rstrip("0")
    return f"{head}.{tail}" if tail else head


def _grounds_day(token: Token, grounding: Grounding) -> bool:
    written = token.text
    if (not written[-1].isdigit() and grounding.quotes(written)) or (
        written.isdigit() and grounding.has_number(written, (written,))
    ):
        return True
    return any(grounding.has_day(day) for day in token.value)


def _grounds_clock(token: Token, grounding: Grounding) -> bool:
    minutes, either = token.value
    return grounding.has_clock(minutes % DAY_MINUTES) or (
        either and grounding.has_clock((minutes + DAY_MINUTES // 2) % DAY_MINUTES)
    )


def _grounds_reference(token: Token, grounding: Grounding) -> bool:
    size = _SIZE.fullmatch(token.text)
    if size and all(grounding.has_number(side, (side,)) for side in size.groups() if side):
        return True
    if grounding.quotes(token.text) or grounding.contains(token.value) or grounding.contains_compact(token.value):
        return True
    # A code and a word of the sources, joined: `HAT030-JFK`.
    code = _ENDED.fullmatch(token.text)
    return code is not None and grounding.has_phrase(code[2].lower()) and grounding.contains(code[1].lower())


def _grounds_url(token: Token, grounding: Grounding) -> bool:
    address = _URL_NOISE.sub("", token.text).rstrip("/").lower()
    if grounding.contains(address) or ("%" in address and grounding.contains(unquote(address))):
        return True
    bare = address
    for mark in _URL_EXTRAS:
        bare = bare.partition(mark)[0]
    bare = bare.rstrip("/")
    if bare != address and grounding.contains(bare):
        return True
    # A page links to others of its site without naming it.
    host, _, path = bare.partition("/")
    return len(path) >= _LONGEST_COMMON_PATH and grounding.links_to(f"/{path}") and grounding.contains(host)


def _grounds_email(token: Token, grounding: Grounding) -> bool:
    if "*" not in token.value:
        return grounding.contains(token.value)
    head, _, tail = token.value.partition("*")
    tail = tail.rpartition("*")[2]
    return grounding.contains(tail) and (not head or grounding.contains(head))


def _grounds_phone(token: Token, grounding: Grounding) -> bool:
    return any(
        grounding.contains_compact(token.value[cut:])
        for cut in (0, 1, 2, 3)
        if len(token.value) - cut >= SHORTEST_PHONE
    )


_GROUNDS: dict[str, Callable[[Token, Grounding], bool]] = {
    "number": _grounds_number,
    "price": _grounds_number,
    "percentage": _grounds_number,
    "date": _grounds_day,
    "time": _grounds_clock,
    "reference": _grounds_reference,
    "hash": _grounds_reference,
    "url": _grounds_url,
    "email": _grounds_email,
    "phone": _grounds_phone,
}

"""Splits a draft into the tokens to check, in one pass from digit to digit, linear in the draft."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice

from draftcritic.grounding._dates import as_date, clock_at, day_at
from draftcritic.grounding._joined import joined
from draftcritic.grounding._numbers import SCALES, FromDigit
from draftcritic.grounding._token import Token, emails, urls
from draftcritic.grounding._units import DEGREES, UNITS, measured

MAX_TOKENS = 2000
"""Tokens of one draft that are checked, of URLs, addresses and the rest each; a draft with more is a dump of data."""
SHORTEST_CODE = 4
LONGEST_TOKEN = 128
"""Characters; longer tokens are data, not something for a reader."""
LONGEST_SECRET = 2048
"""Characters of a signed token or a key; it is one piece."""
SHORTEST_WITH_AREA = 9
"""Digits of a phone number that begins with the code of an area, such as 0512-5201888."""


# A word or number from its first digit on; `_head` adds the part before the digit.
_WORD = FromDigit(r"[A-Za-z0-9_]*(?:[-.,:/'\u2019\u00a0\u202f#+][A-Za-z_]*\d[A-Za-z0-9_]*)*")
_HEAD_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_JOINED_SIGNS = _HEAD_SIGNS | {"-", "#"}
_NUMBER = re.compile(r"\d+(?:[.,'\u2019\u00a0\u202f]\d+)*")
_SPACED = re.compile(r"[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d{1,2})?(?!\d|[.,\-/:]\d| \d)")
# Without it, a number that no plus or bracket begins is no phone number.
_PHONE_SHAPE = re.compile(r"\d{1,26}(?:[()]|[ .\-\u2011][\d(])")
_PHONE = re.compile(
    r"(?<![A-Za-z0-9_.])(?:\+|00)?\(?\d{1,4}\)?(?:[ .\-\u2011]?\(?\d{2,4}\)?){1,5}(?![A-Za-z0-9_-]|[.,]\d)"
)
_YEARS = re.compile(r"\(?(?:19|20)\d\d ?[-\u2011] ?(?:19|20)\d\d\)?")
_LINE_HEAD = re.compile(r"(?:^|\n)[ \t>*#\-]*\Z")
_ENUMERATED = re.compile(
    r"\b(?:step|option|section|chapter|article|page|figure|fig\.|table|part|question|item|point|phase|level|grade|"
    r"version|verse|ver\.|v|line|opci\u00f3n|paso|\u00e9tape|schritt|passo|stap|\u0448\u0430\u0433|python|java|ios|"
    r"android|windows|\u00a7|\u7b2c)[ .#]*\Z",
    re.IGNORECASE,
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th)\Z", re.IGNORECASE)


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a draft whose digits are plain, in the order of the draft."""
    found: list[Token] = []
    if "://" in text or "www." in text or "WWW." in text:
        found.extend(islice(urls(text), MAX_TOKENS))
    if "@" in text:
        found.extend(islice(emails(text), MAX_TOKENS))
    taken = sorted((token.start, token.end) for token in found)
    found.extend(islice(_tokens_with_digits(text, taken), MAX_TOKENS))
    found.sort(key=lambda token: token.start)
    return joined(text, found)


def _tokens_with_digits(text: str, taken: list[tuple[int, int]]) -> Iterator[Token]:
    starts = [start for start, _ in taken]
    done = 0
    for word in _WORD.find(text):
        start, end = word.span()
        if start and text[start - 1] in _JOINED_SIGNS:
            start = _head(text, start, done)
        if start < done or (end - start < SHORTEST_CODE and not text[start].isdigit()):
            continue
        if starts:
            before = bisect_right(starts, start) - 1
            if before >= 0 and taken[before][1] > start:
                continue
        for token in _split(text, start, end):
            if token.start >= done:
                done = token.end
                yield token


def _head(text: str, digit: int, low: int) -> int:
    """Return where the word begins whose first digit is given."""
    start, low = digit, max(low, digit - LONGEST_TOKEN)
    while start > low and text[start - 1] in _HEAD_SIGNS:
        start -= 1
    if start - 1 > low and text[start - 1] in "-#" and text[start - 2] in _HEAD_SIGNS:
        start -= 1
        while start > low and text[start - 1] in _HEAD_SIGNS:
            start -= 1
    return start


def _split(text: str, start: int, end: int) -> Iterator[Token]:
    """Return what a word with digits is: a date, a time, a price, a number, or a code."""
    if end - start > LONGEST_TOKEN:
        if end - start <= LONGEST_SECRET:
            yield Token("reference", start, end, text[start:end], text[start:end].lower())
        return
    at = start
    while at < end:
        if not text[at].isdigit():
            yield from _codes(text, at, end)
            return
        token = _dated(text, at, end) or _numeric(text, at, end)
        if token is None:
            yield from _codes(text, at, end)
            return
        yield token
        if token.kind == "date" and (other := _other_day(text, token)):
            yield other
            token = other
        at = token.end + 2 if token.unit in _ORDINALS else token.end
        while at < end and not text[at].isdigit():
            if text[at].isalpha() and text[at] not in "Tt":
                return
            at += 1


def _other_day(text: str, token: Token) -> Token | None:
    """Return the last day of `December 28-31`, of the same month and year."""
    last = _LAST_DAY.match(text, token.end)
    if last is None or not text[token.end - 1].isalnum() or text[token.start].isdigit():
        return None
    days = (day._replace(day=int(last[1])) for day in token.value)
    real = tuple(day for day in days if as_date(day) is not None)
    return Token("date", last.start(1), last.end(1), last[1], real) if real else None


def _dated(text: str, at: int, end: int) -> Token | None:
    dated = day_at(text, at, end)
    if dated:
        days, start, stop = dated
        return Token("date", start, stop, text[start:stop], days)
    timed = clock_at(text, at)
    if timed and (timed[1] <= end or text[end : timed[1]].strip()):
        return Token("time", at, timed[1], text[at : timed[1]], timed[0])
    return None


def _numeric(text: str, at: int, end: int) -> Token | None:
    phone = _phone(text, at)
    if phone:
        return phone
    number = _SPACED.match(text, at) or _NUMBER.match(text, at)
    if number is None:
        return None
    stop = number.end()
    if stop < end and (text[stop] in "_#+" or not _may_follow(text[stop:end])):
        return None
    if number[0].count(".") > 1 and "," not in number[0] and not _has_thousands(number[0]):
        return None  # a version or an address
    return measured(text, at, stop)


def _has_thousands(text: str) -> bool:
    """Whether dots separate thousands: all groups after the first have three digits."""
    groups = text.split(".")
    return len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])


def _may_follow(rest: str) -> bool:
    """Whether what hangs on a number leaves it a number: a unit, an ordinal, the end of a range."""
    letters = len(rest) - len(rest.lstrip("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    if letters == len(rest):
        return letters <= 3 or rest.lower() in SCALES or rest.lower() in _LONG_UNITS
    range_end = _RANGE_END.fullmatch(rest)
    return range_end is not None and (not range_end[1] or _is_unit(range_end[1].lower()))


def _is_unit(word: str) -> bool:
    return word in UNITS or word in DEGREES or word in SCALES or word in _ORDINALS


_LAST_DAY = re.compile(r"(?:st|nd|rd|th)?\s?[-\u2013]\s?(\d{1,2})(?:st|nd|rd|th)?(?![\w]|[-:/.,]\d)")
_RANGE_END = re.compile(r"(?:st|nd|rd|th)?[-/:][\d.,]*\d([A-Za-z]{0,3})", re.IGNORECASE)
_ORDINALS = frozenset({"st", "nd", "rd", "th"})
_LONG_UNITS = frozenset(
    {"mins", "hours", "days", "weeks", "months", "years", "miles", "grams", "litres", "liters", "bytes", "nights"}
)


def _phone(text: str, at: int) -> Token | None:
    start = at
    while start > 0 and at - start < 2 and text[start - 1] in "+(":
        start -= 1
    if start == at and not _PHONE_SHAPE.match(text, at):
        return None
    match = _PHONE.match(text, start)
    if match is None:
        return None
    written = match[0]
    if _YEARS.fullmatch(written):
        return None
    digits = "".join(sign for sign in written if sign.isdigit())
    marked = (
        written[0] in "+("
        or sum(written.count(sign) for sign in " -.") >= 2
        or (written[0] == "0" and ("-" in written or " " in written) and len(digits) >= SHORTEST_WITH_AREA)
    )
    if "." in written and any(len(group) < 3 for group in written.split(".")):
        return None
    if not (7 <= len(digits) <= 15) or not marked or len(digits) == len(written):
        return None
    return Token("phone", start, match.end(), written, digits)


def _codes(text: str, start: int, end: int) -> Iterator[Token]:
    for part in _CODE_PARTS.finditer(text, start, end):
        written = part[0].strip("-_.#/+:")
        if len(written) >= SHORTEST_CODE and not _ORDINAL.match(written):
            at = part.start() + part[0].index(written)
            written += _ending(text, at + len(written))
            kind = "hash" if _HASH.fullmatch(written) else "reference"
            yield Token(kind, at, at + len(written), written, written.lower())


def _ending(text: str, at: int) -> str:
    """Return the capitals that end a code: `-CNL` of `W7730152-CNL`."""
    ending = _ENDING.match(text, at)
    return ending[0] if ending else ""


_ENDING = re.compile(r"[-/][A-Z]{2,6}(?![\w-])")
_HASH = re.compile(r"(?:0x|sha\d{1,3}[:-])?[0-9a-fA-F]{16,128}")
_CODE_PARTS = re.compile(r"[A-Za-z0-9_.#+\-]*\d[A-Za-z0-9_.#+\-]*")


def is_list_mark(text: str, token: Token) -> bool:
    """Whether a number only numbers an item of a list, a step, a section or a version."""
    tail = text[token.end : token.end + 2]
    marked = tail[:1] in {".", ")", ":"} and tail[1:] in {"", " ", "\t", "\n"} and len(token.text) <= 3
    if marked and _LINE_HEAD.search(text[max(0, token.start - 16) : token.start]):
        return True
    return _ENUMERATED.search(text[max(0, token.start - 16) : token.start]) is not None

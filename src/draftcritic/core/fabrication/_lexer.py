"""Takes a draft apart into the tokens that can be made up: one pass from digit to digit, linear in the draft."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any, NamedTuple

from draftcritic.core.fabrication._dates import as_date, clock_at, day_at
from draftcritic.core.fabrication._digits import FromDigit
from draftcritic.core.fabrication._units import DEGREES, UNITS
from draftcritic.core.fabrication._values import LONGEST_NUMBER, SCALES, readings, scaled

MAX_TOKENS = 2000
"""Tokens of one draft that are checked, of URLs, addresses and the rest each; a draft with more is a dump of data."""
SHORTEST_CODE = 4
LONGEST_TOKEN = 128
"""Characters; what is longer is data, not something that a person is told."""
LONGEST_SECRET = 2048
"""Characters of a signed token or a key; it is one piece."""
SHORTEST_WITH_AREA = 9
"""Digits of a phone number that begins with the code of an area, such as 0512-5201888."""
CUE_WINDOW = 48
"""Characters before a token in which the words that say what it is stand."""


class Token(NamedTuple):
    """Something in a draft that is either true of its turn or made up.

    Attributes:
        kind: the kind of a finding about it.
        start: where it begins in the draft, in characters.
        end: where it ends.
        text: as the draft has it.
        value: its normal form; what it is depends on the kind.
        scaled: a word such as `million` is part of the value, which is then rounded.
        unit: the word or sign behind a number, in lower case.
    """

    kind: str
    start: int
    end: int
    text: str
    value: Any
    scaled: bool = False
    unit: str = ""


_URL = re.compile(r"(?:https?|ftp)://[^\s<>\"'`\\{}|^\]]{1,2048}|\bwww\.[^\s<>\"'`\\{}|^\]]{1,2048}", re.IGNORECASE)
# Scripts without spaces go on right behind a URL.
_FOREIGN = re.compile("[\u1100-\u11ff\u2e80-\uffef]")
_EMAIL_LOCAL = re.compile(r"[\w.+*-]{1,64}\Z")
_EMAIL_DOMAIN = re.compile(r"@([\w-]{1,63}(?:\.[\w-]{1,63}){1,6})")
_TRAILING = ".,;:!?*_~\u3002\uff0c\uff1b\uff09\u300d\u300f\u3011"

# From its first digit on, all that hangs on a word or number; what stands before the digit is added by hand.
_WORD = FromDigit(r"[A-Za-z0-9_]*(?:[-.,:/'\u2019\u00a0\u202f#+][A-Za-z_]*\d[A-Za-z0-9_]*)*")
_DIGIT = re.compile(r"\d")
_HEAD_SIGNS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_")
_JOINED_SIGNS = _HEAD_SIGNS | {"-", "#"}
_NUMBER = re.compile(r"\d+(?:[.,'\u2019\u00a0\u202f]\d+)*")
_SPACED = re.compile(r"[1-9]\d{0,2}(?: \d{3})+(?:[.,]\d{1,2})?(?!\d|[.,\-/:]\d| \d)")
_CURRENCY = "$\u00a2-\u00a5\u058f\u060b\u09f2\u09f3\u0e3f\u20a0-\u20cf\ufdfc\uff04\uffe0\uffe1\uffe5\uffe6"
_CURRENCY_BEFORE = re.compile(
    rf"(?:(?:US|CA|AU|NZ|HK|C|A|S|R)?[{_CURRENCY}]|\b(?:USD|EUR|GBP|JPY|CNY|RMB|INR|AUD|CAD|CHF|SEK|NOK|DKK|PLN|TRY|"
    r"KRW|BRL|MXN|SGD|HKD|NZD|RUB|UAH|ILS|ZAR|Rs\.?|kr))[ \u00a0\u202f]?[-\u2212+~]?\Z"
)
_CURRENCY_AFTER = re.compile(
    rf"[ \u00a0\u202f]?(?:[{_CURRENCY}]|(?:USD|EUR|GBP|JPY|CNY|RMB|INR|AUD|CAD|CHF|SEK|NOK|DKK|PLN|TRY|KRW|BRL|MXN|SGD|"
    r"HKD|NZD|RUB|UAH|ILS|ZAR|z\u0142|kr|TL)\b|(?:dollars?|d\u00f3lares|dollari|euros?|pounds|yen|cents?|rupees|pesos?|"
    r"reais|francs?|franken|yuans?|renminbi|won|baht|kronor|kroner|ruble?s?|riyals?|dirhams?)\b|\u0440\u0443\u0431|\u0433\u0440\u043d|\u5143|\u5186|\u5706|\u6b27\u5143|\u7f8e\u5143|"
    r"\uc6d0|\uc704\uc548|\uc5d4|\ub2ec\ub7ec|\u092f\u0941\u0906\u0928|\u0930\u0941\u092a|\u062f\u0648\u0644\u0627\u0631|\u0631\u064a\u0627\u0644|\u20aa)",
    re.IGNORECASE,
)
_CURRENCY_WIDTH = 8
# The last characters of what `_CURRENCY_BEFORE` finds, before a space and a sign.
_CURRENCY_ENDS = frozenset(
    (*"sr.BDFHKLNPRSWY", *_CURRENCY, *map(chr, range(0xA2, 0xA6)), *map(chr, range(0x20A0, 0x20D0)))
)
_SPACES, _SIGNS_BEFORE = frozenset(" \u00a0\u202f"), frozenset("-\u2212+~")
# Signs of ASCII with which no scale, currency, percent sign or unit begins.
_NO_UNITS = frozenset({"", *".,;:!?)(]['\"*|}{/\\=+<>~&@#^_`\n\t\r"})
_PERCENT = re.compile(
    r"[ \u00a0\u202f]?(?:[%\u066a]|per ?cent\b|pct\b|prozent\b|pour ?cents?\b|por ciento\b|por cento\b|per cento\b|"
    "procent\\b|\u043f\u0440\u043e\u0446\u0435\u043d\u0442)",
    re.IGNORECASE,
)
_SCALE = re.compile(
    r"([\u5343\u767e\u5341\u4e07\u842c]?[\u5343\u4e07\u842c\u4ebf\u5104\ub9cc\uc5b5\uc870\u5146]|[\ucc9c\ubc31]\ub9cc)"
    r"|[ \u00a0\u202f]?([^\W\d_]{1,9})(?![^\W\d_])"
)
_UNIT = re.compile(r"(?:[ \u00a0\u202f-]?([^\W\d_]{1,12}|\u00b0\s?[CF]|[\u2103\u2109]))")
_ABOUT = re.compile(
    r"(?:\b(?:about|around|approximately|approx\.?|roughly|nearly|almost|over|under|more than|less than|up to|at least|"
    r"some|ca\.|circa|unos|unas|aproximadamente|environ|etwa|rund|ungef\u00e4hr|cerca de|ongeveer|"
    "\u043e\u043a\u043e\u043b\u043e|\u043f\u0440\u0438\u043c\u0435\u0440\u043d\u043e)|[~\u2248\u7ea6\u7d04\uc57d])"
    r"[\s$\u20ac\u00a3]*\Z",
    re.IGNORECASE,
)
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
_MASKED = re.compile(r"(?:[*x\u2022\u00b7#]{2,}[ -]*)+\Z", re.IGNORECASE)


def tokens_of(text: str) -> list[Token]:
    """Return the tokens of a draft whose digits are plain, in the order of the draft."""
    found: list[Token] = []
    if "://" in text or "www." in text or "WWW." in text:
        found.extend(islice(_urls(text), MAX_TOKENS))
    if "@" in text:
        found.extend(islice(_emails(text), MAX_TOKENS))
    taken = sorted((token.start, token.end) for token in found)
    found.extend(islice(_worded(text, taken), MAX_TOKENS))
    found.sort(key=lambda token: token.start)
    return found


def _urls(text: str) -> Iterator[Token]:
    for url in _URL.finditer(text):
        written = url[0] if url[0].isascii() else _FOREIGN.split(url[0], 1)[0]
        if ")" in written:
            written = _balanced(written)
        written = written.rstrip(_TRAILING)
        yield Token("url", url.start(), url.start() + len(written), written, written)


def _balanced(url: str) -> str:
    """Return the URL up to the bracket that opened before it."""
    depth = 0
    for at, sign in enumerate(url):
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return url[:at]
    return url


def _emails(text: str) -> Iterator[Token]:
    for domain in _EMAIL_DOMAIN.finditer(text):
        local = _EMAIL_LOCAL.search(text[max(0, domain.start() - 64) : domain.start()])
        if local:
            start, end = domain.start() - len(local[0]), domain.end()
            yield Token("email", start, end, text[start:end], text[start:end].lower())


def _worded(text: str, taken: list[tuple[int, int]]) -> Iterator[Token]:
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
    return _measured(text, at, stop)


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


def _measured(text: str, at: int, stop: int) -> Token:
    values = readings(text[at:stop]) if stop - at <= LONGEST_NUMBER else ()
    follows = text[stop : stop + 1] not in _NO_UNITS
    scale = _SCALE.match(text, stop) if follows else None
    power = SCALES.get((scale[1] or scale[2]).lower(), 0) if scale else 0
    is_scaled = False
    if scale and power and not (scale[2] in {"m", "M"} and not _money_before(text, at)):
        values, stop, is_scaled = tuple(scaled(value, power) for value in values), scale.end(), True
        follows = text[stop : stop + 1] not in _NO_UNITS
    sign = _currency_before(text, at)
    head = text[max(0, at - _CURRENCY_WIDTH) : at]
    if sign and not head[: sign.start()].rstrip()[-1:].isdigit():
        start = at - len(head) + sign.start()
        if text[start].isalpha():
            start = at
        return Token("price", start, stop, text[start:stop], values, is_scaled)
    if not follows and text[at - 1 : at] != "%":
        return Token("number", at, stop, text[at:stop], values, is_scaled)
    after = _CURRENCY_AFTER.match(text, stop)
    if after:
        end = after.end() if not after[0][-1].isalpha() else stop
        return Token("price", at, end, text[at:end], values, is_scaled)
    percent = _PERCENT.match(text, stop)
    if percent:
        end = percent.end() if percent[0][-1] in "%\u066a" else stop
        return Token("percentage", at, end, text[at:end], values, is_scaled)
    if text[at - 1 : at] == "%" and not text[at - 2 : at - 1].isdigit():
        return Token("percentage", at - 1, stop, text[at - 1 : stop], values, is_scaled)
    unit = _UNIT.match(text, stop)
    return Token("number", at, stop, text[at:stop], values, is_scaled, unit[1].lower() if unit else "")


def _money_before(text: str, at: int) -> bool:
    return _currency_before(text, at) is not None


def _currency_before(text: str, at: int) -> re.Match[str] | None:
    """Return the sign or code of a currency that ends before `at`, in the few characters before it."""
    last = at - 1
    if last > 0 and text[last] in _SIGNS_BEFORE:
        last -= 1
    if last > 0 and text[last] in _SPACES:
        last -= 1
    if last < 0 or text[last] not in _CURRENCY_ENDS:
        return None
    return _CURRENCY_BEFORE.search(text[max(0, at - _CURRENCY_WIDTH) : at])


def is_approximate(token: Token, text: str) -> bool:
    """Whether the draft says that the value is rounded."""
    if token.scaled:
        return True
    digit = _DIGIT.search(token.text)
    at = token.start + (digit.start() if digit else 0)
    return _ABOUT.search(text[max(0, at - CUE_WINDOW) : at]) is not None


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
            kind = "hash" if _HASH.fullmatch(written) else "reference"
            yield Token(kind, at, at + len(written), written, written.lower())


_HASH = re.compile(r"(?:0x|sha\d{1,3}[:-])?[0-9a-fA-F]{16,128}")
_CODE_PARTS = re.compile(r"[A-Za-z0-9_.#+\-]*\d[A-Za-z0-9_.#+\-]*")


def is_list_mark(text: str, token: Token) -> bool:
    """Whether a number only numbers an item of a list, a step, a section or a version."""
    tail = text[token.end : token.end + 2]
    marked = tail[:1] in {".", ")", ":"} and tail[1:] in {"", " ", "\t", "\n"} and len(token.text) <= 3
    if marked and _LINE_HEAD.search(text[max(0, token.start - 16) : token.start]):
        return True
    return _ENUMERATED.search(text[max(0, token.start - 16) : token.start]) is not None


def is_masked(text: str, token: Token) -> bool:
    """Whether the number is the visible end of a masked one."""
    return _MASKED.search(text[max(0, token.start - 24) : token.start]) is not None

"""Numbers in text: patterns that begin with a digit, number formats, spelled-out numbers and times of day."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation

from draftcritic.grounding._dates import numbered_from, numbers_of


class FromDigit:
    """A pattern that begins with one digit of any script; in plain ASCII the engine finds 0-9 twice as fast.

    Args:
        rest: what follows the digit.
    """

    def __init__(self, rest: str) -> None:
        self._ascii = re.compile(f"[0-9]{rest}")
        self._any = re.compile(rf"\d{rest}")

    def find(self, text: str) -> Iterator[re.Match[str]]:
        """Return the matches in a text."""
        return (self._ascii if text.isascii() else self._any).finditer(text)

    def all_of(self, text: str) -> set[str]:
        """Return what it matches in a text; the pattern has no group."""
        return set((self._ascii if text.isascii() else self._any).findall(text))


LONGEST_NUMBER = 40
"""Characters of a written number that still says a quantity; longer runs of digits are identifiers or noise."""

_THOUSANDS = "'\u2019\u00a0\u202f _"
_GROUPS = re.compile(r"\d{1,3}(?:\D\d{2,3})*\D\d{3}\Z")

SCALES: dict[str, int] = numbers_of("scales")
"""Words behind a number that scale it -> power of ten."""

NUMBER_WORDS: dict[str, int] = numbered_from("numbers from zero", 0) | numbers_of("other numbers")
"""Spelled-out numbers -> value; half and quarter are those of an hour."""


# The first digit of each script that is in daily use.
_ZEROS = (
    0x660, 0x6F0, 0x7C0, 0x966, 0x9E6, 0xA66, 0xAE6, 0xB66, 0xBE6, 0xC66, 0xCE6, 0xD66, 0xE50, 0xED0, 0xF20, 0x1040,
    0x17E0, 0x1810, 0xFF10,
)  # fmt: skip
_PLAIN = {zero + digit: str(digit) for zero in _ZEROS for digit in range(10)}
_PLAIN |= {0xFF1A: ":", 0xFF0C: ",", 0xFF0E: ".", 0xFF0F: "/", 0xFF0D: "-", 0xFF05: "%", 0x066B: ".", 0x066C: ","}
_OTHER_SCRIPT = re.compile(f"[{''.join(map(chr, _PLAIN))}]")


def with_plain_digits(text: str) -> str:
    """Return `text` with the digits of every script as 0-9; its length, and so every offset, stays."""
    if text.isascii() or not _OTHER_SCRIPT.search(text):
        return text
    return text.translate(_PLAIN)


def readings(text: str) -> tuple[str, ...]:
    """Return the values that a written number can have, each in normal form: `1,234.50` is `1234.5`.

    One separator before three digits can be of thousands or of decimals: `1.234` is 1234 and 1.234.
    """
    if text.isdigit():
        return (text.lstrip("0") or "0",)
    if len(text) > LONGEST_NUMBER:
        return ()
    marks = [sign for sign in text if not sign.isdigit()]
    last = marks[-1]
    whole, _, decimals = text.rpartition(last)
    decimal = _normal(_digits(whole), decimals)
    if last in _THOUSANDS or marks.count(last) > 1:
        return (_digits(text).lstrip("0") or "0",)
    if len(marks) > 1 or not _GROUPS.match(text) or text[0] == "0":
        return (decimal,)
    return (_digits(text).lstrip("0") or "0", decimal)


def _digits(text: str) -> str:
    return "".join(sign for sign in text if sign.isdigit())


def _normal(whole: str, decimals: str) -> str:
    whole, decimals = whole.lstrip("0") or "0", decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole


def scaled(reading: str, power: int) -> str:
    """Return a reading times a power of ten: `1.2` and 6 give `1200000`."""
    whole, _, decimals = reading.partition(".")
    moved = decimals.ljust(power, "0")
    return _normal(whole + moved[:power], moved[power:])


_WORDS_OF: dict[str, list[str]] = {}
for _word, _number in NUMBER_WORDS.items():
    _WORDS_OF.setdefault(str(_number), []).append(_word)


def spelled(reading: str) -> list[str]:
    """Return the words for a number, in all languages that are known; `25` is `twenty-five` and `twenty five`."""
    if reading in _WORDS_OF:
        return _WORDS_OF[reading]
    if len(reading) != 2 or not reading.isdigit() or reading[0] == "1":
        return []
    tens, ones = _WORDS_OF[f"{reading[0]}0"][0], _WORDS_OF[reading[1]][0]
    return [f"{tens}-{ones}", f"{tens} {ones}"]


def decimal_of(text: str) -> Decimal | None:
    """Return a number in normal form as a decimal; None when it is none, or too long to work with."""
    try:
        return Decimal(text) if len(text) <= 24 else None
    except InvalidOperation:
        return None


_DAY_MINUTES, _NOON = 24 * 60, 12 * 60
_WORDS = "one two three four five six seven eight nine ten eleven twelve"
_HOURS = {word: hour for hour, word in enumerate(_WORDS.split(), 1)}
_CHINESE_HOURS = {
    word: hour
    for hour, word in enumerate(["一", "两", "三", "四", "五", "六", "七", "八", "九", "十", "十一", "十二"], 1)
} | {"\u4e8c": 2}
_PARTS = {"five": 5, "ten": 10, "quarter": 15, "twenty": 20, "twenty-five": 25, "half": 30}
_HOUR = rf"({'|'.join(sorted(_HOURS, key=len, reverse=True))}|\d{{1,2}})"
_PAST = re.compile(
    rf"\b(half|(?:a )?quarter|five|ten|twenty|twenty-five)(?: minutes)? (past|after|to|till|before) {_HOUR}\b"
)
_SAID = re.compile(rf"\b{_HOUR} (o'?clock|thirty|fifteen|forty-five|oh five|a\.?m|p\.?m|in the [a-z]+)\b")
# Without one of these there is nothing to find.
_SIGNS_OF_PAST = ("quarter ", "half ", "five ", "ten ", "twenty")
_SIGNS_OF_HOURS = ("clock", "thirty", "fifteen", "forty-five", "oh five", " am", " pm", " a.m", " p.m", " in the ")
_MINUTES = {"thirty": 30, "fifteen": 15, "forty-five": 45, "oh five": 5}
_CHINESE = re.compile(
    "(\u5341[\u4e00\u4e8c]?|[\u4e00\u4e24\u4e8c\u4e09\u56db\u4e94\u516d\u4e03\u516b\u4e5d])\u70b9(\u534a|[\u4e00\u4e09]\u523b|(?![\u513f\u949f]))"
)
_CHINESE_MINUTES = {"\u534a": 30, "\u4e00\u523b": 15, "\u4e09\u523b": 45}
_AT_NOON = re.compile(
    r"\b(?:noon|midday|mediod\u00eda|midi|mezzogiorno|meio-dia|mittags?)\b|\u6b63\u5348|\u4e2d\u5348|\uc815\uc624"
)
_AT_MIDNIGHT = re.compile(
    r"\b(?:midnight|medianoche|minuit|mezzanotte|meia-noite|mitternacht|middernacht)\b|\u5348\u591c|\u96f6\u70b9|\uc790\uc815"
)


def spoken_clocks(lower: str) -> frozenset[int]:
    """Return the times of day that a text in lower case says in words, in minutes since midnight."""
    found: set[int] = set()
    for part, side, hour in _PAST.findall(lower) if any(word in lower for word in _SIGNS_OF_PAST) else ():
        minutes = _PARTS[part.removeprefix("a ")]
        found.update(_both(_hour(hour), minutes if side in {"past", "after"} else -minutes))
    for hour, rest in _SAID.findall(lower) if any(word in lower for word in _SIGNS_OF_HOURS) else ():
        found.update(_both(_hour(hour), _MINUTES.get(rest, 0)))
    if not lower.isascii():
        for hour, rest in _CHINESE.findall(lower):
            found.update(_both(_CHINESE_HOURS[hour], _CHINESE_MINUTES.get(rest, 0)))
    if _AT_NOON.search(lower):
        found.add(_NOON)
    if _AT_MIDNIGHT.search(lower):
        found.add(0)
    return frozenset(found)


def _hour(word: str) -> int:
    return _HOURS.get(word) or int(word)


def _both(hour: int, minutes: int) -> tuple[int, int]:
    """Return the time, and the one twelve hours later: the words leave it open."""
    minutes += 60 * hour
    return minutes % _DAY_MINUTES, (minutes + _NOON) % _DAY_MINUTES

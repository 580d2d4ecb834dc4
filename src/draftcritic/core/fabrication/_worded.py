"""Times of day in words: half past four, quarter to six, \u4e94\u70b9\u534a, noon."""

from __future__ import annotations

import re

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


def worded_clocks(lower: str) -> frozenset[int]:
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
    """Return the time, and the one twelve hours later: the words do not tell which."""
    minutes += 60 * hour
    return minutes % _DAY_MINUTES, (minutes + _NOON) % _DAY_MINUTES

"""Texts that were written to cost time: each shape grows to any length."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count

Shape = Callable[[int], str]

REPEATED = {
    "exclamation marks": "!",
    "ellipses": "\u2026",
    "dots": ".",
    "full stops of CJK": "\u3002",
    "dashes": "-",
    "spaces": " ",
    "line feeds": "\n",
    "carriage returns": "\r\n",
    "tabs and spaces": "\t ",
    "double quotes": '"',
    "curly quotes": "\u201c\u2019\u201d",
    "backslashes": "\\",
    "escaped quotes": '\\"',
    "unicode escapes": "\\u0041",
    "open braces": "{",
    "open brackets": "[",
    "closed brackets": "]})",
    "nested objects": '{"a":[',
    "empty objects": "{}",
    "verdict fields": '{"verdict": "approve"} ',
    "broken verdict fields": '{"verdict": "appr',
    "thinking tags": "<think>",
    "HTML tags": "<b><i>x</i></b>",
    "zero width": "\u200b",
    "combining marks": "e\u0301\u0323",
    "lone surrogates": "\ud83d",
    "emoji": "\U0001f44d\U0001f3fd\u200d",
    "one long word": "a",
    "one long number": "1",
    "hexadecimal run": "a1",
    "long capitals": "AB",
    "digits with commas": "1,",
    "digits with dots": "1.",
    "digits with dashes": "1-",
    "digits with colons": "12:",
    "digits with spaces": "1 ",
    "groups of digits": "123 ",
    "thousands": "123,456,",
    "digits of other scripts": "\u0661\u0662\u066b",
    "circled digits": "\u2460\u00bd",
    "plus and brackets": "+(",
    "phone openings": "+1 (555) ",
    "at signs": "@",
    "addresses without end": "a@b.",
    "dots between letters": "a.",
    "underscores": "a_",
    "hyphenated words": "un-",
    "apostrophes": "o'",
    "URLs without end": "http://",
    "URL brackets": "http://x.y/(",
    "paths": "/a/b-c",
    "currency signs": "$",
    "currency list": "$5 \u20ac6 \u00a37 ",
    "percent signs": "5%",
    "code fences": "```",
    "fenced code": "```\nx = 1\n```\n",
    "markdown tables": "| a | 12 | $3.50 |\n|---|---|---|\n",
    "list marks": "1. a\n",
    "nested quotes": "> > ",
    "emphasis": "**_",
    "headings": "# 1 A\n",
    "mixed case": "aB",
    "CJK prose": "\u6211\u4eec\u5df2\u7ecf\u53d6\u6d88\u4e86\u60a8\u7684\u8ba2\u5355\uff0c",
    "Japanese prose": "\u3054\u6ce8\u6587\u3092\u30ad\u30e3\u30f3\u30bb\u30eb\u3057\u307e\u3057\u305f\u3002",
    "Korean prose": "\uc8fc\ubb38\uc744 \ucde8\uc18c\ud588\uc2b5\ub2c8\ub2e4. ",
    "Arabic prose": "\u062a\u0645 \u0625\u0644\u063a\u0627\u0621 \u0637\u0644\u0628\u0643 ",
    "Cyrillic prose": "Я отменил ваш заказ. ",
    "Hindi prose": "मैंने ऑर्डर रद्द किया ",
    "prose": "the quick brown fox jumps over the lazy dog. ",
    "claimed actions": "I sent the report and I've cancelled it. ",
    "halves of claims": "I have been ",
    "I and spaces": "I  ",
    "courtesy": "Thank You So Much ",
    "thanks": "thanks ",
    "weekdays": "next Monday, ",
    "half past": "half past ten ",
    "hours": "10:30 am ",
    "day and month": "May 5, ",
    "months": "January ",
    "ISO dates": "2024-05-06T10:11:12Z ",
    "ISO durations": "PT1H",
    "sums": "1 + 1 = ",
    "totals": "total $12.34, ",
    "key and value": "order_id: A1 ",
    "keys without value": "order_id: ",
    "labels": "Fare: $51 ",
    "objections": "I refuse ",
    "the draft says": "the draft says ",
    "not approve": "cannot approve ",
    "confusable signs": "\u0130\u0131\u017f\u212a",
    "null bytes": "\x00",
    "control characters": "\x1b[0m",
}
"""One unit over and over."""

COUNTED = {
    "different numbers": "{i} ",
    "different large numbers": "{i}{i}7 ",
    "different prices": "${i},{j:03}.50 ",
    "prices with words": "the fee is ${i}.{k:02}\n",
    "percentages": "{i}.{k}% ",
    "different dates": "2{j:03}-0{k1}-{k1}{k1} ",
    "different times": "{h:02}:{m:02} ",
    "time list": "{h}:{m:02} am, ",
    "durations": "{i} hours {m} min, ",
    "temperatures": "{i} \u00b0C, ",
    "codes": "AB{i}CD ",
    "spaced groups": "AB{k:02} {k:02}CD ",
    "key=value": "id=x{i} ",
    "orders": "order_id: A{i} ",
    "orders in words": "order number {i}, ",
    "UUIDs": "{i:08x}-e29b-41d4-a716-{i:012x} ",
    "short hexes": "id: ab{i:06x} ",
    "e-mail addresses": "u{i}@x{k}.org ",
    "URLs": "https://x.y/{i}?a={k} ",
    "names": "Zor{l} Kwy{l2}, ",
    "near names": "Anna{l} Smith{l2} ",
    "arithmetic": "{i} + {k} = {i}9, ",
    "chain of sums": "{i}.{k:02} + ",
    "JSON records": '{{"id": {i}, "month": {k1}, "day": 3, "total": "{i}.5"}}, ',
    "tables": "| {i} | A{i} | ${i}.20 |\n",
    "list": "{i}. item A{i}\n",
    "products": "MODEL{i} AB{k:02} ",
    "phones": "+1 555 {j:03} {k:02}{k:02} ",
    "counted thousands": "{i:,} ",
    "decimal commas": "{i},{k:02} \u20ac ",
    "scaled numbers": "{i}.{k} million ",
    "powers": "{k1}.{j}e+{k1}{k1} ",
    "CJK numbers": "{i}\u4e07\u5143\uff0c{k1}\u6708{k1}\u65e5\uff0c",
    "instalments": "{k} x ${i}.{k:02} ",
    "shares": "{k}% of ${i} is ${j}.{k:02}; ",
    "averages": "average of {i} and {j} is {k}.5. ",
    "ranges": "{i}-{j} ",
    "slashes": "{i}/{j} ",
    "different words": "w{l}{l2} ",
    "references": "ref-{i}-{j} ",
    "hashes": "{i:032x} ",
    "ordinals": "{i}th ",
    "versions": "v{k}.{m}.{i} ",
    "days ago": "{i} days ago, ",
    "epochs": "17{i:08} ",
    "coordinates": "{k}.{i}, -{m}.{j} ",
}
"""A unit that is different each time: i, and smaller numbers j < 1000, k < 100, k1 1..9, m < 60, h < 24, letters l."""


def repeated(unit: str) -> Shape:
    """Return the shape of one unit over and over."""
    return lambda length: (unit * (length // len(unit) + 1))[:length]


def counted(unit: str) -> Shape:
    """Return the shape of a unit that counts."""

    def grow(length: int, first: int = 1000) -> str:
        parts, size = [], 0
        for i in count(first):
            letters, rest = [], i
            while rest:
                rest, at = divmod(rest, 26)
                letters.append(chr(97 + at))
            part = unit.format(
                i=i,
                j=i * 7 % 1000,
                k=i * 3 % 100,
                k1=i % 9 + 1,
                m=i * 7 % 60,
                h=i % 24,
                l="".join(letters),
                l2="".join(reversed(letters)),
            )
            parts.append(part)
            size += len(part)
            if size >= length:
                return "".join(parts)[:length]
        raise AssertionError

    return grow


SHAPES: dict[str, Shape] = {name: repeated(unit) for name, unit in REPEATED.items()} | {
    name: counted(unit) for name, unit in COUNTED.items()
}

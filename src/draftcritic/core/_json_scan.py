"""Finds the JSON objects of a model's reply, in linear time and without guessing at broken ones."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

MAX_BROKEN = 200
"""Broken objects in one reply after which it is given up. Each costs an exception; real replies hold one or two."""
MAX_OBJECTS = 1000
"""Complete objects beside each other after which a reply is given up."""
_MAX_SPACES = 64
_ODD_SPACES = frozenset("\x0b\x0c\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff").union(
    map(chr, range(0x2000, 0x200B))
)
_SPACES = "".join(_ODD_SPACES) + " \t\r\n"

_TAG_WORD = r"think(?:ing)?|thoughts?|reason(?:ing)?|reflection|analysis|scratchpad|deliberation|cot|chain_of_thought"
_EVENT = re.compile(
    rf"""
      (?P<object> \{{ [\s\u200b\u2060\ufeff]* " )
    | (?P<open>  < (?:\w{{1,12}}:)? (?:{_TAG_WORD}) (?:\s[^<>]*)? (?<!/) > | \[THINK\] | ◁think▷
               | <\|begin_of_thought\|> | <\|channel\|>\s*analysis )
    | (?P<close> </ (?:\w{{1,12}}:)? (?:{_TAG_WORD}) \s* > | \[/THINK\] | ◁/think▷
               | <\|end_of_thought\|> | <\|channel\|>\s*final )
    """,
    re.VERBOSE | re.IGNORECASE,
)


class Pairs(list[tuple[str, Any]]):
    """A JSON object with the keys in order and repeated keys kept."""

    __slots__ = ()


class TooBrokenError(ValueError):
    """The text nests too deeply or holds too many objects, or broken ones, to be anything but hostile."""


@dataclass
class Scan:
    """What stands outside the thinking blocks of a reply.

    Attributes:
        objects: the complete objects, in order; objects inside of objects are not listed.
        rest: the text around them, a line feed in place of each object.
        doubtful: an object or a thinking block was cut off, or an object was found inside a broken one.
    """

    objects: list[Pairs] = field(default_factory=list)
    rest: list[str] = field(default_factory=list)
    doubtful: bool = False


def _no_number(_: str) -> None:
    """Stand in for every number: none is ever used, and converting 5,000 digits raises."""


_DECODER = json.JSONDecoder(
    object_pairs_hook=Pairs,
    parse_int=_no_number,
    parse_float=_no_number,
    parse_constant=_no_number,
    strict=False,
)


def decode_whole(text: str) -> Any:
    """Return the value of a text that is one JSON value and nothing else.

    Raises:
        ValueError: it is not; `TooBrokenError` when it nests too deeply.
    """
    value, end, text = _decode(text.strip(_SPACES), 0)
    if end < len(text):
        raise ValueError("not one JSON value")
    return value


def scan(text: str) -> Scan:
    """Find the objects of a reply that is more than one JSON value.

    Thinking blocks are left out: tagged ones, one that never ends, and everything before a closing tag that was
    never opened. Tags inside the strings of an object are only text.

    Raises:
        TooBrokenError: see there.
    """
    return _Scanner(text).run()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._found = Scan()
        self._done = 0
        self._next = 0
        self._broken = 0
        self._depth = 0

    def run(self) -> Scan:
        thinking = False
        while event := _EVENT.search(self._text, self._next):
            self._next = event.end()
            if event.lastgroup == "open":
                if not thinking:
                    self._leave(event.start())
                thinking = True
            elif event.lastgroup == "close":
                if not thinking:
                    self._found, self._depth = Scan(), 0
                thinking = False
                self._done = event.end()
            elif not thinking:
                self._object(event.start())
        if thinking:
            self._found.doubtful = True
        else:
            self._leave(len(self._text))
        return self._found

    def _leave(self, until: int) -> None:
        """Put the text up to `until` aside as no object, and follow its braces while a broken object is open."""
        passed = self._text[self._done : until]
        if passed:
            self._found.rest.append(passed)
        if self._depth:
            self._depth = max(0, self._depth + passed.count("{") - passed.count("}"))
        self._done = max(self._done, until)

    def _object(self, start: int) -> None:
        self._leave(start)
        value, end, self._text = _decode(self._text, start)
        if end >= 0:
            if len(self._found.objects) >= MAX_OBJECTS:
                raise TooBrokenError("too many objects")
            self._found.objects.append(value)
            self._found.rest.append("\n")
            self._found.doubtful |= self._depth > 0
            self._done = self._next = end
            return
        self._broken += 1
        if self._broken > MAX_BROKEN:
            raise TooBrokenError("too many broken objects")
        broke_at = -end
        if broke_at >= len(self._text):
            self._found.doubtful = True
        # What the broken object had taken in is its own, never an object beside it.
        self._depth += 1
        self._done = start + 1
        self._found.rest.append("{")
        self._leave(broke_at)
        self._next = broke_at


def _decode(text: str, start: int) -> tuple[Any, int, str]:
    """Decode the value at `start`.

    Returns:
        The value, the index behind it, and the text; or, for a broken value, None, the negative index where it
        broke (the text's length when the text ends first), and the text. White space that JSON does not know is
        made a plain space in that text, between tokens only, so that all indices stay.
    """
    for _ in range(_MAX_SPACES):
        try:
            value, end = _DECODER.raw_decode(text, start)
        except RecursionError:
            raise TooBrokenError("nested too deeply") from None
        except json.JSONDecodeError as error:
            broke_at = error.pos
            if broke_at < len(text) and text[broke_at] in _ODD_SPACES:
                text = f"{text[:broke_at]} {text[broke_at + 1 :]}"
                continue
            if error.msg.startswith("Unterminated string") or not text[broke_at:].strip():
                broke_at = len(text)
            return None, -max(broke_at, start + 1), text
        return value, end, text
    return None, -(start + 1), text

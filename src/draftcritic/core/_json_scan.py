"""Finds the JSON objects of a model's reply, in linear time and without guessing at broken ones."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from draftcritic.core._text import is_quoted

MAX_BROKEN = 200
"""Broken objects in one reply after which it is given up. Each costs an exception; real replies hold one or two."""
MAX_OBJECTS = 1000
"""Complete objects next to each other after which a reply is given up."""
_MENDING_CHARS = 500_000
"""Characters that are read again or copied for slips in one reply, after which slips are faults."""
_MAX_GAP = 200
_ODD_SPACES = frozenset("\x0b\x0c\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000\u200b\u2060\ufeff").union(
    map(chr, range(0x2000, 0x200B))
)
SPACES = "".join(_ODD_SPACES) + " \t\r\n"
_NEVER_ESCAPED = frozenset("'_*$#&%~`!?.,:;<>@|=+- ")

_TAG = r"""(?: [\w:-]{0,24}[_:-] | ant )?
    (?: think(?:ing)? | thoughts? | reason(?:ing)? | rationale | reflection | analysis | scratchpad | deliberation
      | monologue | planning | working_out | cot | chain_of_thought )
    (?: _(?:process|steps?|block|trace|reasoning) )?"""
_EVENT = re.compile(
    rf"""
      (?P<object> \{{ [\s\u200b\u2060\ufeff]* " )
    | (?P<close> < (?: \|?/ | \|?end_(?:of_)? ) {_TAG} \s* \|?> | \[/THINK\] | ◁/think▷ | <channel\|> | <unused95>
               | <\|channel\|>\s*final )
    | (?P<open>  < \|? {_TAG} (?:\s[^<>]*)? (?<!/) > | <\|{_TAG}\|> | \[THINK\] | ◁think▷ | <unused94>
               | <\|channel\|?>\s*(?:analysis|thought) | (?-i: \A\s*analysis(?=[A-Z]) ) )
    | (?P<final> assistantfinal )
    """,
    re.VERBOSE | re.IGNORECASE,
)

_OBJECT = re.compile(r'\{[\s\u200b\u2060\ufeff]*"')
_QUOTES = "\"'`\u201c\u201d\u2018\u2019"


class Pairs(list[tuple[str, Any]]):
    """A JSON object with the keys in order and repeated keys kept."""

    __slots__ = ()


class TooBrokenError(ValueError):
    """The text nests too deeply or has too many objects, or broken ones, to be anything but hostile."""


@dataclass
class Scan:
    """The parts of a reply outside its thinking blocks.

    Attributes:
        objects: the complete objects, in order; objects inside of objects are not listed.
        quoted: those that the prose hands on as somebody else's words ("the draft says"); not in `objects`.
        rest: the text around them, a line feed in place of each object.
        doubtful: an object or a thinking block was cut off, or an object was found inside a broken one.
    """

    objects: list[Pairs] = field(default_factory=list)
    quoted: list[Pairs] = field(default_factory=list)
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
    source = _Source(text.strip(SPACES))
    value, end = source.decode(0)
    if end < len(source.text):
        raise ValueError("not one JSON value")
    return value


def scan(text: str) -> Scan:
    """Find the objects of a reply that is more than one JSON value.

    Thinking blocks are left out: tagged ones, one that never ends, and everything before a closing tag that was
    never opened. Tags inside the strings of an object, or between quotation marks, are only text.

    Raises:
        TooBrokenError: see there.
    """
    return _Scanner(text).run()


def every_object(text: str) -> list[Pairs]:
    """Return the objects of a text that the critic judged: also those in thinking blocks and in broken objects.

    Objects inside of a listed one are not listed.

    Raises:
        TooBrokenError: the text has too many objects, or broken ones, or nests too deeply.
    """
    source, found, at, broken, read = _Source(text), list[Pairs](), 0, 0, 0
    while event := _OBJECT.search(source.text, at):
        value, end = source.decode(event.start())
        if end >= 0:
            found.append(value)
            at = end
        else:
            broken, read, at = broken + 1, read - end - event.start(), event.start() + 1
        if len(found) > MAX_OBJECTS or broken > MAX_BROKEN or read > _MENDING_CHARS:
            raise TooBrokenError("too many objects")
    return found


class _Scanner:
    def __init__(self, text: str) -> None:
        self._source = _Source(text)
        self._found = Scan()
        self._done = 0
        self._next = 0
        self._broken = 0
        self._depth = 0

    def run(self) -> Scan:
        thinking = False
        while event := _EVENT.search(self._source.text, self._next):
            kind, self._next = event.lastgroup, event.end()
            if kind == "object":
                if not thinking:
                    self._object(event.start())
            elif self._is_mention(event.start(), event.end()) or (kind == "final" and not thinking):
                continue
            elif kind == "open":
                if not thinking:
                    self._leave(event.start())
                thinking = True
            else:
                if not thinking:
                    self._found, self._depth = Scan(), 0
                thinking = False
                self._done = event.end()
        if thinking:
            self._found.doubtful = True
        else:
            self._leave(len(self._source.text))
        return self._found

    def _is_mention(self, start: int, end: int) -> bool:
        text = self._source.text
        return start > 0 and text[start - 1] in _QUOTES and text[end : end + 1] in _QUOTES

    def _leave(self, until: int) -> None:
        """Put the text up to `until` aside as no object, and follow its braces while a broken object is open."""
        passed = self._source.text[self._done : until]
        if passed:
            self._found.rest.append(passed)
        if self._depth:
            self._depth = max(0, self._depth + passed.count("{") - passed.count("}"))
        self._done = max(self._done, until)

    def _object(self, start: int) -> None:
        self._leave(start)
        value, end = self._source.decode(start)
        if end >= 0:
            self._take(value, start, end)
            return
        self._broken += 1
        if self._broken > MAX_BROKEN:
            raise TooBrokenError("too many broken objects")
        broke_at = -end
        if broke_at >= len(self._source.text):
            self._found.doubtful = True
        # Objects inside the broken object belong to it; they never count as separate objects.
        self._depth += 1
        self._done = start + 1
        self._found.rest.append("{")
        self._leave(broke_at)
        self._next = broke_at

    def _take(self, value: Pairs, start: int, end: int) -> None:
        if len(self._found.objects) + len(self._found.quoted) >= MAX_OBJECTS:
            raise TooBrokenError("too many objects")
        quoted = is_quoted(self._source.text, start, end)
        (self._found.quoted if quoted else self._found.objects).append(value)
        self._found.rest.append("\n")
        self._found.doubtful |= self._depth > 0
        self._done = self._next = end


class _Source:
    """A text and the decoding of values in it, past slips that leave no doubt about what was meant.

    A slip leaves all strings where they are: white space that JSON does not know, a comma behind the last item, a
    backslash before a character that needs none. It is mended in the text, behind the value's start.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._left = _MENDING_CHARS

    def decode(self, start: int) -> tuple[Any, int]:
        """Decode the value at `start`.

        Returns:
            The value and the index behind it; for a broken value, None and the negative index where it broke (the
            text's length when the text ends first).
        """
        while isinstance(found := self._raw(start), json.JSONDecodeError):
            broke_at = found.pos
            self._left -= broke_at - start + len(self.text) // 16
            mended = _mended(self.text, found) if self._left > 0 else None
            if mended is None:
                if found.msg.startswith("Unterminated string") or not self.text[broke_at:].strip():
                    broke_at = len(self.text)
                return None, -max(broke_at, start + 1)
            self.text = mended
        return found

    def _raw(self, start: int) -> tuple[Any, int] | json.JSONDecodeError:
        try:
            return _DECODER.raw_decode(self.text, start)
        except RecursionError:
            raise TooBrokenError("nested too deeply") from None
        except json.JSONDecodeError as error:
            return error


def _mended(text: str, error: json.JSONDecodeError) -> str | None:
    """Return the text without the slip that the decoder met, or None when it met a fault."""
    at, fault = error.pos, error.msg
    if text[at : at + 1] in _ODD_SPACES:
        return f"{text[:at]} {text[at + 1 :]}"
    if fault.startswith("Invalid \\uXXXX"):
        return f"{text[: at - 1]}\\{text[at - 1 :]}"
    if fault.startswith("Invalid \\escape"):
        kept = text[at + 1 :] if text[at + 1 : at + 2] in _NEVER_ESCAPED else f"\\{text[at:]}"
        return text[:at] + kept
    if fault.startswith("Illegal trailing comma"):  # as Python 3.13 reports it
        return f"{text[:at]} {text[at + 1 :]}"
    comma = text.rfind(",", max(0, at - _MAX_GAP), at)
    if text[at : at + 1] in {"}", "]"} and comma >= 0 and not text[comma + 1 : at].strip():
        return f"{text[:comma]} {text[comma + 1 :]}"
    return None

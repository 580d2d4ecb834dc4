"""Reads JSON objects from a file, one at a time: JSON lines or one large document, plain or gzip, in any Unicode."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from draftcritic.turns._text_lines import LONGEST_LINE, Piece, Problem, ReadError, head_of, pieces_of

__all__ = ["Problem", "ReadError", "Record", "head_of", "records"]

_CHUNK = 1 << 20
_LONGEST_ITEM = 512 << 20
_SPACE = " \t\r\n"
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Record(NamedTuple):
    """A JSON object of a file.

    Attributes:
        value: the object.
        place: where it is: a line, or the number of an item.
        key: in a document, the key of the list that it is an item of.
        around: what the document says besides its lists, as far as it is read.
    """

    value: dict[str, Any]
    place: str
    key: str = ""
    around: Mapping[str, Any] = _NOTHING


def records(path: Path) -> Iterator[Record | Problem]:
    """Yield the objects of a file. What cannot be read is yielded as a problem, and the rest is read on.

    Raises:
        ReadError: the file cannot be opened, or is no text.
    """
    number, first = 0, True
    pieces = pieces_of(path)
    while (piece := next(pieces, None)) is not None:
        if isinstance(piece, Problem):
            yield piece
            continue
        number += 1
        text = piece.text.strip(_SPACE + "\ufeff")
        if not text:
            continue
        opens, first = first and text[0] in "[{", False
        if not piece.ends:
            if opens:
                yield from _document(_texts(piece, pieces))
                return
            yield Problem(f"line {number}", f"is longer than {LONGEST_LINE >> 20} MiB")
            _pass_over(pieces)
            continue
        value, error = _parsed(text)
        if error is None:
            yield from _checked(value, f"line {number}")
            continue
        if opens:
            following = next(pieces, None)
            pieces = chain([] if following is None else [following], pieces)
            if _goes_on(text, following):
                yield from _document(_texts(piece, pieces))
                return
        yield Problem(f"line {number}", f"is no JSON: {error}")


def _goes_on(text: str, following: Piece | Problem | None) -> bool:
    """Whether a first line that is no JSON begins a document of several lines, and is no line that was cut off."""
    if text[-1] in ",[{:" or not isinstance(following, Piece):
        return text[-1] in ",[{:"
    return not isinstance(_parsed(following.text.strip(_SPACE))[0], dict)


def _texts(first: Piece, pieces: Iterator[Piece | Problem]) -> Iterator[str]:
    yield first.text
    yield from (piece.text for piece in pieces if isinstance(piece, Piece))


def _pass_over(pieces: Iterator[Piece | Problem]) -> None:
    """Read to the end of a line."""
    for piece in pieces:
        if isinstance(piece, Piece) and piece.ends:
            return


def _parsed(text: str) -> tuple[Any, str | None]:
    try:
        return json.loads(text), None
    except RecursionError:
        return None, "it is nested too deeply"
    except ValueError as error:
        return None, str(error)


def _checked(value: Any, place: str) -> Iterator[Record | Problem]:
    if isinstance(value, dict):
        wrapped = [(key, item) for key, item in value.items() if isinstance(item, list) and key in WRAPPERS]
        if not wrapped:
            yield Record(value, place)
        around = {key: item for key, item in value.items() if key not in WRAPPERS} if wrapped else _NOTHING
        for key, items in wrapped:
            yield from _items(items, place, key, around)
    elif isinstance(value, list):
        yield from _items(value, place, "")
    else:
        yield Problem(place, "is no JSON object")


def _items(items: list[Any], place: str, key: str, around: Mapping[str, Any] = _NOTHING) -> Iterator[Record | Problem]:
    for number, item in enumerate(items, 1):
        if isinstance(item, dict):
            yield Record(item, f"{place}, item {number}", key, around)
        else:
            yield Problem(f"{place}, item {number}", "is no JSON object")


WRAPPERS = frozenset({"data", "traces", "runs", "observations", "simulations", "results", "samples", "rows", "turns"})
"""Keys of documents whose lists hold the objects."""


def _document(chunks: Iterator[str]) -> Iterator[Record | Problem]:
    """Yield the objects of JSON documents without reading all of them into memory.

    These are the items of a list at the top, or of the lists of `WRAPPERS` in an object at the top. An object without
    such a list is yielded as a whole.
    """
    scanner, number = _Scanner(chunks), 0
    while opening := scanner.peek():
        number += 1
        place = f"document {number}" if number > 1 else ""
        try:
            if opening == "[":
                yield from scanner.items("", place)
            elif opening == "{":
                yield from _object(scanner, place)
            else:
                raise ValueError(f"{opening!r} is there, and no object")
        except (ValueError, RecursionError) as error:
            yield Problem(place or "end", f"the document is cut off or is no JSON: {error}")
            return


def _object(scanner: _Scanner, place: str) -> Iterator[Record | Problem]:
    whole: dict[str, Any] = {}
    wrapped = False
    for key in scanner.members():
        if key in WRAPPERS and scanner.peek() == "[":
            wrapped = True
            yield from scanner.items(key, place, whole)
        else:
            whole[key] = scanner.value()
    if not wrapped:
        yield Record(whole, place or "document")


class _Scanner:
    """Decodes one value after the other from pieces of a text."""

    def __init__(self, chunks: Iterator[str]) -> None:
        self._chunks = chunks
        self._decoder = json.JSONDecoder()
        self._text = ""
        self._at = 0

    def peek(self) -> str:
        """Return the next character that is no space; empty at the end."""
        while True:
            while self._at < len(self._text) and self._text[self._at] in _SPACE + "\ufeff":
                self._at += 1
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._more():
                return ""

    def expect(self, sign: str) -> None:
        """Pass over a sign.

        Raises:
            ValueError: another one is there.
        """
        found = self.peek()
        if found != sign:
            raise ValueError(f"{sign!r} expected, {found or 'the end'!r} found")
        self._at += 1

    def members(self) -> Iterator[str]:
        """Yield the names of an object's members; the caller reads each value."""
        self.expect("{")
        while self.peek() not in ("}", ""):
            key = self.value()
            self.expect(":")
            yield str(key)
            if self.peek() == ",":
                self._at += 1
        self.expect("}")

    def items(self, key: str, place: str, around: Mapping[str, Any] = _NOTHING) -> Iterator[Record | Problem]:
        """Yield the items of a list.

        Raises:
            ValueError: an item is no JSON, or the list is cut off.
        """
        self.expect("[")
        number = 0
        while self.peek() not in ("]", ""):
            number += 1
            item, where = self.value(), ", ".join(filter(None, (place, f"item {number}")))
            if isinstance(item, dict):
                yield Record(item, where, key, around)
            else:
                yield Problem(where, "is no JSON object")
            if self.peek() == ",":
                self._at += 1
        self.expect("]")

    def value(self) -> Any:
        """Return the next value.

        Raises:
            ValueError: it is no JSON, or cut off.
        """
        self.peek()
        wanted = _CHUNK
        while True:
            try:
                value, end = self._decoder.raw_decode(self._text, self._at)
                if end < len(self._text) or not self._more():
                    self._at = end
                    return value
            except ValueError:  # noqa: PERF203 - more of the text may make it whole
                if len(self._text) - self._at > _LONGEST_ITEM or not self._more(wanted):
                    raise
                wanted *= 2

    def _more(self, wanted: int = 1) -> bool:
        """Read at least `wanted` characters on; False at the end."""
        pieces, size = [self._text[self._at :]], 0
        for chunk in self._chunks:
            pieces.append(chunk)
            size += len(chunk)
            if size >= wanted:
                break
        if not size:
            return False
        self._text, self._at = "".join(pieces), 0
        return True

"""Reads JSON objects from a file, one at a time: JSON lines or one large document, plain or gzip, in any Unicode."""

from __future__ import annotations

import codecs
import io
import json
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, NamedTuple, cast

_SNIFFED = 4096
_CHUNK = 1 << 20
_PACKED = 1 << 16
_LONGEST_ITEM = 512 << 20
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FALLBACK = "windows-1252"
_SPACE = " \t\r\n"
_NOTHING: Mapping[str, Any] = MappingProxyType({})


class ReadError(Exception):
    """A file cannot be read; the message says which and why."""


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


class Problem(NamedTuple):
    """Something in a file that could not be read."""

    place: str
    reason: str


def records(path: Path) -> Iterator[Record | Problem]:
    """Yield the objects of a file. What cannot be read is yielded as a problem, and the rest is read on.

    Raises:
        ReadError: the file cannot be opened, or is no text.
    """
    try:
        with _open(path) as raw, io.BufferedReader(cast("Any", raw), _CHUNK) as buffered:
            yield from _of_text(path, buffered)
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, (EOFError, zlib.error)):
            yield Problem("end", f"the compressed file is cut off or damaged: {error}")
            return
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from error


def head_of(path: Path, size: int = _SNIFFED) -> bytes:
    """Return the first bytes of a file.

    Raises:
        ReadError: the file cannot be opened.
    """
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise ReadError(f"{path}: cannot be read: {error.strerror or error}") from error


def _open(path: Path) -> IO[bytes]:
    if head_of(path, 2) == b"\x1f\x8b":
        return cast("IO[bytes]", _Gunzip(path.open("rb", buffering=0)))
    return path.open("rb", buffering=0)


class _Gunzip(io.RawIOBase):
    """Unpacks gzip, and gives all of a damaged file that can be unpacked before it raises."""

    def __init__(self, packed: IO[bytes]) -> None:
        self._packed = packed
        self._member = zlib.decompressobj(wbits=31)
        self._left = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill the buffer.

        Raises:
            EOFError: the file ends within a member.
            zlib.error: the file is damaged.
        """
        while True:
            packed = self._left or self._packed.read(_PACKED)
            self._left = b""
            if not packed:
                if not self._member.eof:
                    raise EOFError("it ends too early")
                return 0
            if self._member.eof:
                self._member = zlib.decompressobj(wbits=31)
            text = self._member.decompress(packed, len(buffer))
            self._left = self._member.unconsumed_tail or self._member.unused_data
            if text:
                buffer[: len(text)] = text
                return len(text)

    def close(self) -> None:
        self._packed.close()
        super().close()


def _of_text(path: Path, buffered: io.BufferedReader) -> Iterator[Record | Problem]:
    head = buffered.peek(_SNIFFED)[:_SNIFFED]
    encoding = _encoding(head)
    if encoding is None and b"\0" in head:
        raise ReadError(f"{path}: is no text; expected are JSON lines, a JSON document, or a parquet file")
    if encoding is not None and encoding != "utf-8-sig":
        lines: Iterator[str | Problem] = _decoded(buffered, encoding)
    else:
        lines = _lines_of(buffered)
    yield from _of_lines(lines)


def _encoding(head: bytes) -> str | None:
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    pairs = len(head) // 2 or 1
    if head[1::2].count(0) > 0.8 * pairs:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > 0.8 * pairs else None


def _decoded(raw: io.BufferedReader, encoding: str) -> Iterator[str | Problem]:
    with io.TextIOWrapper(raw, encoding, errors="replace", newline="\n") as text:
        yield from text


def _lines_of(raw: IO[bytes]) -> Iterator[str | Problem]:
    """Yield the lines of a file that is UTF-8 as a whole; a line that is not is read as Windows writes it."""
    first = True
    for number, line in enumerate(raw, 1):
        if first:
            line, first = line.removeprefix(codecs.BOM_UTF8), False  # noqa: PLW2901 - the line without its mark
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError:
            yield Problem(f"line {number}", f"is not UTF-8; read as {_FALLBACK}")
            yield line.decode(_FALLBACK, "replace")


def _of_lines(lines: Iterator[str | Problem]) -> Iterator[Record | Problem]:
    number, pending = 0, ""
    for line in lines:
        if isinstance(line, Problem):
            yield line
            continue
        number += 1
        text = line.strip(_SPACE + "\ufeff")
        if not text:
            continue
        if number == 1 or not pending:
            value, error = _parsed(text)
            if error is None:
                yield from _checked(value, f"line {number}")
                continue
            if number == 1 and text[0] in "[{" and _goes_on(text):
                yield from _document(_joined(line, lines))
                return
        yield Problem(f"line {number}", f"is no JSON: {error}")


def _goes_on(text: str) -> bool:
    """Whether a first line that is no JSON may be the beginning of a document of several lines."""
    return text in ("[", "{") or text[-1] in ",[{:" or not text.startswith('{"') or len(text) < _SNIFFED


def _joined(first: str, lines: Iterator[str | Problem]) -> Iterator[str]:
    yield first
    for line in lines:
        if isinstance(line, str):
            yield line


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
    """Yield the objects of a JSON document without reading all of it into memory.

    These are the items of a list at the top, or of the lists of `WRAPPERS` in an object at the top. An object without
    such a list is yielded as a whole.
    """
    scanner = _Scanner(chunks)
    opening = scanner.peek()
    if opening == "[":
        yield from scanner.items("")
        return
    whole: dict[str, Any] = {}
    wrapped = False
    try:
        for key in scanner.members():
            if key in WRAPPERS and scanner.peek() == "[":
                wrapped = True
                yield from scanner.items(key, whole)
            else:
                whole[key] = scanner.value()
    except ValueError as error:
        yield Problem("end", f"the document is cut off or is no JSON: {error}")
        return
    if not wrapped:
        yield Record(whole, "document")


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

    def items(self, key: str, around: Mapping[str, Any] = _NOTHING) -> Iterator[Record | Problem]:
        """Yield the items of a list."""
        self.expect("[")
        number = 0
        while self.peek() not in ("]", ""):
            number += 1
            try:
                item = self.value()
            except (ValueError, RecursionError) as error:
                yield Problem(f"item {number}", f"is cut off or no JSON: {error}")
                return
            yield from (
                _items([item], f"item {number}", key)
                if not isinstance(item, dict)
                else (Record(item, f"item {number}", key, around),)
            )
            if self.peek() == ",":
                self._at += 1
        if self.peek() == "]":
            self._at += 1
        else:
            yield Problem("end", "the list is cut off")

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

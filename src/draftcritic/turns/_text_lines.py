"""Lines of a text file of any size: plain or gzip, in any Unicode, and never more of one line than fits into memory."""

from __future__ import annotations

import codecs
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, NamedTuple

_SNIFFED = 4096
_CHUNK = 1 << 20
_PACKED = 1 << 16
LONGEST_LINE = 128 << 20
"""Bytes, or characters, of a line that are handed over at once."""
_BOMS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_FALLBACK = "windows-1252"
_GZIP = b"\x1f\x8b"


class ReadError(Exception):
    """A file cannot be read; the message says which and why."""


class Problem(NamedTuple):
    """Something in a file that could not be read."""

    place: str
    reason: str


class Piece(NamedTuple):
    """A line, or a part of one that is too long.

    Attributes:
        text: the text.
        ends: the line ends with it.
    """

    text: str
    ends: bool


def pieces_of(path: Path) -> Iterator[Piece | Problem]:
    """Yield the lines of a file.

    Raises:
        ReadError: the file cannot be opened, or is no text.
    """
    try:
        # Opened once: a pipe has only one beginning.
        with path.open("rb", buffering=0) as raw, io.BufferedReader(raw, _CHUNK) as buffered:
            if not buffered.peek(2).startswith(_GZIP):
                yield from _of_text(path, buffered)
                return
            with io.BufferedReader(_Gunzip(buffered), _CHUNK) as unpacked:
                yield from _of_text(path, unpacked)
    except (EOFError, zlib.error) as error:
        yield Problem("end", f"the compressed file is cut off or damaged: {error}")
    except OSError as error:
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


def _of_text(path: Path, buffered: io.BufferedReader[Any]) -> Iterator[Piece | Problem]:
    head = buffered.peek(_SNIFFED)[:_SNIFFED]
    encoding = _encoding(head)
    if encoding is None and b"\0" in head:
        raise ReadError(f"{path}: is no text; expected are JSON lines, a JSON document, or a parquet file")
    if encoding is None or encoding == "utf-8-sig":
        yield from _utf_8(buffered)
        return
    with io.TextIOWrapper(buffered, encoding, errors="replace", newline="\n") as text:
        most = LONGEST_LINE
        while piece := text.readline(most):
            ends = piece.endswith("\n") or len(piece) < most
            yield Piece(piece, ends)
            most = LONGEST_LINE if ends else _CHUNK


def _encoding(head: bytes) -> str | None:
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    pairs = len(head) // 2 or 1
    if head[1::2].count(0) > 0.8 * pairs:
        return "utf-16-le"
    return "utf-16-be" if head[::2].count(0) > 0.8 * pairs else None


def _utf_8(raw: IO[bytes]) -> Iterator[Piece | Problem]:
    """Yield the lines of a file that is UTF-8 as a whole; a line that is not is read as Windows writes it."""
    number, begins = 1, True
    parts = codecs.getincrementaldecoder("utf-8")("replace")
    while line := raw.readline(LONGEST_LINE if begins else _CHUNK):
        ends = line.endswith(b"\n") or len(line) < (LONGEST_LINE if begins else _CHUNK)
        if number == 1 and begins:
            line = line.removeprefix(codecs.BOM_UTF8)
        if not (begins and ends):
            yield Piece(parts.decode(line, ends), ends)
        else:
            try:
                yield Piece(line.decode("utf-8"), ends)
            except UnicodeDecodeError:
                yield Problem(f"line {number}", f"is not UTF-8; read as {_FALLBACK}")
                yield Piece(line.decode(_FALLBACK, "replace"), ends)
        number, begins = number + ends, ends

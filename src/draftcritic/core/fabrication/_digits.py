"""Patterns that begin with a digit, for which the regular expression engine looks fast."""

from __future__ import annotations

import re
from collections.abc import Iterator


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

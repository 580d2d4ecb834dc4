"""What can be made up in a draft."""

from __future__ import annotations

from typing import Any, NamedTuple

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

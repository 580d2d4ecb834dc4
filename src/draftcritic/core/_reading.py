"""What a reply of the critic's model holds: the objects with a verdict, and the text around them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from draftcritic.core._answers import VERDICTS, Answer, is_array, read_answer
from draftcritic.core._json_scan import Pairs, TooBrokenError, decode_whole, scan
from draftcritic.core._words import Verdict

_TEXT_PARTS = frozenset({"text", "output_text"})
_QUOTE = r"""\\{0,4}["'\u201c\u201d\u2018\u2019]"""
_LOOSE_FIELD = re.compile(
    rf"""(?: {_QUOTE} | [{{,]\s{{0,20}} ) verdict (?:{_QUOTE})? \s{{0,20}} : \s{{0,20}}
        (?:{_QUOTE})? \s{{0,20}} (?P<word>\w{{1,40}}) (?P<choice> \s{{0,20}} (?:{_QUOTE})? \s{{0,20}} \| )?""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True)
class Reading:
    """A reply, taken apart. Thinking blocks are left out.

    Attributes:
        answers: the objects with a verdict field, in order.
        quoted: those that the prose hands on as somebody else's words.
        prose: the text around the objects.
        doubtful: an object or a thinking block was cut off, or an object was found inside a broken one.
        whole: the reply is one JSON value and nothing else.
        single: that value is an object, or a list of nothing but one.
    """

    answers: list[Answer] = field(default_factory=list)
    quoted: list[Answer] = field(default_factory=list)
    prose: str = ""
    doubtful: bool = False
    whole: bool = False
    single: bool = False

    def loose(self) -> Iterator[tuple[str, str]]:
        """Yield each verdict field of the prose, as of a broken object: its word, and the field as it is written.

        A field that lists the choices (`"approve" | "revise"`) is the form of the answer, copied from the prompt.
        """
        for found in _LOOSE_FIELD.finditer(self.prose):
            if not found["choice"]:
                yield found["word"].lower(), found[0]

    def loose_verdicts(self) -> Iterator[tuple[Verdict, str]]:
        """Yield the fields of `loose` whose word is a verdict."""
        return ((VERDICTS[word], written) for word, written in self.loose() if word in VERDICTS)


def text_of(raw: Any) -> str | None:
    """Return the text of a message's content, without reasoning; None when the content has no such shape."""
    if isinstance(raw, str):
        return raw
    if isinstance(raw, (list, tuple)):
        return "".join(map(_part_text, raw))
    return None


def _part_text(part: Any) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return ""
    kind, text = part.get("type", "text"), part.get("text")
    is_text = isinstance(kind, str) and kind in _TEXT_PARTS and not part.get("thought")
    return text if is_text and isinstance(text, str) else ""


def read(text: str, token: str | None = None, echoes: Container[Pairs] = ()) -> Reading:
    """Take a reply apart. See `read_answer` for the arguments.

    Raises:
        TooBrokenError: see `scan`.
    """
    try:
        value = decode_whole(text)
    except TooBrokenError:
        raise
    except ValueError:
        found = scan(text)
        return Reading(
            [answer for item in found.objects if (answer := read_answer(item, token, echoes))],
            [answer for item in found.quoted if (answer := read_answer(item, token, echoes))],
            "".join(found.rest),
            found.doubtful,
        )
    items = value if is_array(value) else [value]
    answers = [read_answer(item, token, echoes) for item in items if isinstance(item, Pairs)]
    single = len(items) == 1 and isinstance(items[0], Pairs)
    return Reading([answer for answer in answers if answer], whole=True, single=single)

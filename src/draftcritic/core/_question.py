"""Whether a message asks something, with or without a question mark."""

from __future__ import annotations

import re
from functools import cache

from draftcritic.core._lexicon import phrases, read_list

_LONGEST = 20_000
"""Characters of the end of a message that are looked at."""
_MARK = re.compile("[?\u00bf\u037e\u055e\u061f\u1367\u203d\u2047-\u2049\ufe56\uff1f]")
_CLAUSE_ENDS = ".!,;:\n\u2014\u3002\uff01\uff0c"


def asks(message: str) -> bool:
    """Return whether a message asks a question, or for leave. In doubt it does."""
    text = message[-_LONGEST:]
    return _MARK.search(text) is not None or _unmarked().search(text) is not None


@cache
def _unmarked() -> re.Pattern[str]:
    lists = {section: _choices(lines) for section, lines in read_list("questions", "common").items()}
    return re.compile(
        rf"(?:\A|[{_CLAUSE_ENDS}])\s{{0,4}}(?:(?:{lists['leads']})[ ,]{{1,3}}){{0,3}}(?:{lists['openers']})(?!\w)"
        rf"|(?<!\w)(?:{lists['words']})(?!\w)"
        rf"|{lists['particles']}"
        rf"|(?:{lists['endings']})(?=\s{{0,4}}(?:\Z|[{_CLAUSE_ENDS}]))",
        re.IGNORECASE,
    )


def _choices(lines: list[str]) -> str:
    return "|".join(map(re.escape, sorted(phrases(lines), key=len, reverse=True)))

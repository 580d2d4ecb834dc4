"""Reads one JSON object of a reply as an answer of the critic."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Any

from draftcritic.core._enums import Failure, Verdict
from draftcritic.core._json_scan import SPACES, Pairs, TooBrokenError, decode_whole, scan
from draftcritic.core._quotes import QuotedClaim, read_claims
from draftcritic.core._text import well_formed

TEXT_FIELD = {Verdict.REVISE: "revised_draft", Verdict.REFUSE: "refusal_message"}
VERDICTS = {verdict.value: verdict for verdict in Verdict}
SEVERITY = (Verdict.APPROVE, Verdict.REVISE, Verdict.REFUSE)
"""The verdicts, the strictest last."""
ID_FIELD = "id"
"""The field in which a reply repeats the token of its question."""
_VERDICT = "verdict"
_MAX_WORD = 24
_MAX_ENVELOPES = 3
_NOT_AN_ENVELOPE = re.compile(
    r"think|thought|reason|rationale|reflect|analysis|scratchpad|monologue|draft|evidence|quot|exampl|user|assistant"
    r"|injec|attack|source|tool_result|input"
)
"""Keys whose object is material or deliberation, and no verdict."""


@dataclass(frozen=True)
class Answer:
    """One object with a verdict field.

    Attributes:
        verdict: the verdict; None when `failure` is set.
        text: the revised draft or the refusal message.
        matched: the statements that the object names.
        reason: why, in its words.
        broken: the ids of rules that it names.
        failure: the field has no known verdict (unparsable), or the object contradicts itself (ambiguous).
        strictest: the strictest verdict that the object names.
        own: it repeats the token of the question.
        claims: the claims that it lists.
        echo: an equal object is part of the material that the critic judged.
    """

    verdict: Verdict | None
    text: str | None = None
    matched: list[str] = field(default_factory=list)
    failure: Failure | None = None
    strictest: Verdict | None = None
    own: bool = False
    echo: bool = False
    reason: str | None = None
    broken: list[str] = field(default_factory=list)
    claims: tuple[QuotedClaim, ...] = ()


def read_answer(item: Pairs, token: str | None = None, echoes: Container[Pairs] = ()) -> Answer | None:
    """Read one object; None when it has no verdict field, or one that lists the choices.

    An object with one key with another object in it is an envelope: what is in it is read.

    Args:
        item: a complete object.
        token: the token of the question; None when there was none.
        echoes: the objects of the material that the critic judged.
    """
    fields, inner, own = _opened(item, token)
    if _VERDICT not in fields:
        return None
    echo = inner in echoes or (inner is not item and item in echoes)
    words = {plain(value) if isinstance(value, str) else "" for value in fields[_VERDICT]}
    known = strictest_of(VERDICTS[word] for word in words if word in VERDICTS)
    if len(words) > 1:
        return Answer(None, failure=Failure.AMBIGUOUS, strictest=known, own=own, echo=echo)
    word = words.pop()
    if VERDICTS.keys() <= set(re.findall(r"\w+", word)):
        return None
    if known is None:
        return Answer(None, failure=Failure.UNPARSABLE, own=own, echo=echo)
    texts = fields.get(TEXT_FIELD[known], []) if known in TEXT_FIELD else []
    matched = fields.get("matched_preferences", [])
    if _differ(texts) or _differ(matched):
        return Answer(None, failure=Failure.AMBIGUOUS, strictest=known, own=own, echo=echo)
    reason, broken = _reason(fields.get("reason", [])), _names(fields.get("broken", []))
    claims = read_claims(fields["claims"][0]) if len(fields.get("claims", ())) == 1 else ()
    return Answer(known, _usable(texts), _statements(matched), None, known, own, echo, reason, broken, claims)


def strictest_of(verdicts: Any) -> Verdict | None:
    """Return the strictest of some verdicts, None when there are none."""
    return max(verdicts, key=SEVERITY.index, default=None)


def plain(word: str) -> str:
    """Return a key or a verdict without white space around it, case and width."""
    word = word.strip(SPACES).strip()
    return (unicodedata.normalize("NFKC", word) if len(word) <= _MAX_WORD else word).lower()


def is_array(value: Any) -> bool:
    """Whether a decoded value is a JSON array."""
    return isinstance(value, list) and not isinstance(value, Pairs)


def _opened(item: Pairs, token: str | None) -> tuple[dict[str, list[Any]], Pairs, bool]:
    """Return the fields of an object or of what is in its envelope, that object, and whether the token is there."""
    own = False
    for _ in range(_MAX_ENVELOPES + 1):
        fields: dict[str, list[Any]] = {}
        for key, value in item:
            fields.setdefault(plain(key), []).append(value)
        own |= token is not None and any(_is_token(value, token) for value in fields.get(ID_FIELD, ()))
        inner = _envelope(fields)
        if inner is None:
            break
        item = inner
    return fields, item, own


def _envelope(fields: dict[str, list[Any]]) -> Pairs | None:
    others = [key for key in fields if key != ID_FIELD]
    if len(others) != 1 or len(fields[others[0]]) != 1 or _NOT_AN_ENVELOPE.search(others[0]):
        return None
    value = fields[others[0]][0]
    if is_array(value) and len(value) == 1:
        value = value[0]
    return value if isinstance(value, Pairs) else None


def _is_token(value: Any, token: str) -> bool:
    return isinstance(value, str) and plain(value) == token


def _differ(values: list[Any]) -> bool:
    return any(value != values[0] for value in values)


def _usable(texts: list[Any]) -> str | None:
    text = texts[0] if texts else None
    return well_formed(text) if isinstance(text, str) and text.strip() else None


def _reason(values: list[Any]) -> str | None:
    reason = values[0] if values else None
    return _usable([" ".join(_statements([reason])) if is_array(reason) else reason])


def _names(values: list[Any]) -> list[str]:
    name = values[0] if values else None
    return name.split(",") if isinstance(name, str) else _statements(values)


def _statements(values: list[Any]) -> list[str]:
    matched = values[0] if values and is_array(values[0]) else []
    return [well_formed(text) for text in matched if isinstance(text, str)]


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

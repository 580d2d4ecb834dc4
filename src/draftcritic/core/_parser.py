"""Reads the verdict out of what the critic's model answered, and flags every answer that gives no clear one."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Any

from draftcritic.core._json_scan import SPACES, Pairs, Scan, TooBrokenError, decode_whole, scan
from draftcritic.core._prose import objects
from draftcritic.core._well_formed import well_formed
from draftcritic.core._words import Failure, Verdict

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_REPLY_CHARS = 200_000
"""A longer reply is unparsable, never cut: that is a revised draft of some 50,000 tokens."""

_TEXT_FIELD = {Verdict.REVISE: "revised_draft", Verdict.REFUSE: "refusal_message"}
_VERDICTS = {verdict.value: verdict for verdict in Verdict}
_MAX_WORD = 24
_TEXT_PARTS = frozenset({"text", "output_text"})
_QUOTE = r"""\\{0,4}["'\u201c\u201d\u2018\u2019]"""
_LOOSE_FIELD = re.compile(
    rf"""(?: {_QUOTE} | [{{,]\s{{0,20}} ) verdict (?:{_QUOTE})? \s{{0,20}} : \s{{0,20}}
        (?:{_QUOTE})? \s{{0,20}} (?P<word>\w{{1,40}}) (?P<choice> \s{{0,20}} (?:{_QUOTE})? \s{{0,20}} \| )?""",
    re.VERBOSE | re.IGNORECASE,
)


class ParsedReflection(tuple[Verdict, "str | None", "list[str]"]):  # noqa: SLOT001 - a tuple cannot have slots
    """What a reflection said; unpacks and compares as `(verdict, text, matched_preferences)`.

    Attributes:
        verdict: the verdict; `approve` when there is a failure.
        text: the revised draft (revise) or the refusal message (refuse), when one was given.
        matched_preferences: the statements the critic named.
        failure: None, or `Failure.UNPARSABLE` (no verdict was given) or `Failure.AMBIGUOUS` (more than one, or one
            that may be quoted). A failure is never an opinion of the critic.
    """

    _failure: Failure | None

    def __new__(
        cls,
        verdict: Verdict,
        text: str | None = None,
        matched_preferences: list[str] | None = None,
        failure: Failure | None = None,
    ) -> Self:
        self = super().__new__(cls, (verdict, text, matched_preferences or []))
        self._failure = failure
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self._failure)

    def __repr__(self) -> str:
        verdict, text, matched = self
        return (
            f"ParsedReflection(verdict={verdict.value!r}, text={text!r}, matched_preferences={matched!r}, "
            f"failure={self._failure and self._failure.value!r})"
        )

    @property
    def verdict(self) -> Verdict:
        return self[0]

    @property
    def text(self) -> str | None:
        return self[1]

    @property
    def matched_preferences(self) -> list[str]:
        return self[2]

    @property
    def failure(self) -> Failure | None:
        return self._failure


def parse_reflection_output(raw: Any) -> ParsedReflection:
    """Read the verdict out of a reply of the critic's model.

    One clear JSON object with a `verdict` gives it: the whole reply, the only item of a list, or an object inside
    prose or a code fence, outside of thinking blocks. Objects without the field are passed over, and what is nested
    in an object is its data. Several objects that agree are one; the last that holds a text gives it. Case, width and
    white space around keys and the verdict do not matter. Slips that leave every string where it is are accepted: raw
    line feeds, needless backslashes, a comma behind the last item. Anything else is `approve` with `failure` set:
    nothing that could be read in two ways is repaired, and no verdict is taken from prose.

    The reply is ambiguous when objects differ, when a field that counts is given twice with different values, when
    the text beside the object holds another verdict field (a broken or cut-off object), when the only object is handed
    on as a quotation ("the draft says"), or when the prose objects to an approval ("I refuse.").

    Args:
        raw: the content of the model's message: a text or a list of content blocks, of which only text counts.
    """
    text = _text_of(raw)
    if text is None or len(text) > MAX_REPLY_CHARS:
        return _flagged(Failure.UNPARSABLE)
    try:
        return _read(text)
    except TooBrokenError:
        return _flagged(Failure.UNPARSABLE)


def _flagged(failure: Failure) -> ParsedReflection:
    return ParsedReflection(Verdict.APPROVE, failure=failure)


def _text_of(raw: Any) -> str | None:
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


def _read(text: str) -> ParsedReflection:
    try:
        whole = decode_whole(text)
    except TooBrokenError:
        raise
    except ValueError:
        return _read_parts(scan(text))
    if _is_array(whole) and len(whole) == 1:
        whole = whole[0]
    parsed = _read_object(whole) if isinstance(whole, Pairs) else None
    return parsed or _flagged(Failure.UNPARSABLE)


def _read_parts(found: Scan) -> ParsedReflection:
    answers = [answer for item in found.objects if (answer := _read_object(item))]
    quoted = [answer for item in found.quoted if (answer := _read_object(item)) and not answer.failure]
    clear = [answer for answer in answers if answer.failure is None]
    ambiguous = any(answer.failure is Failure.AMBIGUOUS for answer in answers)
    if not clear and not ambiguous and not quoted:
        return _flagged(Failure.UNPARSABLE)
    if not clear or ambiguous or len(clear) < len(answers) or found.doubtful or not _agree(clear, quoted, found.rest):
        return _flagged(Failure.AMBIGUOUS)
    return next((answer for answer in reversed(clear) if answer.text is not None), clear[-1])


def _agree(answers: list[ParsedReflection], quoted: list[ParsedReflection], rest: list[str]) -> bool:
    """Whether the objects, and every verdict field in the text beside them, hold one verdict.

    A field that lists the choices (`"approve" | "revise"`) is the form of the answer, copied from the prompt. An
    approval also needs prose that does not object.
    """
    prose = "".join(rest)
    words = {field["word"].lower() for field in _LOOSE_FIELD.finditer(prose) if not field["choice"]}
    words.update(answer.verdict.value for answer in (*answers, *quoted))
    return len(words) == 1 and not (Verdict.APPROVE.value in words and objects(prose))


def _read_object(item: Pairs) -> ParsedReflection | None:
    """Read one object; None when it has no verdict field, or one that lists the choices."""
    fields: dict[str, list[Any]] = {}
    for key, value in item:
        fields.setdefault(_plain(key), []).append(value)
    if "verdict" not in fields:
        return None
    words = {_plain(value) if isinstance(value, str) else "" for value in fields["verdict"]}
    word = words.pop()
    if words:
        return _flagged(Failure.AMBIGUOUS)
    if _VERDICTS.keys() <= set(re.findall(r"\w+", word)):
        return None
    if word not in _VERDICTS:
        return _flagged(Failure.UNPARSABLE)
    verdict = _VERDICTS[word]
    texts = fields.get(_TEXT_FIELD[verdict], []) if verdict in _TEXT_FIELD else []
    matched = fields.get("matched_preferences", [])
    if _differ(texts) or _differ(matched):
        return _flagged(Failure.AMBIGUOUS)
    return ParsedReflection(verdict, _usable(texts), _statements(matched))


def _plain(word: str) -> str:
    """Return a key or a verdict without white space around it, case and width."""
    word = word.strip(SPACES).strip()
    return (unicodedata.normalize("NFKC", word) if len(word) <= _MAX_WORD else word).lower()


def _differ(values: list[Any]) -> bool:
    return any(value != values[0] for value in values)


def _usable(texts: list[Any]) -> str | None:
    text = texts[0] if texts else None
    return well_formed(text) if isinstance(text, str) and text.strip() else None


def _statements(values: list[Any]) -> list[str]:
    matched = values[0] if values and _is_array(values[0]) else []
    return [well_formed(text) for text in matched if isinstance(text, str)]


def _is_array(value: Any) -> bool:
    return isinstance(value, list) and not isinstance(value, Pairs)

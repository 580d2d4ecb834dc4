"""Reads the verdict out of what the critic's model answered, and flags every answer that gives no clear one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from draftcritic.core._enums import Failure, Verdict
from draftcritic.core._json_scan import TooBrokenError
from draftcritic.core._reply_answers import Answer, Reading, read, text_of
from draftcritic.core._reply_strictest import Echoes, Own, own_verdict
from draftcritic.core._text import objects

if TYPE_CHECKING:
    from typing_extensions import Self

MAX_REPLY_CHARS = 200_000
"""A longer reply is unparsable, never cut: that is a revised draft of some 50,000 tokens."""


class ParsedReflection(tuple[Verdict, "str | None", "list[str]"]):  # noqa: SLOT001 - a tuple cannot have slots
    """What a reflection said; unpacks and compares as `(verdict, text, matched_preferences)`.

    Attributes:
        verdict: the verdict; `approve` when there is a failure.
        text: the revised draft (revise) or the refusal message (refuse), when one was given.
        matched_preferences: the statements the critic named.
        failure: None, or `Failure.UNPARSABLE` (no verdict was given) or `Failure.AMBIGUOUS` (more than one, or one
            that may be quoted). A failure is never an opinion of the critic.
        own: the strictest of the verdicts that are the critic's own, with its text; see `own_verdict`.
    """

    _failure: Failure | None
    own: Own

    def __new__(
        cls,
        verdict: Verdict,
        text: str | None = None,
        matched_preferences: list[str] | None = None,
        failure: Failure | None = None,
        own: Own | None = None,
    ) -> Self:
        self = super().__new__(cls, (verdict, text, matched_preferences or []))
        self._failure = failure
        self.own = own or Own(None if failure else verdict, text, matched_preferences or [])
        return self

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (*self, self._failure, self.own)

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

    @property
    def strictest(self) -> Verdict | None:
        """The strictest verdict of the critic's own, also of a reply with a failure; None when it has none."""
        return self.own.verdict


def parse_reflection_output(raw: Any, *, token: str | None = None, untrusted: Sequence[str] = ()) -> ParsedReflection:
    """Read the verdict out of a reply of the critic's model.

    One clear JSON object with a `verdict` gives it: the whole reply, the only item of a list, the value in an object
    with one key, or an object inside prose or a code fence, outside of thinking blocks. Objects without the field are
    passed over, and what is nested in an object with several keys is its data. Several objects that agree are one; the
    last that has a text gives it. Case, width and white space around keys and the verdict do not matter. Slips that
    leave every string where it is are accepted: raw line feeds, needless backslashes, a comma behind the last item.
    Anything else is `approve` with `failure` set: nothing that could be read in two ways is repaired, and no verdict is
    taken from prose. `strictest` says what can still be relied on then.

    The reply is ambiguous when objects differ, when a field that counts is given twice with different values, when
    the text around the object contains another verdict field (a broken or cut-off object), when the only object is
    quoted ("the draft says"), or when the prose objects to an approval ("I refuse.").

    Args:
        raw: the content of the model's message: a text or a list of content blocks, of which only text counts.
        token: the token of the question; an object that repeats it as its `id` is the critic's own.
        untrusted: the material that the critic judged: an object without the token that equals one in it is an echo.
    """
    text = text_of(raw)
    if text is None or len(text) > MAX_REPLY_CHARS:
        return _flagged(Failure.UNPARSABLE)
    echoes = Echoes(untrusted)
    try:
        reading = read(text, token, echoes)
    except TooBrokenError:
        return _flagged(Failure.UNPARSABLE)
    own = own_verdict(reading, echoes)
    if reading.whole:
        return _whole(reading, own)
    return _parts(reading, own)


def _flagged(failure: Failure, own: Own | None = None) -> ParsedReflection:
    return ParsedReflection(Verdict.APPROVE, failure=failure, own=own)


def _whole(reading: Reading, own: Own) -> ParsedReflection:
    if not reading.single or not reading.answers:
        return _flagged(Failure.UNPARSABLE, own)
    return _of(reading.answers[0], own)


def _parts(reading: Reading, own: Own) -> ParsedReflection:
    answers, quoted = reading.answers, [answer for answer in reading.quoted if not answer.failure]
    clear = [answer for answer in answers if answer.failure is None]
    ambiguous = any(answer.failure is Failure.AMBIGUOUS for answer in answers)
    if not clear and not ambiguous and not quoted:
        return _flagged(Failure.UNPARSABLE, own)
    if not clear or ambiguous or len(clear) < len(answers) or reading.doubtful or not _agree(reading, clear, quoted):
        return _flagged(Failure.AMBIGUOUS, own)
    return _of(next((answer for answer in reversed(clear) if answer.text is not None), clear[-1]), own)


def _of(answer: Answer, own: Own) -> ParsedReflection:
    if answer.verdict is None:
        return _flagged(answer.failure or Failure.UNPARSABLE, own)
    return ParsedReflection(answer.verdict, answer.text, answer.matched, own=own)


def _agree(reading: Reading, answers: list[Answer], quoted: list[Answer]) -> bool:
    """Whether the objects, and every verdict field in the text around them, hold one verdict.

    An approval also needs prose that does not object.
    """
    words = {word for word, _ in reading.loose()}
    words.update(str(answer.verdict) for answer in (*answers, *quoted))
    return len(words) == 1 and not (Verdict.APPROVE.value in words and objects(reading.prose))

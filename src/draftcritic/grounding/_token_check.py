"""Checks every token of a draft against the sources, and gives each finding its measured confidence.

The numbers come from labelled drafts, of which about every fifth contains a fabricated token, and are rounded down.
`python -m draftcritic.evaluate` prints the table, docs/detection.md explains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, islice

from draftcritic.grounding._derivation import Derivations, may_be_result
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._findings import FabricationFinding, FabricationSeverity
from draftcritic.grounding._ignorable import (
    code_fences,
    has_cue,
    is_example_name,
    is_ignorable,
    is_trivial,
    names_in,
    sequential_numbers,
)
from draftcritic.grounding._numbers import with_plain_digits
from draftcritic.grounding._partial_match import is_grounded
from draftcritic.grounding._rules import FabricationRules
from draftcritic.grounding._temporal import Relations
from draftcritic.grounding._token import Spans, Token
from draftcritic.grounding._tokenizer import tokens_of

CONFIDENCE: dict[str, float] = {
    "date": 0.9,
    "email": 0.85,
    "hash": 0.9,
    "name": 0.85,
    "number": 0.85,
    "percentage": 0.75,
    "phone": 0.8,
    "price": 0.9,
    "reference": 0.9,
    "time": 0.85,
    "url": 0.9,
}
"""Kind of a token -> confidence of a finding about it."""

WEAK = 0.75
"""Confidence when the turn has no data, or the token may be a result that the search did not find."""
CONFIGURED = 0.95
"""Confidence when the application says what its identifiers look like."""


MEASURES = frozenset({"number", "price", "percentage"})
MOMENTS = frozenset({"date", "time"})
PASSES = 3
DERIVED = 40
"""Ungrounded numbers of one draft that a derivation is searched for."""
MAX_FINDINGS = 200
"""Findings that one draft gives, of all kinds together; a draft with more is noise from end to end."""

MAX_MISSING = 500
"""Tokens of one draft that no source grounds; the rest of a draft with more is not looked at."""

_WHAT = {
    "date": "date",
    "email": "e-mail address",
    "hash": "hash",
    "name": "name",
    "number": "number",
    "percentage": "percentage",
    "phone": "phone number",
    "price": "amount of money",
    "reference": "code",
    "time": "time",
    "url": "URL",
}
_HIGH = frozenset({"reference", "hash", "email", "phone", "price", "url"})


class DraftTokens:
    """The tokens of a draft, which is taken apart once for all the sources that it is compared with.

    Args:
        draft: the text to check.
    """

    def __init__(self, draft: str) -> None:
        self.draft = draft
        self.text = with_plain_digits(draft)
        self.tokens: list[Token] = []
        self._open: list[Token] | None = None

    def open_in(self, grounding: Grounding) -> list[Token]:
        """Return the tokens that no source contains; a second call must pass the sources of the first, or more."""
        if self._open is not None:
            return [token for token in self._open if self._is_open(token, grounding)]
        self.tokens, fences = tokens_of(self.text), code_fences(self.text)
        unknown = (
            token
            for token in self.tokens
            if not is_trivial(token, self.text, fences) and self._is_open(token, grounding)
        )
        self._open = list(islice(unknown, MAX_MISSING))
        if len(self._open) == MAX_MISSING:
            # What is behind is not looked at, and grounds nothing.
            self.tokens = [token for token in self.tokens if token.start <= self._open[-1].start]
        return self._open

    def _is_open(self, token: Token, grounding: Grounding) -> bool:
        return not is_grounded(token, grounding) and not is_ignorable(token, self.text, grounding)


def token_findings(
    tokens: DraftTokens, grounding: Grounding, rules: FabricationRules, taken: Iterable[tuple[int, int]]
) -> Iterator[FabricationFinding]:
    """Yield a finding for every token that no source grounds and that does not follow from their values.

    Args:
        tokens: the tokens of the draft.
        grounding: the sources of the turn.
        rules: what the application says of its identifiers and words.
        taken: spans of the draft that other findings name already.
    """
    draft, text = tokens.draft, tokens.text
    spans = Spans(taken)
    configured = [token for token in rules.identifiers_in(text) if not is_grounded(token, grounding)]
    given = 0
    for at, token in enumerate(chain(configured, _missing(tokens, grounding))):
        if rules.never_flags(token) or spans.meet(token.start, token.end):
            continue
        finding = _finding(token, draft, text, grounding, is_configured=at < len(configured))
        if finding is not None:
            spans.add(token.start, token.end)
            given += 1
            yield finding
        if given == MAX_FINDINGS:
            return


def _missing(draft: DraftTokens, grounding: Grounding) -> Iterator[Token]:
    text, missing = draft.text, draft.open_in(grounding)
    if any(token.kind in MEASURES for token in missing):
        counting = sequential_numbers(draft.tokens)
        missing = [token for token in missing if token.start not in counting]
        missing = _underived(text, draft.tokens, missing, grounding)
    if any(token.kind in MOMENTS for token in missing):
        relations = Relations(text, grounding)
        missing = [token for token in missing if token.kind not in MOMENTS or not relations.explains(token)]
    yield from missing
    yield from (name for name in names_in(text, grounding) if not is_example_name(name, text))


def _underived(text: str, tokens: list[Token], missing: list[Token], grounding: Grounding) -> list[Token]:
    derivations = Derivations(text, [token for token in tokens if token.kind in MEASURES], grounding)
    derivations.open = {token.start for token in missing}
    for _ in range(PASSES):
        # A total that is worked out may be a part of another one, before or after it.
        before = len(derivations.open)
        for token in missing[:DERIVED]:
            if token.kind in MEASURES and token.start in derivations.open and derivations.explains(token):
                # The same value said again is as good.
                derivations.open -= {
                    one.start for one in missing if one.kind == token.kind and one.value == token.value
                }
        if len(derivations.open) == before:
            break
    return [token for token in missing if token.start in derivations.open]


def _finding(
    token: Token, draft: str, text: str, grounding: Grounding, *, is_configured: bool
) -> FabricationFinding | None:
    confidence = CONFIDENCE[token.kind]
    why = ""
    if is_configured:
        confidence = CONFIGURED
    elif not grounding.has_data:
        # Without data a draft states common knowledge; only identifiers of records cannot be known.
        if token.kind not in {"reference", "number", "hash"} or not has_cue(token, text):
            return None
        confidence = WEAK
    elif token.kind in MEASURES and may_be_result(token, text):
        confidence, why = WEAK, ", nor do its numbers give it"
    severity: FabricationSeverity = "high" if token.kind in _HIGH else "medium"
    return FabricationFinding(
        identifier=draft[token.start : token.end],
        kind=token.kind,  # type: ignore[arg-type]
        severity=severity,
        reason=f"No tool result, argument, context or user message has this {_WHAT[token.kind]} in any format{why}.",
        pattern_kind=token.kind,
        confidence=confidence,
        span=(token.start, token.end),
    )

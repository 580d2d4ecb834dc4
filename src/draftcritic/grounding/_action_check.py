"""Claims of finished actions that no tool call of the turn supports."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace

from draftcritic.core._acknowledgements import is_acknowledgement
from draftcritic.grounding._action_claims import find_action_claims
from draftcritic.grounding._action_context import VAGUE, ActionClaim
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._findings import FabricationFinding
from draftcritic.grounding._token import lazy
from draftcritic.grounding._tool_outcome import ToolsOfTurn

MAX_CLAIMS = 32
"""Claims of one draft that are judged."""

NOTHING_DONE = 0.9
"""Confidence when no call of the turn changed anything."""
OTHER_DONE = 0.7
"""Confidence when a call of the turn changed something else: it may have done this as well."""
REPORTED_BEFORE = 0.5
"""Confidence when the conversation already reports such an action: the draft may repeat it."""
A_STATE = 0.5
"""Confidence when the wording may describe a record, or something that the draft itself writes."""
_STEM = 5
_ALL_SET = "set"
_PARTING = re.compile(
    r"(?:(?:no|nope|ok|okay|great|perfect|awesome|cool|good|alright|thank you|thanks|thx|cheers|so much|"
    r"very much|a lot|that's|that is|that will be|all|it|i need(?:ed)?|for now|everything|bye|goodbye|"
    r"nothing else|have a \w+ day)"
    r"[\s,.!]*){1,10}",
    re.IGNORECASE,
)
_REQUESTS = re.compile(
    r"\W{1,3}(?:\S{1,20}\s){0,3}(?:requests?|inquiry|application|solicitud|demande|anfrage|antrag|richiesta|pedido|"
    r"solicita\u00e7\u00e3o|verzoek|aanvraag|\u0437\u0430\u043f\u0440\u043e\u0441|\u0437\u0430\u044f\u0432\u043a)",
    re.IGNORECASE,
)
_WRITTEN = frozenset({"create", "add", "update", "set", "fix", "remove", "delete", "rename", "move", "mark", "done"})
"""Actions that a draft can do itself, in the text or the code that it contains."""


class _Turn:
    """The actions of a turn; each part is computed when the first claim needs it."""

    def __init__(
        self,
        grounding: Grounding,
        read_only: Collection[str],
        action_words: Mapping[str, Collection[str]] | None,
        *,
        writes_code: bool,
    ) -> None:
        self._grounding = grounding
        self.writes_code = writes_code
        self._said: dict[tuple[str, str, bool], bool] = {}
        self.tools = ToolsOfTurn(grounding.tool_calls, read_only, action_words)

    @lazy
    def reported_before(self) -> frozenset[str]:
        """The actions that the conversation has reported so far, including the user's message."""
        return frozenset(claim.action for claim in find_action_claims(self._grounding.conversation))

    @lazy
    def results(self) -> str:
        """What the tools that did not fail gave back, in lower case."""
        return self._grounding.done_text.lower()

    @lazy
    def _records(self) -> str:
        """The conversation in lower case when it contains records, otherwise empty."""
        return self._grounding.conversation.lower() if self._grounding.context_has_data else ""

    def confidence(self, claim: ActionClaim) -> float | None:
        """How likely the claim is made up; None when something grounds it."""
        if self.tools.can_have_done(claim.action, claim.word):
            return None
        if claim.action == _ALL_SET and not claim.is_mine and not self.tools.called and self._is_parting:
            return None
        if not claim.is_mine and self._is_read(claim):
            return None
        if claim.action in self.reported_before:
            return None if claim.refers_back else REPORTED_BEFORE
        if claim.is_state or (claim.action in _WRITTEN and self.writes_code):
            return A_STATE
        return OTHER_DONE if self.tools.changed_something else NOTHING_DONE

    def _is_read(self, claim: ActionClaim) -> bool:
        """Whether a tool gave back what the draft says, as the status of a record."""
        if claim.is_state and any(f"{quote}{claim.word[:_STEM]}" in self._records for quote in "\"'"):
            return True
        if not self.tools.called:
            return False
        if claim.is_state and (claim.language != "en" or self._is_said(claim, self._names)):
            return True  # the words of a record are hardly those of another language
        return self._is_said(claim, self.results)

    @lazy
    def _is_parting(self) -> bool:
        """Whether the user only says thanks or goodbye, to which "you're all set" is an answer."""
        said = self._grounding.user_text.strip()
        return bool(_PARTING.fullmatch(said)) or is_acknowledgement(said)

    @lazy
    def _names(self) -> str:
        """The words of the names of the tools."""
        return " ".join(self._grounding.tool_names).replace("_", " ")

    def _is_said(self, claim: ActionClaim, text: str) -> bool:
        """Whether the text has the word of the claim, or the English word for its action done."""
        key = claim.word[:_STEM], claim.action[:_STEM], text is self.results
        if key not in self._said:
            self._said[key] = _begins(text, key[0]) or _begins(text, key[1], "[a-z]{0,6}ed(?![a-z])")
        return self._said[key]


def _begins(text: str, stem: str, rest: str = "") -> bool:
    """Whether a word of the text begins with the stem; the engine looks fast for what begins with plain letters."""
    if stem not in text:
        return False
    plain = re.escape(stem)
    return re.search(rf"{plain}(?<![^\W_]{plain}){rest}", text) is not None


def claims_of(draft: str) -> list[ActionClaim]:
    """Return the claims of a draft that are judged."""
    return find_action_claims(draft, MAX_CLAIMS)


def claimed_actions(
    draft: str,
    claims: Sequence[ActionClaim],
    grounding: Grounding,
    read_only: Collection[str] = (),
    action_words: Mapping[str, Collection[str]] | None = None,
) -> Iterator[FabricationFinding]:
    """Yield a finding for every action that the draft claims and no tool call of its turn fits.

    A claim that refers back ("I've already cancelled it") is grounded when the conversation reports that action.

    Args:
        draft: the text to check.
        claims: its claims; see `claims_of`.
        grounding: the sources of the turn.
        read_only: names of tools that change nothing.
        action_words: name of a tool -> words of the actions that it does in addition to those in its name.
    """
    if not claims:
        return
    turn = _Turn(grounding, read_only, action_words, writes_code="```" in draft)
    for claim in claims:
        # Whatever tool was called, a request is what it was sent.
        is_request = claim.action == "send" and _REQUESTS.match(draft, claim.end)
        confidence = turn.confidence(replace(claim, action="submit") if is_request else claim)
        if confidence is not None:
            yield FabricationFinding(
                identifier=draft[claim.start : claim.end],
                kind="action_claim",
                severity="high" if confidence >= NOTHING_DONE else "medium",
                reason=_reason(claim, turn),
                pattern_kind="action_claim",
                confidence=confidence,
                span=(claim.start, claim.end),
            )


def _reason(claim: ActionClaim, turn: _Turn) -> str:
    what = "something was done" if claim.action == VAGUE else f"something was done ({claim.action})"
    if turn.tools.changed_something:
        return f"The draft says that {what}, and no tool call of this turn fits that."
    if turn.tools.called:
        return f"The draft says that {what}, and the tool calls of this turn only looked something up or failed."
    return f"The draft says that {what}, and no tool was called this turn."

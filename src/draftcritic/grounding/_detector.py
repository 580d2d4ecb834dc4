"""The fabrication check: reports what a draft asserts without a source in its turn."""

from __future__ import annotations

import logging
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from draftcritic.core._exception_place import described
from draftcritic.grounding._action_check import claimed_actions, claims_of
from draftcritic.grounding._evidence import Grounding
from draftcritic.grounding._findings import CLAIM, FabricationFinding, is_open, refers_back, tool_fits
from draftcritic.grounding._rules import IDENTIFIER_KEYS, NO_RULES, FabricationRules, rules_of
from draftcritic.grounding._token import lazy
from draftcritic.grounding._token_check import MAX_FINDINGS, DraftTokens, token_findings

logger = logging.getLogger(__name__)

MIN_INTENT_CONFIDENCE = 0.55
"""A less certain intent of the user says nothing about the draft."""
VERB_WINDOW = 60
"""Characters between a short hexadecimal id and an action claim that belong together."""
KEY_WINDOW = 32
"""Characters before a short hexadecimal id that are searched for its key."""

HEARSAY = 0.5
"""Confidence in a finding that arguments of the model, another agent or text in the prompt contradicts."""
_ACTION_KINDS = frozenset({"verb_claim", "action_claim", "intent_action_no_tool"})
_MOST_KEYS = 500
"""Keys that are looked for one by one; with more of them, each key of the draft is looked up."""
MAX_CLAIMS = 1000
"""Claims in the first person of one draft that are looked at."""
MAX_PAIRS = 20_000
"""Keys with values of one draft that are looked at; a draft with more is a dump of data."""

_UUID = re.compile(r"[0-9a-fA-F](?<!\w.)[0-9a-fA-F]{7}(?:-?[0-9a-fA-F]{4}){3}-?[0-9a-fA-F]{12}\b")
_SHORT_HEX = re.compile(r"[0-9a-fA-F](?<!\w.)[0-9a-fA-F]{5,15}\b")
_KEY_VALUE = re.compile(r"\b([A-Za-z][A-Za-z0-9_]{1,31})\s*[:=]\s*([A-Za-z0-9][A-Za-z0-9_\-./]{0,127})\b")
_KEY_VALUE_SIGNS = (":", "=")
_LAST_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_]{1,31}\Z")


class _Draft:
    """A draft with the matches that several checks share."""

    def __init__(self, text: str, rules: FabricationRules, grounding: Grounding) -> None:
        self.text = text
        self.rules = rules
        self.keys = rules.keys
        self.grounding = grounding
        self.tokens = DraftTokens(text)
        self.actions = claims_of(text)
        self.claims = list(CLAIM.finditer(text))
        self.uuids = list(_UUID.finditer(text))

    @lazy
    def claim_starts(self) -> list[int]:
        return [claim.start() for claim in self.claims]

    @lazy
    def claim_ends(self) -> list[int]:
        return [claim.end() for claim in self.claims]

    @lazy
    def has_keys(self) -> bool:
        """Whether the draft can contain a known key with a value."""
        if not (":" in self.text or "=" in self.text):
            return False
        if len(self.keys) > _MOST_KEYS:
            return True
        lower = self.text.lower()
        return any(key in lower for key in self.keys)

    def findings(self) -> Iterator[FabricationFinding]:
        """Yield the findings of the checks that need no tokenizer."""
        if self.claims:
            yield from _verb_claims(self)
        if self.uuids:
            yield from _uuids(self)
        if self.claims or self.has_keys:
            yield from _short_hexes(self)
        if self.has_keys:
            yield from _key_values(self)


def detect_fabrication(
    response_text: str | None,
    tool_calls_this_turn: Sequence[Any] | None = None,
    *,
    hydrated_context: str = "",
    user_message: str = "",
    identifier_keys: Iterable[str] | None = None,
    intent_verdict: Any = None,
    identifier_patterns: Iterable[str] | None = None,
    never_flag: Iterable[str] | None = None,
    read_only_tools: Iterable[str] | None = None,
    tool_actions: Mapping[str, Iterable[str]] | None = None,
    hearsay: str = "",
    hearsay_calls: Sequence[Any] = (),
    has_unread: bool = False,
    trusts_arguments: bool = True,
) -> list[FabricationFinding]:
    """Return what the draft asserts and neither tool calls, context nor user message ground. Never raises.

    Args:
        response_text: the draft.
        tool_calls_this_turn: the turn's tool calls, each a mapping with `name`, `args` and `result` (or `output`,
            `response`, `input`).
        hydrated_context: what the model saw in addition to the user's message: system prompt, history, documents.
        user_message: the user's message of this turn.
        identifier_keys: keys of identifiers in addition to the built-in ones.
        intent_verdict: the intent of the user's request, with `label` and `confidence`.
        identifier_patterns: regular expressions of identifiers that the built-in checks do not know.
        never_flag: words and tokens that are never flagged, such as the names of the application's products.
        read_only_tools: names of tools that change nothing: no claimed action is theirs.
        tool_actions: name of a tool -> words of the actions that it does, in addition to those in its name.
        hearsay: text that only makes a finding doubtful, such as what another agent says.
        hearsay_calls: calls that a text only mentions, likewise.
        has_unread: the model saw something that is not text here, such as an image.
        trusts_arguments: what the model wrote as arguments counts even where the call only looked or failed; the plugin
            makes a doubt of what such arguments alone ground.

    Returns:
        One finding for each identifier and kind, in the order of the checks, then of the draft.
    """
    try:
        grounding = Grounding(
            tool_calls_this_turn,
            hydrated_context,
            user_message,
            hearsay=hearsay,
            hearsay_calls=hearsay_calls,
            has_unread=has_unread,
            trusts_arguments=trusts_arguments,
        )
        rules = rules_of(identifier_keys, identifier_patterns, never_flag, read_only_tools, tool_actions)
        return find_fabrications(response_text, grounding, rules, intent_verdict)
    except Exception as error:
        # The check is a safety net under the application: it fails into silence, never into the turn.
        logger.error(  # noqa: TRY400 - a traceback repeats the draft
            "draftcritic: the fabrication check failed with %s; the draft counts as clean", described(error)
        )
        return []


def find_fabrications(
    draft: str | None, grounding: Grounding, rules: FabricationRules = NO_RULES, intent: Any = None
) -> list[FabricationFinding]:
    """Run all checks over a draft; the index `grounding` serves as many drafts of the turn as there are.

    A finding that hearsay grounds is only a doubt.
    """
    if not isinstance(draft, str) or not draft or draft.isspace():
        return []
    # The second look indexes its sources separately; the draft is read once.
    read = _Draft(draft, rules, grounding)
    findings = _found(read, intent)
    if not any(finding.confidence > HEARSAY for finding in findings):
        return findings
    if grounding.has_unread:
        findings = [_doubted(finding) if finding.kind not in _ACTION_KINDS else finding for finding in findings]
    wider = grounding.with_hearsay()
    if wider is None:
        return findings
    read.grounding = wider
    kept = {(finding.identifier, finding.kind): finding.confidence for finding in _found(read, intent)}
    return [_doubted(finding, kept.get((finding.identifier, finding.kind), HEARSAY)) for finding in findings]


def _doubted(finding: FabricationFinding, most: float = HEARSAY) -> FabricationFinding:
    return finding if finding.confidence <= most else replace(finding, confidence=most)


def _found(draft: _Draft, intent: Any) -> list[FabricationFinding]:
    grounding, rules = draft.grounding, draft.rules
    grounding.reset_search_budget()
    actions = list(claimed_actions(draft.text, draft.actions, grounding, rules.read_only_tools, rules.tool_actions))
    most = MAX_FINDINGS - len(actions)
    unique: dict[tuple[str, str], FabricationFinding] = {}
    _take(draft.findings(), unique, most)
    taken = [finding.span for finding in unique.values()]
    _take(token_findings(draft.tokens, grounding, rules, taken), unique, most)
    _take(actions, unique, MAX_FINDINGS)
    findings = list(unique.values())
    if intent is not None:
        findings.extend(_unfulfilled_intent(intent, grounding))
    return findings


def _take(findings: Iterable[FabricationFinding], unique: dict[tuple[str, str], FabricationFinding], most: int) -> None:
    """Add the findings that are not there yet, until there are `most`."""
    if len(unique) >= most:
        return
    for finding in findings:
        unique.setdefault((finding.identifier, finding.kind), finding)
        if len(unique) >= most:
            return


def _verb_claims(draft: _Draft) -> Iterator[FabricationFinding]:
    tool_names = draft.grounding.tool_names
    for claim in draft.claims[:MAX_CLAIMS]:
        if tool_fits(claim[1], tool_names) or is_open(draft.text, claim.start()):
            continue
        if not (refers_back(draft.text, claim.start()) and draft.grounding.context_has_data):
            yield FabricationFinding(
                identifier=claim[0],
                kind="verb_claim",
                severity="medium",
                reason="The draft says that something was done, and no tool that does it was called this turn.",
                pattern_kind="verb_claim",
                confidence=0.8,
                span=claim.span(),
            )


def _uuids(draft: _Draft) -> Iterator[FabricationFinding]:
    for uuid in draft.uuids:
        if not draft.grounding.has_uuid(uuid[0]):
            yield FabricationFinding(
                identifier=uuid[0],
                kind="uuid",
                severity="high",
                reason="No tool result, context or user message contains this UUID.",
                pattern_kind="uuid",
                confidence=0.95,
                span=uuid.span(),
            )


def _short_hexes(draft: _Draft) -> Iterator[FabricationFinding]:
    uuid_starts = [uuid.start() for uuid in draft.uuids]
    for token in _SHORT_HEX.finditer(draft.text):
        start, end = token.span()
        before = bisect_right(uuid_starts, start) - 1
        inside_uuid = before >= 0 and draft.uuids[before].end() > start
        if inside_uuid or token[0].isdigit():
            continue
        key = _key_before(draft.text, start)
        if key in draft.keys:
            where = f"It follows the key {key!r}"
        elif _near_claim(draft, start, end):
            key, where = None, "It is next to a claimed action"
        else:
            continue
        if not draft.grounding.has_token(token[0]):
            yield FabricationFinding(
                identifier=token[0],
                kind="short_hex_near_key" if key else "short_hex_near_verb",
                severity="high",
                reason=f"{where}, and no tool result, context or user message contains it.",
                key=key,
                pattern_kind="short_hex_near_key" if key else "short_hex_near_verb",
                confidence=0.6,
                span=(start, end),
            )


def _key_before(text: str, at: int) -> str | None:
    head = text[max(0, at - KEY_WINDOW) : at].rstrip()
    if not head.endswith(_KEY_VALUE_SIGNS):
        return None
    key = _LAST_KEY.search(head[:-1].rstrip())
    return key[0].lower() if key else None


def _near_claim(draft: _Draft, start: int, end: int) -> bool:
    before = bisect_right(draft.claim_ends, start) - 1
    after = bisect_left(draft.claim_starts, end)
    return (before >= 0 and start - draft.claim_ends[before] <= VERB_WINDOW) or (
        after < len(draft.claim_starts) and draft.claim_starts[after] - end <= VERB_WINDOW
    )


def _key_values(draft: _Draft) -> Iterator[FabricationFinding]:
    seen: set[tuple[str, str]] = set()
    for pair in islice(_KEY_VALUE.finditer(draft.text), MAX_PAIRS):
        key, value = pair[1].lower(), pair[2]
        if key not in draft.keys or (key, value) in seen:
            continue
        seen.add((key, value))
        if not draft.grounding.has_token(value):
            yield FabricationFinding(
                identifier=value,
                kind="kv",
                severity="high" if key in IDENTIFIER_KEYS else "medium",
                reason=f"No tool result, context or user message contains the value of {pair[1]!r}.",
                key=key,
                pattern_kind="kv",
                confidence=0.8,
                span=pair.span(),
            )


def _unfulfilled_intent(intent: Any, grounding: Grounding) -> Iterator[FabricationFinding]:
    confidence = getattr(intent, "confidence", None)
    if getattr(intent, "label", None) != "action" or not isinstance(confidence, (int, float)):
        return
    if confidence >= MIN_INTENT_CONFIDENCE and not grounding.tool_calls:
        tools = getattr(intent, "matched_tool_keywords", None) or ()
        named = f" (tools that fit: {', '.join(map(str, tools))})" if tools else ""
        yield FabricationFinding(
            identifier="",
            kind="intent_action_no_tool",
            severity="medium",
            reason=f"The user asked for an action, intent confidence {confidence:.2f}, and no tool was called{named}.",
            pattern_kind="intent_no_grounding",
            confidence=0.7,
        )
